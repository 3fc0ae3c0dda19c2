#!/usr/bin/env python3
"""Compares what Skarv does with JSON documents with MySQL 8.0's definition and with MariaDB.

json.sh starts the servers for it.

    json_documents.py --skarv PORT... --reference PORT --cache DIRECTORY --work DIRECTORY
                      [--count N] [--seed SEED] [--jobs N] [--show N]
    json_documents.py --print SEED:NUMBER    the document and its calls; starts no server

Two parts:

- Every file of the public suites (json_suites.py) goes through JSON_VALID, CAST and a JSON column:
  a document is read back as an equal one, everything else is refused with its error.
- N random documents (json_generator.py) go through every function of JSON. Skarv must return
  exactly what the model of MySQL 8.0 (json_model.py) returns. Where MariaDB defines the function,
  too, its result must be the same document, or a line of json_explained.txt must explain the
  difference. The same holds for the order, the groups and the aggregates of DOCUMENTS_PER_TABLE
  documents.

A line of json_explained.txt is searched in texts like these, of which the first value is Skarv's.
The marks are those of `json_generator.marks`, and "wraps" where a path takes a value that is no
array for one:

    FUNCTION [MARK ...] EXPRESSION: 'VALUE' <> 'VALUE'

The last line is "N passed, N failed". Needs PyMySQL (tests/clients/python/requirements.txt).
"""

import argparse
import collections
import itertools
import json
import multiprocessing
import os
import signal
import sys
import time
import traceback

import pymysql

import json_generator
import json_model as model
import json_suites
from differential import INTERNAL_ERROR, SLOW_SECONDS, Server, start_job
from json_generator import Generator, literal
from values import explanations

HERE = os.path.dirname(os.path.abspath(__file__))
EXPLAINED = os.path.join(HERE, "json_explained.txt")
DOCUMENTS_PER_TABLE = 25
# Explained differences that are rarer than one in this many documents may be missing from a run.
DOCUMENTS_MANY = 5000
SHOWN = 1500
INVALID_TEXT = 3141
INVALID_TEXT_OF_COLUMN = 3140
BINARY_CHARSET = 3144

TABLE = "CREATE TABLE documents (id INT PRIMARY KEY, d JSON, t LONGTEXT COLLATE utf8mb4_bin)"


class Session(Server):
    """A session whose answers are ("rows", rows), ("ok", rows changed), ("error", number, text),
    ("fault", text), ("slow", text) or ("ended", text)."""

    def __init__(self, port, database, settings=()):
        self.port, self.database, self.settings = port, database, settings
        super().__init__(port, database)
        for statement in settings:
            self.must(statement)

    def run(self, statement):
        begun = time.monotonic()
        try:
            # Bytes that are no UTF-8 are sent as they are.
            result = super().run(statement.encode("utf-8", "surrogateescape"))
        except pymysql.err.MySQLError as error:
            self.__init__(self.port, self.database, self.settings)
            return ("ended", str(error))
        if time.monotonic() - begun > SLOW_SECONDS:
            return ("slow", f"{time.monotonic() - begun:.0f} s")
        if result[0] == "error" and result[1] == INTERNAL_ERROR:
            return ("fault", result[2])
        return (
            ("rows", [tuple(map(text, row)) for row in result[1]])
            if result[0] == "rows"
            else result
        )


def text(value):
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def cut(value):
    shown = repr(value) if not isinstance(value, str) else value
    return shown if len(shown) <= SHOWN else f"{shown[:SHOWN // 2]} ... {shown[-SHOWN // 2:]}"


class Report:
    def __init__(self):
        self.passed = self.failed = self.statements = 0
        self.used = collections.Counter()
        self.functions = collections.Counter()
        self.compared = collections.Counter()

    def fail(self, options, message):
        self.failed += 1
        if self.failed <= options.show:
            print(f"FAILED {cut(message)}", flush=True)

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.statements += other.statements
        self.used += other.used
        self.functions += other.functions
        self.compared += other.compared


# --- the public suites ---


