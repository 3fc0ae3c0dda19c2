#!/usr/bin/env python3
"""Compares the queries of TPC-H: the rows and the time of each on a cluster of Skarv and on MariaDB.

    tpch.py [--binary FILE] [--scale N] [--queries N,N...] [--data-nodes N] [--memory SIZE] [--cache DIR]
            [--timeout SECONDS] [--explain] [--keep] [--no-reference]

--scale         of the rows: 1 is about 1 GB, 6,000,000 rows of lineitem (default 0.01)
--queries       of 1 to 22 (default: all)
--data-nodes    of the cluster (default 2)
--memory        for the rows of each data node (default: 512M up to scale 0.02, 2G up to scale 0.1, 8G above)
--cache         directory that keeps the generated rows for the next run (default: skarv-tpch in the directory of
                temporary files)
--timeout       for each run of a query, in seconds (default 120)
--explain       prints the EXPLAIN of Skarv for each query that takes more than RATIO_SLOW times as long as on MariaDB
--keep          leaves the cluster running, with the rows in the database tpch, and prints its ports
--no-reference  runs the queries on Skarv only; a query passes if it gives no error

tpch/schema.sql has the tables, tpch/NN.sql the queries with the validation parameters of the specification, and
tpch_rows.py generates the rows. MariaDB is the private server of tests/clients/against-mariadb.sh.

The time of a query is the better one of two runs, from the statement to the last row. A query passes if both servers
return the same columns and the same rows. The comment of a query names the columns that order its rows; rows with
equal values in these columns may come in any order. Doubles are equal within FLOAT_TOLERANCE. Decimals that are equal
only within FLOAT_TOLERANCE pass with a note.

The total compares the queries that both servers finished. The last line is "N passed, N failed"; the exit code is 1
if a query failed.
"""

import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from decimal import Decimal

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

try:
    import pymysql
except ImportError:
    # environment.sh provides PyMySQL.
    os.execlp("bash", "bash", "-c", '. "$1/tests/clients/python/environment.sh" && locked install_python && shift && '
              'exec "$venv/bin/python" "$@"', "tpch", ROOT, *sys.argv)

import tpch_rows  # noqa: E402
from reference import Reference  # noqa: E402
from restart import run, run_threads  # noqa: E402

QUERIES = os.path.join(HERE, "tpch")
RUNS = 2
CLIENTS = 2
FLOAT_TOLERANCE = 1e-9
RATIO_SLOW = 2
ROWS_SHOWN = 3
# A server that has not stopped a query by itself this long after its timeout loses the connection.
SECONDS_TO_STOP = 20


