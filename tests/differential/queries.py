#!/usr/bin/env python3
"""Compares what Skarv and MariaDB answer to generated queries over 2 to 5 tables (query_generator.py).

queries.sh starts the servers for it.

    queries.py --skarv PORT... --reference PORT [--count N] [--from SEED] [--jobs N] [--show N] [--little-memory]
    queries.py --skarv PORT... --reference PORT --reduce SEED:NUMBER
    queries.py --print SEED[:NUMBER]        the schema with its rows, and the statement

A seed stands for a schema and QUERIES_PER_SEED statements over it: queries, changes (INSERT ... SELECT, REPLACE, UPDATE
and DELETE, also of several tables) and statements that are wrong. Both servers must agree on names and types of
columns, rows, error numbers, numbers of affected rows, and the tables after a change; or an explanation must fit. Rows
are compared in their order where the outermost ORDER BY is total. A change is rolled back. A statement that Skarv
answers with a fault of the server (1815), with the end of the connection, or after SLOW_SECONDS fails. MariaDB is
started again when a query has crashed it (--reference-config). Needs PyMySQL (tests/clients/python/requirements.txt).

`--reduce` cuts rows, tables, keys, columns and parts of the statement off while the difference stays.

A difference is explained by a line of explained.txt, statements/explained.txt or queries_explained.txt, whose
expression is searched in the texts that statements/statements.py describes (SEED:NUMBER stands for the feature), or by
one of these:

- MariaDB answers as Skarv when its optimizer transforms nothing: then MariaDB's answer depends on the plan.
- The texts of a column differ as equal texts may: after DISTINCT, GROUP BY, set operations, MIN and MAX.
- A scalar subquery of several rows (1242), or an unsigned number out of range (1690), fails where a plan evaluates it.
- MariaDB rounds a relative rank, an average or a deviation.
- MariaDB crashes, or does not end.

The last line is "N passed, N failed".
"""

import argparse
import collections
import itertools
import multiprocessing
import os
import re
import signal
import socket
import subprocess
import sys
import time
import traceback
import unicodedata

import pymysql

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "statements"))
import query_generator  # noqa: E402
from differential import INTERNAL_ERROR, MARIADB_MODE, SLOW_SECONDS, Server, start_job  # noqa: E402
from query_generator import QUERIES_PER_SEED, Node  # noqa: E402
from statements import text  # noqa: E402
from values import equal_values, explanations, is_close, is_number  # noqa: E402
from written import SETTINGS, SQL_MODE, is_ordered, is_rounded_variance  # noqa: E402

# MariaDB knows fewer functional dependencies than MySQL. Statements that ONLY_FULL_GROUP_BY refuses name their error.
REFERENCE_MODE = f"{SQL_MODE.removeprefix('ONLY_FULL_GROUP_BY,')},{MARIADB_MODE}"
REFERENCE_SECONDS = 10
RESTART_SECONDS = 60
REFERENCE_SETTINGS = [*SETTINGS, f"SET max_statement_time = {REFERENCE_SECONDS}"]
TIMED_OUT = 1969
# Nearly everything that a statement of Skarv holds goes through temporary files then; the rest ends with this error.
LITTLE_MEMORY = "SET SESSION tmp_table_size = 1024"
OUT_OF_MEMORY = 1038
PLAIN_PLANS = ("SET optimizer_switch = 'derived_merge=off,derived_with_keys=off,semijoin=off,materialization=off,"
               "index_merge=off,in_to_exists=on,subquery_cache=off,outer_join_with_cache=off,exists_to_in=off,"
               "condition_pushdown_for_derived=off,condition_pushdown_for_subquery=off,split_materialized=off,"
               "condition_pushdown_from_having=off,table_elimination=off,rowid_filter=off,not_null_range_scan=off'")
OTHER_PLANS = PLAIN_PLANS.replace("in_to_exists=on", "in_to_exists=off").replace(
    "materialization=off,i", "materialization=on,i")
