#!/usr/bin/env python3
"""Compares Skarv with a reference server, statement by statement.

    differential.py --skarv PORT --reference PORT --generator PROGRAM [--count N] [--from SEED] [--show N]
    differential.py --skarv PORT --generator PROGRAM --hostile [--count N] [--from SEED]

PROGRAM is `skarv`: `skarv sim --print-statements N --from SEED` prints the statements. Both servers run each of them; values,
errors and affected rows must be equal, or the difference must be explained by a line of explained.txt. Needs PyMySQL
(tests/clients/python/requirements.txt). The last line is "N passed, N failed", counted in statements.

With --hostile there is no reference: the statements are any (most are errors), and none may end its connection or fail
with a fault of the server (1815).

A line of explained.txt: a regular expression over the text "STATEMENT => SKARV <> REFERENCE", a tab, and why the two
differ. Lines that explain nothing in a long run are printed, so that the list does not outlive its reasons.
"""

import argparse
import collections
import io
import math
import os
import re
import subprocess
import sys
import time

import pymysql

HERE = os.path.dirname(os.path.abspath(__file__))
SESSION = ["SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
           "SET sql_mode = ''",
           "SET time_zone = '+00:00'",
           "DROP DATABASE IF EXISTS differential",
           "CREATE DATABASE differential CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
           "USE differential"]




class Server:
    """A session that answers with comparable values."""

    def __init__(self, port):
        # No conversion: texts as they are sent.
        self.connection = pymysql.connect(host="127.0.0.1", port=port, user="root", charset="utf8mb4", conv={},
                                          autocommit=True, read_timeout=60)
        self.cursor = self.connection.cursor()

    def run(self, statement):
        """("rows", rows), ("ok", affected rows) or ("error", number, text)."""
        try:
            affected = self.cursor.execute(statement)
        except pymysql.err.MySQLError as error:
            number, text = error.args if len(error.args) == 2 else (0, str(error))
            if number in (0, 2006, 2013):
                raise
            return ("error", number, text)
        if self.cursor.description is None:
            return ("ok", affected)
        return ("rows", self.cursor.fetchall())

    def must(self, statement):
        result = self.run(statement)
        if result[0] == "error":
            raise SystemExit(f"differential: {result}: {statement}")


def is_number(text):
    return isinstance(text, str) and re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d+)?", text) is not None


def equal_values(a, b):
    if isinstance(a, bytes):
        a = a.decode("utf-8", "surrogateescape")
    if isinstance(b, bytes):
        b = b.decode("utf-8", "surrogateescape")
    if a == b:
        return True
    # Doubles: the last digits depend on the library's functions.
    if is_number(a) and is_number(b) and ("e" in a + b or len(a.split(".")[-1]) > 6 or len(b.split(".")[-1]) > 6):
        return math.isclose(float(a), float(b), rel_tol=1e-12, abs_tol=1e-15)
    return False


def equal(a, b):
    if a[0] != b[0]:
        return False
    if a[0] == "error":
        return a[1] == b[1]
    if a[0] == "ok":
        return a == b
    return len(a[1]) == len(b[1]) and all(len(x) == len(y) and all(map(equal_values, x, y)) for x, y in zip(a[1], b[1]))


def shown(result):
    if result[0] == "rows":
        return repr([list(row) for row in result[1][:6]])
    return repr(result)


def explanations():
    """[(compiled expression, reason)]"""
    found = []
    with open(os.path.join(HERE, "explained.txt"), encoding="utf-8") as file:
        for line in file:
            line = line.rstrip("\n")
            if line and not line.startswith("#"):
                expression, reason = line.split("\t")
                found.append((re.compile(expression, re.DOTALL), reason))
    return found


def is_rounded_quotient(statement, a, b):
    """MariaDB rounds a quotient to its scale before it is used on, so that digits behind the fourth differ."""
    if "/" not in statement or not (a[0] == b[0] == "rows" and len(a[1]) == len(b[1])):
        return False
    pairs = [(v, w) for x, y in zip(a[1], b[1]) for v, w in zip(x, y) if not equal_values(v, w)]
    if all({v, w} == {"0", "1"} for v, w in pairs):
        return True
    return all(is_number(v) and is_number(w) and math.isclose(float(v), float(w), rel_tol=5e-3, abs_tol=5e-4)
               for v, w in pairs)