class Server:
    """A server with the tables: `addresses` are arguments of connections, one for each of its nodes."""

    def __init__(self, name, addresses, timeout):
        self.name, self.addresses, self.timeout = name, addresses, timeout
        self.session = None

    def connect(self, node=0, **arguments):
        address = self.addresses[node % len(self.addresses)]
        return pymysql.connect(user="root", charset="utf8mb4", autocommit=True, **address, **arguments)

    def load(self, directory):
        """Makes the tables and runs the INSERT statements of the files in `directory`."""
        session = self.connect()
        with session.cursor() as cursor:
            cursor.execute("CREATE DATABASE tpch CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
            cursor.execute("USE tpch")
            for statement in open(os.path.join(QUERIES, "schema.sql")).read().split("\n\n"):
                cursor.execute(statement)
        run_threads(*((self.load_share, directory, client) for client in range(CLIENTS)))
        with session.cursor() as cursor:
            for table in tpch_rows.TABLES:
                cursor.execute(f"ANALYZE TABLE {table}")
        session.close()

    def load_share(self, directory, client):
        session = self.connect(client, database="tpch")
        for table in tpch_rows.TABLES:
            with open(os.path.join(directory, f"{table}.sql"), "rb") as file:
                for number, statement in enumerate(file):
                    if number % CLIENTS == client:
                        session.query(statement)
        session.close()

    def count(self, table):
        with self.connect(database="tpch") as session, session.cursor() as cursor:
            cursor.execute(f"SELECT COUNT(*) FROM {table}")
            return cursor.fetchone()[0]

    def limit(self):
        """The statement that makes the server stop a query after the timeout."""
        if self.name == "MariaDB":
            return f"SET SESSION max_statement_time = {self.timeout}"
        return f"SET SESSION max_execution_time = {self.timeout * 1000}"

    def query(self, statement):
        """Runs a query once. Returns the names of its columns, its rows and the seconds it took."""
        if self.session is None:
            self.session = self.connect(database="tpch", read_timeout=self.timeout + SECONDS_TO_STOP)
            with self.session.cursor() as cursor:
                cursor.execute(self.limit())
        with self.session.cursor() as cursor:
            began = time.monotonic()
            cursor.execute(statement)
            rows = cursor.fetchall()
            took = time.monotonic() - began
            return [column[0] for column in cursor.description], rows, took

    def best(self, statement):
        """Runs a query RUNS times. Returns an Answer."""
        best = math.inf
        for _ in range(RUNS):
            began = time.monotonic()
            try:
                columns, rows, took = self.query(statement)
            except pymysql.MySQLError as error:
                self.drop_session()
                return Answer(error=" ".join(map(str, error.args)), seconds=time.monotonic() - began)
            best = min(best, took)
        return Answer(columns, rows, best)

    def drop_session(self):
        """Ends the session and its statement, which the server may still execute."""
        session, self.session = self.session, None
        if session is None:
            return
        try:
            with self.connect() as other, other.cursor() as cursor:
                cursor.execute(f"KILL {session.thread_id()}")
        except pymysql.MySQLError:
            pass  # The session has ended.
        session._force_close()

    def explain(self, statement):
        try:
            rows = self.query(f"EXPLAIN {statement}")[1]
            return [" | ".join("NULL" if value is None else str(value) for value in row) for row in rows]
        except pymysql.MySQLError as error:
            self.drop_session()
            return [f"EXPLAIN fails: {' '.join(map(str, error.args))}"]


class Answer:
    """The answer of a server to a query: rows or an error."""

    def __init__(self, columns=(), rows=(), seconds=math.inf, error=None):
        self.columns, self.rows, self.seconds, self.error = columns, rows, seconds, error


def is_close(one, other):
    return math.isclose(one, other, rel_tol=FLOAT_TOLERANCE, abs_tol=0)


def compare_values(one, other):
    """"equal", "close" for decimals that are equal within the tolerance only, or "different"."""
    if type(one) is not type(other):
        return "different"
    if isinstance(one, float):
        return "equal" if is_close(one, other) else "different"
    if isinstance(one, Decimal):
        # Scales must be equal as well.
        if str(one) == str(other):
            return "equal"
        return "close" if is_close(one, other) else "different"
    return "equal" if one == other else "different"


def sort_key(row):
    """Rows sort by columns without fractions first, so that close numbers do not change the order."""
    exact = [str(value) for value in row if not isinstance(value, (float, Decimal))]
    return exact, [float(value) for value in row if isinstance(value, (float, Decimal))]


def compare(reference, given, order):
    """Compares two answers whose rows the columns `order` (from 0) sort. Returns lines of differences and of notes."""
    if list(reference.columns) != list(given.columns):
        return [f"columns: expected {reference.columns}", f"columns: given    {given.columns}"], []
    if len(reference.rows) != len(given.rows):
        lines = [f"{len(reference.rows)} rows are expected, {len(given.rows)} are given"]
        missing, extra = Counter(reference.rows) - Counter(given.rows), Counter(given.rows) - Counter(reference.rows)
        lines += [f"missing: {row}" for row in sorted(missing, key=sort_key)[:ROWS_SHOWN]]
        return lines + [f"too many: {row}" for row in sorted(extra, key=sort_key)[:ROWS_SHOWN]], []
    pairs = list(zip(sorted(reference.rows, key=sort_key), sorted(given.rows, key=sort_key)))
    wrong, close = [], set()
    for expected, found in pairs:
        verdicts = [compare_values(one, other) for one, other in zip(expected, found)]
        if "different" in verdicts:
            wrong.append((expected, found))
        close |= {given.columns[index] for index, verdict in enumerate(verdicts) if verdict == "close"}
    if not wrong:
        for number, (expected, found) in enumerate(zip(reference.rows, given.rows)):
            if any(compare_values(expected[column], found[column]) == "different" for column in order):
                return [f"the order differs from row {number + 1}", f"expected: {expected}", f"given:    {found}"], []
    lines = []
    for expected, found in wrong[:ROWS_SHOWN]:
        lines += [f"expected: {expected}", f"given:    {found}"]
    if wrong:
        lines.insert(0, f"{len(wrong)} of {len(pairs)} rows differ")
    return lines, [f"decimals of column {name} differ in their last digits" for name in sorted(close)]


def read_query(number, scale):
    """The statement of a query and the columns, from 0, that order its rows."""
    text = open(os.path.join(QUERIES, f"{number:02}.sql")).read()
    comment, _, statement = text.partition("\n")
    order = re.search(r"Ordered by columns? ([0-9, ]+)\.$", comment)
    if order is None and not comment.endswith("Unordered."):
        sys.exit(f"query {number}: the comment does not name the columns that order the rows")
    columns = [int(column) - 1 for column in order[1].split(",")] if order else []
    return statement.strip().replace("{fraction}", f"{Decimal('0.0001') / Decimal(str(scale)):f}"), columns


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
    parser.add_argument("--binary", default=os.path.join(target, "release", "skarv"))
    parser.add_argument("--scale", type=float, default=0.01)
    parser.add_argument("--queries", default=",".join(map(str, range(1, 23))))
    parser.add_argument("--data-nodes", type=int, default=2)
    parser.add_argument("--memory")
    parser.add_argument("--cache", default=os.path.join(tempfile.gettempdir(), "skarv-tpch"))
    parser.add_argument("--timeout", type=int, default=120)
    parser.add_argument("--explain", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--no-reference", action="store_true")
    options = parser.parse_args()
    options.queries = [int(number) for number in options.queries.split(",")]
    if options.memory is None:
        options.memory = "512M" if options.scale <= 0.02 else "2G" if options.scale <= 0.1 else "8G"
    return options


def start_skarv(options, data):
    run(options.binary, "up", "--detach", "--dir", data, "--port", "0", "--data-nodes", str(options.data_nodes),
        "--memory", options.memory, "--heartbeat-ms", "1000")
    status = json.load(open(os.path.join(data, "cluster.json")))
    addresses = [{"host": "127.0.0.1", "port": node["port"]} for node in status["nodes"] if node["port"]]
    return Server("Skarv", addresses, options.timeout)


def load(server, directory):
    began = time.monotonic()
    server.load(directory)
    counts = ", ".join(f"{server.count(table)} {table}" for table in ("orders", "lineitem"))
    print(f"{server.name}: rows loaded in {time.monotonic() - began:.1f} s ({counts})", flush=True)


def run_query(number, options, skarv, reference):
    """Runs a query and prints its line. Returns whether it passed, and the seconds of both servers if both finished."""
    statement, order = read_query(number, options.scale)
    expected = reference.best(statement) if reference else None
    given = skarv.best(statement)
    details, notes, seconds = [], [], None
    if expected and expected.error:
        verdict = f"MariaDB: {expected.error}"
    if given.error:
        verdict = given.error
    elif expected is None:
        verdict = "OK"
    elif not expected.error:
        details, notes = compare(expected, given, order)
        verdict = "DIFFERENT" if details else "OK"
        seconds = (expected.seconds, given.seconds)
    times = [f"{answer.seconds:9.3f}" if answer else "        -" for answer in (expected, given)]
    ratio = f"{seconds[1] / seconds[0]:8.2f}" if seconds else "       -"
    print(f"{number:5} {' '.join(times)} {ratio} {len(given.rows):8}  {verdict}", flush=True)
    for line in details + notes:
        print(f"       {line}", flush=True)
    if options.explain and not given.error and (seconds is None or RATIO_SLOW < seconds[1] / seconds[0]):
        for line in skarv.explain(statement):
            print(f"       {line}", flush=True)
    return verdict == "OK", seconds


def main():
    options = parse_options()
    began = time.monotonic()
    directory = tpch_rows.directory_of(options.cache, options.scale)
    print(f"scale {options.scale:g}: rows in {directory} after {time.monotonic() - began:.1f} s", flush=True)
    place = tempfile.mkdtemp(prefix="skarv-bench-")
    data = os.path.join(place, "data")
    mariadb = None
    try:
        reference = None
        if not options.no_reference:
            mariadb = Reference()
            reference = Server("MariaDB", [{"unix_socket": mariadb.socket}], options.timeout)
            with reference.connect() as session, session.cursor() as cursor:
                cursor.execute("SET GLOBAL innodb_buffer_pool_size = 1 << 30")
            load(reference, directory)
        skarv = start_skarv(options, data)
        load(skarv, directory)
        if options.keep:
            ports = ", ".join(str(address["port"]) for address in skarv.addresses)
            print(f"the cluster in {data} has the ports {ports}", flush=True)
        print("query   MariaDB     Skarv    ratio     rows", flush=True)
        passed, totals = 0, [0.0, 0.0]
        for number in options.queries:
            is_passed, seconds = run_query(number, options, skarv, reference)
            passed += is_passed
            if seconds:
                totals = [total + part for total, part in zip(totals, seconds)]
        if totals[0]:
            print(f"total {totals[0]:9.3f} {totals[1]:9.3f} {totals[1] / totals[0]:8.2f}")
        failed = len(options.queries) - passed
        print(f"{passed} passed, {failed} failed")
        return 1 if failed else 0
    finally:
        if mariadb:
            mariadb.stop()
        if not options.keep:
            subprocess.run([options.binary, "down", "--dir", data], capture_output=True)
            shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
