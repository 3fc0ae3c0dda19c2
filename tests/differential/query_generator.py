"""Schemas, rows and statements over 2 to 5 tables, from a seed (queries.py).

A statement is a tree of `Node`, so that `queries.py --reduce` can cut parts off. A seed stands for a
schema; a seed and a number stand for a statement over it, whatever the statements before were.

The generator leaves out what no difference can be learnt from:

    left out                                        because
    quotients but by 2, 4, 8 and 0                  MariaDB rounds them, MySQL keeps more digits
    an unsigned operand of arithmetic               1690 depends on the rows that a plan evaluates
    LIMIT without a total order                     any of the rows are right
    GROUP_CONCAT, ROW_NUMBER, LAG, ROWS frames
      without a total order                         any of the orders is right
    DISTINCT in an aggregate with ROLLUP            MariaDB counts equal values of two groups twice
    INTERSECT ALL and EXCEPT ALL of three queries
      or in a subquery                              MariaDB does not end, or does not find NULL
    INTERSECT and EXCEPT in IN, ANY and ALL         MariaDB does not take the result for empty
    a text that GROUP_CONCAT makes of a DECIMAL,
      compared with an integer                      MariaDB makes an integer of it
    BIT_OR of a window                              MariaDB takes no bits back
    windows with HAVING or without GROUP BY where
      there are aggregates                          MariaDB passes over HAVING, and finds NULL
    OVER () beside other windows                    MariaDB sorts the others wrongly
    windows in subqueries of IN, ANY and ALL        MariaDB compares some of the rows only
    windows of columns of a query around            MariaDB keeps the values of the first evaluation
    rows with outer joins                           MariaDB takes a comparison with NULL for false, and joins inner
    a subquery on the left of IN, ANY and ALL, on
      their right an aggregate without GROUP BY     MariaDB does not find NULL, or no row
    LIMIT in a set operation of a subquery          MariaDB passes over OFFSET, and does not end the query at LIMIT 0
    rows, IN, ANY and ALL in the select list of
      a query that groups                           MariaDB does not find NULL, and confuses groups
    columns of a query around in ON of outer joins  MariaDB takes the condition for true
    HAVING with ROLLUP                              MariaDB does not find the NULL of a total
    assignments in UPDATE of several tables to
      columns that its conditions use               MariaDB looks at the new values
    OFFSET of SELECT DISTINCT                       MariaDB passes over it where there are only constants
    ORDER BY an aggregate without GROUP BY          MariaDB does not aggregate for it
    doubles that are no sum of powers of two        the order of a sum decides the last digits
    a text compared with a date, a date with a
      number, a TIME with a date                    MariaDB converts another operand
    LAG(x, n, default), RANGE n with INTERVAL,
      LATERAL, ROLLUP with ORDER BY                 MariaDB does not have them

Classes of expressions, also the places of the forms below:

    n  a signed integer      i  an integer, perhaps unsigned     d  DECIMAL    f  DOUBLE
    s  a text, _ci           S  a text, _bin                     b  a truth value
    D  DATE                  T  DATETIME                         t  TIME
    x  a number that no other expression uses: BIT_AND, AVG, STDDEV
"""

import dataclasses
import random
import re

QUERIES_PER_SEED = 200
# The product of the rows of all tables that are joined, also with those of the outer queries.
ROOM = 20_000


class Node:
    """A part of a statement. The kind is a class of expressions, or

        q     a query              rel   an operand of a join
        opt   it may be missing    seq   a list, of which all but `least` may be missing
        ""    anything else
    """

    __slots__ = ("kind", "parts", "separator", "least")

    def __init__(self, kind, *parts, separator="", least=1):
        self.kind, self.parts, self.separator, self.least = kind, parts, separator, least

    def __str__(self):
        return self.separator.join(map(str, self.parts))

    def with_parts(self, parts):
        return Node(self.kind, *parts, separator=self.separator, least=self.least)


def seq(items, separator=", ", least=1):
    return Node("seq", *items, separator=separator, least=least)


def optional(*parts):
    return Node("opt", *parts)


# --- schemas ---


@dataclasses.dataclass
class Column:
    name: str
    kind: str
    sql: str
    null: bool = True

    @property
    def unsigned(self):
        return "UNSIGNED" in self.sql


@dataclasses.dataclass
class Table:
    name: str
    columns: list
    primary: list
    uniques: list
    keys: list
    # SQL literals
    rows: list

    def column(self, name):
        return next(column for column in self.columns if column.name == name)

    def statements(self):
        items = [f"{c.name} {c.sql}{'' if c.null else ' NOT NULL'}" for c in self.columns]
        items.append(f"PRIMARY KEY ({', '.join(self.primary)})")
        items += [f"UNIQUE KEY u{i} ({', '.join(key)})" for i, key in enumerate(self.uniques)]
        items += [f"KEY k{i} ({', '.join(key)})" for i, key in enumerate(self.keys)]
        yield f"CREATE TABLE {self.name} ({', '.join(items)})"
        if self.rows:
            yield f"INSERT INTO {self.name} VALUES " + ", ".join(f"({', '.join(r)})" for r in self.rows)


@dataclasses.dataclass
class Schema:
    tables: list
    # Equal texts of a _ci collation may differ in bytes.
    mixed_case: bool
    # The collation of the connection
    collation: str

    def statements(self):
        yield f"SET NAMES utf8mb4 COLLATE {self.collation}"
        for table in self.tables:
            yield from table.statements()


VALUES = {
    "i": ["-2", "-1", "0", "1", "2", "3", "4", "5", "7", "8"],
    "d": ["-1.50", "-1.00", "0.00", "0.50", "1.00", "1.50", "2.00", "2.25", "3.00", "4.75"],
    "f": ["-0.5", "0", "0.25", "1", "1.5", "2", "3", "3.25"],
    "s": ["''", "'a'", "'b'", "'c'", "'ab'", "'ba'", "'1'", "'2'", "'2.5'", "'x y'", "'abc'"],
    "D": ["'2019-12-31'", "'2020-01-01'", "'2020-02-29'", "'2020-03-01'", "'2021-06-15'"],
    "T": ["'2019-12-31 23:59:59'", "'2020-01-01 00:00:00'", "'2020-02-29 12:00:00'",
          "'2020-03-01 00:00:00'", "'2021-06-15 06:30:15'"],
    "t": ["'-01:30:00'", "'00:00:00'", "'00:00:01'", "'12:00:00'", "'23:59:59'", "'100:00:00'"],
}
VALUES["S"] = VALUES["s"] + ["'A'", "'B'", "'Ab'"]
MIXED_CASE = VALUES["s"] + ["'A'", "'B'", "'AB'", "'aB'", "'é'", "'E'", "'ABC'"]


def schema(seed):
    rng = random.Random(f"schema {seed}")
    mixed_case = rng.random() < 0.3
    collations = rng.choice([["utf8mb4_general_ci"]] * 13 + [["utf8mb4_unicode_ci"]] * 6
                            + [["utf8mb4_general_ci", "utf8mb4_unicode_ci"]])

    def column(name, kind):
        if kind == "i":
            sql = rng.choice(["INT", "INT", "BIGINT", "INT UNSIGNED", "BIGINT UNSIGNED", "SMALLINT"])
        elif kind == "d":
            sql = rng.choice(["DECIMAL(10,2)", "DECIMAL(12,4)", "DECIMAL(8,2)"])
        elif kind == "s":
            sql = f"VARCHAR({rng.choice([12, 20])}) COLLATE {rng.choice(collations)}"
        elif kind == "S":
            sql = f"VARCHAR({rng.choice([12, 20])}) COLLATE utf8mb4_bin"
        else:
            sql = {"f": "DOUBLE", "D": "DATE", "T": "DATETIME", "t": "TIME"}[kind]
        return Column(name, kind, sql, null=rng.random() < 0.85)

    def value(column):
        if column.null and rng.random() < 0.2:
            return "NULL"
        values = MIXED_CASE if mixed_case and column.kind == "s" else VALUES[column.kind]
        return rng.choice([v for v in values if not (column.unsigned and v.startswith("-"))])

    # A name stands for the same class in most tables, so that NATURAL joins match.
    kinds = {name: rng.choice("iiiidffsssSDTt") for name in "abcdefgh"}
    tables = []
    for number in range(rng.randint(2, 5)):
        names = rng.sample("abcdefgh", rng.randint(1, 7))
        columns = []
        for name in names:
            kind = kinds[name]
            if rng.random() < 0.1:
                kind = {"i": "d", "d": "i", "f": "i", "s": "i", "D": "T", "T": "D"}.get(kind, kind)
            columns.append(column(name, kind))
        if rng.random() < 0.6 or len(columns) < 2:
            columns.insert(0, Column("id", "i", rng.choice(["INT", "INT", "BIGINT"]), null=False))
            primary = ["id"]
        else:
            primary = rng.sample([c.name for c in columns], rng.randint(1, 2))
        for c in columns:
            if c.name in primary:
                c.null = False
        uniques = [rng.sample([c.name for c in columns], rng.randint(1, min(2, len(columns))))
                   for _ in range(rng.choice([0, 0, 1]))]
        keys = [rng.sample([c.name for c in columns], rng.randint(1, min(3, len(columns))))
                for _ in range(rng.randint(0, 3))]
        wanted = rng.choice([0, 1, 3, 5, 8, 8, 12, 12, 12, 16, 16, 20, 25, 40])
        rows, seen = [], set()
        for _ in range(wanted * 3):
            if len(rows) == wanted:
                break
            row = [value(c) for c in columns]
            if primary == ["id"]:
                row[0] = str(len(rows) + rng.choice([0, 0, 0, 1]))
            of = {c.name: v for c, v in zip(columns, row)}
            # As a text collation that takes no difference between cases and accents.
            found = {(i, *(plain(of[name]) for name in key)) for i, key in enumerate([primary, *uniques])
                     if "NULL" not in [of[name] for name in key]}
            if not found & seen:
                seen |= found
                rows.append(row)
        tables.append(Table(f"t{number}", columns, primary, uniques, keys, rows))
    collation = rng.choice(collations) if rng.random() < 0.85 else "utf8mb4_general_ci"
    return Schema(tables, mixed_case, collation)


