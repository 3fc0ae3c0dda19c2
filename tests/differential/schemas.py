#!/usr/bin/env python3
"""Loads the schemas of products into Skarv and MariaDB, dumps them, and compares.

schemas.sh starts the servers.

    schemas.py --skarv PORT --reference PORT --cache DIRECTORY --work DIRECTORY [--only PRODUCT,...]
    schemas.py --cache DIRECTORY --work DIRECTORY --record    schemas_sources.txt with new checksums

A product is a list of files (schemas_sources.txt) or a program that installs itself
(schemas_programs/). Both servers run each statement of the files. A program runs on Skarv, through
a port that records its statements; MariaDB then runs the recorded definitions and changes. Three
comparisons follow:

- Skarv and MariaDB: the rows of information_schema (TABLES, COLUMNS, STATISTICS, KEY_COLUMN_USAGE,
  TABLE_CONSTRAINTS, REFERENTIAL_CONSTRAINTS, CHECK_CONSTRAINTS) and the lines of SHOW CREATE TABLE;
  of files also the rows of the tables;
- Skarv and a second database of Skarv that has loaded a mariadb-dump of the first: both dumps,
  byte by byte;
- MariaDB and a second database of MariaDB that has loaded Skarv's dump: as the first comparison.

A statement that Skarv refuses is not sent to MariaDB. Where a feature is refused by name, the rest
of the statement runs without it (REDUCTIONS), on both servers. A refusal and a difference are
explained by a line of schemas_explained.txt: an expression, a tab, the reason. The expression is
searched in one of these texts:

    PRODUCT: error NUMBER TEXT: STATEMENT      a refused statement
    PRODUCT: STATEMENT: RESULT <> RESULT       a statement that MariaDB answers in another way
    PRODUCT: WHAT: VALUE <> VALUE              of information_schema or SHOW CREATE TABLE
    PRODUCT: dump: LINE <> LINE                a line of the two dumps
    PRODUCT: returned: WHAT: VALUE <> VALUE    MariaDB with Skarv's dump, and its own schema

In each, the first is Skarv's. Where MariaDB writes one thing in another way than MySQL 8.0, the
functions `normal_*` and `read_*` make both equal; each rule has its reason there. The last line is
"N passed, N failed" products. Needs PyMySQL (tests/clients/python/requirements.txt), mariadb and
mariadb-dump.
"""

import argparse
import collections
import itertools
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import pymysql

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import schema_sources  # noqa: E402
from definitions import normalise  # noqa: E402
from differential import INTERNAL_ERROR, MARIADB_MODE, SLOW_SECONDS  # noqa: E402
from values import equal_values, explanations  # noqa: E402

