#!/usr/bin/env python3
"""Compares Skarv with a reference server, statement by statement. run.sh starts the servers.

    differential.py --skarv PORT... --reference PORT --generator PROGRAM [--count N] [--from SEED] [--jobs N] [--show N]
    differential.py --skarv PORT... --generator PROGRAM --hostile [--count N] [--from SEED] [--jobs N]

PROGRAM is `skarv`: `skarv sim --print-statements 10000 --from SEED` prints the statements of a seed. Both servers run each of
them. Values, types, errors and affected rows must be equal, or a line of explained.txt must explain each difference. Needs
PyMySQL (tests/clients/python/requirements.txt).

With --hostile there is no reference: the statements are any (most are errors), and none may end its connection, take longer
than SLOW_SECONDS or fail with a fault of the server (1815).

A line of explained.txt: a regular expression, a tab, and why the two servers differ. It is searched in one of these texts:

    EXPRESSION: 'VALUE' <> 'VALUE'         a value of a column of SELECT, with the item of the select list
    EXPRESSION: type TYPE <> TYPE          the type of this column
    STATEMENT: column N 'VALUE' <> 'VALUE' a value of the table after UPDATE
    STATEMENT: RESULT <> RESULT            any other difference: an error, a number of rows

In each, the first is Skarv's. Lines that explain nothing in a long run are printed, so that the list does not outlive its
reasons. The last line is "N statements passed, N failed".
"""

import argparse
import collections
import heapq
import io
import itertools
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
import traceback
import unicodedata

import pymysql
from pymysql.constants import FIELD_TYPE

from values import equal_values, explanations, is_close, is_number

HERE = os.path.dirname(os.path.abspath(__file__))
EXPLAINED = os.path.join(HERE, "explained.txt")
STATEMENTS_PER_SEED = 10_000
# Explained differences that are rarer than one in this many statements may be missing from a run.
STATEMENTS_MANY = 1_000_000
# A statement that takes longer is a fault. Statements of the generator take milliseconds on an idle machine.
SLOW_SECONDS = 10
SLOWEST_SHOWN = 8
INTERNAL_ERROR = 1815
UNSIGNED_FLAG = 32
# MySQL rounds a fraction of a second to the digits of its type; MariaDB cuts it unless asked.
MARIADB_MODE = "TIME_ROUND_FRACTIONAL"

TYPE_NAMES = {value: name for name, value in vars(FIELD_TYPE).items() if name.isupper() and name not in ("CHAR", "INTERVAL")}
TYPES_WITH_DECIMALS = {FIELD_TYPE.NEWDECIMAL, FIELD_TYPE.TIME, FIELD_TYPE.DATETIME, FIELD_TYPE.TIMESTAMP}


def session(database, sql_mode):
    return ["SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
            f"SET sql_mode = '{sql_mode}'",
            "SET time_zone = '+00:00'",
            f"DROP DATABASE IF EXISTS {database}",
            f"CREATE DATABASE {database} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
            f"USE {database}"]


class Server:
    """A session that answers with comparable values."""

    def __init__(self, port, database, sql_mode=""):
        # No conversion: texts as they are sent.
        self.connection = pymysql.connect(host="127.0.0.1", port=port, user="root", charset="utf8mb4", conv={},
                                          autocommit=True, read_timeout=60)
        self.cursor = self.connection.cursor()
        for statement in session(database, sql_mode):
            self.must(statement)

    def run(self, statement):
        """("rows", rows, types), ("ok", affected rows) or ("error", number, text)."""
        try:
            affected = self.cursor.execute(statement)
        except pymysql.err.MySQLError as error:
            number, text = error.args if len(error.args) == 2 else (0, str(error))
            if number in (0, 2006, 2013):
                raise
            return ("error", number, text)
        if self.cursor.description is None:
            return ("ok", affected)
        return ("rows", self.cursor.fetchall(), [type_of(field) for field in self.connection._result.fields])

    def must(self, statement):
        result = self.run(statement)
        if result[0] == "error":
            raise RuntimeError(f"{result}: {statement}")


def type_of(field):
    """The type that the metadata of a result announce: its code, whether it is unsigned, and its decimals where a value has
    a fixed number of them."""
    name = TYPE_NAMES.get(field.type_code, str(field.type_code))
    if field.type_code in TYPES_WITH_DECIMALS:
        name += f"({field.scale})"
    if field.type_code not in TYPES_WITH_DECIMALS | {FIELD_TYPE.DATE, FIELD_TYPE.YEAR} and field.flags & UNSIGNED_FLAG:
        name += " UNSIGNED"
    return name


def shown(result):
    if result[0] == "rows":
        return repr([list(row) for row in result[1][:6]])
    return repr(result)


