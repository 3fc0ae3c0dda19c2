#!/usr/bin/env python3
"""Compares what Skarv and MariaDB answer to generated definitions and changes (definition_generator.py).

run.sh starts the servers for it.

    definitions.py --skarv PORT --reference PORT [--count N] [--from SEED] [--reproductions FILE]
    definitions.py --skarv PORT --reference PORT --only SEED:EPISODE    one episode, with each statement
    definitions.py --skarv PORT --reference PORT --replay FILE          the statements of a file, compared

A seed stands for episodes of at most EPISODE_STATEMENTS statements, each in an empty database. After each
statement both servers must agree on:

- success or the number of the error; the affected rows of a change;
- the rows of every table, in no order, and how many of them each index finds;
- the description of every table: columns, indexes, foreign keys and CHECK constraints.

At the end of an episode Skarv executes its own SHOW CREATE TABLE, whose second answer must be the first.

A statement that Skarv refuses by name (1235, 1846) must leave its tables as they were, and is not sent to
MariaDB. A difference is explained by a line of definitions_explained.txt, whose expression is searched in the
text of the difference (`Step.differences`). An episode ends at a difference after which the servers may have
other tables. The first difference of each kind is reduced: statements are left out while it stays.

Needs PyMySQL (tests/clients/python/requirements.txt). The last line is "N statements passed, N failed".
"""

import argparse
import collections
import os
import re
import signal
import sys
import time

import pymysql

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from definition_generator import (BYTES, CHARACTERS, INTEGERS, STRICT, Column, ForeignKey, Generator,  # noqa: E402
                                  Index, Table)
from differential import INTERNAL_ERROR, MARIADB_MODE, SLOW_SECONDS, Server  # noqa: E402
from values import equal_values, explanations  # noqa: E402

EXPLAINED = os.path.join(HERE, "definitions_explained.txt")
EPISODE_STATEMENTS = 60
EPISODES_PER_SEED = 1000
REFUSED = {1235, 1846}
DATABASE = "definitions"
# What each episode begins with.
BEGIN = ["SET NAMES utf8mb4 COLLATE utf8mb4_general_ci", "SET time_zone = '+00:00'", "SET foreign_key_checks = 1",
         f"SET sql_mode = '{STRICT}'", "SET timestamp = 1600000000"]
REDUCTIONS = 60
REDUCTION_SECONDS = 20

COLUMNS = f"""SELECT table_name, column_name, column_default, is_nullable, data_type, character_maximum_length,
    numeric_precision, numeric_scale, character_set_name, collation_name, column_type, column_key, extra, column_comment
    FROM information_schema.columns WHERE table_schema = '{DATABASE}' ORDER BY table_name, ordinal_position"""
INDEXES = f"""SELECT table_name, index_name, non_unique, column_name, sub_part, collation, nullable
    FROM information_schema.statistics WHERE table_schema = '{DATABASE}' ORDER BY table_name, index_name, seq_in_index"""
FOREIGN_KEYS = f"""SELECT k.table_name, k.constraint_name, k.column_name, k.referenced_table_name, k.referenced_column_name,
    r.delete_rule, r.update_rule FROM information_schema.key_column_usage k
    JOIN information_schema.referential_constraints r
    ON k.constraint_schema = r.constraint_schema AND k.constraint_name = r.constraint_name AND k.table_name = r.table_name
    WHERE k.constraint_schema = '{DATABASE}' ORDER BY k.table_name, k.constraint_name, k.ordinal_position"""
CHECKS = f"""SELECT constraint_name FROM information_schema.check_constraints
    WHERE constraint_schema = '{DATABASE}' ORDER BY constraint_name"""
CHECK_TABLES = f"""SELECT constraint_name, table_name FROM information_schema.table_constraints
    WHERE constraint_schema = '{DATABASE}' AND constraint_type = 'CHECK'"""
TABLES = f"""SELECT table_name, table_collation, table_comment FROM information_schema.tables
    WHERE table_schema = '{DATABASE}' ORDER BY table_name"""
COLUMN_FIELDS = ["default", "nullable", "data type", "length", "precision", "scale", "charset", "collation", "type", "key",
                 "extra", "comment"]


def text(value):
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