ROWS_SHOWN = 8


class Session(Server):
    """A session whose results of SELECT have column names: ("rows", names, types, rows)."""

    def __init__(self, port, database, sql_mode, settings):
        super().__init__(port, database, sql_mode)
        self.database = database
        for statement in settings:
            self.must(statement)

    def run(self, statement):
        result = super().run(statement)
        if result[0] != "rows":
            return result
        names = [column[0] for column in self.cursor.description]
        return ("rows", names, result[2], [tuple(map(text, row)) for row in result[1]])

    def load(self, schema):
        for statement in [f"DROP DATABASE {self.database}",
                          f"CREATE DATABASE {self.database} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
                          f"USE {self.database}", *schema.statements()]:
            self.must(statement)

    def change(self, statement, tables):
        """(result, contents of the tables): then the change is undone."""
        self.must("BEGIN")
        try:
            result = self.run(statement)
            return result, [self.run(f"SELECT * FROM {table}")[3] for table in tables]
        finally:
            self.must("ROLLBACK")


class Ended(Exception):
    """Skarv has closed the connection, or has not answered."""


class Servers:
    """A connection to each server, with one schema on both."""

    def __init__(self, options, index, restarts=None):
        self.options, self.index, self.restarts = options, index, restarts
        self.schema = None
        self.databases = 0
        self.connect()
        self.connect_reference()

    def connect(self):
        port = self.options.skarv[self.index % len(self.options.skarv)]
        settings = [*SETTINGS, LITTLE_MEMORY] if self.options.little_memory else SETTINGS
        self.skarv = Session(port, f"{self.options.database}_{self.index}", SQL_MODE, settings)
        if self.schema:
            self.skarv.load(self.schema)

    def connect_reference(self):
        # A query that MariaDB cannot end locks the tables of the database before.
        self.databases += 1
        database = f"{self.options.database}_{self.index}_{self.databases}"
        deadline = time.monotonic() + RESTART_SECONDS
        while True:
            try:
                self.reference = Session(self.options.reference, database, REFERENCE_MODE, REFERENCE_SETTINGS)
                break
            except pymysql.err.OperationalError:
                if time.monotonic() > deadline:
                    raise
                if self.restarts:
                    self.restarts.check()
                time.sleep(0.5)
        self.reference.connection._read_timeout = 2 * REFERENCE_SECONDS
        if self.schema:
            self.reference.load(self.schema)

    def load(self, schema):
        self.schema = schema
        self.skarv.load(schema)
        self.reference.load(schema)

    def both(self, statement):
        """(Skarv's answer, MariaDB's): each is (result, contents of tables)"""
        tables = [table.name for table in self.schema.tables] if statement.kind == "change" else []
        begun = time.monotonic()
        try:
            ours = run(self.skarv, statement, tables)
        except pymysql.err.MySQLError as error:
            ours = ("ended", str(error)), []
            self.connect()
        if time.monotonic() - begun > SLOW_SECONDS:
            ours = ("slow", f"{time.monotonic() - begun:.0f} s"), []
        try:
            theirs = run(self.reference, statement, tables)
        except pymysql.err.MySQLError:
            theirs = ("lost",), []
            self.connect_reference()
        return ours, theirs

    def other_answers(self, statement):
        """MariaDB's answers with other plans."""
        if statement.kind != "query":
            return
        before = self.reference.run("SELECT @@optimizer_switch")[3][0][0]
        try:
            for plans in PLAIN_PLANS, OTHER_PLANS:
                self.reference.must(plans)
                yield run(self.reference, statement, [])
            self.reference.must(f"SET optimizer_switch = '{before}'")
        except pymysql.err.MySQLError:
            self.connect_reference()


def run(session, statement, tables):
    if statement.kind != "query":
        return session.change(str(statement.node), tables)
    return session.run(str(statement.node)), []


