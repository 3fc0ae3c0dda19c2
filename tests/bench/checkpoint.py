#!/usr/bin/env python3
"""What a local checkpoint costs those beside it, and what the disk takes: updates of a table of a box of two data nodes, timed one by one.

    checkpoint.py [--binary FILE] [--megabytes N] [--seconds N] [--random] [--fill]

--megabytes  of rows of 200 bytes (default 200)
--seconds    of updates (default 40)
--random     rows of random bytes, which do not compress
--fill       then one of the nodes is stopped and, ten seconds later, started and filled again, beside updates that go on for as long

A checkpoint runs from when a file of it grows until the manifest names it: it is read back in between. Prints the 50th, 95th and 99th
percentile of the updates that ended in such a time and of the others, with the ratio of the 99ths; and the most that a node's files of rows
took, as a ratio of the rows. The ratios have bars, those of docs/durability.md: the exit code is 1 if one is missed, or if no checkpoint ran.
"""

import argparse
import glob
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", "system"), os.path.join(ROOT, "tests", "bench")]
from cluster import keep_figure  # noqa: E402
from isolation_client import Session  # noqa: E402
from restart import check_count, client, fill, run, run_threads  # noqa: E402

CLIENTS = 4
ROW_BYTES = 200
LOOK_SECONDS = 0.02
# The most that the 99th percentile beside a checkpoint may be, in those alone.
RATIO_99_MAX = 2.0
# The most room that a node takes, in its rows: rows that compress as those of sysbench do, random ones, and random ones of a node that is
# filled; at least MEGABYTES_LEAST whatever the rows.
ROOM_MAX, ROOM_MAX_RANDOM, ROOM_MAX_FILLED, MEGABYTES_LEAST = 1.4, 2.2, 2.7, 230 * 1.048576
KINDS = ("rows-", "redo-", "spare-", "reserve-")


def files_of(rows):
    sizes = {}
    for path in glob.glob(os.path.join(rows, "part-*", "*")):
        try:
            sizes[path] = os.path.getsize(path)
        except FileNotFoundError:
            pass  # It has gone since.
    return sizes


def update(socket, count, until, times, x):
    session = Session(socket, "update")
    while time.monotonic() < until:
        id, text = random.randrange(count), os.urandom(188 if x else 94).hex()
        began = time.monotonic()
        answer = session.execute(f"UPDATE bench.t SET c = {x}'{text}' WHERE id = {id}")
        ended = time.monotonic()
        if answer.error is not None:
            raise RuntimeError(f"an update failed: {answer}")
        times.append((ended, ended - began))


def manifests_of(rows):
    """When those of each part were last written."""
    parts = glob.glob(os.path.join(rows, "part-*"))  # A manifest is never removed.
    return {part: max(os.stat(path).st_mtime_ns for path in glob.glob(os.path.join(part, "manifest-*"))) for part in parts}


def watch(directories, until, running, most):
    """Notes in which moments a checkpoint ran, and the most that each directory took."""
    before, named, begun = {}, {}, set()
    while time.monotonic() < until:
        now = time.monotonic()
        for directory in directories:
            files = files_of(directory)
            size = sum(files.values())
            if most.get(directory, (0,))[0] < size:
                kinds = [sum(size for path, size in files.items() if os.path.basename(path).startswith(kind)) for kind in KINDS]
                most[directory] = (size, *kinds)
            sizes = {path: size for path, size in files.items() if os.path.basename(path).startswith("rows-")}
            begun |= {os.path.dirname(path) for path, size in sizes.items() if size != before.get(path, 0)}
            before.update(sizes)
            if begun:
                running.append(now)
            written = manifests_of(directory)
            begun -= {part for part, at in written.items() if at != named.get(part)}
            named.update(written)
        time.sleep(LOOK_SECONDS)


def percentiles(times):
    times = sorted(times)
    return [times[min(len(times) - 1, int(len(times) * share))] * 1000 for share in (0.5, 0.95, 0.99)]