def judge_suites(options):
    report = Report()
    session = Session(options.skarv[0], "json_suites")
    session.must("CREATE TABLE suites (id INT PRIMARY KEY AUTO_INCREMENT, d JSON)")
    try:
        files = json_suites.files(options.cache, options.work)
    except json_suites.Missing as error:
        report.fail(options, f"the public suites: {error}")
        return report
    for directory, name, content in files:
        problem = suite_problem(
            session, content, json_suites.expected(directory, name, content), report
        )
        if problem:
            report.fail(options, f"{directory}/{name} {content[:100]!r}: {problem}")
        else:
            report.passed += 1
    print(f"{len(files)} files of public suites", flush=True)
    return report


def suite_problem(session, content, expected, report):
    """What is wrong with the treatment of a file, or None."""
    own = literal(content.decode("utf-8", "surrogateescape"))
    valid, cast, inserted = (
        session.run(f"SELECT JSON_VALID({own})"),
        session.run(f"SELECT CAST({own} AS JSON)"),
        session.run(f"INSERT INTO suites (d) VALUES ({own})"),
    )
    report.statements += 3
    if expected == json_suites.ACCEPTED:
        if valid != ("rows", [("1",)]):
            return f"JSON_VALID is {valid}"
        if inserted != ("ok", 1):
            return f"INSERT is {inserted}"
        stored = session.run("SELECT d FROM suites ORDER BY id DESC LIMIT 1")
        value = model.parse(content.decode("utf-8"))
        for how, found in ("CAST", cast), ("the column", stored):
            if found != ("rows", [(model.text(value),)]):
                return f"{how} is {found}, not {model.text(value)!r}"
        return None
    if expected == json_suites.INVALID_TEXT:
        return bytes_problem(session, content, (valid, cast, inserted), report)
    if expected == json_suites.REFUSED:
        wanted = ("rows", [("0",)]), ("error", INVALID_TEXT), ("error", INVALID_TEXT_OF_COLUMN)
    else:
        wanted = [("error", json_suites.TOO_DEEP)] * 3
    for how, one, found in zip(("JSON_VALID", "CAST", "INSERT"), wanted, (valid, cast, inserted)):
        if found[:2] != one:
            return f"{how} is {found}, not {one}"
    return None


def bytes_problem(session, content, answers, report):
    """The same for content that is no UTF-8. Skarv takes such a literal for bytes, which a document
    keeps as a BLOB."""
    valid, cast, inserted = answers
    if valid != ("rows", [("0",)]):
        return f"JSON_VALID is {valid}"
    if cast[0] != "rows" or not cast[1][0][0].startswith('"base64:type15:'):
        return f"CAST is {cast}"
    if inserted[:2] != ("error", BINARY_CHARSET):
        return f"INSERT is {inserted}"
    hexadecimal = content.hex()
    for statement, wanted in [
        (f"SELECT JSON_VALID(CONVERT(X'{hexadecimal}' USING utf8mb4))", None),
        (f"INSERT INTO suites (d) VALUES (CONVERT(X'{hexadecimal}' USING utf8mb4))", None),
        (f"INSERT INTO suites (d) VALUES (X'{hexadecimal}')", BINARY_CHARSET),
        (f"SELECT JSON_DEPTH(X'{hexadecimal}')", BINARY_CHARSET),
        (f"SELECT CAST(_utf8mb4 X'{hexadecimal}' AS JSON)", json_suites.INVALID_TEXT),
    ]:
        found = session.run(statement)
        report.statements += 1
        if found[0] not in ("rows", "ok", "error") or (wanted and found[:2] != ("error", wanted)):
            return f"{statement} is {found}"
    return None


# --- random documents ---