def folded(value):
    """A text as a collation sees it that takes no difference between cases and accents."""
    if not isinstance(value, str):
        return value
    return "".join(filter(str.isascii, unicodedata.normalize("NFD", value))).casefold().rstrip(" ")


def sort_key(row):
    """Rows that are equal but for the digits that one server rounds are in the same place."""
    rough = [("",) if value is None else ("0", round(float(value), 3)) if is_number(value) else ("1", value)
             for value in row]
    return rough, ["" if value is None else value for value in row]


def in_one_order(rows, schema):
    if schema.mixed_case:
        return sorted(rows, key=lambda row: (sort_key([folded(value) for value in row]), sort_key(row)))
    return sorted(rows, key=sort_key)


def differences(place, statement, schema, ours, theirs):
    """[(text, value, value)], as `statements.differences` has them."""
    (ours, our_tables), (theirs, their_tables) = ours, theirs
    if not (ours[0] == theirs[0] == "rows" and len(ours[1]) == len(theirs[1]) and len(ours[3]) == len(theirs[3])):
        if ours[0] == "rows" or ours[:2] != theirs[:2]:
            return [(f"{place}: {shown(ours, schema)} <> {shown(theirs, schema)}", None, None)]
        for table, a, b in zip(schema.tables, our_tables, their_tables):
            a, b = in_one_order(a, schema), in_one_order(b, schema)
            if len(a) != len(b) or not all(equal_values(v, w) for x, y in zip(a, b) for v, w in zip(x, y)):
                return [(f"{place}: table {table.name}: {a[:40]} <> {b[:40]}", None, None)]
        return []
    _, names, types, rows = ours
    their_rows = theirs[3]
    found = [f"{place}: column {i}: name {a!r} <> {b!r}" for i, (a, b) in enumerate(zip(names, theirs[1])) if a != b]
    found += [f"{place}: column {name}: type {a} <> {b}" for name, a, b in zip(names, types, theirs[2]) if a != b]
    found = [(text, None, None) for text in found]
    if not statement.ordered:
        rows, their_rows = in_one_order(rows, schema), in_one_order(their_rows, schema)
    for row, their_row in zip(rows, their_rows):
        found += [(f"{place}: column {name}: {a!r} <> {b!r}", a, b) for name, a, b in zip(names, row, their_row)
                  if not equal_values(a, b)]
    return found


def shown(result, schema):
    if result[0] == "rows":
        return f"{len(result[3])} rows {[list(row) for row in in_one_order(result[3], schema)[:ROWS_SHOWN]]!r}"
    return repr(result)


EQUAL_TEXTS = "the value of a group is any one of equal texts"
ROUNDED = "MariaDB rounds an average, a deviation, a variance or a relative rank to a few digits"
OWN_PLANS = "MariaDB answers as Skarv when its optimizer transforms nothing"
EVALUATED = "the plan decides whether a subquery of several rows (1242) or a number out of range (1690) is evaluated"
GROUPS = re.compile(r"\b(DISTINCT|GROUP BY|UNION|INTERSECT|EXCEPT|MIN\(|MAX\()")
PLAN_ERRORS = {1242, 1690}


def explanation(explained, difference, schema):
    text, a, b = difference
    if is_rounded_variance(text, a, b):
        return ROUNDED
    if re.search(r"\b(PERCENT_RANK|CUME_DIST)\(", text) and is_close(a, b, rel_tol=0, abs_tol=1e-9):
        return ROUNDED
    if re.search(r"\b(STD|VAR)[A-Z_]*\(.*\bOVER\b", text) and is_close(a, b, rel_tol=0, abs_tol=2e-3):
        return ROUNDED
    if re.search(r"\bAVG\(", text) and is_close(a, b, rel_tol=1e-6, abs_tol=5e-5):
        return ROUNDED
    if schema.mixed_case and a is not None and folded(a) == folded(b) and GROUPS.search(text):
        return EQUAL_TEXTS
    return next((reason for expression, reason in explained if expression.search(text)), None)


