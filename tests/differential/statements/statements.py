#!/usr/bin/env python3
"""Runs the written statements of the .sql files in this directory, one file for each feature.

../statements.sh starts the servers for it.

    statements.py record  --reference PORT                  writes recorded/FEATURE.txt with what MariaDB answers
    statements.py compare --skarv PORT --reference PORT     runs each statement on both and compares the answers
    statements.py check   --skarv PORT                      compares the answers of Skarv with the recorded ones
    options: [--only FEATURE,...] [--show N]

Column names and types, rows, error numbers and numbers of affected rows must be equal, or a line of explained.txt must
explain each difference. Rows are compared in their order where the outermost query has an ORDER BY, and in any order
elsewhere. Each feature starts from schema.sql in a database of its own. Needs PyMySQL
(tests/clients/python/requirements.txt).

A .sql file has one statement on each line, which ends in `;`, and comments:

    -- error 1054                     the next statement fails with this error of MySQL 8.0
    -- error 3593, reference 4015     ... for which MariaDB has another number
    -- error 3065, reference 0        ... which MariaDB does not know
    -- reload                         the tables are loaded anew
    -- anything else                  says what follows

A line of explained.txt: a regular expression, a tab, and why the two servers differ. It is searched in one of these
texts, in each of which the first is Skarv's:

    FEATURE: STATEMENT: column NAME: 'VALUE' <> 'VALUE'
    FEATURE: STATEMENT: column NAME: type TYPE <> TYPE
    FEATURE: STATEMENT: column N: name 'NAME' <> 'NAME'
    FEATURE: STATEMENT: RESULT <> RESULT       any other difference: an error, a number of rows

`record` fails for a statement whose error is not the announced one, and for one whose answer is another where the
tables are stored in another order and the optimizer may do less: such an answer says nothing. The last line is
"N passed, N failed".
"""

import argparse
import collections
import os
import re
import sys

import pymysql

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from differential import MARIADB_MODE, Server  # noqa: E402
from values import explanations  # noqa: E402
from written import (RELOAD, SETTINGS, SQL_MODE, as_recorded, differences, escaped, explanation, features, read_recorded,  # noqa: E402
                     recorded_path, schema, shown, statements)

REFERENCE_MODE = f"{SQL_MODE},{MARIADB_MODE}"
# Tables without an order of their own, filled from the last row to the first, and plans without transformations.
OTHER_PLANS = ["SET default_storage_engine = 'Aria'",
               "SET optimizer_switch = 'derived_merge=off,semijoin=off,materialization=off,index_merge=off,mrr=on'"]


class Session(Server):
    """A session whose results of SELECT have column names: ("rows", names, types, rows)."""

    def __init__(self, port, feature, sql_mode, prepare=(), reverse=False):
        super().__init__(port, f"statements_{feature}", sql_mode)
        for statement in prepare:
            self.must(statement)
        self.schema = list(schema(reverse))
        self.load()

    def run(self, statement):
        result = super().run(statement)
        if result[0] != "rows":
            return result
        _, rows, types = result
        names = [column[0] for column in self.cursor.description]
        return ("rows", names, types, [tuple(map(text, row)) for row in rows])

    def load(self):
        database = self.value("SELECT DATABASE()")
        for statement in [f"DROP DATABASE {database}",
                          f"CREATE DATABASE {database} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
                          f"USE {database}", *self.schema]:
            self.must(statement)

    def value(self, statement):
        return self.run(statement)[3][0][0]


def text(value):
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def expected(statement, result):
    """What MySQL answers where the reference answers this."""
    if statement.error and error_number(result) == statement.reference_error:
        return ("error", statement.error, "")
    return result


def error_number(result):
    return result[1] if result[0] == "error" else 0


def block(statement, result):
    yield f"> {statement}"
    if result[0] == "error":
        yield f"error {result[1]}"
    elif result[0] == "ok":
        yield f"{result[1]} affected"
    else:
        _, names, types, rows = as_recorded(statement, result)
        yield f"{len(rows)} rows: " + "\t".join(f"{escaped(name)} {kind}" for name, kind in zip(names, types))
        for row in rows:
            yield "\t".join(map(escaped, row))
    yield ""


class Report:
    def __init__(self, options):
        self.options = options
        self.passed = self.failed = self.shown = 0
        self.used = collections.Counter()
        self.counts = collections.Counter()

    def fail(self, text):
        self.failed += 1
        self.shown += 1
        if self.shown <= self.options.show:
            print(f"FAILED {text}", flush=True)

    def judge(self, explained, found):
        """Counts a statement, by the differences that nothing explains."""
        for difference in found:
            reason = explanation(explained, difference)
            if reason is None:
                self.fail(difference[0])
                return
            self.used[reason] += 1
        self.passed += 1