class Session(Server):
    def __init__(self, port, reference):
        self.reference = reference
        super().__init__(port, DATABASE)

    def run(self, statement):
        if self.reference and statement.startswith("SET sql_mode = '"):
            statement = f"{statement[:-1]},{MARIADB_MODE}'"
        result = super().run(statement)
        if result[0] == "rows":
            return ("rows", [tuple(map(text, row)) for row in result[1]])
        return result

    def rows(self, statement):
        result = self.run(statement)
        if result[0] != "rows":
            raise RuntimeError(f"{result}: {statement}")
        return result[1]

    def begin(self):
        """An empty database, and the session as in the beginning."""
        self.must("ROLLBACK")
        self.must("SET foreign_key_checks = 0")
        self.must(f"DROP DATABASE IF EXISTS {DATABASE}")
        self.must(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
        self.must(f"USE {DATABASE}")
        for statement in BEGIN:
            self.must(statement)

    def description(self):
        """{what is described: its value}; each a text. Names of the two servers for one thing are made the same."""
        found = {}
        for row in self.rows(TABLES):
            found[f"table {row[0]}: collation"], found[f"table {row[0]}: comment"] = row[1:]
        places = collections.Counter()
        for row in self.rows(COLUMNS):
            table, name, *values = row
            places[table] += 1
            values = dict(zip(COLUMN_FIELDS, values))
            normalise(values, self.reference)
            found[f"table {table}: column {places[table]}"] = name
            for field, value in values.items():
                found[f"table {table}: column {name}: {field}"] = value
        for table, name, *part in self.rows(INDEXES):
            found.setdefault(f"table {table}: index {name}", []).append(tuple(part))
        for table, name, *part, delete, update in self.rows(FOREIGN_KEYS):
            rules = [rule.replace("NO ACTION", "RESTRICT") for rule in (delete, update)]
            found.setdefault(f"table {table}: foreign key {name}", []).append((*part, *rules))
        for name, in self.rows(CHECKS):
            found[f"check {name}"] = "is there"
        return found

    def tables(self):
        """The tables as the generator needs them."""
        tables = {name: Table(name) for name, *_ in self.rows(TABLES)}
        for row in self.rows(COLUMNS):
            (table, name, default, nullable, data_type, length, precision, scale, charset, collation, column_type, key,
             extra, _) = row
            if data_type in INTEGERS or data_type == "year":
                column_type = re.sub(r"\(\d+\)", "", column_type)
            tables[table].columns.append(Column(
                name, default, nullable == "YES", data_type, length and int(length), precision, scale, charset, collation,
                column_type, key, extra))
        for table, name, non_unique, column, length, *_ in self.rows(INDEXES):
            indexes = tables[table].indexes
            if not indexes or indexes[-1].name != name:
                indexes.append(Index(name, non_unique == "0", []))
            indexes[-1].parts.append((column, length))
        for table, name, column, parent, *_ in self.rows(FOREIGN_KEYS):
            keys = tables[table].foreign_keys
            if not keys or keys[-1].name != name:
                keys.append(ForeignKey(name, [], parent))
            keys[-1].columns.append(column)
        for name, table in self.rows(CHECK_TABLES):
            tables[table].checks.append(name)
        return tables


def normalise(values, reference):
    """Makes the values of a column those of MySQL 8.0, where MariaDB only writes them in another way."""
    has_width = values["type"] == "tinyint(1)" or "zerofill" in values["type"]
    if values["data type"] in INTEGERS and not has_width or values["data type"] == "year":
        values["type"] = re.sub(r"\(\d+\)", "", values["type"])
    extra = values["extra"].upper().replace("()", "")
    default = values["default"]
    if reference and default is not None:
        if default.startswith("'"):
            default = re.sub(r"''|\\(.)", lambda found: "'" if found[0] == "''" else
                             {"0": "\0", "n": "\n"}.get(found[1], found[1]), default[1:-1])
        elif default == "NULL":
            default = None
        elif default.lower().startswith("current_timestamp"):
            default = default.upper().replace("()", "")
        elif not re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?|b'[01]*'", default):
            default = "(expression)"
    elif "DEFAULT_GENERATED" in extra and not default.startswith("CURRENT_TIMESTAMP"):
        default = "(expression)"
    # A constant expression is a literal in MariaDB.
    values["default"] = default
    values["extra"] = extra.replace("DEFAULT_GENERATED", "").strip()


def column_text(column):
    """The item of a SELECT whose value is the same where the column's bytes are."""
    name = f"`{column.name}`"
    if column.data_type in BYTES | CHARACTERS:
        return f"HEX({name})"
    return f"{name} + 0" if column.data_type == "bit" else name


def contents(session, table):
    return session.rows(f"SELECT {', '.join(map(column_text, table.columns))} FROM {table.name}")


def row_key(row):
    return [(value is not None, value or "") for value in row]


def answer(result):
    if result[0] == "rows":
        return "rows"
    return f"{result[0]} " + " ".join(map(str, result[1:]))


def verb(statement):
    """What kind of statement this is: of ALTER TABLE, with the kind of its parts."""
    words = statement.split()
    if words[0] != "ALTER":
        return " ".join(words[:2]) if words[0] in ("CREATE", "DROP", "RENAME", "INSERT") and words[1] != "INTO" else words[0]
    outline, depth = "", 0
    for character in re.sub(r"'(?:[^'\\]|\\.|'')*'", "''", statement):
        depth += {"(": 1, ")": -1}.get(character, 0)
        outline += "" if depth else character
    parts = outline.split(None, 3)[3].split(", ")
    kinds = [re.match(r"(ADD CONSTRAINT \w+ \w+|(ADD|DROP|RENAME) (COLUMN|(UNIQUE )?INDEX|UNIQUE|KEY|PRIMARY|CONSTRAINT"
                      r"|FOREIGN|TO)|\w+)", part) for part in parts]
    kinds = {re.sub(r" \w+\d+ ", " ", kind[0]) for kind in kinds if kind}
    return f"ALTER {kinds.pop()}" if len(kinds) == 1 else "ALTER of several kinds"


CHANGES = ("INSERT", "REPLACE", "UPDATE", "DELETE")
DEFINITIONS = ("CREATE", "ALTER", "DROP", "RENAME", "TRUNCATE")


class Ended(Exception):
    """Skarv has closed the connection."""


class Step:
    """A statement on both servers, and how they differ after it."""

    def __init__(self, servers, statement, check=True):
        self.statement = statement
        # [(text, kind)]: the text is what an explanation is searched in.
        self.differences = []
        # Whether the servers may have other tables from now on.
        self.apart = False
        begun = time.monotonic()
        try:
            self.ours = servers.skarv.run(statement)
        except pymysql.err.MySQLError as error:
            raise Ended(f"{error}: {statement}") from error
        seconds = time.monotonic() - begun
        if statement.startswith("SET sql_mode"):
            servers.sql_mode = statement.partition("'")[2][:-1]
        self.refused = self.ours[0] == "error" and self.ours[1] in REFUSED
        self.theirs = self.ours if self.refused else servers.reference.run(statement)
        self.tables = None
        if self.ours[:2] == ("error", INTERNAL_ERROR) or seconds > SLOW_SECONDS:
            self.differ(f"{statement}: {answer(self.ours)} after {seconds:.0f} s", "internal error or slow")
            self.apart = True
        self.compare_answers(servers)
        if check and not self.apart:
            self.compare_tables(servers)

    def differ(self, difference, kind):
        self.differences.append((difference, kind))

    def compare_answers(self, servers):
        ours, theirs = self.ours, self.theirs
        number = 2 if ours[0] == theirs[0] == "error" or self.statement.startswith(CHANGES) else 1
        if ours[:number] != theirs[:number]:
            kind = [f"{result[0]} {result[1]}" if result[0] == "error" else result[0] for result in (ours, theirs)]
            self.differ(f"{self.statement} [{servers.context(self.statement)}]: {answer(ours)} <> {answer(theirs)}",
                        f"{verb(self.statement)}: {' <> '.join(kind)}")
            self.apart |= ours[0] != theirs[0]

    def compare_tables(self, servers):
        """Compares descriptions and rows."""
        skarv, reference = servers.skarv, servers.reference
        first = self.statement.split()[0]
        kind = verb(self.statement)
        if first in DEFINITIONS:
            a, b = skarv.description(), reference.description()
            for what in dict.fromkeys([*b, *a]):
                v, w = a.get(what), b.get(what)
                if v != w:
                    self.differ(f"{what}: {v!r} <> {w!r}: {self.statement}",
                                f"{kind}: {re.sub('[a-z]+ [^ :]*', '', what, count=1)}: "
                                f"{described(v)} <> {described(w)}")
                    # Another ON UPDATE gives other values later, another type other columns.
                    is_lasting = what.endswith((": extra", ": collation", ": length", ": type"))
                    self.apart |= v is None or w is None or is_lasting
            self.tables = reference.tables()
            servers.tables = self.tables
        if self.apart or (first not in DEFINITIONS + CHANGES + ("ROLLBACK", "COMMIT")):
            return
        for table in servers.tables.values():
            self.compare_rows(skarv, reference, table, kind)

    def compare_rows(self, skarv, reference, table, kind):
        a, b = contents(skarv, table), contents(reference, table)
        found = unequal(a, b)
        if found is not None:
            self.apart = True
            if len(a) != len(b):
                self.differ(f"rows of {table.name}: {len(a)} {a[:20]} <> {len(b)} {b[:20]}: {self.statement}",
                            f"{kind}: number of rows")
                return
            for place, v, w in found:
                column = table.columns[place]
                self.differ(f"rows of {table.name}: column {column.name} {column.column_type}: {v!r} <> {w!r}: {self.statement}",
                            f"{kind}: rows, {column.data_type}")
            return
        for index in table.indexes if kind[0] in "ACR" else ():
            column = index.parts[0][0]
            query = (f"SELECT COUNT(*) FROM `{table.name}` a JOIN `{table.name}` b FORCE INDEX (`{index.name}`) "
                     f"ON b.`{column}` <=> a.`{column}`")
            v, w = skarv.rows(query)[0][0], reference.rows(query)[0][0]
            if v != w:
                self.apart = True
                self.differ(f"index {index.name} of {table.name} finds {v} <> {w}: {self.statement}", f"{kind}: an index")


def described(value):
    return "none" if value is None else "list" if isinstance(value, list) else value


def unequal(a, b):
    """Rows that are not the same: [(column, value, value)], of the fewest columns; None where all are."""
    a, b = sorted(a, key=row_key), sorted(b, key=row_key)
    left = []
    if len(a) != len(b):
        return left
    counted = collections.Counter(b)
    rest = []
    for row in a:
        if counted[row] > 0:
            counted[row] -= 1
        else:
            rest.append(row)
    others = list(counted.elements())
    for row in rest:
        # The row that is most like this one.
        other = max(others, key=lambda other: sum(map(equal_values, row, other)))
        others.remove(other)
        left += [(place, v, w) for place, (v, w) in enumerate(zip(row, other)) if not equal_values(v, w)]
    return left or None


class Servers:
    def __init__(self, options):
        self.options = options
        self.reference = Session(options.reference, True)
        self.connect()
        self.tables = {}
        self.sql_mode = STRICT

    def connect(self):
        self.skarv = Session(self.options.skarv, False)

    def begin(self):
        self.skarv.begin()
        self.reference.begin()
        self.tables = {}
        self.sql_mode = STRICT

    def context(self, statement):
        """What explanations may have to know of the tables of a statement and of the session."""
        found = [self.sql_mode]
        for table in self.tables.values():
            if re.search(rf"\b{table.name}\b", statement):
                found += ["virtual"] * any("VIRTUAL" in column.extra for column in table.columns)
                found += ["generated"] * any(column.generated for column in table.columns)
                found += ["check"] * bool(table.checks)
                found += ["timestamp"] * any(column.data_type == "timestamp" and not column.nullable
                                             for column in table.columns)
        return " ".join(found)

    def shown_again(self):
        """Skarv's definitions, executed in another database, and shown there. [(difference, kind)]"""
        skarv, found = self.skarv, []
        shown = [(name, skarv.rows(f"SHOW CREATE TABLE `{name}`")[0][1]) for name in self.tables]
        for statement in ["ROLLBACK", "SET sql_mode = ''", "SET foreign_key_checks = 0",
                          f"DROP DATABASE IF EXISTS {DATABASE}_shown",
                          f"CREATE DATABASE {DATABASE}_shown CHARACTER SET latin1", f"USE {DATABASE}_shown"]:
            skarv.must(statement)
        for name, statement in shown:
            result = skarv.run(statement)
            if result[0] == "error":
                found.append((f"shown: {answer(result)}: {statement}", f"SHOW CREATE TABLE: error {result[1]}"))
                continue
            again = skarv.rows(f"SHOW CREATE TABLE `{name}`")[0][1]
            if again != statement:
                found.append((f"shown: {statement} <> {again}", "SHOW CREATE TABLE: another"))
        skarv.must(f"DROP DATABASE {DATABASE}_shown")
        return found


class Report:
    def __init__(self, options):
        self.options = options
        self.passed = self.failed = self.succeeded = 0
        self.explained = collections.Counter()
        self.refused = collections.Counter()
        self.verbs = collections.Counter()
        # kind: [how often, the text of the first, its statements, the reduced ones]
        self.failures = {}

    def note(self, step):
        self.succeeded += step.ours[0] != "error"
        self.verbs[step.statement.split()[0]] += 1
        if step.refused:
            self.refused[re.sub(r"^.*?support '|'$", "", step.ours[2])] += 1

    def fail(self, difference, kind, statements, servers):
        self.failed += 1
        if kind in self.failures:
            self.failures[kind][0] += 1
            return
        print(f"FAILED {kind}: {difference[:1500]}", flush=True)
        reduced = statements
        if servers and len(self.failures) < REDUCTIONS:
            reduced = reduce(servers, statements, kind)
        self.failures[kind] = [1, difference, reduced]
        with open(self.options.reproductions, "a", encoding="utf-8", errors="surrogateescape") as file:
            print(f"-- {kind}\n-- {difference}", file=file)
            print(*(f"{statement};" for statement in reduced), "", sep="\n", file=file)


def kinds_after(servers, statements):
    """The kinds of unexplained differences after the last statement; none where the servers differ before."""
    servers.begin()
    for statement in statements[:-1]:
        if statement.startswith("SET sql_mode"):
            servers.sql_mode = statement.partition("'")[2][:-1]
        ours = servers.skarv.run(statement)
        if ours[0] == "error" or servers.reference.run(statement)[0] == "error":
            # A statement that fails does nothing, and is left out.
            return None
    if not statements[-1].startswith(DEFINITIONS):
        servers.tables = servers.reference.tables()
    return {kind for _, kind in Step(servers, statements[-1]).differences}


def reduce(servers, statements, kind):
    """Leaves statements out while the difference after the last one stays."""
    if kind.startswith("SHOW CREATE"):
        return statements
    deadline = time.monotonic() + REDUCTION_SECONDS
    statements = list(statements)
    progress = True
    try:
        while progress and time.monotonic() < deadline:
            progress = False
            for place in reversed(range(len(statements) - 1)):
                if time.monotonic() > deadline:
                    break
                fewer = statements[:place] + statements[place + 1:]
                kinds = kinds_after(servers, fewer)
                if kinds and kind in kinds:
                    statements, progress = fewer, True
    except Ended:
        servers.connect()
    return statements


class Run:
    def __init__(self, options):
        self.options = options
        self.servers = Servers(options)
        self.explained = [line for path in options.explained for line in explanations(path)]
        self.report = Report(options)

    def reason(self, difference):
        return next((reason for expression, reason in self.explained if expression.search(difference)), None)

    def episode(self, place, most):
        """Runs at most so many statements; returns their number."""
        servers, report = self.servers, self.report
        servers.begin()
        generator = Generator(place)
        # Statements that have changed something.
        history = []
        for number in range(min(most, EPISODE_STATEMENTS)):
            generator.tables = servers.tables
            statement = generator.next()
            try:
                step = Step(servers, statement)
            except pymysql.err.MySQLError:
                print(f"{place}: the reference ended the connection after this:", flush=True)
                print(*(f"{statement};" for statement in history + [statement]), sep="\n", flush=True)
                raise
            except Ended as ended:
                report.fail(f"{place}: connection ended: {ended}", f"{verb(statement)}: connection ended",
                            history + [statement], None)
                servers.connect()
                return number + 1
            report.note(step)
            self.follow(generator, step)
            if self.options.only:
                print(f"{statement};    -- {answer(step.ours)}" + "".join(f"\n    {found}" for found, _ in step.differences))
            failed = self.judge(place, step.differences, history + [statement])
            if failed or step.apart:
                return number + 1
            if step.ours[0] != "error":
                history.append(statement)
        if not self.judge(place, servers.shown_again(), history):
            report.passed -= 1
        return min(most, EPISODE_STATEMENTS)

    def judge(self, place, differences, statements):
        """Counts a statement; whether it failed."""
        for difference, kind in differences:
            if reason := self.reason(difference):
                self.report.explained[reason] += 1
            else:
                self.report.fail(f"{place}: {difference}", kind, statements, self.servers)
                return True
        self.report.passed += 1
        return False

    def follow(self, generator, step):
        """What the generator must know of a statement's answer."""
        statement = step.statement
        first = statement.split()[0]
        if statement == "BEGIN":
            generator.in_transaction = True
        elif first in DEFINITIONS + ("COMMIT", "ROLLBACK"):
            generator.in_transaction = False
        if first == "DROP":
            generator.unnumbered &= set(self.servers.tables)
        if first == "RENAME" or " RENAME TO " in statement or " LIKE " in statement:
            generator.unnumbered |= {table.name for table in self.servers.tables.values() if table.automatic}
        if first not in CHANGES or first == "DELETE":
            return
        # InnoDB leaves other numbers unused after such a statement.
        simple = step.ours[0] == "ok" and re.match(r"INSERT INTO", statement) and "ON DUPLICATE" not in statement
        if not simple:
            generator.unnumbered |= {table.name for table in self.servers.tables.values()
                                     if table.automatic and re.search(rf"\b{table.name}\b", statement)}


def replay(options):
    servers = Servers(options)
    servers.begin()
    explained = [line for path in options.explained for line in explanations(path)]
    with open(options.replay, encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            statement = line.strip().removesuffix(";")
            if not statement or statement.startswith("--"):
                continue
            step = Step(servers, statement)
            print(f"{statement};\n    {answer(step.ours)} <> {answer(step.theirs)}")
            for difference, kind in step.differences:
                reason = next((reason for expression, reason in explained if expression.search(difference)), "UNEXPLAINED")
                print(f"    {kind}: {difference}: {reason}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skarv", type=int, required=True)
    parser.add_argument("--reference", type=int, required=True)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--from", dest="seed", type=int, default=0)
    parser.add_argument("--reproductions", default=f"/tmp/skarv-definitions-{os.getpid()}.sql",
                        help="the file of the reduced failures")
    parser.add_argument("--explained", nargs="+", default=[EXPLAINED], help="files of explained differences")
    parser.add_argument("--only", metavar="SEED:EPISODE")
    parser.add_argument("--replay", metavar="FILE")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if options.replay:
        replay(options)
        return
    run = Run(options)
    begun = time.monotonic()
    done = episode = 0
    if options.only:
        done = run.episode(options.only, EPISODE_STATEMENTS)
    else:
        while done < options.count:
            seed = options.seed + episode // EPISODES_PER_SEED
            done += run.episode(f"{seed}:{episode % EPISODES_PER_SEED}", options.count - done)
            episode += 1
    report = run.report
    for reason, count in report.explained.most_common():
        print(f"explained {count} times: {reason}")
    for feature, count in report.refused.most_common():
        print(f"refused {count} times: {feature}")
    for kind, (count, difference, _) in sorted(report.failures.items(), key=lambda item: -item[1][0]):
        print(f"failed {count} times: {kind}: {difference[:300]}")
    print(", ".join(f"{count} {word}" for word, count in report.verbs.most_common()))
    print(f"{done} statements in {episode or 1} episodes, of which {report.succeeded} succeeded; "
          f"{60 * done / (time.monotonic() - begun):.0f} a minute")
    if report.failures:
        print(f"the statements of each kind of failure are in {options.reproductions}")
    print(f"{report.passed} statements passed, {report.failed} failed")
    sys.exit(1 if report.failed or not report.passed else 0)


if __name__ == "__main__":
    main()
