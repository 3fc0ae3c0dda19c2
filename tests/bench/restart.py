#!/usr/bin/env python3
"""How long a cluster takes to start again with its rows: fills a box of two data nodes, stops it, starts it, and says what the disks gave.

    restart.py [--binary FILE] [--megabytes N] [--row-bytes N] [--kill] [--touch] [--dir DIR]

--megabytes  of rows (default 1000); each of the two nodes loads all of them, on one worker
--row-bytes  of a row (default 200)
--kill       the processes are killed instead of stopped: there is more log to be read
--touch      as much memory as the nodes and the page cache will take is taken and given back before they start. A virtual machine may
             have to get its memory from its host, page by page, and gives it back when nobody uses it for some seconds
--dir        where the cluster is made (default: a temporary directory)

Prints the time of `skarv up`, and for each node how long its part took and row data a second of its core. Before a node loads it looks
through its log, for what it may begin with: that is the first reading, at the speed of the device, and of what it has read the page
cache has most when it is loaded. What may be slower than the node itself comes then: how long the system took to give the nodes their
memory, which they take while they load, and the speed at which the same files are read alone, which is what the device, or the page
cache, gives. Two of these have bars, and the exit code is 1 if one is missed: a node loads at the rate at which ten gigabytes take five
minutes, or faster, and its files are no larger than docs/durability.md says.
"""

import argparse
import json
import mmap
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "system"))
from cluster import keep_figure  # noqa: E402

# Row data a second and core, in MB, and the size of a node's files, in that of its rows.
LOAD_RATE_LEAST = 34
FILES_MAX = 1.4
ROWS_PER_STATEMENT = 500
CLIENTS = 4


def run(*arguments):
    result = subprocess.run(arguments, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))[:200]}: {result.stdout[-500:]}{result.stderr[-500:]}")
    return result.stdout


def client(socket):
    return ["mariadb", "--no-defaults", "--user=root", f"--socket={socket}", "--batch", "--skip-column-names"]


def run_threads(*works):
    """Each on a thread of its own. What any of them fails of ends the bench."""
    with ThreadPoolExecutor(len(works)) as pool:
        for done in [pool.submit(*work) for work in works]:
            done.result()


def check_count(socket, rows):
    found = int(run(*client(socket), "--execute=SELECT COUNT(*) FROM bench.t"))
    if found != rows:
        sys.exit(f"{found} rows are there, and {rows} were written")


