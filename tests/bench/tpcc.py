#!/usr/bin/env python3
"""Runs TPC-C on a cluster of Skarv and on MariaDB: compares the new orders per minute, and checks the consistency of both.

    tpcc.py [--binary FILE] [--warehouses N] [--seconds N] [--warmup N] [--connections N] [--isolation LEVEL] [--mix N,N,N,N,N]
            [--seed N] [--items N] [--customers N] [--data-nodes N] [--memory SIZE] [--durability LEVEL] [--threads N]
            [--dir DIR] [--small] [--keep] [--no-reference]

--warehouses    of the database (default 2); each has 100,000 items in stock and 30,000 customers, about 100 MB
--seconds       of the measured time of each server (default 60), which follows --warmup seconds (default 10)
--connections   sessions without think times, spread over all data nodes and warehouses (default 16)
--isolation     level of the sessions (default REPEATABLE READ)
--mix           shares of New-Order, Payment, Order-Status, Delivery and Stock-Level (default 45,43,4,4,4)
--seed          of all random choices (default 1)
--items         of the catalogue (default 100000); fewer make a smaller database, whose figures mean nothing
--customers     of each district (default 3000)
--data-nodes    of the cluster (default 2)
--memory        for the rows of each data node (default: 512M and 512M for each warehouse)
--durability    level of the cluster (default durable_when_alone, which is that of `skarv up`)
--threads       of the driver (default 1)
--dir           where the cluster is made (default: a temporary directory)
--small         the form that only checks: 1 warehouse, 1000 items, 60 customers, 5 seconds, on Skarv
--keep          leaves the cluster running, with the rows in the database tpcc, and prints its ports
--no-reference  runs Skarv only

tests/clients/go/tpcc is the driver: the five transactions of clause 2 (New-Order 45 %, Payment 43 %, the others 4 % each)
with prepared statements, the population of clause 4.3.3, and the consistency conditions 1 to 12 of clause 3.3.2. These are
checked after the load and after each run, on each data node, and the replicas of each table must be equal. The driver also
compares what the server acknowledged with what the tables have gained. It executes a transaction again after a deadlock
(1213) or a lock wait timeout (1205); the table has the count of both.

One server runs at a time, on unix sockets. MariaDB is the private server of tests/clients/against-mariadb.sh with a buffer
pool that holds all rows; it runs with innodb_flush_log_at_trx_commit = 1 (its default: a sync for each commit), then with 2
(a sync each second). The bar is the rate of Skarv relative to MariaDB at 1.

Cores: the time of the cores, in seconds for each second, that the servers and the driver used; and the time of the servers
for each new order, with its share of the other transactions.

The last line is "N passed, N failed"; the exit code is 1 if a check or the bar failed.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from reference import ROOT, Reference
from restart import client, run

sys.path.insert(0, os.path.join(ROOT, "tests", "system"))
from cluster import keep_figure  # noqa: E402

RATIO_LEAST = 1.5
SMALL = {"warehouses": 1, "items": 1000, "customers": 60, "seconds": 5, "warmup": 0, "no_reference": True}
TABLES = ["warehouse", "district", "customer", "history", "new_order", "orders", "order_line", "item", "stock"]
KINDS = ["New-Order", "Payment", "Order-Status", "Delivery", "Stock-Level"]


def build_driver(directory):
    settings = dict(os.environ, GOTOOLCHAIN="local", GOFLAGS="-mod=readonly -buildvcs=false")
    path = os.path.join(directory, "driver")
    subprocess.run(["go", "build", "-o", path, "./tpcc"], check=True, env=settings,
                   cwd=os.path.join(ROOT, "tests", "clients", "go"))
    return path


class Bench:
    """The driver, its options, and the count of checks."""

    def __init__(self, options, driver):
        self.options, self.driver = options, driver
        self.passed = self.failed = 0

    def count(self, is_passed, what=""):
        self.passed += is_passed
        self.failed += not is_passed
        if not is_passed:
            print(f"FAILED {what}", flush=True)

    def drive(self, mode, sockets, *flags):
        """Runs a mode of the driver. Returns whether it succeeded, and its output."""
        options = self.options
        command = [self.driver, mode, "--tls", "off", *flags]
        for name in ("warehouses", "items", "customers", "seed", "connections", "isolation", "mix", "seconds", "warmup", "threads"):
            command += [f"--{name}", str(getattr(options, name))]
        result = subprocess.run([*command, *sockets], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
        return result.returncode == 0, result.stdout

    def load(self, name, sockets):
        is_loaded, output = self.drive("load", sockets)
        if not is_loaded:
            sys.exit(f"{name}: {output}")
        print(f"{name}: {output.strip()}", flush=True)

    def check(self, name, sockets):
        """Checks the consistency conditions."""
        _, output = self.drive("check", sockets)
        totals = re.search(r"^(\d+) passed, (\d+) failed$", output, re.MULTILINE)
        if totals is None or totals[2] != "0":
            print(output.strip(), flush=True)
        passed, failed = map(int, totals.groups()) if totals else (0, 1)
        self.passed += passed
        self.failed += failed
        slowest = re.search(r"^slowest: .*$", output, re.MULTILINE)
        print(f"{name}: {passed} of {passed + failed} consistency conditions hold; {slowest and slowest[0]}", flush=True)

    def run(self, name, sockets, pids):
        """Runs the transactions, and prints and returns their figures; None after a failure."""
        is_over, output = self.drive("run", sockets, "--pids", ",".join(map(str, pids)))
        found = re.search(r"^\{.*\}$", output, re.MULTILINE)
        self.count(is_over and found is not None, f"{name}: {output[-3000:].strip()}")
        if found is None:
            return None
        figures = json.loads(found[0])
        servers, driver = figures["server_cores_s"], figures["driver_cores_s"]
        print(f"{name}: {figures['new_orders_per_minute']:.0f} new orders per minute; cores: servers "
              f"{servers / figures['seconds']:.2f}, driver {driver / figures['seconds']:.2f}; for a new order "
              f"{1000 * servers / max(figures['transactions']['New-Order']['count'], 1):.2f} ms of the servers", flush=True)
        print(f"    {'':14} {'committed':>9} {'p50 ms':>8} {'p95 ms':>8} {'max ms':>8} {'1213':>6} {'1205':>6}")
        for kind in KINDS:
            of = figures["transactions"][kind]
            refused = of["refused"] or {}
            print(f"    {kind:14} {of['count']:9} {of['p50_ms']:8.1f} {of['p95_ms']:8.1f} {of['max_ms']:8.1f} "
                  f"{refused.get('1213', 0):6} {refused.get('1205', 0):6}", flush=True)
        print(f"    {figures['rolled_back']} New-Orders rolled back by the client", flush=True)
        return figures


def run_mariadb(bench):
    """The new orders per minute by innodb_flush_log_at_trx_commit."""
    reference, rates = Reference(), {}
    try:
        def sql(statement):
            return run(*client(reference.socket), f"--execute={statement}").strip()
        sql(f"SET GLOBAL innodb_buffer_pool_size = {1 + bench.options.warehouses // 2} << 30")
        sql("SET GLOBAL innodb_log_file_size = 1 << 30")
        pid = int(open(sql("SELECT @@pid_file")).read())
        name = f"MariaDB {re.search(r'Ver ([0-9.]+)', run('mariadbd', '--version'))[1]}"
        sockets = [reference.socket]
        bench.load(name, sockets)
        bench.check(name, sockets)
        for flush in (1, 2):
            sql(f"SET GLOBAL innodb_flush_log_at_trx_commit = {flush}")
            what = f"{name}, innodb_flush_log_at_trx_commit = {sql('SELECT @@innodb_flush_log_at_trx_commit')}"
            figures = bench.run(what, sockets, [pid])
            rates[flush] = figures and figures["new_orders_per_minute"]
            bench.check(what, sockets)
    finally:
        reference.stop()
    return rates


def run_skarv(bench, data):
    """The new orders per minute."""
    options = bench.options
    run(options.binary, "up", "--detach", "--dir", data, "--port", "0", "--data-nodes", str(options.data_nodes),
        "--memory", options.memory, "--durability", options.durability, "--heartbeat-ms", "1000")
    status = json.load(open(os.path.join(data, "cluster.json")))
    sockets = [node["socket"] for node in status["nodes"] if node["socket"]]
    if options.keep:
        ports = ", ".join(str(node["port"]) for node in status["nodes"] if node["port"])
        print(f"the cluster in {data} has the ports {ports}", flush=True)
    name = f"Skarv, {len(sockets)} data nodes, durability {options.durability}"
    bench.load(name, sockets)
    bench.check(name, sockets)
    figures = bench.run(name, sockets, [node["pid"] for node in status["nodes"]])
    bench.check(name, sockets)
    for table in TABLES:
        result = subprocess.run([options.binary, "desc", "--dir", data, f"tpcc.{table}"], capture_output=True, text=True)
        last = (result.stdout.splitlines() or [""])[-1]
        bench.count(last.startswith("replicas agree"), f"{name}, {table}: {last}{result.stderr}")
    return figures and figures["new_orders_per_minute"]


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
    parser.add_argument("--binary", default=os.path.join(target, "release", "skarv"))
    for name, default in (("warehouses", 2), ("connections", 16), ("seed", 1), ("items", 100_000), ("customers", 3000),
                          ("data-nodes", 2), ("threads", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--warmup", type=float, default=10)
    parser.add_argument("--isolation", default="REPEATABLE READ")
    parser.add_argument("--mix", default="45,43,4,4,4")
    parser.add_argument("--memory")
    parser.add_argument("--durability", default="durable_when_alone")
    parser.add_argument("--dir")
    for name in ("small", "keep", "no-reference"):
        parser.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    if options.small:
        vars(options).update(SMALL)
    if options.memory is None:
        options.memory = f"{512 * (1 + options.warehouses)}M"
    return options


def main():
    options = parse_options()
    place = options.dir or tempfile.mkdtemp(prefix="skarv-bench-")
    os.makedirs(place, exist_ok=True)
    data = os.path.join(place, "data")
    with tempfile.TemporaryDirectory(prefix="skarv-tpcc-") as directory:
        bench = Bench(options, build_driver(directory))
        rates = {} if options.no_reference else run_mariadb(bench)
        try:
            rate = run_skarv(bench, data)
        finally:
            if not options.keep:
                subprocess.run([options.binary, "down", "--dir", data], capture_output=True)
                shutil.rmtree(data if options.dir else place, ignore_errors=True)
    if rate and all(rates.values()):
        for flush, of_mariadb in rates.items():
            print(f"new orders per minute: Skarv {rate:.0f}, MariaDB {of_mariadb:.0f} with innodb_flush_log_at_trx_commit = "
                  f"{flush}: {rate / of_mariadb:.2f} times", flush=True)
        if rates:
            bench.count(keep_figure("new orders of TPC-C, relative to MariaDB", rate / rates[1], "times", least=RATIO_LEAST),
                        "the bar")
    print(f"{bench.passed} passed, {bench.failed} failed")
    return 1 if bench.failed or not bench.passed else 0


if __name__ == "__main__":
    sys.exit(main())
