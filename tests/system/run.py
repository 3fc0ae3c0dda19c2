#!/usr/bin/env python3
"""System tests: real processes, real sockets, real clients.

    run.py [--binary FILE] [--long] [--only PATTERN] [--jobs N] [--keep] [--list]

--binary  the program (default: target/release/skarv, below $CARGO_TARGET_DIR where that is set)
--long    all tests, in the long form of those that have one: larger tables, more threads, more time; figures of the clock are judged,
          for which the machine must do nothing else. Without it: one test for each promise of the README, in the short form, and nothing
          judges the clock. (--full is the same)
--only    tests of both tiers whose name matches this shell pattern, such as 'lifecycle.*'
--jobs    so many tests at once (default 1); in the long tier those that judge how fast something is, or load the machine, run alone
          behind the others
--keep    leaves the directories of failed tests, and says where

Every test uses directories and ports of its own and stops what it started, so that several runs do not disturb each
other. The last line is "N passed, N failed". Python's standard library is enough; the clients need what
scripts/install-packages.sh installs.
"""

import argparse
import contextlib
import fnmatch
import io
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import time
import traceback

sys.dont_write_bytecode = True

import cluster
import alter
import backup
import bad_input
import checkpoint
import clients
import cut
import damage
import device
import frozen
import full
import hostile
import isolation
import isolation_locks
import job_queue
import judged_load
import lifecycle
import links
import load
import load_data
import outcome
import power
import query_forms
import rejoin
import rolling
import takeover
import tools
import user_locks
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODULES = [lifecycle, tools, hostile, bad_input, clients, isolation, isolation_locks, user_locks, job_queue, alter, query_forms,
           judged_load, load_data, links, takeover, rejoin, rolling, frozen, cut, outcome, power, full, damage, checkpoint, device, backup, load]

# One test for each promise of the README's section "What works": the default tier.
PROMISES = {
    "lifecycle.up_down_up": "a cluster starts, stops, and starts again with its rows",
    "lifecycle.shapes": "clusters of several node groups, replicas and voters",
    "lifecycle.refusals": "what cannot be is refused with a reason",
    "lifecycle.supervisor_dies": "the nodes of a cluster whose supervisor is gone are stopped as planned",
    "tools.commands": "skarv mgm",
    "tools.desc": "skarv desc; tables, indexes and replicas that agree",
    "clients.drivers": "MySQL clients: the command line, over TLS and the socket",
    "load_data.files": "LOAD DATA: files of clients and of the server",
    "isolation.anomalies": "the isolation levels",
    "isolation.deadlocks": "deadlock detection over all nodes",
    "isolation_locks.nowait_skip_locked": "NOWAIT and SKIP LOCKED",
    "job_queue.taken_once": "a job queue with SKIP LOCKED: each job once, one row lock a session",
    "alter.under_load": "ALTER TABLE that changes rows, beside readers and writers",
    "alter.killed": "the node of an ALTER TABLE dies: the old definition or the new one, and all rows",
    "query_forms.shapes_and_levels": "every form of query on 1, 2 and 4 node groups at each isolation level",
    "isolation_locks.seeing_locks": "locks, waits and transactions of all nodes are tables",
    "user_locks.ends_of_sessions": "GET_LOCK() over all nodes, freed when the session ends or its node dies",
    "isolation_locks.kill": "KILL frees what it ends",
    "takeover.data_node": "the process of a data node dies, and nothing acknowledged is lost",
    "rejoin.in_turns": "a node that died comes back, and then the other one dies",
    "rolling.restart_of_every_node": "a rolling restart under load, without an error elsewhere",
    "frozen.nodes": "a node that freezes is excluded, answers nothing old, and comes back",
    "cut.cables": "a cable is cut, and mended",
    "outcome.tokens": "commit tokens: what is tried again is done once",
    "outcome.unknown": "the outcome of a commit whose answer is lost",
    "power.always_loses_nothing": "a power failure at the level `always`",
    "power.default_loses_the_last_moment": "a power failure at the default level",
    "full.disk": "a full disk: error 1021, deletions, room again",
    "full.memory": "a full memory: error 1114, deletions, rollbacks",
    "device.sync": "a device that fails",
    "damage.checkpoint": "damaged files are put aside, and the node is filled",
    "checkpoint.quiet_table": "local checkpoints",
    "backup.into_other_shapes": "a backup beside the load, into clusters of other shapes",
    "backup.to_a_moment": "the archive: any later moment comes back",
    "hostile.random_packets": "hostile input at every port and socket",
    "bad_input.strangers_at_the_node_port": "strangers at the ports between the nodes",
    "links.keys": "links encrypted and authenticated by mutual TLS",
    "links.box_has_keys": "skarv up makes its own keys",
}