def fill(socket, first, count, row_bytes, is_random=False):
    """Rows as sysbench's: a key, a number with an index, and text that does not compress to nothing; or bytes that do not compress at all."""
    process = subprocess.Popen(client(socket), stdin=subprocess.PIPE, text=True)
    width = max(1, row_bytes - 12) * (2 if is_random else 1)
    x = "x" if is_random else ""
    for begin in range(first, first + count, ROWS_PER_STATEMENT):
        end = min(begin + ROWS_PER_STATEMENT, first + count)
        text = os.urandom((width + 1) // 2 * 16).hex()
        rows = []
        for id in range(begin, end):
            at = (id - begin) % 15 * width
            own = os.urandom(width // 2).hex() if is_random else text[at:at + width]
            rows.append(f"({id},{id * 7919 % 1000003},{x}'{own}')")
        process.stdin.write(f"INSERT INTO bench.t VALUES {','.join(rows)};\n")
    process.stdin.close()
    if process.wait() != 0:
        raise RuntimeError("the table could not be filled")


def touch(megabytes):
    began = time.monotonic()
    with mmap.mmap(-1, megabytes << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        for at in range(0, len(memory), mmap.PAGESIZE):
            memory[at] = 1
    print(f"{megabytes} MiB of memory touched in {time.monotonic() - began:.1f} s", flush=True)


def bytes_of_files(directory):
    return sum(os.path.getsize(os.path.join(place, name)) for place, _, names in os.walk(directory) for name in names)


def memory_taken(log):
    """The seconds in which a node that has just started took its memory for rows; it may still be at that."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        last_start = open(log, errors="replace").read().rpartition(" starts: process ")[2]
        if taken := re.search(r"the memory for rows is taken, which took (\d+) ms", last_start):
            return int(taken[1]) / 1000
        time.sleep(0.1)
    sys.exit(f"{log}: a minute after its start the node has not taken its memory")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(root, "target"))
    parser.add_argument("--binary", default=os.path.join(target, "release", "skarv"))
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--row-bytes", type=int, default=200)
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--touch", action="store_true")
    parser.add_argument("--dir")
    options = parser.parse_args()
    place = options.dir or tempfile.mkdtemp(prefix="skarv-bench-")
    data = os.path.join(place, "data")
    memory = max(256, options.megabytes * 3)
    rows = options.megabytes * 1_000_000 // options.row_bytes
    how = "killed" if options.kill else "stopped"
    is_met = True
    try:
        run(options.binary, "up", "--detach", "--dir", data, "--port", "0", "--workers", "1", "--memory", f"{memory}M")
        status = json.load(open(os.path.join(data, "cluster.json")))
        sockets = [node["socket"] for node in status["nodes"] if node["socket"]]
        subprocess.run(client(sockets[0]), text=True, check=True, input="CREATE DATABASE bench; CREATE TABLE bench.t "
                       "(id INT PRIMARY KEY, k INT, c TEXT, KEY (k))")
        began = time.monotonic()
        share = (rows + CLIENTS - 1) // CLIENTS
        run_threads(*((fill, sockets[index % len(sockets)], index * share, share, options.row_bytes) for index in range(CLIENTS)))
        rows = share * CLIENTS
        check_count(sockets[0], rows)
        print(f"{rows} rows of {options.row_bytes} bytes, filled in {time.monotonic() - began:.1f} s", flush=True)
        if options.kill:
            status = json.load(open(os.path.join(data, "cluster.json")))
            for pid in [status["supervisor_pid"], *(node["pid"] for node in status["nodes"])]:
                os.kill(pid, signal.SIGKILL)
            time.sleep(1)
        else:
            began = time.monotonic()
            run(options.binary, "down", "--dir", data)
            print(f"down after {time.monotonic() - began:.1f} s", flush=True)
        if options.touch:
            touch(2 * memory + (bytes_of_files(data) >> 20))
        began = time.monotonic()
        run(options.binary, "up", "--detach", "--dir", data, "--port", "0")
        took = time.monotonic() - began
        check_count(sockets[0], rows)
        print(f"up again after {took:.2f} s, {rows} rows", flush=True)
        looked = {}
        for row in run(*client(sockets[0]), "--execute=SELECT NODE_ID, LOOKED_MS FROM skarv.restart_info").splitlines():
            node, milliseconds = map(int, row.split())
            looked[node] = milliseconds / 1000
        slowest = 0.0
        for id in (2, 3):
            log = open(os.path.join(data, f"node{id}.log"), errors="replace").read()
            seconds = float(re.findall(r"part 0 is loaded after ([0-9.]+) s", log)[-1])
            slowest = max(slowest, looked[id] + seconds)
            rate = rows * options.row_bytes / 1e6 / seconds
            print(f"node {id}: log looked through in {looked[id]:.2f} s, then part 0 after {seconds:.2f} s, {rate:.0f} MB of row data a "
                  "second and core", flush=True)
            is_met &= keep_figure(f"row data a second and core, node {id} that was {how}", rate, "MB", least=LOAD_RATE_LEAST)
        print(f"all else: {took - slowest:.2f} s")
        seconds = " and ".join(f"{memory_taken(os.path.join(data, f'node{id}.log')):.1f}" for id in (2, 3))
        print(f"{memory} MiB of memory for each node, taken in {seconds} s")
        began, size = time.monotonic(), 0
        for directory, _, names in os.walk(os.path.join(data, "node2.rows")):
            for name in names:
                with open(os.path.join(directory, name), "rb", buffering=0) as file:
                    while part := file.read(1 << 20):
                        size += len(part)
        print(f"the files of node 2, read alone: {size / 1e6:.0f} MB, {size / 1e6 / (time.monotonic() - began):.0f} MB/s; "
              f"{size / (rows * options.row_bytes):.2f} times the rows")
        is_met &= keep_figure(f"files of a node that was {how}", size / (rows * options.row_bytes), "times the rows", most=FILES_MAX)
        return 0 if is_met else 1
    finally:
        subprocess.run([options.binary, "down", "--dir", data], capture_output=True)
        if not options.dir:
            shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