class Verdict:
    """What a statement's answers are worth: reasons of explained differences, and the first that has none."""

    def __init__(self):
        self.reasons = []
        self.failure = None
        # The kind of the failure: --reduce keeps it.
        self.kind = None


def judged(servers, explained, place, statement):
    verdict = Verdict()
    schema = servers.schema
    ours, theirs = servers.both(statement)
    result = ours[0]
    if result[0] in ("ended", "slow") or result[:2] == ("error", INTERNAL_ERROR):
        verdict.kind = result[0]
        verdict.failure = f"{place}: {statement.node}: {result}"
        return verdict
    if servers.options.little_memory and result[:2] == ("error", OUT_OF_MEMORY):
        verdict.reasons.append("Skarv keeps in memory what does not fit")
        return verdict
    if statement.errors and theirs[0][0] != "lost":
        number, reference = statement.errors
        for name, wanted, answer in (("MariaDB", reference, theirs[0]), ("Skarv", number, result)):
            error = answer[1] if answer[0] == "error" else 0
            if error != wanted and wanted:
                verdict.kind = name, error
                verdict.failure = f"{place}: {statement.node}: {name}: {shown(answer, schema)}, not error {wanted}"
        return verdict
    if theirs[0][0] == "lost" or theirs[0][:2] == ("error", TIMED_OUT):
        verdict.reasons.append("MariaDB crashes or does not answer in time")
        return verdict
    where = f"{place}: {statement.node}"
    found = differences(where, statement, schema, ours, theirs)
    for difference in found:
        reason = explanation(explained, difference, schema)
        if reason is None:
            verdict.failure, verdict.kind = difference[0], kind_of(difference[0], where, result, theirs[0])
            break
        verdict.reasons.append(reason)
    if verdict.failure is None:
        return verdict
    errors = {answer[1] for answer in (result, theirs[0]) if answer[0] == "error"}
    if errors and errors <= PLAN_ERRORS:
        verdict.failure = None
        verdict.reasons = [EVALUATED]
        return verdict
    notes = []
    for answer in servers.other_answers(statement):
        found = differences(where, statement, schema, ours, answer)
        if all(explanation(explained, difference, schema) for difference in found):
            verdict.failure = None
            verdict.reasons = [OWN_PLANS]
        elif differences(where, statement, schema, theirs, answer):
            notes.append(f"MariaDB with other plans: {shown(answer[0], schema)}")
    if verdict.failure and notes:
        verdict.failure += f" ({notes[0]})"
    return verdict


def kind_of(difference, where, ours, theirs):
    tail = difference.removeprefix(where)
    if "error" in (ours[0], theirs[0]):
        return "error", ours[1] if ours[0] == "error" else None, theirs[1] if theirs[0] == "error" else None
    if found := re.match(r": column .*: type (.*)$", tail):
        return found[1]
    if re.match(r": column \d+: name ", tail):
        return "name"
    return "rows"


class Report:
    """What the statements of some seeds have given."""

    def __init__(self):
        self.passed = self.failed = self.failing = 0
        self.used = collections.Counter()
        self.kinds = collections.Counter()

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.used += other.used
        self.kinds += other.kinds

    def fail(self, options, text):
        self.failed += 1
        if self.failed <= options.show:
            # One write: several processes print.
            sys.stdout.write(f"FAILED {text}\n")
            sys.stdout.flush()


def all_explanations():
    return [pair for path in ("queries_explained.txt", "statements/explained.txt", "explained.txt")
            for pair in explanations(os.path.join(HERE, path))]


