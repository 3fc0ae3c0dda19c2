#!/usr/bin/env python3
"""How much definitions slow down the statements beside them: p99 of sysbench on all data nodes while ALTER TABLE changes its table.

    definitions.py [--binary FILE] [--rows N] [--threads N] [--rate N] [--quiet SECONDS] [--memory SIZE] [--dir DIR]

--rows     of the table (default 1000000)
--threads  sessions of sysbench, spread over the data nodes (default 8)
--rate     transactions a second, of 18 statements each, about half of what the machine can do; 0 is as many as it can (default 40)
--quiet    seconds without a definition, before the first one, which make the figure to compare with (default 20)
--memory   for the rows of each data node (default 2G)
--dir      where the cluster is made (default: a temporary directory)

sysbench (oltp_read_write, uniform keys) reports the latency of the last second of its transactions. For each definition the table has its
time, the errors of sysbench, the median and the greatest p99 of its seconds, and the median's ratio to that of the quiet seconds. The bar:
no error, and a ratio of at most 2. The last line is "N passed, N failed"; the exit code is 1 if one failed.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "system"))
from cluster import Environment, keep_figure  # noqa: E402

RATIO_MOST = 2.0
DEFINITIONS = [
    "ADD COLUMN note VARCHAR(20) DEFAULT 'none'",
    "RENAME COLUMN note TO remark",
    "MODIFY k BIGINT NOT NULL",
    "ADD INDEX by_pad (pad)",
    "ADD UNIQUE INDEX by_id_k (id, k)",
    "ADD CONSTRAINT owners FOREIGN KEY (owner) REFERENCES owner (id)",
    "DROP FOREIGN KEY owners, DROP COLUMN remark",
]
SECOND = re.compile(r"tps: ([\d.]+) .* lat \(ms,99%\): ([\d.]+) err/s: ([\d.]+)")


class Load:
    """sysbench as it runs: its seconds, each with its end, rate, p99 and errors."""

    def __init__(self, cluster, options):
        self.seconds = []
        self.process = subprocess.Popen(
            ["sysbench", "oltp_read_write", "--db-driver=mysql", f"--mysql-socket={','.join(cluster.sockets())}", "--mysql-user=root",
             "--mysql-db=sbtest", "--tables=1", f"--table-size={options.rows}", f"--threads={options.threads}", "--time=100000",
             "--rand-type=uniform", f"--rate={options.rate}", "--percentile=99", "--report-interval=1",
             "--mysql-ignore-errors=1213", "run"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.said = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            found = SECOND.search(line)
            if found:
                self.seconds.append((time.monotonic(), *map(float, found.groups())))
            else:
                self.said = [*self.said[-20:], line]

    def between(self, begin, end):
        """The seconds that ended in this time, and the one that ended behind it."""
        deadline = end + 5
        while time.monotonic() < deadline and not any(end <= second[0] for second in self.seconds):
            assert self.process.poll() is None, f"sysbench ended: {''.join(self.said)}"
            time.sleep(0.1)
        return [second for second in list(self.seconds) if begin < second[0] <= end + 1]

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")), "release/skarv"))
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--rate", type=int, default=40)
    parser.add_argument("--quiet", type=int, default=20)
    parser.add_argument("--memory", default="2G")
    parser.add_argument("--dir", default=None)
    options = parser.parse_args()
    environment = Environment(ROOT, os.path.realpath(options.binary), True, False)
    if options.dir:
        shutil.rmtree(environment.dir)
        environment.dir = tempfile.mkdtemp(dir=options.dir)
    passed = failed = 0
    load = None
    try:
        cluster = environment.cluster("data", "--memory", options.memory)
        cluster.sql(2, "CREATE DATABASE sbtest; CREATE TABLE sbtest.owner (id INT PRIMARY KEY); INSERT INTO sbtest.owner VALUES (1)")
        subprocess.run(["sysbench", "oltp_read_write", "--db-driver=mysql", f"--mysql-socket={cluster.sockets()[0]}", "--mysql-user=root",
                        "--mysql-db=sbtest", "--tables=1", f"--table-size={options.rows}", "prepare"],
                       check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        cluster.sql(2, "ALTER TABLE sbtest.sbtest1 ADD COLUMN owner INT DEFAULT 1", timeout=1800)
        load = Load(cluster, options)
        time.sleep(5)
        begin = time.monotonic()
        time.sleep(options.quiet)
        quiet = load.between(begin, time.monotonic())
        usual = statistics.median(second[2] for second in quiet)
        rate = statistics.mean(second[1] for second in quiet)
        print(f"{'definition':70} {'seconds':>8} {'tps':>6} {'errors':>6} {'p99':>8} {'max p99':>8} {'ratio':>6}")
        print(f"{'none':70} {options.quiet:8.1f} {rate:6.0f} {'':6} {usual:8.1f} {max(second[2] for second in quiet):8.1f}", flush=True)
        for definition in DEFINITIONS:
            begin = time.monotonic()
            cluster.sql(2, f"ALTER TABLE sbtest.sbtest1 {definition}", timeout=1800)
            end = time.monotonic()
            seconds = load.between(begin, end)
            p99 = statistics.median(second[2] for second in seconds)
            errors = sum(second[3] for second in seconds)
            print(f"{definition:70} {end - begin:8.1f} {statistics.mean(second[1] for second in seconds):6.0f} {errors:6.0f} {p99:8.1f} "
                  f"{max(second[2] for second in seconds):8.1f} {p99 / usual:6.2f}", flush=True)
            is_met = keep_figure(f"p99 beside {definition}", p99 / usual, "times", most=RATIO_MOST)
            passed += is_met and errors == 0
            failed += not (is_met and errors == 0)
            time.sleep(3)
    finally:
        if load:
            load.stop()
        environment.close(False)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