def first_difference(a, b):
    """The first pair of values that differ, for rows of equal shape."""
    if a[0] == b[0] == "rows" and len(a[1]) == len(b[1]):
        for x, y in zip(a[1], b[1]):
            for column, (v, w) in enumerate(zip(x, y)):
                if not equal_values(v, w):
                    return f"column {column}: {v!r} <> {w!r}"
    return f"{shown(a)} <> {shown(b)}"


def generated(options, *arguments):
    """The lines of the statements."""
    command = [options.generator, "sim"] if os.path.basename(options.generator) == "skarv" else [options.generator]
    command += ["--print-statements", str(options.count), "--from", str(options.seed), *arguments]
    # A statement may have any character but the line feed.
    return io.TextIOWrapper(subprocess.Popen(command, stdout=subprocess.PIPE).stdout, encoding="utf-8", newline="\n")


def hostile(options):
    """Runs statements of any kind; those that change rows are rolled back."""
    skarv = Server(options.skarv)
    for statement in SESSION:
        skarv.must(statement)
    passed = failed = succeeded = 0
    slowest = (0, "")
    for number, line in enumerate(generated(options, "--hostile")):
        kind, statement = line[0], line[2:].rstrip("\n")
        if kind == "T":
            for before in ["ROLLBACK", "SET sql_mode = DEFAULT", "DROP TABLE IF EXISTS t", statement]:
                skarv.must(before)
        elif kind == "R":
            skarv.must(statement)
        else:
            if number % 16 == 0:
                skarv.must("ROLLBACK")
                skarv.must("BEGIN")
            begun = time.monotonic()
            try:
                result = skarv.run(statement)
            except pymysql.err.MySQLError as error:
                print(f"the slowest before took {slowest[0]:.2f} s: {slowest[1]}")
                print(f"the connection ended: {error}: {statement}")
                return 1
            slowest = max(slowest, (time.monotonic() - begun, statement))
            succeeded += result[0] != "error"
            if result[0] == "error" and result[1] == 1815:
                failed += 1
                print(f"a fault: {result[2]}: {statement}")
            else:
                passed += 1
    print(f"{succeeded} statements succeeded; the slowest took {slowest[0]:.2f} s: {slowest[1]}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


ROWS = "SELECT * FROM t ORDER BY id"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skarv", type=int, required=True)
    parser.add_argument("--reference", type=int)
    parser.add_argument("--hostile", action="store_true")
    parser.add_argument("--generator", required=True)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--from", dest="seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=100, help="differences that are printed")
    options = parser.parse_args()
    if options.hostile:
        sys.exit(hostile(options))
    if options.reference is None:
        parser.error("--reference is needed")
    skarv, reference = Server(options.skarv), Server(options.reference)
    for statement in SESSION:
        skarv.must(statement)
        reference.must(statement)
    explained = explanations()
    used = collections.Counter()
    passed = failed = refused = 0
    lines = generated(options)
    # A change that only one server has made would make every later statement differ: the table is made anew behind it.
    table, differs = [], False

    def again():
        for statement in ["DROP TABLE IF EXISTS t"] + table:
            skarv.must(statement)
            reference.must(statement)

    pending = False
    for line in lines:
        kind, statement = line[0], line[2:].rstrip("\n")
        if kind == "T":
            table, pending = [statement], True
            continue
        if kind == "R":
            table.append(statement)
            continue
        if pending or differs:
            again()
            pending = differs = False
        ours, theirs = skarv.run(statement), reference.run(statement)
        if ours[0] == "error" and ours[1] == 1235:
            refused += 1
        if statement.startswith("UPDATE") and ours[0] == theirs[0] == "ok":
            # What was stored, too: the number of rows does not show it.
            ours, theirs = skarv.run(ROWS), reference.run(ROWS)
        if equal(ours, theirs):
            passed += 1
            continue
        differs = not statement.startswith("SELECT")
        text = f"{statement} => {first_difference(ours, theirs)}"
        if is_rounded_quotient(statement, ours, theirs):
            used["the reference rounds a quotient before it is used on"] += 1
            passed += 1
            continue
        for expression, reason in explained:
            if expression.search(text):
                used[reason] += 1
                passed += 1
                break
        else:
            failed += 1
            if failed <= options.show:
                print(f"different: {text}")
    for reason, count in used.most_common():
        print(f"explained {count} times: {reason}")
    if options.count >= 1_000_000:
        for _, reason in explained:
            if not used[reason]:
                print(f"explains nothing: {reason}")
    print(f"{refused} statements were refused by name")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