# These take longest. The default tier begins with them, so that none of them is left running alone at the end.
FIRST = ["checkpoint.*", "query_forms.*", "backup.*", "outcome.unknown", "damage.*", "clients.*", "frozen.*", "cut.*"]

# Most tests wait most of the time. In the long tier these run alone: a neighbour that works would be in what they judge.
ALONE = ["checkpoint.*", "cut.*", "frozen.*", "hostile.long_rows", "isolation_locks.*", "job_queue.*", "judged_load.*", "load.*",
         "query_forms.*", "rolling.*"]


def tests():
    """Every function test_* of every module, in the order they are written."""
    for module in MODULES:
        for name, function in vars(module).items():
            if name.startswith("test_") and callable(function):
                yield f"{module.__name__}.{name.removeprefix('test_')}", function


def end(number, frame):
    """What was started is stopped also when this program is; another signal does not disturb that."""
    for other in (signal.SIGINT, signal.SIGTERM):
        signal.signal(other, signal.SIG_IGN)
    children = multiprocessing.active_children()
    for child in children:
        child.terminate()
    for child in children:
        child.join()
    sys.exit(128 + number)


def run_test(name, binary, options):
    """Runs one test and says how it ended. Returns whether it passed."""
    environment = cluster.Environment(ROOT, binary, options.long, options.keep)
    started = time.monotonic()
    outcome = "interrupted"
    try:
        dict(tests())[name](environment)
        assert not environment.missed, "; ".join(environment.missed)
        outcome = "ok"
        print(f"ok     {name} ({time.monotonic() - started:.1f} s)", flush=True)
    except Exception:
        outcome = "failed"
        print(f"FAILED {name} after {time.monotonic() - started:.1f} s", flush=True)
        print(traceback.format_exc().rstrip(), flush=True)
        environment.show_logs()
    finally:
        environment.close(failed=outcome != "ok")
    return outcome == "ok"


def run_test_beside_others(name, binary, options, to):
    """The same in a process of its own, which tells whether it passed and what is to be said of it."""
    # Who ends it is the process that started it, which has the signal of a terminal, too.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    said, passed = io.StringIO(), False
    with contextlib.redirect_stdout(said):
        try:
            passed = run_test(name, binary, options)
        except Exception:
            print(f"FAILED {name} around the test\n{traceback.format_exc().rstrip()}")
    to.send((passed, said.getvalue()))


def run_tests(names, binary, options):
    """Runs the tests and yields each name with whether it passed."""
    def is_alone(name):
        return options.jobs == 1 or options.long and any(fnmatch.fnmatch(name, pattern) for pattern in ALONE)

    def is_first(name):
        return not options.long and any(fnmatch.fnmatch(name, pattern) for pattern in FIRST)

    # Taken from the end.
    waiting = sorted((name for name in reversed(names) if not is_alone(name)), key=is_first)
    context = multiprocessing.get_context("fork")
    running = {}
    while waiting or running:
        while waiting and len(running) < options.jobs:
            name = waiting.pop()
            heard, to = context.Pipe(duplex=False)
            process = context.Process(target=run_test_beside_others, args=(name, binary, options, to))
            process.start()
            # Only the process has this end now: its output ends with it.
            to.close()
            running[heard] = name, process
        for heard in multiprocessing.connection.wait(list(running)):
            name, process = running.pop(heard)
            try:
                passed, said = heard.recv()
            except EOFError:
                passed, said = False, None
            heard.close()
            process.join()
            print(said or f"FAILED {name}: its process ended with {process.exitcode}\n", end="", flush=True)
            yield name, passed
    for name in names:
        if is_alone(name):
            yield name, run_test(name, binary, options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
    parser.add_argument("--binary", default=os.path.join(target, "release", "skarv"))
    parser.add_argument("--long", "--full", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--jobs", type=int, default=1, choices=range(1, 65), metavar="N")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    cluster.is_long = options.long
    everything = dict(tests())
    unknown = PROMISES.keys() - everything.keys()
    assert not unknown, f"PROMISES names no test: {unknown}"
    pattern = options.only or "*"
    selected = {name: function for name, function in everything.items() if fnmatch.fnmatch(name, pattern)
                and (options.long or options.only or name in PROMISES)}
    if options.list:
        for name, function in selected.items():
            tier = "default" if name in PROMISES else "long"
            print(f"{name:36} {tier:7} {(function.__doc__ or '').strip().splitlines()[0]}")
        return 0
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    binary = os.path.abspath(options.binary)
    if not os.access(binary, os.X_OK):
        print(f"there is no {binary}: build it with 'cargo build --release -p skarv' or give --binary")
        print("0 passed, 1 failed")
        return 1
    passed, failed = 0, []
    for name, has_passed in run_tests(list(selected), binary, options):
        if has_passed:
            passed += 1
        else:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}")
    print(f"{passed} passed, {len(failed)} failed")
    return 0 if not failed and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