EXPLAINED = os.path.join(HERE, "schemas_explained.txt")
PROGRAMS = os.path.join(HERE, "schemas_programs")
# Products that install themselves, and their programs (environment.sh has the arguments).
PROGRAM_PRODUCTS = {
    "Rails": "rails",
    "Django": "django",
    "Airflow": "airflow",
    "Superset": "superset",
}
PROGRAM_SECONDS = 600
DUMP_SECONDS = 120
# The mode of both servers is that of MySQL 8.0, unless the product sets its own.
MYSQL_MODE = (
    "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,"
    "ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
)
MODES = {
    # wpdb::set_sql_mode removes the strict modes and those of dates: its defaults are zeros.
    "WordPress": "ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION",
    # $wgSQLMode is empty.
    "MediaWiki": "",
    # Defaults of dates are zeros.
    "Cacti": "ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION",
}
# Errors of missing features. MariaDB does not run the statement.
REFUSED = {1235, 1286}
# Parts of statements that Skarv refuses: (the refusal, an expression of the part, its replacement).
REDUCTIONS = [
    (r"error 1235 .*'FULLTEXT", r",\s*FULLTEXT (KEY|INDEX)?[^()]*\([^()]*\)", ""),
    (r"error 1064 .*', (DEFAULT|CHARSET|COLLATE|ENGINE)", r"(ENGINE=\w+|CHARSET=\w+),\s*", r"\1 "),
    (r"error 1235 .*'ENUM CHARACTER SET binary", r"\bCHARSET=binary\b", "CHARSET=utf8mb4"),
    (r"error 1235 .*'PRIMARY KEY on a prefix", r"(PRIMARY KEY \([^()]*)\(\d+\)", r"\1"),
]
# What MariaDB gets in place of a part of a statement.
TRANSLATIONS = [
    # `offset` is a reserved word of MariaDB only.
    (re.compile(r"\bADD COLUMN offset\b"), "ADD COLUMN `offset`"),
    # A MyISAM table is one of InnoDB in Skarv, which warns of it.
    (re.compile(r"\b(ENGINE|TYPE)\s*=\s*MyISAM\b", re.IGNORECASE), "ENGINE=InnoDB"),
    # MariaDB has no indexes of expressions.
    (
        re.compile(
            r",\s*(UNIQUE )?(INDEX|KEY) `\w+` "
            r"\(\(([^()]|\(([^()]|\([^()]*\))*\))*\)( DESC)?\)"
        ),
        "",
    ),
]
# The default collation of utf8mb4. MariaDB does not know that of MySQL 8.0.
MYSQL_COLLATION, MARIADB_COLLATION = "utf8mb4_0900_ai_ci", "utf8mb4_general_ci"
# Statements that a recorded program needs for its tables, in any order of connections.
REPLAYED = re.compile(
    r"\s*(CREATE|ALTER|DROP|RENAME|TRUNCATE|INSERT|REPLACE|UPDATE|DELETE|SET\s+(SESSION\s+|@@)?"
    r"(foreign_key_checks|unique_checks|sql_mode))\b",
    re.IGNORECASE,
)
DEFINITION = re.compile(r"\s*(/\*!\d*\s*)?(CREATE|ALTER|DROP|RENAME)\b", re.IGNORECASE)


def text(value):
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


class Server:
    """A session with a server."""

    def __init__(self, port, reference, mode=MYSQL_MODE):
        self.port = port
        self.reference = reference
        # No conversion: texts as they are sent.
        self.connection = pymysql.connect(
            host="127.0.0.1",
            port=port,
            user="root",
            charset="utf8mb4",
            conv={},
            autocommit=True,
            read_timeout=120,
        )
        self.cursor = self.connection.cursor()
        # Rows of both servers have the same times.
        for statement in (
            f"SET sql_mode = '{mode}{',' + MARIADB_MODE if reference else ''}'",
            "SET time_zone = '+00:00'",
            "SET timestamp = 1600000000",
        ):
            self.rows(statement)

    def run(self, statement):
        """("ok", affected rows), ("rows", rows) or ("error", number, text)."""
        if self.reference:
            statement = translated(statement)
        try:
            affected = self.cursor.execute(statement)
        except pymysql.err.MySQLError as error:
            number, message = error.args if len(error.args) == 2 else (0, str(error))
            if number in (0, 2006, 2013):
                raise
            return ("error", number, message)
        if self.cursor.description is None:
            return ("ok", affected)
        return ("rows", [tuple(map(text, row)) for row in self.cursor.fetchall()])

    def rows(self, statement):
        result = self.run(statement)
        if result[0] == "error":
            raise RuntimeError(f"{result}: {statement}")
        return result[1]

    def create(self, database):
        self.rows("SET foreign_key_checks = 0")
        self.rows(f"DROP DATABASE IF EXISTS `{database}`")
        self.rows("SET foreign_key_checks = 1")
        self.rows(f"CREATE DATABASE `{database}`")
        self.rows(f"USE `{database}`")


def translated(statement):
    """The statement as MariaDB takes it."""
    statement = statement.replace(MYSQL_COLLATION, MARIADB_COLLATION)
    for expression, replacement in TRANSLATIONS:
        statement = expression.sub(replacement, statement)
    return statement


def answer(result):
    if result[0] == "rows":
        return f"{len(result[1])} rows"
    return f"{result[0]} " + " ".join(map(str, result[1:]))


def short(statement, length=200):
    statement = " ".join(statement.split())
    return statement if len(statement) <= length else f"{statement[:length]}..."