def plain(literal):
    return literal.replace("é", "e").lower()


# --- forms of expressions ---

FORMS = {
    "n": ["({n} + {n})", "({n} - {n})", "({n} * 2)", "({n} * {n})", "({n} DIV 2)", "({n} % 3)", "(-{n})", "ABS({n})",
          "SIGN({d})", "CHAR_LENGTH({s})", "CAST({i} AS SIGNED)", "CASE WHEN {b} THEN {n} ELSE {n} END",
          "CASE {i} WHEN {n} THEN {n} WHEN {n} THEN {n} END", "IF({b}, {n}, {n})", "COALESCE({n}, {n})",
          "IFNULL({n}, 0)", "NULLIF({n}, {n})", "YEAR({D})", "MONTH({T})", "DAYOFMONTH({D})", "HOUR({t})",
          "DATEDIFF({D}, {D})", "LOCATE('b', {s})", "GREATEST({n}, {n})", "LEAST({n}, {n}, 1)", "LENGTH({S})"],
    "i": ["{n}", "{n}", "{n}", "COALESCE({i}, {i})", "IF({b}, {i}, {i})", "IFNULL({i}, {i})",
          "CASE WHEN {b} THEN {i} END", "NULLIF({i}, {i})"],
    "d": ["({d} + {n})", "({d} - {d})", "({d} * {n})", "({d} * 1.5)", "({n} / 4)", "({d} / 2)", "({n} / 0)",
          "ABS({d})", "(-{d})", "ROUND({d}, 1)", "COALESCE({d}, {n})", "IF({b}, {d}, {n})",
          "CASE WHEN {b} THEN {d} ELSE {d} END", "NULLIF({d}, {d})", "CAST({n} AS DECIMAL(8,2))",
          "GREATEST({d}, {d})", "({n} + 0.5)"],
    "f": ["({f} + {n})", "({f} * 2)", "({f} - {f})", "({f} + {d})", "ABS({f})", "COALESCE({f}, {n})",
          "IF({b}, {f}, {f})", "NULLIF({f}, {f})", "CASE WHEN {b} THEN {f} ELSE {d} END", "({s} + {n})"],
    "s": ["CONCAT({s}, {s})", "CONCAT({s}, {n})", "CONCAT({s}, '-')", "UPPER({s})", "LOWER({s})", "LEFT({s}, 2)",
          "SUBSTRING({s}, 2)", "SUBSTRING({s}, 1, 1)", "RIGHT({s}, 1)", "TRIM({s})", "REVERSE({s})", "REPEAT({s}, 2)",
          "COALESCE({s}, {s})", "COALESCE({s}, 'none')", "IFNULL({s}, '')", "IF({b}, {s}, {s})", "NULLIF({s}, {s})",
          "CASE WHEN {b} THEN {s} ELSE {s} END", "CASE {s} WHEN 'a' THEN {s} ELSE 'z' END", "LPAD({s}, 4, '*')",
          "CONCAT_WS(',', {s}, {n}, {s})", "CONCAT(CAST({n} AS CHAR), {s})", "CONCAT({D}, {s})",
          "COALESCE({n}, {s})"],
    "S": ["CONCAT({S}, {S})", "UPPER({S})", "LEFT({S}, 1)", "COALESCE({S}, {S})", "IF({b}, {S}, {S})",
          "NULLIF({S}, {S})", "CONCAT({S}, {n})", "SUBSTRING({S}, 2)"],
    "D": ["({D} + INTERVAL 1 DAY)", "({D} - INTERVAL 1 MONTH)", "LAST_DAY({D})", "DATE({T})", "COALESCE({D}, {D})",
          "IF({b}, {D}, {D})", "NULLIF({D}, {D})", "GREATEST({D}, {D})", "CASE WHEN {b} THEN {D} END",
          "CAST({T} AS DATE)"],
    "T": ["({T} + INTERVAL 1 HOUR)", "({T} - INTERVAL 2 DAY)", "COALESCE({T}, {T})", "IF({b}, {T}, {T})",
          "COALESCE({T}, {D})", "CAST({D} AS DATETIME)", "NULLIF({T}, {T})", "LEAST({T}, {T})"],
    "t": ["COALESCE({t}, {t})", "IF({b}, {t}, {t})", "TIME({T})", "NULLIF({t}, {t})", "SEC_TO_TIME({n} * 60)"],
    "b": ["({i} = {i})", "({i} < {d})", "({d} >= {n})", "({f} > {i})", "({i} <> {i})", "({i} <=> {i})", "({d} = {f})",
          "({s} = {s})", "({s} < {s})", "({s} <> {s})", "({s} <=> {s})", "({S} = {S})", "({S} >= {S})",
          "({D} < {D})", "({D} = {T})", "({T} >= {D})", "({t} <= {t})", "({D} <=> {D})", "({T} <> {T})",
          "({i} BETWEEN {n} AND {n})", "({d} NOT BETWEEN {n} AND {d})", "({s} BETWEEN 'a' AND {s})",
          "({D} BETWEEN '2020-01-01' AND {D})", "({i} IN (1, 2, {i}))", "({i} NOT IN (1, {i}))",
          "({s} IN ('a', 'b', {s}))", "({s} NOT IN ('a', {s}))", "({i} IN (1, NULL))", "({D} IN ('2020-01-01', {D}))",
          "({s} LIKE 'a%')", "({s} LIKE '%b')", "({S} NOT LIKE '_')", "({i} IS NULL)", "({s} IS NOT NULL)",
          "({D} IS NULL)", "({d} IS NOT NULL)", "(NOT {b})", "({b} AND {b})", "({b} OR {b})", "({b} AND {b} AND {b})",
          "({b} OR {b} OR {b})", "({b} XOR {b})", "({b} IS TRUE)", "({b} IS NOT FALSE)", "({b} IS UNKNOWN)",
          "({b} OR NULL)", "({b} AND NULL)", "({i} = NULL)", "(({i}, {s}) = ({i}, {s}))",
          "(({i}, {i}) IN (({i}, {i}), (1, 2)))", "(({i}, {i}) <> ({i}, 1))", "(({i}, {D}) < ({i}, {D}))",
          "({s} = {i})", "({i} = {s})", "({s} > {n})", "({D} = '2020-01-01')", "({T} > '2020-01-15 12:00:00')",
          "{n}", "({n} IS TRUE)", "COALESCE({b}, {b})", "IF({b}, {b}, {b})", "({s} = '1')", "({i} = '2')",
          "({i} > 1)", "({i} = 3)", "({s} = 'a')", "({d} > 1)", "({f} <= 2)"],
}
# Of texts of _ci whose bytes any server may choose.
BYTES_FORMS = {"s": ["REPLACE({s}, 'a', 'zz')", "CONCAT('x', HEX({s}))"], "b": ["({s} = {S})", "({S} < {s})"],
               "n": ["ASCII({s})"]}
ROW_FORMS = {"(({i}, {s}) = ({i}, {s}))", "(({i}, {i}) IN (({i}, {i}), (1, 2)))", "(({i}, {i}) <> ({i}, 1))",
             "(({i}, {D}) < ({i}, {D}))"}