def select_items(statement):
    """The items of the select list, the first with DISTINCT, without their aliases; None for another statement."""
    if not statement.startswith("SELECT "):
        return None
    items, depth, quote, start = [], 0, None, len("SELECT ")
    for position, character in enumerate(statement):
        if quote:
            if character == quote:
                quote = None
        elif character == "'":
            quote = character
        elif character in "()":
            depth += 1 if character == "(" else -1
        elif depth == 0 and (character == "," or statement.startswith(" FROM ", position)):
            items.append(re.sub(r" AS \w+$", "", statement[start:position].strip()))
            start = position + 1
            if character != ",":
                return items
    return None


def differences(statement, a, b):
    """[(text, value, value)], each text as explained.txt has it; values where the difference is one of two values."""
    found = []
    if a[0] == b[0] == "rows" and len(a[1]) == len(b[1]) and len(a[2]) == len(b[2]):
        items = select_items(statement)
        places = [item + ":" for item in items] if items else [f"{statement}: column {i}" for i in range(len(a[2]))]
        for place, v, w in zip(places, a[2], b[2]):
            if v != w:
                found.append((f"{place} type {v} <> {w}", None, None))
        for x, y in zip(a[1], b[1]):
            for place, v, w in zip(places, x, y):
                if not equal_values(v, w):
                    found.append((f"{place} {v!r} <> {w!r}", v, w))
        return found
    if a[:2] != b[:2]:
        found.append((f"{statement}: {shown(a)} <> {shown(b)}", None, None))
    return found


ROUNDED_QUOTIENT = "MariaDB rounds a quotient to its scale before it is used on, MySQL keeps more digits"


def is_rounded_quotient(text, v, w):
    """Of a value whose expression divides: digits behind the fourth differ, or a comparison of them."""
    if v is None or w is None or "/" not in text.rpartition(": ")[0]:
        return False
    return {v, w} == {"0", "1"} or is_close(v, w, rel_tol=5e-3, abs_tol=5e-4)


# (part of the expression, largest relative difference of the two numbers, reason)
CLOSE_NUMBERS = [
    # The values that the generator makes reach 10^11 at a variance of 10^6, where a DOUBLE loses the sixth digit of it.
    (r"\b(STD|VARIANCE)\(", 1e-5, "the last digits of a variance depend on how it is summed up"),
    # Half a second of a day, squared.
    (r"\bTIME_TO_SEC\(", 5e-5, "TIME_TO_SEC cuts the fraction in MySQL, and has it in MariaDB"),
]


def close_numbers(text, v, w):
    """The reason why two numbers that are nearly the same differ."""
    return next(
        (reason for part, rel_tol, reason in CLOSE_NUMBERS if re.search(part, text) and is_close(v, w, rel_tol=rel_tol)), None
    )


ANY_OF_EQUAL_TEXTS = "DISTINCT keeps any one of equal texts"


def is_any_of_equal_texts(text, v, w):
    """Of a value of DISTINCT: texts that differ in accents, in case or in spaces at their end."""
    if not (text.startswith("DISTINCT ") and isinstance(v, str) and isinstance(w, str)):
        return False
    letters = [unicodedata.normalize("NFD", side.rstrip(" ")).casefold() for side in (v, w)]
    first, second = ("".join(filter(str.isascii, side)) for side in letters)
    return first == second


def explanation(explained, difference):
    if is_rounded_quotient(*difference):
        return ROUNDED_QUOTIENT
    if is_any_of_equal_texts(*difference):
        return ANY_OF_EQUAL_TEXTS
    if reason := close_numbers(*difference):
        return reason
    return next((reason for expression, reason in explained if expression.search(difference[0])), None)


def generated(options, seed, count):
    """The lines of the statements of a seed."""
    command = [options.generator, "sim", "--print-statements", str(count), "--from", str(seed)]
    command += ["--hostile"] if options.hostile else []
    # A statement may have any character but the line feed.
    return io.TextIOWrapper(subprocess.Popen(command, stdout=subprocess.PIPE).stdout, encoding="utf-8", newline="\n")


class Report:
    """What the statements of some seeds have given."""

    def __init__(self):
        self.passed = self.failed = self.succeeded = self.refused = 0
        self.slowest = []
        self.used = collections.Counter()

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.succeeded += other.succeeded
        self.refused += other.refused
        self.slowest = heapq.nlargest(SLOWEST_SHOWN, self.slowest + other.slowest)
        self.used += other.used

    def fail(self, options, text):
        self.failed += 1
        if self.failed <= options.show:
            # One write: several processes print.
            sys.stdout.write(f"FAILED {text}\n")
            sys.stdout.flush()

    def note(self, result, begun, statement):
        self.succeeded += result[0] != "error"
        # 1235: refused by name, as Skarv does not have it.
        self.refused += result[0] == "error" and result[1] == 1235
        self.slowest = heapq.nlargest(SLOWEST_SHOWN, [*self.slowest, (time.monotonic() - begun, statement)])