def job(options, index):
    """Runs every `options.jobs`th seed, from the one of this index."""
    report = Report()
    explained = all_explanations()
    servers = None
    for seed in range(options.seed + index, options.seed + -(-options.count // QUERIES_PER_SEED), options.jobs):
        schema = query_generator.schema(seed)
        try:
            if servers is None:
                servers = Servers(options, index)
            servers.load(schema)
            count = min(QUERIES_PER_SEED, options.count - (seed - options.seed) * QUERIES_PER_SEED)
            for number in range(count):
                statement = query_generator.statement(seed, number, schema)
                verdict = judged(servers, explained, f"{seed}:{number}", statement)
                report.used.update(set(verdict.reasons))
                report.kinds[statement.kind] += 1
                if verdict.failure:
                    report.fail(options, verdict.failure)
                else:
                    report.passed += 1
        except Exception:
            report.fail(options, f"seed {seed} ended: {traceback.format_exc()}")
            servers = None
    return report


# --- reduction ---


def nodes(node, path=()):
    """All nodes with their paths, the largest first."""
    yield path, node
    for i, part in enumerate(node.parts):
        if isinstance(part, Node):
            yield from nodes(part, (*path, i))


def replaced(node, path, new):
    if not path:
        return new
    parts = list(node.parts)
    parts[path[0]] = replaced(parts[path[0]], path[1:], new)
    return node.with_parts(parts)


def smaller(node):
    """Trees that have a part less."""
    for path, part in nodes(node):
        if part.kind == "opt" and part.parts:
            yield replaced(node, path, Node(""))
        if part.kind == "seq" and len(part.parts) > part.least:
            for i in range(len(part.parts)):
                yield replaced(node, path, part.with_parts([*part.parts[:i], *part.parts[i + 1:]]))
        if part.kind not in ("", "opt", "seq"):
            for _, inner in nodes(part):
                if inner is not part and inner.kind == part.kind:
                    yield replaced(node, path, inner)
            if part.kind in query_generator.LITERALS and any(isinstance(p, Node) for p in part.parts):
                literals = query_generator.LITERALS[part.kind][:1]
                for literal in ["TRUE", "FALSE", "NULL"] if part.kind == "b" else literals:
                    yield replaced(node, path, Node("", literal))


def without(items, count):
    """The list without each run of `count` items."""
    for start in range(0, len(items), count):
        yield items[:start] + items[start + count:]


def smaller_schemas(schema, text):
    change = query_generator.dataclasses.replace
    for i, table in enumerate(schema.tables):
        if not re.search(rf"\b{table.name}\b", text):
            yield change(schema, tables=schema.tables[:i] + schema.tables[i + 1:])
    for i, table in enumerate(schema.tables):
        def with_table(**changes):
            return change(schema, tables=[*schema.tables[:i], change(table, **changes), *schema.tables[i + 1:]])
        count = len(table.rows)
        while count:
            for rows in without(table.rows, count):
                yield with_table(rows=rows)
            count //= 2
        for keys in without(table.keys, 1):
            yield with_table(keys=keys)
        for uniques in without(table.uniques, 1):
            yield with_table(uniques=uniques)
        in_keys = {name for key in [table.primary, *table.uniques, *table.keys] for name in key}
        for j, column in enumerate(table.columns):
            if len(table.columns) > 1 and column.name not in in_keys:
                yield with_table(columns=table.columns[:j] + table.columns[j + 1:],
                                 rows=[row[:j] + row[j + 1:] for row in table.rows])


def reduce(options, restarts):
    seed, _, number = options.reduce.partition(":")
    schema = query_generator.schema(int(seed))
    statement = query_generator.statement(int(seed), int(number), schema)
    explained = all_explanations()
    servers = Servers(options, 0, restarts)
    servers.load(schema)
    verdict = judged(servers, explained, options.reduce, statement)
    print(verdict.failure or f"no difference: {statement.node}")
    if not verdict.failure:
        return 0
    begun = time.monotonic()

    def fails(candidate):
        try:
            return judged(servers, explained, options.reduce, candidate).kind == verdict.kind
        except (RuntimeError, pymysql.err.MySQLError):
            servers.connect()
            servers.connect_reference()
            return False

    progress = True
    while progress and time.monotonic() - begun < options.seconds:
        progress = False
        candidates = smaller(statement.node)
        for node in candidates:
            if time.monotonic() - begun > options.seconds:
                break
            candidate = query_generator.dataclasses.replace(
                statement, node=node, ordered=statement.ordered and is_ordered(str(node)))
            if len(str(node)) < len(str(statement.node)) and fails(candidate):
                statement, progress = candidate, True
                break
        if progress:
            continue
        for smaller_schema in smaller_schemas(schema, str(statement.node)):
            if time.monotonic() - begun > options.seconds:
                break
            try:
                servers.load(smaller_schema)
            except RuntimeError:
                continue
            if fails(statement):
                schema, progress = smaller_schema, True
                break
        servers.load(schema)
    for text in schema.statements():
        print(f"{text};")
    print(f"{statement.node};")
    verdict = judged(servers, explained, options.reduce, statement)
    print(verdict.failure)
    return 1


class Restarts:
    """Starts MariaDB again where a query has crashed it, and ends it in the end."""

    def __init__(self, options):
        self.options, self.server = options, None

    def __enter__(self):
        return self

    def check(self):
        if not self.options.reference_config or (self.server and self.server.poll() is None):
            return
        try:
            socket.create_connection(("127.0.0.1", self.options.reference), timeout=5).close()
        except ConnectionRefusedError:
            print("MariaDB has ended, and is started again", flush=True)
            self.server = subprocess.Popen(["mariadbd", f"--defaults-file={self.options.reference_config}"],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except OSError:
            pass

    def __exit__(self, *_):
        if self.server:
            self.server.terminate()
            self.server.wait()


def show(place):
    seed, _, number = place.partition(":")
    schema = query_generator.schema(int(seed))
    for text in schema.statements():
        print(f"{text};")
    if number:
        print(f"{query_generator.statement(int(seed), int(number), schema).node};")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skarv", type=int, nargs="+", help="ports of nodes; jobs take them in turn")
    parser.add_argument("--reference", type=int)
    parser.add_argument("--reference-config", help="the options that start MariaDB again after a crash")
    parser.add_argument("--count", type=int, default=QUERIES_PER_SEED)
    parser.add_argument("--from", dest="seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes with a connection to each server")
    parser.add_argument("--little-memory", action="store_true", help="Skarv has the least tmp_table_size")
    parser.add_argument("--show", type=int, default=100, help="failures that each job prints")
    parser.add_argument("--database", default="queries", help="what the names of databases begin with")
    parser.add_argument("--print", metavar="SEED[:NUMBER]")
    parser.add_argument("--reduce", metavar="SEED:NUMBER")
    parser.add_argument("--seconds", type=int, default=120, help="of a reduction")
    options = parser.parse_args()
    if options.print:
        show(options.print)
        return
    if options.reference is None or not options.skarv:
        parser.error("--skarv and --reference are needed")
    if options.reduce:
        with Restarts(options) as restarts:
            sys.exit(reduce(options, restarts))
    # The end of this process ends those of the jobs, which are daemons.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    begun = time.monotonic()
    report = Report()
    with multiprocessing.Pool(options.jobs, start_job) as pool, Restarts(options) as restarts:
        parts = pool.starmap_async(job, zip(itertools.repeat(options), range(options.jobs)))
        while not parts.ready():
            parts.wait(1)
            restarts.check()
        for part in parts.get():
            report.add(part)
    for reason, count in report.used.most_common():
        print(f"explained {count} times: {reason}")
    print(", ".join(f"{count} of kind {kind}" for kind, count in sorted(report.kinds.items())))
    print(f"{60 * options.count / (time.monotonic() - begun):.0f} statements a minute")
    print(f"{report.passed} passed, {report.failed} failed")
    sys.exit(1 if report.failed or not report.passed else 0)


if __name__ == "__main__":
    main()