# Descriptions

TABLES = """SELECT table_name, table_type, engine, table_collation, table_comment
    FROM information_schema.tables WHERE table_schema = '{0}' ORDER BY table_name"""
COLUMNS = """SELECT table_name, column_name, ordinal_position, column_default, is_nullable,
    data_type, character_maximum_length, character_octet_length, numeric_precision, numeric_scale,
    datetime_precision, character_set_name, collation_name, column_type, column_key, extra,
    column_comment, generation_expression
    FROM information_schema.columns WHERE table_schema = '{0}'
    ORDER BY table_name, ordinal_position"""
COLUMN_FIELDS = (
    "position default nullable data_type length octets precision scale fraction charset collation "
    "type key extra comment expression"
).split()
STATISTICS = """SELECT table_name, index_name, seq_in_index, non_unique, column_name, collation,
    sub_part, nullable, index_type, index_comment
    FROM information_schema.statistics WHERE table_schema = '{0}'
    ORDER BY table_name, index_name, seq_in_index"""
KEY_COLUMN_USAGE = """SELECT table_name, constraint_name, ordinal_position, column_name,
    position_in_unique_constraint,
    IF(referenced_table_schema = '{0}', 'here', referenced_table_schema), referenced_table_name,
    referenced_column_name
    FROM information_schema.key_column_usage WHERE table_schema = '{0}'
    ORDER BY table_name, constraint_name, ordinal_position"""
TABLE_CONSTRAINTS = """SELECT table_name, constraint_name, constraint_type
    FROM information_schema.table_constraints WHERE table_schema = '{0}'
    ORDER BY table_name, constraint_name"""
REFERENTIAL_CONSTRAINTS = """SELECT table_name, constraint_name, unique_constraint_name,
    match_option, update_rule, delete_rule, referenced_table_name
    FROM information_schema.referential_constraints WHERE constraint_schema = '{0}'
    ORDER BY table_name, constraint_name"""
CHECKS = """SELECT t.table_name, c.constraint_name, c.check_clause
    FROM information_schema.check_constraints c
    JOIN information_schema.table_constraints t
    ON t.constraint_schema = c.constraint_schema AND t.constraint_name = c.constraint_name{1}
    WHERE c.constraint_schema = '{0}' AND t.constraint_type = 'CHECK'
    ORDER BY t.table_name, c.constraint_name"""
JSON_CHECK = re.compile(r"json_valid\(`(.*)`\)")


def normal_expression(expression):
    """MySQL writes more parentheses, and the character set of texts; case and spaces differ."""
    expression = re.sub(r"_(utf8mb4|utf8mb3|latin1)\\?(?=')", "", expression.replace("\\'", "'"))
    return re.sub(r"[\s()]", "", expression).lower()


def normal_check_name(table, name, column_check):
    """A CHECK without a name is TABLE_chk_1 in MySQL, CONSTRAINT_1 or the column in MariaDB."""
    return (
        "(none)"
        if column_check or re.fullmatch(rf"CONSTRAINT_\d+|{re.escape(table)}_chk_\d+", name)
        else name
    )


