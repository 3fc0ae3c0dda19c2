#!/usr/bin/env python3
"""System tests: real processes, real sockets, real clients.

    run.py [--binary FILE] [--full] [--only PATTERN] [--keep] [--list]

--binary  the program (default: target/release/skarv, below $CARGO_TARGET_DIR where that is set)
--full    the long form of the tests that have one: larger tables, more threads, more time
--only    tests whose name matches this shell pattern, such as 'lifecycle.*'
--keep    leaves the directories of failed tests, and says where

Every test uses directories and ports of its own and stops what it started, so that several runs do not disturb each
other. The last line is "N passed, N failed". Python's standard library is enough; the clients need what
scripts/install-packages.sh installs.
"""

import argparse
import fnmatch
import os
import signal
import sys
import time
import traceback

sys.dont_write_bytecode = True

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
import judged_load
import lifecycle
import links
import load
import outcome
import power
import rejoin
import rolling
import takeover
import tools
from cluster import Environment

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODULES = [lifecycle, tools, hostile, bad_input, clients, isolation, isolation_locks, judged_load, links, takeover, rejoin,
           rolling, frozen, cut, outcome, power, full, damage, checkpoint, device, backup, load]


def tests():
    """Every function test_* of every module, in the order they are written."""
    for module in MODULES:
        for name, function in vars(module).items():
            if name.startswith("test_") and callable(function):
                yield f"{module.__name__}.{name.removeprefix('test_')}", function


def end(number, frame):
    """What was started is stopped also when this program is; a second signal does not disturb that."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
    parser.add_argument("--binary", default=os.path.join(target, "release", "skarv"))
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", default="*")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    selected = [(name, function) for name, function in tests() if fnmatch.fnmatch(name, options.only)]
    if options.list:
        for name, function in selected:
            print(f"{name:36} {(function.__doc__ or '').strip().splitlines()[0]}")
        return 0
    signal.signal(signal.SIGTERM, end)
    binary = os.path.abspath(options.binary)
    if not os.access(binary, os.X_OK):
        print(f"there is no {binary}: build it with 'cargo build --release -p skarv' or give --binary")
        print("0 passed, 1 failed")
        return 1
    passed, failed = 0, []
    for name, function in selected:
        environment = Environment(ROOT, binary, options.full, options.keep)
        started = time.monotonic()
        outcome = "interrupted"
        try:
            function(environment)
            outcome = "ok"
            passed += 1
            print(f"ok     {name} ({time.monotonic() - started:.1f} s)", flush=True)
        except Exception:
            outcome = "failed"
            failed.append(name)
            print(f"FAILED {name} after {time.monotonic() - started:.1f} s", flush=True)
            print(traceback.format_exc().rstrip(), flush=True)
            environment.show_logs()
        finally:
            environment.close(failed=outcome != "ok")
    if failed:
        print(f"failed: {', '.join(failed)}")
    print(f"{passed} passed, {len(failed)} failed")
    return 0 if not failed and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