def hostile(options, report, skarv, seed, count):
    """Runs statements of any kind; those that change rows are rolled back."""
    for number, line in enumerate(generated(options, seed, count)):
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
                report.fail(options, f"connection ended: seed {seed}: {error}: {statement}")
                raise
            report.note(result, begun, statement)
            seconds = time.monotonic() - begun
            if result[0] == "error" and result[1] == INTERNAL_ERROR:
                report.fail(options, f"internal error: seed {seed}: {result[2]}: {statement}")
            elif seconds > SLOW_SECONDS:
                report.fail(options, f"slow statement: seed {seed}: {seconds:.1f} s: {statement}")
            else:
                report.passed += 1


ROWS = "SELECT * FROM t ORDER BY id"


def compare(options, report, skarv, reference, explained, seed, count):
    # A change that only one server has made would make every later statement differ: the table is made anew behind it.
    table, rebuild = [], False
    for line in generated(options, seed, count):
        kind, statement = line[0], line[2:].rstrip("\n")
        if kind == "T":
            table, rebuild = [statement], True
            continue
        if kind == "R":
            table.append(statement)
            continue
        if rebuild:
            for before in ["DROP TABLE IF EXISTS t"] + table:
                skarv.must(before)
                reference.must(before)
        begun = time.monotonic()
        ours = skarv.run(statement)
        report.note(ours, begun, statement)
        theirs = reference.run(statement)
        if statement.startswith("UPDATE") and ours[0] == theirs[0] == "ok":
            # What was stored, too: the number of rows does not show it.
            ours, theirs = skarv.run(ROWS), reference.run(ROWS)
        found = differences(statement, ours, theirs)
        rebuild = bool(found) and not statement.startswith("SELECT")
        for difference in found:
            reason = explanation(explained, difference)
            if reason is None:
                report.fail(options, f"difference: seed {seed}: {difference[0]}: {statement}")
                break
            report.used[reason] += 1
        else:
            report.passed += 1


def job(options, index):
    """Runs every `options.jobs`th seed, from the one of this index."""
    report = Report()
    database = f"differential_{index}"
    try:
        skarv = Server(options.skarv[index % len(options.skarv)], database)
        reference = None if options.hostile else Server(options.reference, database, MARIADB_MODE)
        explained = explanations(EXPLAINED)
        chunks = [(options.seed + start // STATEMENTS_PER_SEED, min(STATEMENTS_PER_SEED, options.count - start))
                  for start in range(0, options.count, STATEMENTS_PER_SEED)]
        for seed, count in chunks[index::options.jobs]:
            if options.hostile:
                hostile(options, report, skarv, seed, count)
            else:
                compare(options, report, skarv, reference, explained, seed, count)
    except Exception:
        report.fail(options, f"job {index} ended: {traceback.format_exc()}")
    return report


def start_job():
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skarv", type=int, nargs="+", required=True, help="ports of nodes; jobs take them in turn")
    parser.add_argument("--reference", type=int)
    parser.add_argument("--hostile", action="store_true")
    parser.add_argument("--generator", required=True)
    parser.add_argument("--count", type=int, default=STATEMENTS_PER_SEED)
    parser.add_argument("--from", dest="seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes with a connection to each server")
    parser.add_argument("--show", type=int, default=100, help="failures that each job prints")
    options = parser.parse_args()
    if options.reference is None and not options.hostile:
        parser.error("--reference is needed")
    # The end of this process ends those of the jobs, which are daemons.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    begun = time.monotonic()
    report = Report()
    with multiprocessing.Pool(options.jobs, start_job) as pool:
        for part in pool.starmap(job, zip(itertools.repeat(options), range(options.jobs))):
            report.add(part)
    for reason, count in report.used.most_common():
        print(f"explained {count} times: {reason}")
    if options.count >= STATEMENTS_MANY and not options.hostile:
        for reason in sorted({reason for _, reason in explanations(EXPLAINED)} - set(report.used)):
            print(f"explains nothing: {reason}")
    print(f"{report.succeeded} statements succeeded, {report.refused} were refused by name")
    print(f"{options.count / (time.monotonic() - begun):.0f} statements a second; the slowest:")
    for seconds, statement in report.slowest:
        print(f"{seconds:.2f} s: {statement}")
    print(f"{report.passed} statements passed, {report.failed} failed")
    sys.exit(1 if report.failed or not report.passed else 0)


if __name__ == "__main__":
    main()