class Schema:
    """The description of a database by its server. `facts` is {what: value}."""

    def __init__(self, server, database):
        self.reference = server.reference
        self.facts = {}
        # Columns whose type is JSON, of MariaDB.
        self.json = set()
        self.checks = collections.defaultdict(list)
        ask = lambda query, *more: server.rows(query.format(database, *more))  # noqa: E731
        self.kinds = {table: kind for table, kind, *_ in ask(TABLES)}
        self.tables = [table for table, kind in self.kinds.items() if kind == "BASE TABLE"]
        self.read_checks(ask)
        for table, kind, engine, collation, comment in ask(TABLES):
            self.add(f"table {table}: kind", kind)
            if kind == "BASE TABLE":
                self.add(f"table {table}: engine", engine)
                self.add(f"table {table}: collation", self.collation(collation))
                self.add(f"table {table}: comment", comment)
        for table, name, *values in ask(COLUMNS):
            self.read_column(table, name, dict(zip(COLUMN_FIELDS, values)))
        for table, name, place, *part in ask(STATISTICS):
            self.add(f"table {table}: index {name}: part {place}", tuple(part))
        for table, name, place, *part in ask(KEY_COLUMN_USAGE):
            self.add(f"table {table}: key {name}: part {place}", tuple(part))
        for table, name, kind in ask(TABLE_CONSTRAINTS):
            if kind != "CHECK":
                self.add(f"table {table}: constraint {name}", kind)
        for table, name, unique, match, update, delete, parent in ask(REFERENTIAL_CONSTRAINTS):
            # NO ACTION and RESTRICT are one rule; the default has another name in each server.
            rules = [rule.replace("NO ACTION", "RESTRICT") for rule in (update, delete)]
            self.add(f"table {table}: foreign key {name}", (unique, match, *rules, parent))
        for table in self.tables:
            self.read_definition(
                table, ask(f"SHOW CREATE TABLE `{{0}}`.`{table.replace('`', '``')}`")[0][1]
            )

    def add(self, what, value):
        self.facts[what] = value

    def collation(self, value):
        """MARIADB_COLLATION is the default of utf8mb4 in MariaDB, MYSQL_COLLATION in MySQL."""
        return MARIADB_COLLATION if value == MYSQL_COLLATION else value

    def read_checks(self, ask):
        # Names of checks are those of a schema in MySQL, of a table in MariaDB.
        clauses = ask(CHECKS, " AND t.table_name = c.table_name" if self.reference else "")
        of_columns = self.columns_with_checks(ask) if self.reference else set()
        for table, name, clause in clauses:
            json = JSON_CHECK.fullmatch(clause)
            if self.reference and json and json[1] == name:
                # JSON is a LONGTEXT with a CHECK in MariaDB.
                self.json.add((table, name))
                continue
            name = normal_check_name(table, name, (table, name) in of_columns)
            self.checks[table].append((name, normal_expression(clause)))
        for table, checks in self.checks.items():
            self.add(f"table {table}: checks", tuple(sorted(checks)))

    def columns_with_checks(self, ask):
        return {
            (table, name)
            for table, name in ask(
                "SELECT table_name, constraint_name FROM information_schema.check_constraints "
                "WHERE constraint_schema = '{0}' AND level = 'Column'"
            )
        }

    def read_column(self, table, name, values):
        if (table, name) in self.json:
            values.update(
                {
                    "data_type": "json",
                    "type": "json",
                    "charset": None,
                    "collation": None,
                    "length": None,
                    "octets": None,
                }
            )
        if values["data_type"] == "json":
            # The lengths of a JSON are unknown in MySQL, those of a LONGTEXT in MariaDB.
            values["length"] = values["octets"] = None
        values["collation"] = self.collation(values["collation"])
        values["data type"] = values.pop("data_type")
        normalise(values, self.reference)
        values["extra"] = re.sub(
            r"\b(STORED|PERSISTENT) GENERATED", "STORED GENERATED", values["extra"]
        )
        values["expression"] = normal_expression(values["expression"] or "")
        for field, value in values.items():
            self.add(f"table {table}: column {name}: {field}", value)

    def read_definition(self, table, definition):
        """The lines of SHOW CREATE TABLE, by what they define."""
        first, *lines, last = definition.split("\n")
        order = []
        for line in lines:
            line = line.strip().rstrip(",")
            column = re.match(r"`((?:[^`]|``)*)` ", line)
            if column:
                what, value = f"column {column[1]}", self.normal_column(table, column[1], line)
            elif re.match(r"(CONSTRAINT `[^`]*` )?CHECK ", line):
                # Those of information_schema are compared.
                continue
            else:
                what = re.match(r"(PRIMARY KEY|[A-Z ]*`[^`]*`)", line)[1]
                value = normal_key(line)
            if not column:
                order.append(what)
            self.add(f"definition of {table}: {what}", value)
        if self.reference:
            # Foreign keys come in the order of their names: of their bytes in MariaDB, in MySQL of
            # their lower-case letters.
            keys = [what for what in order if what.startswith("CONSTRAINT")]
            keys.sort(key=lambda what: what.rstrip("`").lower())
            order = [what for what in order if what not in keys] + keys
        self.add(f"definition of {table}: order", ", ".join(order))
        for name, value in re.findall(r"([A-Z_ ]+)=('(?:[^']|'')*'|\S+)", last[1:]):
            # MariaDB writes the collation of each table, MySQL that of utf8mb4 and those that
            # are no default. The one of information_schema is compared.
            if name.strip() not in ("DEFAULT CHARSET", "COLLATE"):
                self.add(f"definition of {table}: option {name.strip()}", value)

    def normal_column(self, table, name, line):
        rest = line[len(name) + 3 :]
        # Each server has a rule of its own for the columns whose collation it writes. Those of
        # information_schema are compared.
        rest = re.sub(r" (CHARACTER SET|COLLATE) \w+", "", rest)
        if not self.reference:
            return re.sub(
                r"(DEFAULT |GENERATED ALWAYS AS )(\(.*\))(.*)",
                lambda found: f"{found[1]}{normal_expression(found[2])}{found[3]}",
                rest,
            )
        if (table, name) in self.json:
            rest = re.sub(r" CHECK \(json_valid\(`.*?`\)\)", "", rest).replace(
                "longtext", "json", 1
            )
        # Checks of columns are compared as those of tables.
        rest = re.sub(r" CHECK \(.*\)$", "", rest)
        # MySQL 8.0 has no display widths but that of TINYINT(1) and of ZEROFILL.
        if not rest.startswith("tinyint(1)") and "zerofill" not in rest:
            rest = re.sub(r"^((?:tiny|small|medium|big)?int|year)\(\d+\)", r"\1", rest)
        rest = re.sub(
            r"current_timestamp\((\d*)\)",
            lambda found: "CURRENT_TIMESTAMP" + (f"({found[1]})" if found[1] else ""),
            rest,
        )
        # MySQL writes numbers as texts.
        rest = re.sub(r" DEFAULT (-?\d[\d.e+-]*)", r" DEFAULT '\1'", rest)
        # MySQL does not write the default of a TEXT or BLOB that has none.
        rest = re.sub(r"^((?:tiny|medium|long)?(?:text|blob)) DEFAULT NULL", r"\1", rest)
        rest = re.sub(
            r"GENERATED ALWAYS AS (\(.*\)) (VIRTUAL|STORED|PERSISTENT)",
            lambda found: f"GENERATED ALWAYS AS {normal_expression(found[1])} "
            f"{found[2].replace('PERSISTENT', 'STORED')}",
            rest,
        )
        # An expression has parentheses in MySQL.
        return re.sub(
            r" DEFAULT (?!NULL|CURRENT_TIMESTAMP|'|b')(.*?)(?=( COMMENT '.*)?$)",
            lambda found: f" DEFAULT {normal_expression(found[1])}",
            rest,
        )