def same(a, b):
    """Whether two documents are equal, whatever the kinds of their numbers are."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(value, b[name]) for name, value in a.items())
    return isinstance(a, bool) == isinstance(b, bool) and a == b


def parsed(value):
    try:
        return json.loads(value, parse_constant=model.no_constant)
    except (ValueError, TypeError):
        return Ellipsis


def equal(compared, ours, theirs):
    """Whether MariaDB's result is the same, where ours is the expected one."""
    if ours == theirs:
        return True
    if ours is None or theirs is None or compared == "text":
        return False
    ours, theirs = parsed(ours), parsed(theirs)
    if compared == "values" and isinstance(ours, list) and isinstance(theirs, list):
        # MariaDB returns the values of all paths in the order of the document, and each once.
        return all(any(same(a, b) for b in theirs) for a in ours) and all(
            any(same(a, b) for a in ours) for b in theirs
        )
    return ours is not Ellipsis and theirs is not Ellipsis and same(ours, theirs)


class Servers:
    def __init__(self, options, index):
        self.options, self.index = options, index
        self.skarv = Session(options.skarv[index % len(options.skarv)], f"json_{index}")
        self.reference = Session(
            options.reference, f"json_{index}", ["SET NAMES utf8mb4 COLLATE utf8mb4_bin"]
        )
        self.load([])

    def load(self, documents):
        for session in self.skarv, self.reference:
            session.must("DROP TABLE IF EXISTS documents")
            session.must(TABLE)
            rows = [f"({number}, {own}, {own})" for number, own in self.texts(session, documents)]
            for start in range(0, len(rows), 5):
                session.must(f"INSERT INTO documents VALUES {', '.join(rows[start:start + 5])}")

    def texts(self, session, documents):
        """MariaDB keeps the text of a document, so it gets the one that MySQL makes of it."""
        if session is self.skarv:
            return [(number, literal(one.text)) for number, one in documents]
        return [
            (number, literal(model.text(one.value)))
            for number, one in documents
            if "deep" not in one.marks
        ]


class Judge:
    """Runs calls on both servers and counts what they show."""

    def __init__(self, options, servers, report):
        self.options, self.servers, self.report = options, servers, report
        self.explained = explanations(EXPLAINED)

    def difference(self, place, call, theirs):
        """MariaDB differs from the expected result."""
        found = (
            f"{call.function} [{' '.join(call.marks)}] {call.sql}: {call.expected!r} <> {theirs!r}"
        )
        for expression, reason in self.explained:
            if expression.search(found):
                self.report.used[reason] += 1
                return
        self.report.passed -= 1
        self.report.fail(self.options, f"{place} {cut(found)}")

    def calls(self, place, number, calls):
        """The calls on one document: all that return something in one statement, and each that is
        refused in a statement of its own."""
        self.report.functions.update(call.function for call in calls)
        calm = [call for call in calls if not isinstance(call.expected, tuple)]
        for call, ours in zip(calm, self.answers(self.servers.skarv, number, calm)):
            self.judge(place, call, ours)
        for call in calls:
            if isinstance(call.expected, tuple):
                found = self.servers.skarv.run(
                    f"SELECT {call.sql} FROM documents WHERE id = {number}"
                )
                self.report.statements += 1
                self.judge(place, call, found[:2])
        shared = [call for call in calm if call.compared and "deep" not in call.marks]
        self.report.compared.update(call.function for call in shared)
        for call, theirs in zip(shared, self.answers(self.servers.reference, number, shared)):
            if not equal(call.compared, call.expected, theirs):
                self.difference(place, call, theirs)

    def judge(self, place, call, ours):
        if ours == call.expected:
            self.report.passed += 1
        else:
            self.report.fail(
                self.options,
                f"{place} {call.function} {cut(call.sql)}: {cut(ours)}, "
                f"MySQL: {cut(call.expected)}",
            )

    def answers(self, session, number, calls):
        """The value of each call, or its error."""
        found = session.run(
            f"SELECT {', '.join(call.sql for call in calls)} FROM documents WHERE id = {number}"
        )
        self.report.statements += 1
        if found[0] == "rows" and len(found[1]) == 1:
            return found[1][0]
        values = []
        for call in calls:
            found = session.run(f"SELECT {call.sql} FROM documents WHERE id = {number}")
            self.report.statements += 1
            values.append(found[1][0][0] if found[0] == "rows" and len(found[1]) == 1 else found)
        return values

    def statement(self, place, statement):
        """A statement of several rows."""
        self.report.functions[statement.function] += 1
        self.report.statements += 1
        found = self.servers.skarv.run(statement.sql)
        rows = rows_of(found, statement.ordered)
        if rows != (
            statement.rows
            if isinstance(statement.rows, tuple)
            else in_order(statement.rows, statement.ordered)
        ):
            self.report.fail(
                self.options,
                f"{place} {cut(statement.sql)}: {cut(rows)}, MySQL: {cut(statement.rows)}",
            )
            return
        self.report.passed += 1
        if (
            statement.compared is None
            or isinstance(statement.rows, tuple)
            or "deep" in statement.marks
        ):
            return
        self.report.compared[statement.function] += 1
        theirs = rows_of(self.servers.reference.run(statement.sql), statement.ordered)
        is_equal = (
            isinstance(theirs, list)
            and len(theirs) == len(rows)
            and all(
                equal(statement.compared, a, b)
                for x, y in zip(rows, theirs)
                for column, (a, b) in enumerate(zip(x, y))
                if column != json_generator.OWN_COLUMN
            )
        )
        if not is_equal:
            call = json_generator.Call(
                statement.function, statement.sql, rows, None, statement.marks
            )
            self.difference(place, call, theirs)