def skarv_results(options, feature, source):
    """Runs statements on Skarv: (statement, result). After the end of a connection it goes on with another one."""
    session = Session(options.skarv, feature, SQL_MODE, SETTINGS)
    for statement in source:
        if statement is RELOAD:
            session.load()
            yield RELOAD, None
            continue
        try:
            result = session.run(statement.text)
        except pymysql.err.MySQLError as error:
            result = ("ended", str(error))
            session = Session(options.skarv, feature, SQL_MODE, SETTINGS)
        yield statement, result


def compare(options, report, explained, feature):
    reference = Session(options.reference, feature, REFERENCE_MODE, SETTINGS)
    for statement, ours in skarv_results(options, feature, statements(feature)):
        if statement is RELOAD:
            reference.load()
            continue
        theirs = expected(statement, reference.run(statement.text))
        report.judge(explained, differences(f"{feature}: {statement.text}", statement.text, ours, theirs))


def check(options, report, explained, feature):
    recorded = iter(read_recorded(feature))
    for statement, ours in skarv_results(options, feature, statements(feature)):
        if statement is RELOAD:
            continue
        recorded_text, theirs = next(recorded, (None, None))
        if recorded_text != statement.text:
            report.fail(f"{feature}: recorded/{feature}.txt is not of {feature}.sql; run record: {statement.text}")
            return
        report.judge(explained, differences(f"{feature}: {statement.text}", statement.text, ours, theirs))


def record(options, report, _explained, feature):
    reference = Session(options.reference, feature, REFERENCE_MODE, SETTINGS)
    other = Session(options.reference, f"{feature}_2", REFERENCE_MODE, SETTINGS + OTHER_PLANS, reverse=True)
    # Tables of Aria keep the first rows of a change that fails, so that later answers may differ.
    changed = False
    output = []
    for statement in statements(feature):
        if statement is RELOAD:
            reference.load()
            other.load()
            changed = False
            continue
        changed = changed or re.match(r"UPDATE|DELETE|INSERT|REPLACE", statement.text) is not None
        result = reference.run(statement.text)
        report.counts["statements that fail" if statement.error else "statements that succeed"] += 1
        output += block(statement.text, expected(statement, result))
        place = f"{feature}: {statement.text}"
        if error_number(result) != statement.reference_error:
            report.fail(f"{place}: {shown(result)}, announced is error {statement.reference_error}")
        elif not (changed or statement.error) and (
                found := differences(place, statement.text, result, other.run(statement.text))):
            report.fail(f"with other plans {found[0][0]}")
        else:
            report.passed += 1
    os.makedirs(os.path.dirname(recorded_path(feature)), exist_ok=True)
    with open(recorded_path(feature), "w", encoding="utf-8") as file:
        file.write("\n".join(output))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["record", "compare", "check"])
    parser.add_argument("--skarv", type=int, help="port of a node")
    parser.add_argument("--reference", type=int, help="port of MariaDB")
    parser.add_argument("--only", help="features, with commas between them")
    parser.add_argument("--except", dest="left_out", default="", help="features that are left out")
    parser.add_argument("--show", type=int, default=100, help="failures that are printed")
    options = parser.parse_args()
    for name, modes in [("skarv", ("compare", "check")), ("reference", ("record", "compare"))]:
        if options.mode in modes and getattr(options, name) is None:
            parser.error(f"--{name} is needed")
    explained = explanations(os.path.join(HERE, "explained.txt"))
    run = {"record": record, "compare": compare, "check": check}[options.mode]
    report = Report(options)
    summary = []
    for feature in features(options.only):
        if feature in options.left_out.split(","):
            continue
        before = report.passed, report.failed
        try:
            run(options, report, explained, feature)
        except (pymysql.err.MySQLError, RuntimeError, ValueError, OSError) as error:
            report.fail(f"{feature} ended: {error}")
        summary.append(f"{feature}: {report.passed - before[0]} passed, {report.failed - before[1]} failed")
    print("\n".join(summary))
    for reason, count in report.used.most_common():
        print(f"explained {count} times: {reason}")
    if options.mode != "record" and not options.only:
        for reason in sorted({reason for _, reason in explained} - set(report.used)):
            print(f"explains nothing: {reason}")
    for what, count in sorted(report.counts.items()):
        print(f"{count} {what}")
    print(f"{report.passed} passed, {report.failed} failed")
    sys.exit(1 if report.failed or not report.passed else 0)


if __name__ == "__main__":
    main()