def load(sockets, directories, count, seconds, is_random, meanwhile=None):
    """Updates rows for so long: what each took, in which moments a checkpoint ran, and the most that the directories took."""
    until = time.monotonic() + seconds
    times, running, most = [], [], {}
    updates = [(update, sockets[index % len(sockets)], count, until, times, "x" if is_random else "") for index in range(CLIENTS)]
    also = [(meanwhile,)] if meanwhile else []
    run_threads(*updates, (watch, directories, until, running, most), *also)
    return times, running, most


def judge_most(most, count, what, bar):
    """Prints the most that each directory took. Returns whether the bar is met."""
    are_met = []
    for directory, sizes in sorted(most.items()):
        size, rows, log, spares, reserve = (size / (count * ROW_BYTES) for size in sizes)
        print(f"{os.path.basename(directory)}: {sizes[0] / 1e6:.0f} MB at most, {size:.2f} times the rows: "
              f"checkpoints {rows:.2f}, log {log:.2f}, to be used again {spares:.2f}, reserve {reserve:.2f}")
        most_size = max(bar, MEGABYTES_LEAST * 1e6 / (count * ROW_BYTES))
        are_met.append(keep_figure(f"room on the disk, {os.path.basename(directory)}, {what}", size, "times the rows", most=most_size))
    return all(are_met)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
    parser.add_argument("--binary", default=os.path.join(target, "release", "skarv"))
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--random", action="store_true")
    parser.add_argument("--fill", action="store_true")
    options = parser.parse_args()
    place = tempfile.mkdtemp(prefix="skarv-bench-")
    data = os.path.join(place, "data")
    count = options.megabytes * 1_000_000 // ROW_BYTES // CLIENTS * CLIENTS
    try:
        memory = f"{max(256, options.megabytes * 3)}M"
        run(options.binary, "up", "--detach", "--dir", data, "--port", "0", "--workers", "1", "--memory", memory)
        status = json.load(open(os.path.join(data, "cluster.json")))
        sockets = [node["socket"] for node in status["nodes"] if node["socket"]]
        subprocess.run(client(sockets[0]), text=True, check=True, input="CREATE DATABASE bench; CREATE TABLE bench.t "
                       f"(id INT PRIMARY KEY, k INT, c {'BLOB' if options.random else 'TEXT'}, KEY (k))")
        share = count // CLIENTS
        run_threads(*((fill, sockets[index % 2], index * share, share, ROW_BYTES, options.random) for index in range(CLIENTS)))
        check_count(sockets[0], count)
        directories = [os.path.join(data, f"node{id}.rows") for id in (2, 3)]
        times, running, most = load(sockets, directories, count, options.seconds, options.random)
        running = {int(moment / LOOK_SECONDS / 5) for moment in running}
        beside, alone = [], []
        for ended, took in times:
            (beside if int(ended / LOOK_SECONDS / 5) in running else alone).append(took)
        print(f"{len(times) / options.seconds:.0f} updates a second; a checkpoint ran in {len(beside) / len(times):.0%} of them")
        for name, of in (("beside a checkpoint", beside), ("alone", alone)):
            if of:
                print(f"{name:20} 50 %: {percentiles(of)[0]:.2f} ms  95 %: {percentiles(of)[1]:.2f} ms  99 %: {percentiles(of)[2]:.2f} ms")
        if not (beside and alone):
            sys.exit("no checkpoint ran, or one ran all the time: nothing can be compared")
        kind = "random rows" if options.random else "text"
        is_met = keep_figure(f"99th percentile of updates beside a checkpoint, of that alone, {kind}",
                             percentiles(beside)[2] / percentiles(alone)[2], "times", most=RATIO_99_MAX)
        is_met &= judge_most(most, count, kind, ROOM_MAX_RANDOM if options.random else ROOM_MAX)
        if options.fill:
            def operate(command):
                return run(options.binary, "mgm", "--dir", data, "-e", command)
            operate("3 STOP")
            load(sockets[:1], directories, count, 10, options.random)
            most = load(sockets[:1], directories, count, options.seconds, options.random, lambda: print(operate("3 START").splitlines()[-1]))[2]
            print("node 3 is filled:")
            is_met &= judge_most(most, count, f"{kind}, node 3 is filled", ROOM_MAX_FILLED)
        return 0 if is_met else 1
    finally:
        subprocess.run([options.binary, "down", "--dir", data], capture_output=True)
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
