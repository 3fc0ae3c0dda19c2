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
import glob
import os
import re
import sys

import pymysql

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from differential import MARIADB_MODE, Server, equal_values, explanations, is_close, is_number  # noqa: E402

SQL_MODE = ("ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,"
            "NO_ENGINE_SUBSTITUTION")
REFERENCE_MODE = f"{SQL_MODE},{MARIADB_MODE}"
# What MySQL has by default.
SETTINGS = ["SET group_concat_max_len = 1024"]
# Tables without an order of their own, filled from the last row to the first, and plans without transformations.
OTHER_PLANS = ["SET default_storage_engine = 'Aria'",
               "SET optimizer_switch = 'derived_merge=off,semijoin=off,materialization=off,index_merge=off,mrr=on'"]
ROWS_SHOWN = 8

Statement = collections.namedtuple("Statement", "text error reference_error")
RELOAD = object()


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


def lines(path):
    with open(path, encoding="utf-8") as file:
        return file.read().split("\n")


def schema(reverse=False):
    for line in lines(os.path.join(HERE, "schema.sql")):
        if line and not line.startswith("--"):
            line = line.removesuffix(";")
            if reverse and line.startswith("INSERT "):
                head, rows = line.split(" VALUES ")
                line = f"{head} VALUES ({'), ('.join(reversed(rows[1:-1].split('), (')))})"
            yield line


def statements(feature):
    """The statements of a feature, and RELOAD."""
    error = 0, 0
    for number, line in enumerate(lines(os.path.join(HERE, f"{feature}.sql")), 1):
        if line == "-- reload":
            yield RELOAD
        elif found := re.fullmatch(r"-- error (\d+)(?:, reference (\d+))?", line):
            error = int(found[1]), int(found[2] or found[1])
        elif line and not line.startswith("--"):
            if not line.endswith(";"):
                raise ValueError(f"{feature}.sql:{number}: no `;` at the end")
            yield Statement(line.removesuffix(";"), *error)
            error = 0, 0


def features(only):
    found = sorted(os.path.basename(path).removesuffix(".sql") for path in glob.glob(f"{HERE}/*.sql"))
    found.remove("schema")
    if only:
        unknown = set(only.split(",")) - set(found)
        if unknown:
            sys.exit(f"no such feature: {', '.join(sorted(unknown))}")
        found = [feature for feature in found if feature in only.split(",")]
    return found


def is_ordered(statement):
    """Whether the outermost query has an ORDER BY: one outside of parentheses, but for those around the whole."""
    outline, depth = "", 0
    # No parenthesis in a text counts.
    statement = re.sub(r"'(?:[^'\\]|\\.|'')*'|`[^`]*`", lambda found: "x" * len(found[0]), statement).strip()
    whole = statement
    while whole.startswith("(") and closing(whole) == len(whole) - 1:
        whole = whole[1:-1].strip()
    for character in whole:
        depth += {"(": 1, ")": -1}.get(character, 0)
        outline += character if depth == 0 else " "
    return re.search(r"\bORDER\s+BY\b", outline, re.IGNORECASE) is not None


def closing(statement):
    """The position of the parenthesis that closes the first one."""
    depth = 0
    for position, character in enumerate(statement):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return position
    return None


def sort_key(row):
    """Rows that are equal to `equal_values` are next to each other: the last digits of doubles do not count."""
    return [("",) if value is None else ("0", f"{float(value):.9e}") if is_number(value) else ("1", value)
            for value in row]


def as_recorded(statement, result):
    """A result whose rows have one order."""
    if result[0] == "rows" and not is_ordered(statement):
        return (*result[:3], sorted(result[3], key=sort_key))
    return result


def shown(result):
    if result[0] == "rows":
        return f"{len(result[3])} rows {[list(row) for row in result[3][:ROWS_SHOWN]]!r}"
    return repr(result)