def rows_of(found, ordered):
    return in_order(found[1], ordered) if found[0] == "rows" else found[:2]


def in_order(rows, ordered):
    rows = [list(row) for row in rows]
    return rows if ordered else sorted(rows, key=lambda row: [value or "" for value in row])


def table_statements(documents):
    """Statements over all documents of the table, whose results the order of documents decides."""

    def statement(function, sql, rows, ordered=True):
        return json_generator.Statement(
            function, sql, [tuple(map(str, row)) for row in rows], None, [], ordered
        )

    ordered = sorted(documents, key=lambda one: (model.order_key(one[1].value), one[0]))
    yield statement(
        "ORDER BY", "SELECT id FROM documents ORDER BY d, id", [(number,) for number, _ in ordered]
    )
    reverse = sorted(documents, key=lambda one: (Reversed(one[1].value), one[0]))
    yield statement(
        "ORDER BY",
        "SELECT id FROM documents ORDER BY d DESC, id",
        [(number,) for number, _ in reverse],
    )
    pairs = [
        (n, m, model.compare(a.value, b.value))
        for (n, a), (m, b) in itertools.product(documents, documents)
    ]
    yield statement(
        "comparison",
        "SELECT a.id, b.id, a.d = b.d, a.d < b.d, a.d >= b.d, a.d <=> b.d "
        "FROM documents a, documents b ORDER BY a.id, b.id",
        [(n, m, int(o == 0), int(o < 0), int(o >= 0), int(o == 0)) for n, m, o in pairs],
    )
    yield statement(
        "comparison",
        "SELECT a.id, b.id FROM documents a JOIN documents b ON a.d = b.d ORDER BY a.id, b.id",
        [(n, m) for n, m, o in pairs if o == 0],
    )
    groups = [
        len(list(group))
        for _, group in itertools.groupby(ordered, key=lambda one: model.order_key(one[1].value))
    ]
    yield statement(
        "GROUP BY",
        "SELECT COUNT(*) FROM documents GROUP BY d ORDER BY d",
        [(count,) for count in groups],
    )
    yield statement("DISTINCT", "SELECT COUNT(DISTINCT d) FROM documents", [(len(groups),)])


class Reversed:
    """A document in descending order."""

    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return model.compare(other.value, self.value) < 0

    def __eq__(self, other):
        return model.compare(other.value, self.value) == 0