MIXED_FORMS = {"({n} / 0)", "({s} = {i})", "({i} = {s})", "({s} > {n})", "({s} + {n})"}
LITERALS = {
    "n": ["0", "1", "2", "3", "-1", "5"], "d": ["0.5", "1.50", "-1.00", "2.25"],
    "f": ["0.5e0", "1e0", "-2e0", "3.25e0"],
    "s": ["''", "'a'", "'b'", "'ab'", "'1'"], "D": ["DATE'2020-01-01'", "DATE'2020-02-29'"],
    "T": ["TIMESTAMP'2020-01-01 00:00:00'", "TIMESTAMP'2020-02-29 12:00:00'"],
    "t": ["TIME'12:00:00'", "TIME'00:00:01'"],
    "b": ["TRUE", "FALSE", "(1 = 1)"],
}
LITERALS["i"], LITERALS["S"] = LITERALS["n"], LITERALS["s"]

AGGREGATES = {
    "n": ["COUNT(*)", "COUNT(*)", "COUNT({i})", "COUNT({s})", "COUNT(DISTINCT {i})", "COUNT(DISTINCT {s}, {i})",
          "COUNT(DISTINCT {D})", "MIN({n})", "MAX({n})", "COUNT({b})"],
    "i": ["MIN({i})", "MAX({i})", "COUNT(*)"],
    "d": ["SUM({n})", "SUM({d})", "MIN({d})", "MAX({d})", "SUM(DISTINCT {n})", "SUM({b})"],
    "f": ["SUM({f})", "MIN({f})", "MAX({f})"],
    "s": ["MIN({s})", "MAX({s})", "GROUP_CONCAT({n} ORDER BY 1)", "GROUP_CONCAT(DISTINCT {n} ORDER BY 1 DESC)"],
    "S": ["MIN({S})", "MAX({S})", "GROUP_CONCAT({S} ORDER BY 1)"],
    "D": ["MIN({D})", "MAX({D})"], "T": ["MIN({T})", "MAX({T})"], "t": ["MIN({t})", "MAX({t})"],
    "x": ["AVG({n})", "AVG({d})", "AVG(DISTINCT {n})",
          "GROUP_CONCAT({d} ORDER BY 1 DESC SEPARATOR '|')", "BIT_AND({n})", "BIT_OR({n})", "BIT_XOR({n})",
          "STDDEV_POP({n})", "STDDEV_SAMP({n})", "VAR_POP({n})", "VAR_SAMP({n})", "AVG({f})"],
}
# Values of windows that are the same in any order of peers.
PEERS = {
    "n": ["RANK() {w}", "DENSE_RANK() {w}"], "x": ["PERCENT_RANK() {w}", "CUME_DIST() {w}"],
}
WINDOW_AGGREGATES = {
    "n": ["COUNT(*) {f}", "COUNT({i}) {f}", "MIN({n}) {f}", "MAX({n}) {f}"],
    "d": ["SUM({n}) {f}", "SUM({d}) {f}", "MAX({d}) {f}"], "f": ["SUM({f_}) {f}"],
    "S": ["MIN({S}) {f}", "MAX({S}) {f}"], "D": ["MIN({D}) {f}", "MAX({D}) {f}"], "T": ["MAX({T}) {f}"],
    "x": ["AVG({n}) {f}", "AVG({d}) {f}", "STDDEV_POP({n}) {f}"],
}
# Values of windows in a total order.
ROWS = {
    "n": ["ROW_NUMBER() {w}", "NTILE(3) {w}", "LAG({n}) {w}", "LEAD({n}, 2) {w}", "FIRST_VALUE({n}) {f}",
          "LAST_VALUE({n}) {f}", "NTH_VALUE({n}, 2) {f}"],
    "d": ["LAG({d}, 1) {w}", "LAST_VALUE({d}) {f}"], "f": ["LEAD({f_}) {w}"],
    "s": ["LAG({s}) {w}", "FIRST_VALUE({s}) {f}", "NTH_VALUE({s}, 2) {f}"], "S": ["LEAD({S}) {w}"],
    "D": ["LAG({D}) {w}", "LAST_VALUE({D}) {f}"], "T": ["LEAD({T}, 1) {w}"], "t": ["LAG({t}) {w}"],
}
BOUNDS = ["UNBOUNDED PRECEDING", "2 PRECEDING", "1 PRECEDING", "CURRENT ROW", "1 FOLLOWING", "3 FOLLOWING",
          "UNBOUNDED FOLLOWING"]
COMPARISONS = ["=", "<>", "<", "<=", ">", ">="]
NUMBERS = "nidf"
EVERY = "iiinnddffsssSSDDTtb"


# --- scopes ---


@dataclasses.dataclass
class Field:
    """A column that a query can name."""

    name: str
    kind: str
    unsigned: bool = False


@dataclasses.dataclass
class Relation:
    alias: str
    fields: list
    # Names of the columns of a unique key without NULL, or None
    key: list
    rows: int


class Scope:
    """Where an expression stands: relations, group keys if the query groups, and the query around."""

    def __init__(self, relations, outer=None, keys=None, aggregates=False):
        self.relations, self.outer, self.keys, self.aggregates = relations, outer, keys, aggregates
        # Columns are named with their relation.
        self.qualified = False
        # Rows of all combinations, with those of the queries around.
        self.all_rows = product(r.rows for r in relations) * (outer.all_rows if outer else 1)

    def alone(self):
        """The scope without the queries around."""
        scope = Scope(self.relations, None, self.keys, self.aggregates)
        scope.all_rows = self.all_rows
        return scope

    def grouped(self, keys):
        return Scope(self.relations, self.outer, keys, aggregates=True)

    def plain(self):
        """The scope of the arguments of an aggregate. One of outer columns alone would belong to the outer query."""
        scope = Scope(self.relations)
        scope.all_rows = self.all_rows
        return scope

    def fields(self, kind):
        """[(text, field)] of this query alone."""
        if self.keys is not None:
            return [(text, field) for text, field in self.keys if matches(field, kind)]
        return [(f"{r.alias}.{f.name}", f) for r in self.relations for f in r.fields if matches(f, kind)]

    def kinds(self):
        """The classes of the columns."""
        found = self.keys if self.keys is not None else [("", f) for r in self.relations for f in r.fields]
        found = {field.kind for _, field in found}
        return found | {"i"} if "n" in found else found | {"n"} if "i" in found else found

    def is_unique(self, name):
        return not self.qualified and sum(f.name == name for r in self.relations for f in r.fields) == 1

    def key(self):
        """The columns of a total order, or None."""
        if self.keys is not None or any(r.key is None for r in self.relations):
            return None
        return [f"{r.alias}.{name}" for r in self.relations for name in r.key]


def matches(field, kind):
    return field.kind == kind or (kind == "i" and field.kind == "n")


def product(numbers):
    result = 1
    for number in numbers:
        result *= max(1, number)
    return result


@dataclasses.dataclass
class Query:
    node: Node
    fields: list
    rows: int
    ordered: bool = False


@dataclasses.dataclass
class Statement:
    node: Node
    # "query", "change" or "error"
    kind: str
    # The rows have one order.
    ordered: bool = False
    # Of an error: its numbers in MySQL and in MariaDB (0: MariaDB accepts it)
    errors: tuple = None