def normal_key(line):
    """NO ACTION and RESTRICT are one rule; MySQL does not write the first, MariaDB the second."""
    return re.sub(r" ON (DELETE|UPDATE) (RESTRICT|NO ACTION)", "", line)


# Statements of programs


class Tap:
    """A port in front of Skarv that records statements: [(statement, error or None)]."""

    def __init__(self, port):
        self.to = port
        self.statements = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.to))
            last = []
            for source, target, handle in (
                (client, server, self.from_client),
                (server, client, self.from_server),
            ):
                threading.Thread(
                    target=self.copy, args=(source, target, handle, last), daemon=True
                ).start()

    def copy(self, source, target, handle, last):
        buffer = b""
        try:
            while data := source.recv(1 << 16):
                buffer += data
                while len(buffer) >= 4:
                    length = 4 + int.from_bytes(buffer[:3], "little")
                    if len(buffer) < length:
                        break
                    packet = handle(buffer[3], buffer[4:length], last)
                    target.sendall(buffer[:4] + packet)
                    buffer = buffer[length:]
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def from_client(self, sequence, packet, last):
        # COM_QUERY and COM_STMT_PREPARE
        if sequence == 0 and packet[:1] in (b"\x03", b"\x16"):
            last[:] = [len(self.statements)]
            self.statements.append((packet[1:].decode("utf-8", "surrogateescape"), None))
        return packet

    def from_server(self, sequence, packet, last):
        if sequence == 0 and packet[:1] == b"\x0a":
            # The greeting, without the capability CLIENT_SSL: the tap reads no encrypted statement.
            place = packet.index(b"\0", 1) + 1 + 4 + 8 + 1
            capabilities = int.from_bytes(packet[place : place + 2], "little") & ~0x0800
            return packet[:place] + capabilities.to_bytes(2, "little") + packet[place + 2 :]
        if sequence == 1 and last and packet[:1] == b"\xff":
            (number,) = struct.unpack_from("<H", packet, 1)
            statement, _ = self.statements[last[0]]
            self.statements[last[0]] = (
                statement,
                ("error", number, packet[9:].decode("utf-8", "replace")),
            )
        if sequence == 1:
            last.clear()
        return packet

    def close(self):
        self.listener.close()