def aggregates(documents):
    """[(function, expression, its result, how the result is compared)] over the whole table."""
    values = [one.value for _, one in documents]
    extremes = sorted(values, key=model.order_key)
    yield "MIN", "MIN(d)", lambda: extremes[0], "order"
    yield "MAX", "MAX(d)", lambda: extremes[-1], "order"
    yield "JSON_OBJECTAGG", "JSON_OBJECTAGG(CONCAT('k', id), d)", lambda: {
        f"k{n}": one.value for n, one in documents
    }, "text"
    yield "JSON_ARRAYAGG", "JSON_ARRAYAGG(d)", lambda: values, "set"
    yield "JSON_ARRAYAGG", "JSON_ARRAYAGG(JSON_TYPE(d))", lambda: list(
        map(model.type_name, values)
    ), "set"


def judge_aggregates(judge, place, documents):
    report, options = judge.report, judge.options
    for function, sql, result, how in aggregates(documents):
        report.functions[function] += 1
        report.statements += 1
        value, expected = result(), None
        try:
            expected = model.text(value)
        except model.Refused as error:
            expected = ("error", error.number)
        found = judge.servers.skarv.run(f"SELECT {sql} FROM documents")
        found = found[1][0][0] if found[0] == "rows" else found[:2]
        if isinstance(found, str) and how == "set" and isinstance(expected, str):
            is_right = sorted(map(model.text, model.parse(found))) == sorted(map(model.text, value))
        elif isinstance(found, str) and how == "order":
            is_right = model.compare(model.parse(found), value) == 0
        else:
            is_right = found == expected
        if not is_right:
            report.fail(options, f"{place} {sql}: {cut(found)}, MySQL: {cut(expected)}")
            continue
        report.passed += 1
        marks = sorted({mark for _, one in documents for mark in one.marks})
        if how == "order" or "deep" in marks or not isinstance(expected, str):
            continue
        theirs = judge.servers.reference.run(f"SELECT {sql} FROM documents")
        theirs = theirs[1][0][0] if theirs[0] == "rows" else theirs
        report.compared[function] += 1
        own = parsed(theirs)
        if how == "set" and isinstance(own, list) and len(own) == len(value):
            # Each server has an order of its own.
            own, ours = (
                sorted(map(model.text, map(model.parse, map(json.dumps, one))))
                for one in (own, parsed(expected))
            )
            own, ours = map(json.loads, own), map(json.loads, ours)
            is_right = all(map(same, own, ours))
        else:
            is_right = own is not Ellipsis and same(parsed(expected), own)
        if not is_right:
            judge.difference(
                place, json_generator.Call(function, sql, expected, None, marks), theirs
            )


UPDATES = [
    (
        "JSON_SET(d, '$.added', id, '$[1]', NULL)",
        lambda n, v: model.put(
            v, [([("member", "added")], n), ([("cell", 1, False)], None)], True, True
        ),
    ),
    (
        "JSON_REMOVE(d, '$[0]', '$.a', '$.b[last]')",
        lambda n, v: model.remove(
            v, [[("cell", 0, False)], [("member", "a")], [("member", "b"), ("cell", 0, True)]]
        ),
    ),
    (
        "JSON_REPLACE(d, '$[last]', TRUE, '$.c', 'text')",
        lambda n, v: model.put(
            v, [([("cell", 0, True)], True), ([("member", "c")], "text")], False, True
        ),
    ),
    (
        'JSON_MERGE_PATCH(d, \'{"a": null, "b": {"c": 1}}\')',
        lambda n, v: model.merge_patch(v, {"a": None, "b": {"c": 1}}),
    ),
]