def differences(place, statement, ours, theirs):
    """[(text, value, value)], each text as explained.txt has it; values where the difference is one of two values."""
    ours, theirs = as_recorded(statement, ours), as_recorded(statement, theirs)
    if not (ours[0] == theirs[0] == "rows" and len(ours[1]) == len(theirs[1]) and len(ours[3]) == len(theirs[3])):
        equal = ours[0] != "rows" and ours[:2] == theirs[:2]
        return [] if equal else [(f"{place}: {shown(ours)} <> {shown(theirs)}", None, None)]
    _, names, types, rows = ours
    found = [f"{place}: column {i}: name {a!r} <> {b!r}" for i, (a, b) in enumerate(zip(names, theirs[1])) if a != b]
    found += [f"{place}: column {name}: type {a} <> {b}" for name, a, b in zip(names, types, theirs[2]) if a != b]
    found = [(text, None, None) for text in found]
    for row, their_row in zip(rows, theirs[3]):
        found += [(f"{place}: column {name}: {a!r} <> {b!r}", a, b) for name, a, b in zip(names, row, their_row)
                  if not equal_values(a, b)]
    return found


ROUNDED_VARIANCE = "MariaDB rounds a deviation or a variance to a few digits"


def is_rounded_variance(text, a, b):
    """Of a value of STDDEV or VARIANCE, to the fourth digit behind the decimal point."""
    return re.search(r"\b(STD|VAR)[A-Z_]*\(", text) is not None and is_close(a, b, rel_tol=0, abs_tol=5e-5)


def explanation(explained, difference):
    if is_rounded_variance(*difference):
        return ROUNDED_VARIANCE
    return next((reason for expression, reason in explained if expression.search(difference[0])), None)


def expected(statement, result):
    """What MySQL answers where the reference answers this."""
    if statement.error and error_number(result) == statement.reference_error:
        return ("error", statement.error, "")
    return result


def error_number(result):
    return result[1] if result[0] == "error" else 0


# The recorded form. A block for each statement:
#
#   > STATEMENT
#   N rows: NAME TYPE, tab, NAME TYPE ...     and the rows, each on a line, with tabs between the values
#   error NUMBER
#   N affected

ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0"}
COLUMN = r"(.*?) ([A-Z_0-9]+(?:\(\d+\))?(?: UNSIGNED)?)"
ESCAPED = {escape: character for character, escape in ESCAPES.items()} | {"\\s": " "}


def escaped(value):
    """A value without spaces at its end; \\N is NULL, \\e an empty text, \\s a space, \\xHH a byte that is no UTF-8."""
    if not value:
        return "\\N" if value is None else "\\e"
    if value.endswith(" "):
        return escaped(value.rstrip(" ")) + "\\s" * (len(value) - len(value.rstrip(" ")))
    return re.sub(r"[\\\t\n\r\0\udc80-\udcff]",
                  lambda found: ESCAPES.get(found[0]) or f"\\x{ord(found[0]) - 0xDC00:02x}", value)


def unescaped(value):
    if value == "\\N":
        return None
    value = value.removeprefix("\\e")
    return re.sub(r"\\(x..|.)", lambda found: ESCAPED.get(found[0]) or chr(0xDC00 + int(found[1][1:], 16)), value)


def recorded_path(feature):
    return os.path.join(HERE, "recorded", f"{feature}.txt")


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


def read_recorded(feature):
    """[(statement, result)]"""
    found = []
    source = iter(lines(recorded_path(feature)))
    for line in source:
        if not line.startswith("> "):
            continue
        head = next(source)
        if head.startswith("error "):
            result = ("error", int(head.removeprefix("error ")), "")
        elif head.endswith(" affected"):
            result = ("ok", int(head.removesuffix(" affected")))
        else:
            count, columns = head.split(" rows: ", 1)
            columns = [re.fullmatch(COLUMN, column) for column in columns.split("\t")]
            rows = [tuple(map(unescaped, next(source).split("\t"))) for _ in range(int(count))]
            result = ("rows", [unescaped(column[1]) for column in columns], [column[2] for column in columns], rows)
        found.append((line[2:], result))
    return found


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