# Products

Counts = collections.namedtuple(
    "Counts", "statements refused reduced tables compared explained different seconds"
)


class Product:
    """One product on both servers. `explained` has the differences with a reason."""

    def __init__(self, name, options, lines):
        self.name = name
        self.options = options
        self.lines = lines
        self.explained = []
        self.differences = []
        self.statements = self.refused = self.reduced = self.tables = self.compared = 0
        self.database = "schemas_" + re.sub(r"\W+", "_", name.lower())
        self.seconds = 0

    def differ(self, difference):
        difference = f"{self.name}: {difference}"
        for expression, reason in self.lines:
            if expression.search(difference):
                self.explained.append((difference, reason))
                return
        self.differences.append(difference)

    def run(self):
        begun = time.monotonic()
        try:
            mode = MODES.get(self.name, MYSQL_MODE)
            self.skarv = Server(self.options.skarv, False, mode)
            self.other = Server(self.options.reference, True, mode)
            for server in (self.skarv, self.other):
                server.create(self.database)
            if self.name in PROGRAM_PRODUCTS:
                self.run_program()
            else:
                self.run_files()
            self.compare()
        except schema_sources.Missing as error:
            self.differences.append(f"{self.name}: is not there: {error}")
        except (pymysql.err.MySQLError, RuntimeError, OSError, subprocess.SubprocessError) as error:
            self.differences.append(f"{self.name}: {type(error).__name__}: {str(error)[:1000]}")
        self.seconds = round(time.monotonic() - begun)

    def run_files(self):
        contents = [
            self.options.files.content(source) for source in self.options.sources[self.name]
        ]
        for content in contents:
            for statement in schema_sources.statements(self.name, content):
                self.statements += 1
                self.step(statement)

    def step(self, statement):
        begun = time.monotonic()
        ours = self.skarv.run(statement)
        seconds = time.monotonic() - begun
        if seconds > SLOW_SECONDS or ours[:2] == ("error", INTERNAL_ERROR):
            self.differences.append(
                f"{self.name}: {answer(ours)} after {seconds:.0f} s: {short(statement)}"
            )
        if ours[0] == "error":
            theirs = None
            refusal = f"{answer(ours)}: {short(statement, 3000)}"
            for what, expression, replacement in REDUCTIONS:
                reduced = re.sub(expression, replacement, statement, flags=re.IGNORECASE)
                if re.search(what, answer(ours)) and reduced != statement:
                    self.refused += 1
                    self.reduced += 1
                    self.differ(refusal)
                    self.step(reduced)
                    return
            if ours[1] not in REFUSED:
                theirs = self.other.run(statement)
            if theirs and theirs[:2] == ours[:2]:
                return
            self.refused += 1
            self.differ(refusal)
            return
        theirs = self.other.run(statement)
        if ours[0] != theirs[0] or (
            ours[0] == "ok" and not DEFINITION.match(statement) and ours != theirs
        ):
            self.differ(f"{short(statement, 3000)}: {answer(ours)} <> {answer(theirs)}")

    def run_program(self):
        program = os.path.join(PROGRAMS, PROGRAM_PRODUCTS[self.name] + ".sh")
        prepared = subprocess.run(
            ["bash", program, "prepare", self.options.cache],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PROGRAM_SECONDS,
        )
        if prepared.returncode != 0:
            raise schema_sources.Missing(prepared.stdout.decode("utf-8", "replace").strip()[-600:])
        tap = Tap(self.options.skarv)
        home = os.path.join(self.options.work, PROGRAM_PRODUCTS[self.name])
        os.makedirs(home, exist_ok=True)
        done = subprocess.run(
            ["bash", program, "run", self.options.cache, str(tap.port), self.database, home],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PROGRAM_SECONDS,
        )
        tap.close()
        self.statements = len(tap.statements)
        if self.options.keep_statements:
            with open(
                os.path.join(self.options.keep_statements, PROGRAM_PRODUCTS[self.name] + ".sql"),
                "w",
                encoding="utf-8",
                errors="surrogateescape",
            ) as file:
                for statement, error in tap.statements:
                    file.write(f"{statement};{'  -- ' + answer(error) if error else ''}\n")
        for statement, error in tap.statements:
            if error:
                # A program may expect an error: of a missing table, or of a key of old versions.
                if error[1] not in REFUSED and self.other.run(statement)[:2] == error[:2]:
                    continue
                self.refused += 1
                self.differ(f"{answer(error)}: {short(statement, 3000)}")
            elif REPLAYED.match(statement):
                theirs = self.other.run(statement)
                if theirs[0] == "error":
                    self.differ(f"{short(statement, 3000)}: ok <> {answer(theirs)}")
        if done.returncode != 0:
            output = done.stdout.decode("utf-8", "replace").strip()
            self.differ(f"the program ends with {output[:400]} ... {output[-600:]}")

    def compare(self):
        (skarv,) = self.skarv.rows("SELECT DATABASE()")[0]
        (other,) = self.other.rows("SELECT DATABASE()")[0]
        first, theirs = Schema(self.skarv, skarv), Schema(self.other, other)
        self.tables = len(first.tables)
        if not first.tables:
            self.differences.append(f"{self.name}: there are no tables")
        self.compare_schemas("", first, theirs)
        if self.name not in PROGRAM_PRODUCTS:
            for table in sorted(set(first.tables) & set(theirs.tables)):
                self.compare_rows(table, skarv, other)
        self.compare_dumps(skarv, other, theirs)
        for server, database in ((self.skarv, skarv), (self.other, other)):
            server.rows("SET foreign_key_checks = 0")
            for name in {database, self.database}:
                server.rows(f"DROP DATABASE `{name}`")

    def compare_schemas(self, prefix, first, second):
        a, b = first.facts, second.facts
        self.compared += len(a.keys() | b.keys())
        missing = set(first.kinds) ^ set(second.kinds)
        for table in sorted(missing):
            sides = [
                "is there" if table in schema.kinds else "is not there"
                for schema in (first, second)
            ]
            self.differ(f"{prefix}table {table}: {' <> '.join(sides)}")
        for what in dict.fromkeys([*b, *a]):
            named = re.match(r"(?:table|definition of) (.*?): ", what)
            if named[1] not in missing and a.get(what) != b.get(what):
                self.differ(f"{prefix}{what}: {a.get(what)!r} <> {b.get(what)!r}")

    def compare_rows(self, table, skarv, other):
        a, b = (
            sorted(server.rows(f"SELECT * FROM `{database}`.`{table}`"), key=repr)
            for server, database in ((self.skarv, skarv), (self.other, other))
        )
        self.compared += len(b)
        if len(a) != len(b):
            self.differ(f"rows of {table}: {len(a)} <> {len(b)}")
            return
        for v, w in zip(a, b):
            if not all(map(equal_values, v, w)):
                self.differ(f"rows of {table}: {v!r} <> {w!r}")

    def client(self, program, port, *arguments, **options):
        return subprocess.run(
            [
                program,
                "--no-defaults",
                "--protocol=tcp",
                "--host=127.0.0.1",
                f"--port={port}",
                "--user=root",
                "--skip-ssl",
                "--default-character-set=utf8mb4",
                *arguments,
            ],
            timeout=DUMP_SECONDS,
            stderr=subprocess.PIPE,
            **options,
        )

    def dump(self, port, database):
        done = self.client(
            "mariadb-dump",
            port,
            "--skip-comments",
            database,
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode != 0:
            self.differ(f"mariadb-dump: {done.stderr.decode('utf-8', 'replace').strip()[:300]}")
            return None
        return done.stdout

    def load(self, server, database, dump):
        server.create(database)
        done = self.client("mariadb", server.port, database, input=dump, stdout=subprocess.DEVNULL)
        if done.returncode != 0:
            name = "MariaDB" if server.reference else "Skarv"
            self.differ(
                f"{name} loads the dump: {done.stderr.decode('utf-8', 'replace').strip()[:600]}"
            )
            return False
        return True

    def compare_dumps(self, skarv, other, theirs):
        dump = self.dump(self.options.skarv, skarv)
        if dump is None:
            return
        again = f"{self.database}_again"
        if self.load(self.skarv, again, dump):
            second = self.dump(self.options.skarv, again)
            for v, w in itertools.zip_longest(
                *(
                    part.decode("utf-8", "surrogateescape").split("\n")
                    for part in (dump, second or b"")
                )
            ):
                self.compared += 1
                if v != w:
                    self.differ(f"dump: {v!r} <> {w!r}")
                    break
        text = translated(dump.decode("utf-8", "surrogateescape"))
        if self.load(self.other, again, text.encode("utf-8", "surrogateescape")):
            self.compare_schemas("returned: ", Schema(self.other, again), theirs)
        for server in (self.skarv, self.other):
            server.rows("SET foreign_key_checks = 0")
            server.rows(f"DROP DATABASE `{again}`")

    def counts(self):
        return Counts(
            self.statements,
            self.refused,
            self.reduced,
            self.tables,
            self.compared,
            len(self.explained),
            len(self.differences),
            self.seconds,
        )


def record(options):
    """Prints the lines of schemas_sources.txt with the checksums of today."""
    for source in (source for files in options.sources.values() for source in files):
        content = options.files.content(source, check=False)
        print("\t".join(source._replace(checksum=schema_sources.checksum(content))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--skarv", type=int)
    parser.add_argument("--reference", type=int)
    parser.add_argument("--cache", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--only")
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--keep-statements")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options.sources = schema_sources.sources()
    options.files = schema_sources.Files(
        os.path.join(options.cache, "schemas"), os.path.join(options.work, "packages")
    )
    if options.record:
        record(options)
        return
    names = [*options.sources, *PROGRAM_PRODUCTS]
    if options.only:
        unknown = set(options.only.split(",")) - set(names)
        if unknown:
            parser.error(f"no product {', '.join(unknown)}; there are {', '.join(names)}")
        names = options.only.split(",")
    lines = explanations(EXPLAINED)
    products = []
    for name in names:
        product = Product(name, options, lines)
        products.append(product)
        product.run()
        for difference in product.differences[: options.show]:
            print(f"FAILED {difference[:1500]}", flush=True)
        if len(product.differences) > options.show:
            print(f"FAILED {name}: {len(product.differences) - options.show} more")
    reasons = collections.Counter(reason for product in products for _, reason in product.explained)
    for reason, count in reasons.most_common():
        print(f"explained {count} times: {reason}")
    if not options.only:
        for expression, reason in lines:
            if reason not in reasons:
                print(f"explains nothing: {expression.pattern}")
    print(f"{'product':24s}" + "".join(f"{field:>11s}" for field in Counts._fields))
    for product in products:
        print(f"{product.name:24s}" + "".join(f"{value:11d}" for value in product.counts()))
    failed = sum(bool(product.differences) for product in products)
    print(f"{len(products) - failed} passed, {failed} failed")
    sys.exit(1 if failed or not products else 0)


if __name__ == "__main__":
    main()