def judge_updates(judge, place, documents):
    """Documents that are changed where they are, and read back."""
    session, report = judge.servers.skarv, judge.report
    current = {number: one.value for number, one in documents}
    for sql, change in UPDATES:
        report.functions["UPDATE"] += 1
        report.statements += 2
        try:
            changed = {number: change(number, value) for number, value in current.items()}
            expected = [
                (str(number), model.text(value)) for number, value in sorted(changed.items())
            ]
        except model.Refused as error:
            found = session.run(f"UPDATE documents SET d = {sql}")[:2]
            if found != ("error", error.number):
                report.fail(
                    judge.options,
                    f"{place} UPDATE documents SET d = {sql}: {found}, MySQL: error {error.number}",
                )
            else:
                report.passed += 1
            continue
        session.run(f"UPDATE documents SET d = {sql}")
        found = session.run("SELECT id, d FROM documents ORDER BY id")
        wrong = (
            [(a, b) for a, b in itertools.zip_longest(found[1], expected) if a != b]
            if found[0] == "rows"
            else [(found, expected)]
        )
        if wrong:
            report.fail(
                judge.options,
                f"{place} UPDATE documents SET d = {sql}: {cut(repr(wrong[0][0]))}, "
                f"MySQL: {cut(repr(wrong[0][1]))}",
            )
            session.must("DELETE FROM documents")
            return
        report.passed += 1
        current = changed


def job(options, index):
    """Every `jobs`th table of documents."""
    report = Report()
    servers = None
    for first in range(
        index * DOCUMENTS_PER_TABLE, options.count, options.jobs * DOCUMENTS_PER_TABLE
    ):
        numbers = range(first, min(first + DOCUMENTS_PER_TABLE, options.count))
        try:
            servers = servers or Servers(options, index)
            judge = Judge(options, servers, report)
            generators = {number: Generator(options.seed, number) for number in numbers}
            documents = [(number, generators[number].document()) for number in numbers]
            servers.load(documents)
            for number, document in documents:
                place = f"{options.seed}:{number}"
                judge.calls(place, number, generators[number].calls(document))
                judge.statement(place, generators[number].table(document, number))
            place = f"{options.seed}:{first}-{numbers[-1]}"
            for statement in table_statements(documents):
                judge.statement(place, statement)
            judge_aggregates(judge, place, documents)
            judge_updates(judge, place, documents)
        except Exception:
            report.fail(
                options, f"documents from {options.seed}:{first} ended: {traceback.format_exc()}"
            )
            servers = None
    return report


def show(place):
    seed, number = map(int, place.split(":"))
    generator = Generator(seed, number)
    document = generator.document()
    print(document.text)
    for call in generator.calls(document):
        print(f"{call.function} {call.sql}: {call.expected!r}")
    print(generator.table(document, number))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--skarv", type=int, nargs="+", help="ports of nodes; jobs take them in turn"
    )
    parser.add_argument("--reference", type=int)
    parser.add_argument("--cache", help="directory that keeps the public suites")
    parser.add_argument("--work", help="directory for their download")
    parser.add_argument("--count", type=int, default=10_000, help="random documents")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--jobs", type=int, default=2, help="processes with a connection to each server"
    )
    parser.add_argument("--show", type=int, default=50, help="failures that each job prints")
    parser.add_argument("--print", metavar="SEED:NUMBER")
    options = parser.parse_args()
    if options.print:
        show(options.print)
        return
    if options.reference is None or not options.skarv or not options.cache or not options.work:
        parser.error("--skarv, --reference, --cache and --work are needed")
    # The end of this process ends those of the jobs, which are daemons.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    report = judge_suites(options)
    with multiprocessing.Pool(options.jobs, start_job) as pool:
        for part in pool.starmap(job, [(options, index) for index in range(options.jobs)]):
            report.add(part)
    for reason, count in report.used.most_common():
        print(f"explained {count} times: {reason}")
    if options.count >= DOCUMENTS_MANY:
        for _, reason in explanations(EXPLAINED):
            if not report.used[reason]:
                print(f"explained nothing: {reason}")
    print(
        "results by function:",
        ", ".join(f"{name} {count}" for name, count in sorted(report.functions.items())),
    )
    print(
        f"{sum(report.functions.values())} results against the model, "
        f"{sum(report.compared.values())} of them against MariaDB, {sum(report.used.values())} "
        f"explained; {options.count} documents, {report.statements} statements"
    )
    print(f"{report.passed} passed, {report.failed} failed")
    sys.exit(1 if report.failed or not report.passed else 0)


if __name__ == "__main__":
    main()