class Generator:
    """One statement over a schema."""

    def __init__(self, schema, seed, number):
        self.schema = schema
        self.rng = random.Random(f"statement {seed} {number}")
        self.names = 0
        self.ctes = []
        self.excluded = set()
        # MySQL has no LIMIT in a subquery of IN, ANY and ALL.
        self.limits = True
        self.windows = self.aggregates = True
        self.in_aggregate = False
        # Forms of expressions that this statement must not have.
        self.left_out = set()
        # Subqueries and derived tables that may still come.
        self.budget = self.rng.choice([0, 1, 2, 3, 4, 6])

    def chance(self, percent):
        return self.rng.random() * 100 < percent

    def name(self, letter):
        self.names += 1
        return f"{letter}{self.names}"

    def statement(self):
        number = self.rng.random()
        if number < 0.08:
            return self.change()
        if number < 0.18:
            return self.error()
        query = self.query(2, None)
        return Statement(query.node, "query", query.ordered)

    # --- expressions ---

    def literal(self, kind):
        return Node(kind, self.rng.choice(LITERALS[kind]))

    def leaf(self, kind, scope):
        """A column, an aggregate or a literal."""
        if kind == "b":
            forms = ["({i} = {i})", "({i} > 1)", "({s} = {s})", "({d} < {n})", "({D} >= {D})", "({S} = {S})",
                     "({f} < {n})", "({T} <> {T})", "({i} IS NULL)", "({s} IS NOT NULL)"]
            return self.filled("b", self.form(forms, scope), scope, 0)
        if scope and scope.aggregates and self.chance(40):
            return self.aggregate(kind, scope)
        place = scope
        while place and place.outer and self.chance(25):
            place = place.outer
        found = place.fields(kind) if place else []
        if not found and place and place.aggregates:
            return self.aggregate(kind, place) if place is scope else self.literal(kind)
        if not found and place is not scope:
            place, found = scope, scope.fields(kind)
        if not found and kind in "nidf" and self.chance(50):
            found = place.fields(self.rng.choice("idf")) if place else []
            found = [(text, field) for text, field in found if kind != "n" or field.kind in "in"]
        if found and self.chance(90):
            text, field = self.rng.choice(found)
            if kind == "n" and field.kind != "n":
                text = f"CAST({text} AS SIGNED)" if field.unsigned else text
            elif (place is scope and scope.keys is None and self.chance(12) and scope.is_unique(field.name)):
                text = field.name
            return Node(kind, text)
        if not found and kind == "n" and place and self.chance(80):
            found = place.fields("i")
            if found:
                text, field = self.rng.choice(found)
                return Node(kind, f"CAST({text} AS SIGNED)" if field.unsigned else text)
        return self.literal(kind)

    def expression(self, kind, scope, depth):
        if depth <= 0 or self.chance(25):
            return self.leaf(kind, scope)
        if scope and self.budget > 0 and self.chance(25 if kind == "b" else 12):
            found = self.subquery(kind, scope)
            if found:
                return found
        forms = FORMS[kind]
        if kind in BYTES_FORMS and not self.schema.mixed_case and self.chance(8):
            forms = BYTES_FORMS[kind]
        return self.filled(kind, self.form(forms, scope), scope, depth - 1)

    def form(self, forms, scope):
        """A form, mostly one whose first place a column of the scope can take."""
        found = scope.kinds() if scope else ""
        for _ in range(8):
            form = self.rng.choice(forms)
            place = form.partition("{")[2][:1]
            if form in self.left_out:
                continue
            if place in found or place in ("", "b"):
                break
        return form if form not in self.left_out else forms[0]

    def filled(self, kind, form, scope, depth):
        return Node(kind, *self.parts(form, lambda place: self.expression(place, scope, depth)))

    def parts(self, form, of_place):
        while "{" in form:
            before, _, rest = form.partition("{")
            place, _, form = rest.partition("}")
            yield before
            yield of_place(place)
        yield form

    def aggregate(self, kind, scope, forms=None):
        form = self.rng.choice(forms or AGGREGATES[kind])
        left_out, in_aggregate = self.left_out, self.in_aggregate
        self.left_out, self.in_aggregate = left_out | ROW_FORMS, True
        node = self.filled(kind, form, scope.plain(), self.rng.choice([0, 0, 1]))
        self.left_out, self.in_aggregate = left_out, in_aggregate
        return node

    def condition(self, scope, depth=2):
        return self.expression("b", scope, depth)

    # --- subqueries in expressions ---

    def subquery(self, kind, scope):
        room = ROOM // scope.all_rows
        if room < 2:
            return None
        self.budget -= 1
        if kind != "b":
            return self.scalar(kind, scope)
        form = self.rng.choice(["EXISTS", "EXISTS", "NOT EXISTS", "IN", "IN", "NOT IN", "ANY", "ALL", "ROW IN", "ROW",
                                "SCALAR"])
        if form == "ROW" and self.left_out & ROW_FORMS:
            form = "SCALAR"
        if self.in_aggregate and form not in ("EXISTS", "NOT EXISTS"):
            form = "SCALAR"
        operator = self.rng.choice(COMPARISONS)
        if form in ("EXISTS", "NOT EXISTS"):
            return Node("b", f"({form} (", self.query(1, scope).node, "))")
        of = self.kind(scope, "iiinddfsssSDTt")
        if form == "SCALAR":
            return Node("b", "(", self.expression(of, scope, 1), f" {operator} ", self.scalar(of, scope), ")")
        if form in ("ROW IN", "ROW"):
            kinds = [of, self.rng.choice("insDS")]
            row = Node("", "(", self.operand(kinds[0], scope), ", ", self.operand(kinds[1], scope), ")")
            if form == "ROW IN":
                negation = self.rng.choice(["", "", "NOT "])
                return Node("b", "(", row, f" {negation}IN (", self.set_of(scope, kinds), "))")
            operator = self.rng.choice(["=", "<", ">="])
            return Node("b", "(", row, f" {operator} (", self.one_row(kinds, scope).node, "))")
        query = self.set_of(scope, [of])
        if form in ("ANY", "ALL"):
            form = f"{operator} {form}"
        return Node("b", "(", self.operand(of, scope), f" {form} (", query, "))")

    def operand(self, kind, scope):
        """The left side of IN, ANY or ALL: without subqueries."""
        budget, self.budget = self.budget, 0
        node = self.expression(kind, scope, 1)
        self.budget = budget
        return node

    def set_of(self, scope, kinds):
        """The query of IN, ANY or ALL."""
        self.limits = self.windows = self.aggregates = False
        return self.query(1, scope, kinds).node

    def scalar(self, kind, scope):
        return Node(kind, "(", self.one_row([kind], scope).node, ")")

    def one_row(self, kinds, outer):
        """A query of at most one row."""
        if self.chance(60) and "b" not in kinds:
            return self.select(1, outer, kinds, mode="aggregate")
        found = self.select(1, outer, kinds, mode="key")
        return found

    # --- FROM ---

    def tables(self):
        return [table for table in self.schema.tables if table.name not in self.excluded]

    def relation(self, depth, room):
        """(node, [Relation])"""
        if self.ctes and self.chance(45):
            name, fields, rows = self.rng.choice(self.ctes)
            if rows <= room:
                alias = self.name("c")
                return Node("rel", f"{name} AS {alias}"), [Relation(alias, fields, None, rows)]
        if depth > 0 and self.budget > 0 and self.chance(20):
            self.budget -= 1
            query = self.query(depth - 1, None, names=True)
            if query.rows <= room:
                alias = self.name("d")
                return Node("rel", "(", query.node, f") AS {alias}"), [Relation(alias, query.fields, None, query.rows)]
        found = [table for table in self.tables() if len(table.rows) <= room] or self.tables()
        table = self.rng.choice(found)
        alias = self.name("r")
        fields = [Field(c.name, c.kind, c.unsigned) for c in table.columns]
        return Node("rel", f"{table.name} AS {alias}"), [Relation(alias, fields, table.primary, len(table.rows))]

    def from_clause(self, depth, outer, most, room):
        """(node, [Relation])"""
        count = self.rng.choice([1, 1, 1, 2, 2, 2, 3, 3, 4][:2 * most + 1])
        node, relations, _ = self.join_tree(count, depth, outer, room)
        return node, relations

    def join_tree(self, count, depth, outer, room):
        """(node, [Relation], names): names of the columns that NATURAL and USING can take."""
        if count == 1:
            node, relations = self.relation(depth, room)
            return node, relations, [f.name for f in relations[0].fields]
        left_count = self.rng.choice([count - 1, count - 1, self.rng.randint(1, count - 1)])
        left, left_relations, left_names = self.join_tree(left_count, depth, outer, room)
        rows = product(r.rows for r in left_relations)
        if rows * 2 > room and self.chance(80):
            return left, left_relations, left_names
        right_count = count - left_count
        right, right_relations, right_names = self.join_tree(right_count, depth, outer, max(1, room // rows))
        if len(right_relations) > 1 or self.chance(3):
            right = Node("rel", "(", right, ")")
        if len(left_relations) > 1 and self.chance(15):
            left = Node("rel", "(", left, ")")
        relations = left_relations + right_relations
        if product(r.rows for r in relations) > room:
            return left, left_relations, left_names
        kinds = {f.name: {f.kind for r in relations for f in r.fields if f.name == name}
                 for r in relations for f in r.fields for name in [f.name]}
        common = [name for name in left_names if name in right_names]
        joinable = all(left_names.count(name) == right_names.count(name) == 1 and comparable(kinds[name])
                       and not (self.left_out & MIXED_FORMS and len(kinds[name]) > 1) for name in common)
        form = self.rng.choice(["JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN",
                                "INNER JOIN", "CROSS JOIN", "STRAIGHT_JOIN", "NATURAL", "USING", "LEFT OUTER JOIN"])
        if form in ("NATURAL", "USING") and (not joinable or not common):
            form = self.rng.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN"])
        if form not in ("JOIN", "INNER JOIN", "CROSS JOIN", "STRAIGHT_JOIN"):
            self.left_out |= ROW_FORMS
            outer = None
        if form == "NATURAL":
            kind = self.rng.choice(["", "", "LEFT ", "RIGHT ", "INNER "])
            names = [*common, *(n for n in left_names if n not in common), *(n for n in right_names if n not in common)]
            return Node("rel", left, f" NATURAL {kind}JOIN ", right), relations, names
        if form == "USING":
            using = self.rng.sample(common, self.rng.randint(1, len(common)))
            kind = self.rng.choice(["", "LEFT ", "RIGHT "])
            names = [*using, *(n for n in left_names if n not in using), *(n for n in right_names if n not in using)]
            return (Node("rel", left, f" {kind}JOIN ", right, f" USING ({', '.join(using)})"), relations, names)
        names = left_names + right_names
        if form == "CROSS JOIN":
            return Node("rel", left, " CROSS JOIN ", right), relations, names
        condition = self.join_condition(left_relations, right_relations, outer)
        return Node("rel", left, f" {form} ", right, Node("", " ON ", condition)), relations, names

    def join_condition(self, left, right, outer):
        scope = Scope(left + right, outer)
        pairs = [(f"{a.alias}.{f.name}", f"{b.alias}.{g.name}")
                 for a in left for f in a.fields for b in right for g in b.fields
                 if comparable({f.kind, g.kind}) and (not self.left_out & MIXED_FORMS or f.kind == g.kind)]
        if not pairs or self.chance(8):
            return self.condition(scope, 1)
        first, second = self.rng.choice(pairs)
        if self.chance(50):
            first, second = second, first
        operator = "=" if self.chance(85) else self.rng.choice(["<=>", "<", ">=", "<>"])
        condition = Node("b", f"{first} {operator} {second}")
        if self.chance(30):
            word = "AND" if self.chance(75) else "OR"
            condition = Node("b", "(", condition, f" {word} ", self.condition(scope, 1), ")")
        return condition

    # --- SELECT ---

    def select(self, depth, outer, want=None, mode=None, names=False, top=False):
        """A query without set operations. `want`: the classes of its columns; `names`: they get different names."""
        room = ROOM // (outer.all_rows if outer else 1)
        limits, self.limits = self.limits, True
        windows_allowed, self.windows = self.windows, True
        aggregates_allowed, self.aggregates = self.aggregates, True
        if mode is None and want is None and not names and self.chance(2):
            items = [self.item(self.expression(self.kind(), None, 1), True) for _ in range(self.rng.randint(1, 3))]
            return Query(Node("q", "SELECT ", seq([i for i, _ in items])), [f for _, f in items], 1)
        from_, relations = self.from_clause(depth, outer, 4 if top else 3 if mode != "key" else 2, room)
        scope = Scope(relations, outer)
        rows = product(r.rows for r in relations)
        where = Node("")
        if self.chance(50):
            where = optional(" WHERE ", self.condition(scope, self.rng.choice([1, 2, 2])))
        if mode is None:
            mode = self.rng.choice(["plain"] * 8 + ["distinct"] * 2 + ["group"] * 5 + ["aggregate"] * 2 + ["window"] * 3
                                   + ["star"] * (want is None and not names))
        if mode == "aggregate" and not aggregates_allowed:
            mode = "group"
        if mode == "key" and scope.key() is None:
            mode = "aggregate"
        if mode == "star":
            return self.star(from_, where, scope, rows, top)
        if mode in ("group", "aggregate"):
            return self.group(from_, where, scope, rows, want, names, mode, limits, aggregates_allowed)
        kinds = want or [self.kind(scope) for _ in range(self.rng.randint(1, 4))]
        items, fields, windows = [], [], []
        for kind in kinds:
            if mode == "window" and windows_allowed and self.chance(60 if want is None else 30):
                node = self.window(kind if want else None, scope, windows, len(kinds) == 1)
            else:
                node = self.expression(kind, scope, self.rng.choice([0, 0, 1, 2]))
            item, field = self.item(node, names or want is not None)
            items.append(item)
            fields.append(field)
        distinct = "DISTINCT " if mode == "distinct" else ""
        parts = [f"SELECT {distinct}", self.list(items, want), " FROM ", from_, where]
        if windows:
            parts.append(" WINDOW " + ", ".join(windows))
        order, ordered, limited = self.order(fields, scope, mode, limits)
        if mode == "key":
            direction = self.rng.choice(["", " DESC"])
            order = Node("", " ORDER BY ", ", ".join(k + direction for k in scope.key()), " LIMIT 1")
            rows = 1
        query = Query(Node("q", *parts, order), fields, min(rows, 60) if limited else rows, ordered)
        return query

    def kind(self, scope=None, kinds=EVERY):
        """A class, mostly one that a column of the scope has."""
        found = scope.kinds() if scope else kinds
        return next((kind for kind in self.rng.choices(kinds, k=4) if kind in found), self.rng.choice(kinds))

    def list(self, items, want):
        return seq(items) if want is None else Node("", *[x for i in items for x in (", ", i)][1:])

    def item(self, node, named):
        """(item of a select list, field)"""
        text = str(node)
        kind = "n" if node.kind == "b" else node.kind
        if not named and self.chance(30):
            return node, Field(None, kind)
        name = self.name("x")
        is_column = "." in text and text.replace(".", "").replace("_", "").isalnum()
        if node.kind in LITERALS and is_column and self.chance(30):
            # A column with its own name is no duplicate where the list has names.
            if not named:
                return node, Field(None, kind)
        unsigned = kind == "i"
        return Node("", node, f" AS {name}"), Field(name, kind, unsigned)

    def star(self, from_, where, scope, rows, top):
        list_ = "*" if self.chance(60) else f"{self.rng.choice(scope.relations).alias}.*"
        node = Node("q", f"SELECT {list_} FROM ", from_, where)
        key = scope.key()
        if key and self.chance(60):
            limit = optional(f" LIMIT {self.rng.randint(0, 8)}") if self.chance(40) else ""
            node = Node("q", *node.parts, optional(" ORDER BY ", ", ".join(key), limit))
            return Query(node, [], rows, True)
        return Query(node, [], rows)

    def order(self, fields, scope, mode, limits):
        """(node, whether the order is total, whether there is a LIMIT)"""
        if mode == "key" or self.chance(45):
            return Node(""), False, False
        key = scope.key()
        direction = lambda: self.rng.choice(["", "", " DESC", " ASC"])
        if mode in ("plain", "window") and key and self.chance(60):
            items = [k + direction() for k in key]
            first = self.sorted_expression(scope) if self.chance(30) else None
            by = seq(([Node("", first, direction())] if first else []) + items)
            total = True
        elif all(f.kind != "x" for f in fields) and not self.schema.mixed_case and self.chance(70):
            by = seq([f"{i + 1}{direction()}" for i in range(len(fields))])
            total = True
        else:
            if mode == "distinct":
                return Node(""), False, False
            named = [f.name for f in fields if f.name]
            if named and self.chance(50):
                by = seq([self.rng.choice(named) + direction()])
            else:
                expression = self.sorted_expression(scope)
                if expression is None:
                    return Node(""), False, False
                by = seq([Node("", expression, direction())])
            return optional(" ORDER BY ", by), False, False
        limit = Node("")
        limited = limits and self.chance(45)
        if limited:
            offset = f" OFFSET {self.rng.randint(0, 3)}" if self.chance(30) and mode != "distinct" else ""
            limit = optional(f" LIMIT {self.rng.choice([0, 1, 2, 3, 5, 10])}{offset}")
        by.least = len(by.parts)
        return optional(" ORDER BY ", by, limit), total, limited

    def sorted_expression(self, scope):
        """An expression to order by, or None: a literal would be a position."""
        node = self.expression(self.kind(scope), scope, 1)
        return node if any(text in str(node) for text, _ in scope.fields(node.kind)) else None

    # --- GROUP BY ---

    def group(self, from_, where, scope, rows, want, names, mode, limits, aggregates_allowed):
        keys, by = [], []
        if mode == "group":
            for _ in range(self.rng.randint(1, 3)):
                kind = self.kind(scope, "iiiinsssSDTd")
                node = self.leaf(kind, Scope(scope.relations)) if self.chance(80) else None
                if node is None or "." not in str(node):
                    found = [(t, f) for k in "idsSDTtfn" for t, f in scope.fields(k)]
                    if not found:
                        continue
                    text, field = self.rng.choice(found)
                    keys.append((text, Field(field.name, field.kind, field.unsigned)))
                elif str(node).startswith("CAST("):
                    continue
                else:
                    keys.append((str(node), Field(None, kind, kind == "i")))
            keys = list({text: (text, field) for text, field in keys}.values())
            # Literals are no keys.
            keys = [(text, field) for text, field in keys if "." in text and text[0] not in "'-0123456789"]
        if mode == "group" and not keys and not aggregates_allowed:
            return self.select(0, scope.outer, want, "plain", names)
        grouped = scope.grouped(keys)
        computed = None
        if keys and self.chance(20) and want is None:
            # A key that is computed, and has its alias in GROUP BY.
            computed = self.expression(self.kind(scope, "nsdD"), Scope(scope.relations), 1)
        kinds = want or [self.kind(grouped.plain(), "nnnnidddfsSDTtxx") for _ in range(self.rng.randint(1, 4))]
        items, fields, windows, windowed = [], [], [], False
        by = [text for text, _ in keys]
        if computed is not None and "." in str(computed):
            item, field = self.item(computed, True)
            items.append(item)
            fields.append(field)
            by.append(field.name if self.chance(50) else Node("", computed))
        rollup = mode == "group" and by and self.chance(15) and not (computed is not None)
        if want is None:
            for text, field in keys:
                if self.chance(75):
                    item, field = self.item(Node(field.kind, text), True)
                    items.append(item)
                    fields.append(field)
        left_out, in_aggregate = self.left_out, self.in_aggregate
        self.left_out, self.in_aggregate = left_out | ROW_FORMS, True
        for kind in kinds:
            if rollup:
                node = self.aggregate(kind, grouped, [f for f in AGGREGATES[kind] if "DISTINCT" not in f])
            elif kind == "x" or self.chance(60) or (mode == "aggregate" and not fields):
                node = self.aggregate(kind, grouped)
            elif want is None and by and self.chance(12):
                node = self.window(None, grouped, windows, False)
                windowed = True
            else:
                node = self.expression(kind, grouped, self.rng.choice([0, 1, 1, 2]))
            item, field = self.item(node, names or want is not None)
            items.append(item)
            fields.append(field)
        self.left_out, self.in_aggregate = left_out, in_aggregate
        parts = ["SELECT ", self.list(items, want), " FROM ", from_, where]
        if by:
            parts.append(Node("", " GROUP BY ", seq(by), optional(" WITH ROLLUP") if rollup else ""))
        if self.chance(25) and (by or self.chance(30)) and not rollup and not windowed:
            having = self.condition(grouped, self.rng.choice([1, 2]))
            parts.append(optional(" HAVING ", having))
        if windows:
            parts.append(" WINDOW " + ", ".join(windows))
        order, ordered, limited = Node(""), False, False
        if not rollup and self.chance(50) and all(f.kind != "x" for f in fields) and not self.schema.mixed_case:
            order, ordered, limited = self.order(fields, grouped, "distinct", limits)
        elif not rollup and by and self.chance(15):
            order = optional(" ORDER BY ", self.aggregate(self.rng.choice("nds"), grouped))
        rows = min(rows, 30) if by else 1
        return Query(Node("q", *parts, order), fields, rows, ordered)

    # --- windows ---

    def window(self, kind, scope, windows, empty):
        """`empty`: OVER () is allowed."""
        scope = scope.alone()
        key = scope.key()
        forms = [(k, f) for table in (PEERS, WINDOW_AGGREGATES) for k, fs in table.items() for f in fs]
        total = key is not None and self.chance(60)
        if total:
            forms += 2 * [(k, f) for k, fs in ROWS.items() for f in fs]
        if kind:
            forms = [(k, f) for k, f in forms if k == kind] or [("n", "RANK() {w}")]
            if kind not in (forms[0][0], "i"):
                return self.leaf(kind, scope)
        kind, form = self.rng.choice(forms)
        if "{w}" in form and not (total or scope.kinds()):
            return self.leaf(kind if kind != "x" else "n", scope)
        partition = ""
        if self.chance(55):
            column = self.sorted_by("iisSDd", scope)
            partition = optional("PARTITION BY ", column, " ") if column else ""
        direction = self.rng.choice(["", " DESC"])
        number = None
        if total:
            order = Node("", "ORDER BY ", ", ".join(k + direction for k in key))
        elif self.chance(20) and "{f}" in form and (empty or partition):
            order = ""
        else:
            number = self.sorted_by("niidf", scope) if self.chance(60) else None
            column = number or self.sorted_by("sSDTni", scope)
            order = Node("", "ORDER BY ", column, direction) if column else ""
            if not column and ("{w}" in form or not (empty or partition)):
                return self.leaf(kind if kind != "x" else "n", scope)
        frame = ""
        if "{f}" in form:
            frame = self.frame(total, bool(order), number is not None)
        over = Node("", "OVER (", partition, order, frame, ")")
        if self.chance(10):
            name = self.name("w")
            windows.append(f"{name} AS ({partition}{order}{frame})")
            over = f"OVER {name}"
        # Arguments of a window of groups are aggregates or keys.
        of_place = {"w": lambda: over, "f": lambda: over, "f_": lambda: self.leaf("f", scope)}
        return Node(kind, *self.parts(form, lambda place: of_place.get(place, lambda: self.leaf(place, scope))()))

    def sorted_by(self, kinds, scope):
        """A column or an aggregate that a window may order by, or None: a literal would be a position."""
        for kind in self.rng.choices(kinds, k=6):
            node = self.leaf(kind, scope)
            if scope.aggregates or any(str(node) == text for text, _ in scope.fields(kind)):
                text = str(node)
                if "." in text and not text[0].isdigit() and text[0] not in "-'":
                    return node
        return None

    def frame(self, total, ordered, number):
        if self.chance(35) or not ordered:
            return ""
        if total:
            mode, bounds = "ROWS", BOUNDS
        else:
            mode = "RANGE"
            bounds = BOUNDS if number else [b for b in BOUNDS if b[0] in "UC"]
        if self.chance(25):
            start = self.rng.choice([b for b in bounds if "FOLLOWING" not in b])
            return optional(f" {mode} {start}")
        first, second = sorted([self.rng.choice(bounds), self.rng.choice(bounds)], key=BOUNDS.index)
        if first == "UNBOUNDED FOLLOWING":
            first = "CURRENT ROW"
        if second == "UNBOUNDED PRECEDING":
            second = "CURRENT ROW"
        return optional(f" {mode} BETWEEN {first} AND {second}")

    # --- queries ---

    def query(self, depth, outer, want=None, names=False):
        top = outer is None and want is None and not names
        ctes = len(self.ctes)
        with_ = Node("")
        if depth > 0 and self.budget > 0 and outer is None and self.chance(18 if top else 4):
            with_ = self.with_clause(depth)
        if self.budget > 0 and self.chance(14 if top else 8):
            query = self.set_operation(depth, outer, want, names, top)
        else:
            query = self.select(depth, outer, want, names=names, top=top)
        del self.ctes[ctes:]
        if with_.parts:
            query.node = Node("q", with_, query.node)
        return query

    def with_clause(self, depth):
        items, recursive = [], False
        for _ in range(self.rng.randint(1, 2)):
            self.budget -= 1
            name = self.name("q")
            if self.chance(25):
                recursive = True
                body, fields, rows = self.recursion(name)
                items.append(Node("", f"{name} ({', '.join(f.name for f in fields)}) AS (", body, ")"))
            else:
                query = self.query(depth - 1, None, names=True)
                if query.rows > 200:
                    continue
                fields, rows = query.fields, query.rows
                items.append(Node("", f"{name} AS (", query.node, ")"))
            self.ctes.append((name, fields, rows))
        if not items:
            return Node("")
        return Node("", f"WITH {'RECURSIVE ' if recursive else ''}", seq(items), " ")

    def recursion(self, name):
        """(node, fields, rows)"""
        column = self.name("x")
        pairs = [(t, a, b) for t in self.tables() for a in t.columns for b in t.columns
                 if a.kind == b.kind == "i" and not a.unsigned and not b.unsigned and a.sql == b.sql and a is not b]
        if pairs and self.chance(50):
            table, a, b = self.rng.choice(pairs)
            alias = self.name("r")
            node = Node("", f"SELECT {a.name} FROM {table.name} WHERE ",
                        self.expression("b", Scope([Relation(table.name, [Field(c.name, c.kind, c.unsigned)
                                                             for c in table.columns], None, 1)]), 0),
                        f" UNION SELECT {alias}.{b.name} FROM {table.name} AS {alias} JOIN {name}"
                        f" ON {alias}.{a.name} = {name}.{column}")
            return node, [Field(column, "i")], 15
        other = self.name("x")
        last = self.rng.randint(1, 6)
        word = self.rng.choice(["UNION ALL", "UNION ALL", "UNION"])
        node = Node("", f"SELECT 1, 0 {word} SELECT {column} + 1, {other} + {column} FROM {name}"
                        f" WHERE {column} < {last}")
        return node, [Field(column, "n"), Field(other, "n")], last

    def set_operation(self, depth, outer, want, names, top):
        self.budget -= 1
        limits, windows, aggregates = self.limits and outer is None, self.windows, self.aggregates
        self.limits = limits
        kinds = want or [self.rng.choice("nnnidfsssSDTt") for _ in range(self.rng.randint(1, 3))]
        branches = [self.select(depth - 1, outer, kinds, names=True)]
        parts = ["(", branches[0].node, ")"]
        more = self.rng.choice([1, 1, 1, 2])
        words = ["UNION", "UNION ALL", "UNION ALL", "UNION DISTINCT"] + ["INTERSECT", "EXCEPT"] * aggregates
        for _ in range(more):
            of = kinds
            if want is None and self.chance(12):
                of = [{"n": "d", "i": "d", "d": "f", "D": "T"}.get(k, k) for k in kinds]
            self.limits, self.windows, self.aggregates = limits, windows, aggregates
            branch = self.select(depth - 1, outer, of, names=True)
            branches.append(branch)
            # MariaDB runs forever where one of these follows the other.
            word = self.rng.choice(words + ["INTERSECT ALL", "EXCEPT ALL"] * (more == 1 and outer is None))
            parts += [f" {word} (", branch.node, ")"]
        fields = [Field(f.name, f.kind, f.kind == "i") for f in branches[0].fields]
        order, ordered, limited = Node(""), False, False
        if not self.schema.mixed_case and all(f.kind != "x" for f in fields) and self.chance(50):
            order, ordered, limited = self.order(fields, Scope([]).grouped([]), "distinct", limits)
        return Query(Node("q", *parts, order), fields, sum(b.rows for b in branches), ordered)

    # --- changes ---

    def change(self):
        self.budget = min(self.budget, 2)
        # A text that becomes a number may be an error, in the rows that a plan evaluates.
        self.left_out |= MIXED_FORMS
        make = self.rng.choice([self.insert, self.insert, self.update, self.update, self.update_joined, self.delete,
                                self.delete_joined])
        return Statement(make(), "change")

    def relation_of(self, table, alias):
        fields = [Field(c.name, c.kind, c.unsigned) for c in table.columns]
        return Relation(alias, fields, table.primary, len(table.rows))

    def insert(self):
        table = self.rng.choice(self.schema.tables)
        source = self.rng.choice(self.schema.tables)
        scope = Scope([self.relation_of(source, "s")])
        columns = [c for c in table.columns if not c.null or self.chance(75)]
        values = []
        for c in columns:
            value = self.assigned(c, scope)
            if c.name in table.primary and c.kind == "i":
                found = [k for k in source.primary if source.column(k).kind == "i"]
                # Most keys are new ones.
                value = Node("n", f"s.{found[0]} + 100") if found and self.chance(70) else value
            values.append(value)
        word, end = self.rng.choice(["INSERT", "INSERT", "INSERT", "REPLACE", "INSERT IGNORE", "UPDATE"]), Node("")
        if len(table.uniques) and word in ("REPLACE", "INSERT IGNORE", "UPDATE"):
            word = "INSERT"
        if word == "UPDATE":
            word = "INSERT"
            free = [c for c in columns if c.name not in table.primary]
            if free:
                c = self.rng.choice(free)
                end = optional(f" ON DUPLICATE KEY UPDATE {table.name}.{c.name} = VALUES({c.name})")
        where = optional(" WHERE ", self.condition(scope, 1)) if self.chance(50) else ""
        order = ", ".join(f"s.{k}" for k in source.primary)
        return Node("", f"{word} INTO {table.name} ({', '.join(c.name for c in columns)}) SELECT ",
                    *[x for v in values for x in (", ", v)][1:], f" FROM {source.name} AS s", where,
                    f" ORDER BY {order}", end)

    def assigned(self, column, scope):
        value = self.expression(column.kind if column.kind != "i" else "n", scope, self.rng.choice([0, 1]))
        if column.unsigned:
            value = Node("n", "ABS(", value, ")")
        if column.kind in "sS":
            value = Node(column.kind, "LEFT(", value, ", 12)")
        return value

    def assignments(self, table, alias, scope, used=()):
        """[node] for columns that are in no unique key and not used elsewhere, or None."""
        used = {*used, *(name for key in [table.primary, *table.uniques] for name in key)}
        free = [c for c in table.columns if c.name not in used]
        if not free:
            return None
        chosen = self.rng.sample(free, self.rng.randint(1, min(2, len(free))))
        # A value from another table may be any of several. One that was assigned before may be the old or the new one.
        fields = [Field(c.name, c.kind, c.unsigned) for c in table.columns if len(chosen) == 1 or c not in chosen]
        own = Scope([Relation(alias, fields, table.primary, len(table.rows))])
        own.qualified = len(scope.relations) > 1
        return [Node("", f"{alias}.{c.name} = ", self.assigned(c, own)) for c in chosen]

    def update(self):
        table = self.rng.choice(self.schema.tables)
        self.excluded = {table.name} if len(self.schema.tables) > 1 else set()
        scope = Scope([self.relation_of(table, table.name)])
        condition = self.condition(scope, 2)
        sets = self.assignments(table, table.name, scope)
        if not sets:
            return self.delete()
        limit = ""
        if self.chance(25):
            order = ", ".join(f"{table.name}.{k}" for k in table.primary)
            limit = optional(f" ORDER BY {order} LIMIT {self.rng.randint(0, 5)}")
        return Node("", f"UPDATE {table.name} SET ", seq(sets), optional(" WHERE ", condition), limit)

    def joined(self):
        tables = [self.rng.choice(self.schema.tables) for _ in range(self.rng.choice([2, 2, 3]))]
        self.excluded = {t.name for t in tables}
        self.left_out |= ROW_FORMS
        if len(self.tables()) == 0:
            self.budget = 0
            self.excluded = set()
        while product(len(t.rows) for t in tables) > ROOM:
            tables.pop()
        relations = [self.relation_of(t, self.name("r")) for t in tables]
        node = Node("rel", f"{tables[0].name} AS {relations[0].alias}")
        for i in range(1, len(tables)):
            word = self.rng.choice(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN"])
            node = Node("rel", node, f" {word} {tables[i].name} AS {relations[i].alias} ON ",
                        self.join_condition(relations[:i], relations[i:i + 1], None))
        return node, tables, relations

    def update_joined(self):
        node, tables, relations = self.joined()
        scope = Scope(relations)
        condition = self.condition(scope, 1)
        targets = self.rng.sample(range(len(tables)), self.rng.choice([1, 1, min(2, len(tables))]))
        # One table that is changed under two names is changed in an order.
        if len({tables[i].name for i in targets}) < len(targets):
            targets = targets[:1]
        used = set(re.findall(r"\w+", f"{node} {condition}"))
        sets = [s for i in targets for s in self.assignments(tables[i], relations[i].alias, scope, used) or []]
        if not sets:
            return self.delete()
        return Node("", "UPDATE ", node, " SET ", seq(sets), optional(" WHERE ", condition) if self.chance(70) else "")

    def delete(self):
        table = self.rng.choice(self.schema.tables)
        self.excluded = {table.name}
        if not self.tables():
            self.budget, self.excluded = 0, set()
        scope = Scope([self.relation_of(table, table.name)])
        condition = self.condition(scope, 2)
        limit = ""
        if self.chance(25):
            order = ", ".join(f"{table.name}.{k}" for k in table.primary)
            limit = optional(f" ORDER BY {order} LIMIT {self.rng.randint(0, 5)}")
        return Node("", f"DELETE FROM {table.name}", optional(" WHERE ", condition), limit)

    def delete_joined(self):
        node, tables, relations = self.joined()
        targets = self.rng.sample([r.alias for r in relations], self.rng.randint(1, len(relations)))
        condition = optional(" WHERE ", self.condition(Scope(relations), 1)) if self.chance(70) else ""
        if self.chance(50):
            return Node("", f"DELETE {', '.join(targets)} FROM ", node, condition)
        return Node("", f"DELETE FROM {', '.join(targets)} USING ", node, condition)

    # --- statements that are wrong ---

    def error(self):
        """A statement that both servers refuse."""
        rng = self.rng
        table = rng.choice(self.schema.tables)
        other = rng.choice(self.schema.tables)
        column, key = rng.choice(table.columns).name, table.primary[0]
        from_ = f"FROM {table.name} AS r"
        free = [c.name for c in table.columns if c.name not in table.primary]
        needed = [c.name for c in table.columns if not c.null]
        # (query, error of MySQL, error of MariaDB, whether it may be nested in another query)
        found = [
            (f"SELECT r.nope {from_}", 1054, 1054, True),
            (f"SELECT nope {from_} WHERE r.{column} IS NULL", 1054, 1054, True),
            (f"SELECT r.{column} {from_} WHERE nope = 1", 1054, 1054, True),
            (f"SELECT r.{column} {from_} WHERE r.{key} IN (SELECT o.nope FROM {other.name} AS o)", 1054, 1054, True),
            (f"SELECT r.{column} {from_} WHERE EXISTS (SELECT 1 FROM {other.name} AS o WHERE o.nope = r.{key})",
             1054, 1054, True),
            (f"SELECT r.{column} {from_} JOIN {other.name} AS o ON o.nope = r.{key}", 1054, 1054, True),
            (f"SELECT COUNT(*) AS n {from_} GROUP BY nope", 1054, 1054, True),
            (f"SELECT COUNT(*) AS n {from_} HAVING nope > 1", 1054, 1054, True),
            (f"SELECT r.{column} AS x {from_} ORDER BY nope", 1054, 1054, False),
            (f"SELECT r.{column} AS x {from_} ORDER BY 7", 1054, 1054, False),
            (f"SELECT r.{column} AS x {from_} GROUP BY 7", 1054, 1054, True),
            (f"SELECT r.{column} AS x {from_} WHERE x = 1", 1054, 1054, True),
            (f"SELECT z.{column} {from_}", 1054, 1054, True),
            (f"SELECT z.* {from_}", 1051, 1051, True),
            (f"SELECT {key} {from_} JOIN {table.name} AS o ON r.{key} = o.{key}", 1052, 1052, True),
            (f"SELECT 1 AS x {from_}, {table.name} AS o WHERE {key} IS NULL", 1052, 1052, True),
            (f"SELECT r.{key} {from_} UNION SELECT 1, 2", 1222, 1222, True),
            (f"SELECT 1, 2 EXCEPT SELECT r.{key} {from_}", 1222, 1222, True),
            (f"SELECT r.{column} {from_} WHERE COUNT(*) > 1", 1111, 1111, True),
            (f"SELECT SUM(COUNT(*)) AS x {from_}", 1111, 1111, True),
            (f"SELECT 1 AS x {from_} JOIN {other.name} AS o ON MAX(r.{key}) = 1", 1111, 1111, True),
            (f"SELECT r.{column} {from_} WHERE RANK() OVER (ORDER BY r.{key}) = 1", 3593, 4015, True),
            (f"SELECT r.{column} {from_} GROUP BY r.{column} HAVING ROW_NUMBER() OVER () = 1", 3593, 4015, True),
            (f"SELECT r.{column} {from_} WHERE r.{key} IN (SELECT 1, 2)", 1241, 1241, True),
            (f"SELECT (SELECT 1, 2) AS x {from_}", 1241, 1241, True),
            (f"SELECT r.{column} {from_} WHERE (r.{key}, 1) IN (SELECT o.{other.primary[0]} FROM {other.name} AS o)",
             1241, 1241, True),
            (f"SELECT r.{column} {from_} WHERE (1, 2) = (SELECT 1, 2, 3)", 1241, 1241, True),
            (f"SELECT x.a FROM nothing_here AS x", 1146, 1146, True),
            (f"SELECT 1 AS x {from_} WHERE r.{key} > ALL (SELECT a FROM nothing_here)", 1146, 1146, True),
            (f"SELECT 1 AS x {from_} JOIN {other.name} AS r ON TRUE", 1066, 1066, True),
            (f"SELECT d.x FROM (SELECT 1 AS x, 2 AS x) AS d", 1060, 1060, True),
            (f"SELECT * FROM (SELECT r.{key} {from_})", 1248, 1064, False),
            (f"SELECT r.{column} {from_} GROUP BY COUNT(*)", 1111, 1111, True),
            (f"SELECT COUNT(*) AS n {from_} GROUP BY n", 1056, 1056, True),
            (f"SELECT r.{column} {from_} JOIN {other.name} AS o USING (nope)", 1054, 1054, True),
            (f"SELECT r.{column} {from_} WHERE r.{key} IN (SELECT o.{other.primary[0]} FROM {other.name} AS o LIMIT 1)",
             1235, 1235, True),
            (f"SELECT NO_SUCH(r.{key}) AS x {from_}", 1305, 1305, True),
            (f"SELECT r.{column} {from_} ORDER BY (SELECT o.nope FROM {other.name} AS o)", 1054, 1054, False),
            (f"SELECT 1 AS x FROM {table.name} AS r, {other.name} AS o JOIN {table.name} AS p ON p.{key} = r.{key}",
             1054, 1054, True),
            (f"SELECT 1 AS x FROM (SELECT r.{key} {from_}) AS d WHERE r.{key} = 1", 1054, 1054, True),
            (f"WITH c (a, b) AS (SELECT r.{key} {from_}) SELECT a FROM c", 1353, 4002, True),
            (f"SELECT SUM(r.{key}) OVER (PARTITION BY r.nope) AS x {from_}", 1054, 1054, True),
            (f"SELECT RANK() OVER w AS x {from_}", 3579, 4009, True),
            (f"INSERT INTO {table.name} ({key}, {key}) SELECT 1, 2", 1110, 1110, False),
            (f"INSERT INTO {table.name} ({key}) SELECT 1, 2", 1136, 1136, False),
            (f"INSERT INTO {table.name} ({key}, nope) SELECT 1, 2", 1054, 1054, False),
            (f"INSERT INTO {table.name} ({', '.join(needed)}) SELECT {', '.join(['NULL'] * len(needed))}",
             1048, 1048, False),
            (f"UPDATE {table.name} AS r SET r.nope = 1", 1054, 1054, False),
            (f"UPDATE {table.name} AS r JOIN {other.name} AS o ON r.{key} = o.nope SET r.{key} = 1", 1054, 1054, False),
            (f"UPDATE {table.name} SET {key} = {key} WHERE {key} IN (SELECT {key} FROM {table.name})", 1093, 0, False),
            (f"DELETE FROM {table.name} WHERE {key} = (SELECT MAX({key}) FROM {table.name})", 1093, 0, False),
            (f"DELETE r FROM {table.name} AS r JOIN {other.name} AS o ON nope = 1", 1054, 1054, False),
            (f"DELETE z FROM {table.name} AS r JOIN {other.name} AS o ON TRUE", 1109, 1109, False),
        ]
        if free:
            name = rng.choice(free)
            found += [
                (f"SELECT MAX(r.{key}), r.{name} {from_}", 1140, 0, False),
                (f"SELECT COUNT(*) AS n, r.{name} AS x {from_}", 1140, 0, True),
            ]
            grouped = [c for c in free if c != name]
            unique = {c for key_ in table.uniques for c in key_}
            if grouped and not unique:
                found += [
                    (f"SELECT r.{name} AS x, COUNT(*) AS n {from_} GROUP BY r.{grouped[0]}", 1055, 0, True),
                    (f"SELECT COUNT(*) AS n {from_} GROUP BY r.{grouped[0]} ORDER BY r.{name}", 1055, 0, False),
                    (f"SELECT DISTINCT r.{grouped[0]} AS x {from_} ORDER BY r.{name}", 3065, 0, False),
                ]
        if len(table.rows) > 1:
            found += [(f"SELECT (SELECT {key} FROM {table.name}) AS x", 1242, 1242, True),
                      (f"SELECT 1 AS x FROM DUAL WHERE 1 = (SELECT {key} FROM {table.name})", 1242, 1242, True)]
        if table.rows:
            names = ", ".join(c.name for c in table.columns)
            found += [(f"INSERT INTO {table.name} SELECT * FROM {table.name}", 1062, 1062, False),
                      (f"INSERT INTO {table.name} ({names}) VALUES ({', '.join(table.rows[0])})", 1062, 1062, False)]
        text, ours, theirs, nests = rng.choice(found)
        query = Node("q", text)
        if nests and self.chance(55):
            word = rng.choice(["derived", "with", "exists", "in", "branch"])
            if word in ("exists", "in", "branch") and ours not in (1054, 1052, 1146, 1066, 1305):
                word = "derived"
            query = {
                "derived": lambda: Node("q", "SELECT COUNT(*) FROM (", query, ") AS w1"),
                "with": lambda: Node("q", "WITH w1 AS (", query, ") SELECT COUNT(*) FROM w1"),
                "exists": lambda: Node("q", f"SELECT 1 FROM {other.name} AS w1 WHERE EXISTS (", query, ")"),
                "in": lambda: Node("q", f"SELECT 1 FROM {other.name} AS w1 WHERE 1 IN (", query, ")"),
                "branch": lambda: Node("q", "SELECT 1 UNION ALL (", query, ")"),
            }[word]()
        return Statement(query, "error", errors=(ours, theirs))


def comparable(kinds):
    """Whether both servers compare columns of these classes in the same way."""
    return kinds <= set(NUMBERS) or len(kinds) == 1 or kinds in ({"D", "T"}, {"i", "s"}, {"n", "s"}, {"i", "S"})


def statement(seed, number, of=None):
    of = of or schema(seed)
    return Generator(of, seed, number).statement()
