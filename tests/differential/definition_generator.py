"""Generates the statements of definitions.py: definitions of tables, and changes of their rows.

A `Generator` makes the next statement from a random source and from the tables as `information_schema` of
the reference describes them. The same answers of the reference give the same statements. Needs no driver.
"""

import dataclasses
import random

# Character sets and collations that both servers know.
COLLATIONS = {
    "utf8mb4": ["utf8mb4_general_ci", "utf8mb4_bin", "utf8mb4_unicode_ci", "utf8mb4_unicode_520_ci"],
    "utf8mb3": ["utf8mb3_general_ci", "utf8mb3_bin", "utf8mb3_unicode_ci"],
    "latin1": ["latin1_swedish_ci", "latin1_bin", "latin1_general_ci", "latin1_general_cs",
               "latin1_german1_ci"],
    "ascii": ["ascii_general_ci", "ascii_bin"],
    "binary": ["binary"],
}
STRICT = "STRICT_TRANS_TABLES"
SQL_MODES = [
    "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,"
    "NO_ENGINE_SUBSTITUTION",
    STRICT, "STRICT_ALL_TABLES,NO_ZERO_DATE", "STRICT_TRANS_TABLES,NO_ZERO_IN_DATE", "",
    "NO_ZERO_DATE,NO_ZERO_IN_DATE", "NO_AUTO_VALUE_ON_ZERO", "STRICT_TRANS_TABLES,NO_AUTO_VALUE_ON_ZERO",
    "STRICT_TRANS_TABLES,ALLOW_INVALID_DATES", "ALLOW_INVALID_DATES", "NO_UNSIGNED_SUBTRACTION",
    "STRICT_TRANS_TABLES,PAD_CHAR_TO_FULL_LENGTH", "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO",
    "PIPES_AS_CONCAT,STRICT_TRANS_TABLES",
]

INTEGERS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
NUMBERS = {*INTEGERS, "decimal", "float", "double"}
DATES = {"date", "datetime", "timestamp"}
CHARACTERS = {"char", "varchar", "tinytext", "text", "mediumtext", "longtext"}
BYTES = {"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"}
LARGE = {"tinytext", "text", "mediumtext", "longtext", "tinyblob", "blob", "mediumblob", "longblob"}

TEXTS = ["''", "'a'", "'A'", "'b'", "'abc'", "'ABC'", "'x'", "'new'", "'12'", "'5'", "'á'", "'ß'", "'ss'", "'a '",
         "' a'", "'zz'"]
HOSTILE_TEXTS = ["'日本'", "'😀'", "REPEAT('x', 300)", "REPEAT('é', 40)", "X'FF'", "X'C3A9'", "X'00'", "12", "1.50",
                 "1e10", "'a\\0b'", "'   '", "REPEAT('ab', 6)", "CONCAT('a', REPEAT(' ', 30))", "TRUE", "0",
                 "'a\\'b'", "_latin1 X'E4'", "'Ωmega'", "-1", "'2020-01-01'"]
HOSTILE = {
    "integer": ["1.5", "-0.5", "2.5", "1e3", "'12abc'", "'abc'", "''", "' 7 '", "'1e2'", "'1.7'", "TRUE", "0x41",
                "99999999999999999999", "-99999999999999999999", "18446744073709551615", "9223372036854775808",
                "-9223372036854775808", "'-1'", "1e30", "-1", "'0x10'", "b'101'", "'2020-01-01'"],
    "decimal": ["1.005", "-1.005", "0.5", "99999.995", "-99999.995", "1e300", "'1e2'", "'abc'", "''", "'1.5x'",
                "' 3.25 '", "-0.001", "1e-10", "123456789012345678901234567890.5", "'.5'", "'-'", "0x3132"],
    "float": ["1e39", "-1e39", "3.4028235e38", "1e-46", "1e308", "'1e400'", "'abc'", "''", "0.1", "-0.0",
              "16777217", "'1.5x'", "123456.789", "1e-310", "-1"],
    "bit": ["255", "256", "'1'", "-1", "0xFFFF", "b'101010'", "1.5", "'abc'", "''", "18446744073709551615"],
    "year": ["0", "1", "69", "70", "99", "100", "1900", "1901", "2155", "2156", "'0'", "'00'", "'5'", "'abc'", "''",
             "2020.5", "-1", "'2020'", "'1900'", "'0000'"],
    "date": ["'2020-02-30'", "'0000-00-00'", "'2020-00-10'", "'2020-01-00'", "'2021-02-29'", "'20200101'",
             "20200101", "'1000-01-01'", "'9999-12-31'", "'10000-01-01'", "'2020-1-1'", "'20-1-1'", "'abc'", "''",
             "'2020-01-01 23:59:59.999999'", "'2020-01-01T10:00:00'", "0", "'1970-01-01 00:00:00'",
             "'2038-01-19 03:14:07'", "'2038-01-19 03:14:08'", "'2020-01-01 00:00:00.999999'",
             "'2020-01-01 24:00:00'", "'1969-12-31 23:59:59'", "101", "1", "-1", "20200101101112", "1.5",
             "'2020-01-01 10:00:00.5'", "'0000-00-00 00:00:01'", "'2020-13-01'",
             "'1970-01-01 00:00:01'", "20200230"],
    "time": ["'838:59:59'", "'839:00:00'", "'-1:02:03'", "'10:11'", "'1 10:00:00'", "'10:61:00'", "101112", "'abc'",
             "''", "'25:00:00.999999'", "'00:00:00.5'", "-101112", "1.5", "'2020-01-01 10:11:12'", "0", "5",
             "'10:11:12.123456789'", "'-838:59:59.9'", "8385960", "9999999"],
}
TIMESTAMPS = [1600000000, 1600000001, 1577836800, 951782400]


@dataclasses.dataclass
class Column:
    """A row of information_schema.columns."""

    name: str
    default: str
    nullable: bool
    data_type: str
    length: int
    precision: int
    scale: int
    charset: str
    collation: str
    column_type: str
    key: str
    extra: str

    @property
    def generated(self):
        return "GENERATED" in self.extra.upper().replace("DEFAULT_GENERATED", "")

    @property
    def automatic(self):
        return "auto_increment" in self.extra

    @property
    def unsigned(self):
        return "unsigned" in self.column_type or "zerofill" in self.column_type

    @property
    def labels(self):
        """Literals of the labels of an ENUM or SET."""
        inside = self.column_type.partition("(")[2].rpartition(")")[0]
        return ["'" + label + "'" for label in inside[1:-1].split("','")]

    @property
    def family(self):
        if self.data_type in INTEGERS:
            return "integer"
        if self.data_type in ("float", "double"):
            return "float"
        if self.data_type in DATES:
            return "date"
        if self.data_type in CHARACTERS:
            return "text"
        if self.data_type in BYTES:
            return "bytes"
        return self.data_type


@dataclasses.dataclass
class Index:
    name: str
    unique: bool
    # (column, length of the prefix or None)
    parts: list


@dataclasses.dataclass
class ForeignKey:
    name: str
    columns: list
    parent: str


@dataclasses.dataclass
class Table:
    name: str
    columns: list = dataclasses.field(default_factory=list)
    indexes: list = dataclasses.field(default_factory=list)
    foreign_keys: list = dataclasses.field(default_factory=list)
    checks: list = dataclasses.field(default_factory=list)

    @property
    def writable(self):
        return [column for column in self.columns if not column.generated]

    def find(self, name):
        return next((column for column in self.columns if column.name == name), None)

    @property
    def automatic(self):
        return any(column.automatic for column in self.columns)


def quoted(name):
    return name if name.isascii() and name.isalnum() and name != "select" else f"`{name}`"


class Generator:
    """Statements over a few tables. `tables` is what the reference has; the runner keeps it."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.tables = {}
        self.names = 0
        self.in_transaction = False
        # Tables whose next number may not be the same on both servers: rows get explicit ones.
        self.unnumbered = set()

    # Choices

    def chance(self, of_hundred):
        return self.random.random() * 100 < of_hundred

    def choose(self, *weighted):
        """One of (weight, value)."""
        return self.random.choices([value for _, value in weighted], [weight for weight, _ in weighted])[0]

    def pick(self, values):
        return self.random.choice(list(values))

    def sample(self, values, most):
        values = list(values)
        return self.random.sample(values, self.random.randint(1, min(most, len(values)))) if values else []

    def fresh(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    # Types

    def charset(self, of_hundred):
        """CHARACTER SET and COLLATE, one of them, or none."""
        if not self.chance(of_hundred):
            return ""
        charset = self.pick(COLLATIONS)
        if charset == "binary" and self.chance(80):
            charset = "utf8mb4"
        collation = self.pick(COLLATIONS[charset])
        # The default collation of utf8mb4 is another one in MySQL 8.0.
        alone = f" CHARACTER SET {charset}" if charset != "utf8mb4" else f" COLLATE {collation}"
        return self.pick([alone, f" COLLATE {collation}", f" CHARACTER SET {charset} COLLATE {collation}"])

    def labels(self, charset):
        labels = ["a", "b", "c", "abc", "new", "x", "12", "zz"] + ["é"] * ("utf8" in charset)
        return ",".join(f"'{label}'" for label in self.random.sample(labels, self.random.randint(1, 5)))

    def column_type(self, family=None):
        family = family or self.choose(
            (30, "integer"), (8, "decimal"), (8, "float"), (4, "bit"), (4, "year"), (18, "date"), (6, "time"),
            (25, "text"), (10, "bytes"), (5, "enum"), (5, "set"))
        fraction = self.choose((3, ""), (1, "(1)"), (1, "(3)"), (1, "(6)"))
        if family == "integer":
            name = self.pick([*INTEGERS, "int", "int", "bigint"])
            width = self.choose((20, ""), (1, f"({self.pick([1, 3, 11, 20])})"))
            return name.upper() + width + self.choose((32, ""), (8, " UNSIGNED"), (2, " ZEROFILL"))
        if family == "decimal":
            precision = self.pick([3, 5, 10, 20, 38, 65])
            scale = self.random.randint(0, min(precision, 30, self.pick([2, 4, 30])))
            return f"DECIMAL({precision},{scale})" + self.choose((20, ""), (4, " UNSIGNED"), (1, " ZEROFILL"))
        if family == "float":
            digits = self.choose((3, ""), (1, f"({self.pick(['5,1', '7,4', '10,2', '3,3'])})"))
            return self.pick(["FLOAT", "DOUBLE"]) + digits + self.choose((60, ""), (3, " UNSIGNED"), (3, " ZEROFILL"))
        if family == "bit":
            return f"BIT({self.pick([1, 4, 8, 9, 33, 64])})"
        if family == "year":
            return "YEAR"
        if family == "date":
            name = self.pick(["DATE", "DATETIME", "TIMESTAMP"])
            return name if name == "DATE" else name + fraction
        if family == "time":
            return "TIME" + fraction
        if family == "text":
            name = self.choose((3, f"CHAR({self.pick([1, 3, 10])})"),
                               (8, f"VARCHAR({self.pick([1, 5, 10, 40, 255])})"),
                               (1, "TINYTEXT"), (2, "TEXT"), (1, "MEDIUMTEXT"), (1, "LONGTEXT"), (1, "TEXT(20)"))
            return name + self.charset(50)
        if family == "bytes":
            return self.choose((3, f"BINARY({self.pick([1, 4, 16])})"),
                               (4, f"VARBINARY({self.pick([1, 5, 40])})"),
                               (1, "TINYBLOB"), (2, "BLOB"), (1, "MEDIUMBLOB"), (1, "LONGBLOB"))
        charset = self.charset(25)
        return f"{family.upper()}({self.labels(charset)}){charset}"

    # Values

    def fitting(self, column):
        """A literal that the column mostly has room for, of few different ones."""
        family = column.family
        if family == "integer":
            return str(self.random.randint(0 if column.unsigned or column.automatic else -2, 9))
        if family == "decimal":
            return self.pick(["0", "1", "0.5", "1.25", "2", "-1" if not column.unsigned else "3"])
        if family == "float":
            return self.pick(["0", "1", "0.5", "1.25", "100", "2.5e2", "-1" if not column.unsigned else "3"])
        if family == "bit":
            return self.pick(["b'0'", "b'1'", "1", "0"])
        if family == "year":
            return self.pick(["2000", "1999", "2020", "'2021'", "2155"])
        if family == "date":
            date = self.pick(["2020-01-01", "2019-12-31", "2000-02-29", "1999-05-06"])
            if column.data_type != "date":
                date += self.pick([" 00:00:00", " 23:59:59", " 12:30:00.25", ""])
            return f"'{date}'"
        if family == "time":
            return self.pick(["'00:00:00'", "'10:11:12'", "'-01:00:00'", "'100:00:00'", "'23:59:59.5'"])
        if family in ("enum", "set"):
            labels = column.labels
            if family == "set" and self.chance(50):
                return "'" + ",".join(label[1:-1] for label in self.sample(labels, 3)) + "'"
            return self.pick(labels)
        texts = [text for text in TEXTS if column.length is None or len(text) - 2 <= column.length]
        return self.pick(texts or ["''"])

    def hostile(self, column):
        family = column.family
        if family == "integer" and self.chance(50):
            bits = INTEGERS[column.data_type]
            return str(self.pick([2 ** bits - 1, 2 ** bits, 2 ** (bits - 1) - 1, 2 ** (bits - 1), -2 ** (bits - 1),
                                  -2 ** (bits - 1) - 1, -1]))
        if family in ("enum", "set"):
            label = self.pick(column.labels)[1:-1]
            return self.pick(["''", "'nope'", "0", "1", "99", "'1'", "'0'", "'a,nope'", f"'{label.upper()}'",
                              f"'{label} '", "-1", "1.9", f"'{label},{label}'", "X'61'", "'99'", "','"])
        return self.pick(HOSTILE.get(family) or HOSTILE_TEXTS)

    def value(self, column, hostile=25):
        if self.chance(7):
            return self.pick(["NULL", "DEFAULT", "NULL"])
        if column.automatic and self.chance(50):
            return self.pick(["NULL", "0", "DEFAULT"])
        return self.hostile(column) if self.chance(hostile) else self.fitting(column)

    def assigned(self, table, column):
        """The new value of UPDATE and ON DUPLICATE KEY UPDATE."""
        name, family = quoted(column.name), column.family
        if self.chance(25):
            if family in ("integer", "decimal", "float"):
                return self.pick([f"{name} + 1", f"{name} - 1", f"{name} * 2", f"-{name}", f"{name} / 2", f"{name} + 100"])
            if family == "text":
                return self.pick([f"CONCAT({name}, 'x')", f"UPPER({name})", f"CONCAT({name}, {name})", f"LEFT({name}, 2)"])
            if family == "date":
                return self.pick([f"{name} + INTERVAL 1 DAY", f"{name} - INTERVAL 1 SECOND"])
        if self.chance(10):
            return quoted(self.pick(table.columns).name)
        return self.value(column)

    # Definitions of columns

    def sketch(self, type_text):
        """A column of this type, for the choice of a default before the server describes it."""
        name = type_text.split("(")[0].split(" ")[0].lower()
        inside = type_text.partition("(")[2].partition(")")[0]
        length = int(inside) if name in CHARACTERS | BYTES and inside.isdigit() else None
        return Column("", None, True, name, length, None, None, "", "", type_text.lower() if name not in (
            "enum", "set") else f"({inside})", "", "")

    def default(self, type_text):
        column = self.sketch(type_text)
        if column.data_type in LARGE:
            return f"({self.fitting(column)})" if self.chance(98) else self.fitting(column)
        if column.data_type in ("datetime", "timestamp") and self.chance(50):
            fraction = type_text.partition("(")[2].partition(")")[0]
            fraction = f"({fraction})" if fraction else ""
            now = f"CURRENT_TIMESTAMP{fraction}"
            if self.chance(2):
                return "CURRENT_TIMESTAMP(2)"
            return now + (f" ON UPDATE {now}" if self.chance(50) else "")
        if self.chance(15):
            expressions = [self.fitting(column), self.fitting(column), "NULL"]
            expressions += {"integer": ["1 + 1", "LENGTH('abc')"], "decimal": ["1 + 1"], "float": ["1 / 3"],
                            "date": ["CURDATE()"], "text": ["LOWER('A')"]}.get(column.family, [])
            return f"({self.pick(expressions)})"
        if self.chance(10):
            # Only a literal may be without parentheses.
            value = self.hostile(column)
            return f"({value})" if value.startswith(("REPEAT", "CONCAT")) else value
        return "NULL" if self.chance(10) else self.fitting(column)

    def expression(self, table):
        """(an expression over columns of the table, a family of its type)"""
        columns = [column for column in table.writable if not column.automatic] or table.writable
        column = self.pick(columns)
        name, family = quoted(column.name), column.family
        other = quoted(self.pick(columns).name)
        if family in ("integer", "decimal", "float"):
            return self.pick([(f"{name} + 1", family), (f"{name} * 2", "float"), (f"{name} > 3", "integer"),
                              (f"CONCAT('n', {name})", "text"), (f"IFNULL({name}, 0)", family),
                              (f"{name} + LENGTH({other})", "integer")])
        if family in ("text", "enum", "set"):
            return self.pick([(f"UPPER({name})", "text"), (f"CONCAT({name}, '-x')", "text"),
                              (f"LENGTH({name})", "integer"), (f"LEFT({name}, 2)", "text"),
                              (f"{name} = 'a'", "integer"), (f"COALESCE({name}, {other})", "text")])
        if family == "date":
            return self.pick([(f"YEAR({name})", "integer"), (f"{name} + INTERVAL 1 DAY", "date"),
                              (f"DATE({name})", "date"), (f"MONTH({name})", "integer")])
        return self.pick([(f"HEX({name})", "text"), (f"{name} IS NULL", "integer"), (f"LENGTH({name})", "integer")])

    def definition(self, table, name=None, family=None, key=True, generated=8):
        """The type and attributes of a column."""
        if table and table.writable and self.chance(generated):
            expression, family = self.expression(table)
            # MariaDB does not check whether the value of a VIRTUAL column fits.
            roomy = self.chance(85)
            type_text = {"integer": "BIGINT", "decimal": "DECIMAL(65,5)", "float": "DOUBLE", "date": "DATETIME(6)",
                         "text": f"VARCHAR(700) COLLATE {self.pick(COLLATIONS['utf8mb4'])}"}[family]
            if not roomy:
                type_text = self.column_type(family)
            stored = self.pick(["VIRTUAL", "STORED"]) if roomy else "STORED"
            text = f"{type_text}{self.pick([' GENERATED ALWAYS', ''])} AS ({expression}) {stored}"
            return text + (" UNIQUE" if self.chance(8) else "")
        type_text = self.column_type(family)
        text = type_text
        if self.chance(35):
            text += " NOT NULL"
        elif self.chance(20) or type_text.startswith("TIMESTAMP"):
            text += " NULL"
        if self.chance(35):
            text += f" DEFAULT {self.default(type_text)}"
        elif self.chance(8) and key and type_text.split(" ")[0].lower() in INTEGERS:
            text += " AUTO_INCREMENT"
        if key and self.chance(4):
            text += self.pick([" UNIQUE", " UNIQUE", " PRIMARY KEY"])
        if self.chance(4):
            text += " COMMENT 'it''s'"
        return text

    # Keys

    def key_parts(self, columns, most=3):
        """Parts of a key over columns with types: mostly valid."""
        parts = []
        for column in self.sample(columns, self.choose((5, 1), (3, 2), (1, most))):
            text = quoted(column.name)
            if column.data_type in LARGE:
                text += f"({self.pick([1, 5, 10])})" if self.chance(92) else ""
            elif column.family in ("text", "bytes") and self.chance(25):
                text += f"({self.pick([1, 2, 5, 300])})"
            elif self.chance(1):
                text += "(3)"
            parts.append(text + (" DESC" if self.chance(4) else ""))
        return ", ".join(parts)

    def key(self, columns):
        kind = self.choose((5, "INDEX"), (4, "UNIQUE INDEX"), (1, "KEY"), (1, "UNIQUE"))
        name = "" if self.chance(10) else " " + self.fresh("k")
        if self.chance(2) and columns:
            name = " k1"
        return f"{kind}{name} ({self.key_parts(columns)})"

    def check(self, table):
        columns = [column for column in table.columns if not column.automatic] or table.columns
        column = self.pick(columns)
        name, family = quoted(column.name), column.family
        if family in ("integer", "decimal", "float"):
            condition = self.pick([f"{name} >= -1", f"{name} < 1000", f"{name} <> 7", f"{name} BETWEEN -100 AND 300"])
        elif family == "text":
            condition = self.pick([f"CHAR_LENGTH({name}) < 30", f"{name} <> 'bad'", f"{name} <> 'zz'"])
        elif family == "date":
            condition = self.pick([f"{name} > '1999-06-01'", f"YEAR({name}) > 1990"])
        else:
            other = quoted(self.pick(columns).name)
            condition = self.pick([f"{name} IS NOT NULL OR {other} IS NOT NULL", f"LENGTH({name}) < 100"])
        return f"CONSTRAINT {self.fresh('x')} CHECK ({condition})"

    def foreign_key(self, table, columns):
        """A key to a table that is there: mostly columns whose types match."""
        candidates = []
        for parent in self.tables.values():
            for index in parent.indexes:
                if (index.unique or self.chance(5)) and all(length is None for _, length in index.parts):
                    pairs = []
                    for name, _ in index.parts:
                        wanted = parent.find(name)
                        fits = [column for column in columns if column.column_type == wanted.column_type
                                and column.collation == wanted.collation]
                        if fits:
                            pairs.append((self.pick(fits).name, name))
                    if len(pairs) == len(index.parts):
                        candidates.append((parent, pairs))
        if candidates and self.chance(85):
            parent, pairs = self.pick(candidates)
            parent = parent.name
            if parent == table and all(child == key for child, key in pairs):
                return None
        elif self.tables and self.chance(30) and columns:
            parent = self.pick([*self.tables, "nowhere"])
            there = self.tables.get(parent)
            pairs = [(self.pick(columns).name, self.pick(there.columns).name if there else "id")]
        else:
            return None
        children = ", ".join(quoted(child) for child, _ in pairs)
        parents = ", ".join(quoted(key) for _, key in pairs)
        text = f"CONSTRAINT {self.fresh('f')} FOREIGN KEY ({children}) REFERENCES {parent} ({parents})"
        for event in "DELETE", "UPDATE":
            if self.chance(60):
                text += f" ON {event} {self.pick(['CASCADE', 'SET NULL', 'RESTRICT', 'NO ACTION', 'CASCADE'])}"
        return text

    # Statements

    def create_table(self, name):
        table = Table(name)
        items = []
        identifier = self.choose((5, "INT"), (2, "BIGINT"), (1, "INT UNSIGNED"), (1, "SMALLINT"), (1, "VARCHAR(10)"))
        automatic = identifier != "VARCHAR(10)" and self.chance(25)
        primary = automatic or self.chance(85)
        text = f"id {identifier} NOT NULL" + (" AUTO_INCREMENT" if automatic else "") + (" PRIMARY KEY" if primary else "")
        items.append(text)
        table.columns.append(dataclasses.replace(
            self.sketch(identifier), name="id", extra="auto_increment" if automatic else ""))
        for number in range(self.random.randint(1, 6)):
            column = f"c{number}"
            if self.chance(25) and self.tables:
                # The type of a key that a foreign key may name.
                keys = [parent.find(index.parts[0][0]) for parent in self.tables.values() for index in parent.indexes]
                keys = [key for key in keys if key and key.data_type not in LARGE]
                if keys:
                    key = self.pick(keys)
                    text = key.column_type + (f" COLLATE {key.collation}" if key.collation else "")
                    items.append(f"{column} {text}{self.pick(['', ' NOT NULL', ''])}")
                    sketch = dataclasses.replace(key, name=column, extra="", key="")
                    table.columns.append(sketch)
                    continue
            text = self.definition(table if number else None, key=not automatic and not primary)
            items.append(f"{column} {text}")
            sketch = dataclasses.replace(self.sketch(text), name=column)
            if " AS (" in text:
                sketch.extra = "VIRTUAL GENERATED"
            table.columns.append(sketch)
        if not primary and self.chance(60):
            items.append(f"PRIMARY KEY ({self.key_parts(table.columns, 2)})")
        for _ in range(self.choose((3, 0), (4, 1), (2, 2), (1, 3))):
            items.append(self.key(table.columns))
        if self.chance(20):
            items.append(self.check(table))
        if self.chance(55) and (key := self.foreign_key(name, table.columns)):
            items.append(key)
        options = ""
        if self.chance(30):
            options += self.charset(100).replace(" CHARACTER SET", " DEFAULT CHARACTER SET")
        if self.chance(5):
            options += " COMMENT='note'"
        if automatic and self.chance(20):
            options += f" AUTO_INCREMENT={self.pick([5, 100, 127])}"
        return f"CREATE TABLE {name} ({', '.join(items)}){options}"

    def position(self, table):
        if self.chance(70):
            return ""
        return self.pick([" FIRST", f" AFTER {quoted(self.pick(table.columns).name)}"])

    def new_column_name(self, table):
        if self.chance(3):
            return quoted(self.pick(table.columns).name)
        return quoted(self.choose((20, self.fresh("n")), (1, "select"), (1, "ä"), (1, self.fresh("Mixed "))))

    def some_column(self, table):
        if self.chance(2):
            return Column("nope", None, True, "int", None, None, None, "", "", "int", "", "")
        columns = [column for column in table.columns if column.name != "id"]
        return self.pick(columns) if columns and self.chance(93) else self.pick(table.columns)

    def related(self, column):
        """The definition of a column with a type near its own."""
        family = column.family
        if family == "text" and self.chance(30):
            family = self.choose((2, "bytes"), (1, "enum"), (1, "integer"), (1, "date"))
        elif family in ("integer", "decimal", "float", "bit", "year") and self.chance(40):
            family = self.pick(["integer", "decimal", "float", "text"])
        elif family in ("date", "time") and self.chance(30):
            family = self.pick(["date", "time", "text"])
        elif family in ("enum", "set", "bytes") and self.chance(30):
            family = self.pick(["text", "bytes", "integer"])
        return family

    def modified(self, table, column):
        if column.automatic and self.chance(60):
            return f"{self.column_type('integer')} NOT NULL AUTO_INCREMENT"
        family = self.related(column) if self.chance(85) else None
        key = not any(index.name == "PRIMARY" for index in table.indexes)
        others = dataclasses.replace(table, columns=[other for other in table.columns if other.name != column.name])
        return self.definition(others, family=family, key=key, generated=60 if column.generated else 3)

    def alter_part(self, table):
        column = self.some_column(table)
        name = quoted(column.name)
        indexes = [index for index in table.indexes if index.name != "PRIMARY"]
        kind = self.choose(
            (16, "add"), (10, "drop"), (16, "modify"), (8, "change"), (6, "rename"), (5, "set default"),
            (3, "drop default"), (8, "add index"), (4, "drop index"), (3, "rename index"), (3, "add primary"),
            (2, "drop primary"), (4, "add check"), (2, "drop check"), (4, "add foreign"), (2, "drop foreign"),
            (3, "convert"), (1, "charset"), (2, "auto_increment"), (1, "comment"), (1, "rename table"),
            (1, "rebuild"))
        if kind == "add":
            definition = f"{self.new_column_name(table)} {self.definition(table, key=self.chance(30))}"
            if self.chance(10):
                return f"ADD COLUMN ({definition}, {self.new_column_name(table)} {self.definition(table, key=False)})"
            return f"ADD {self.pick(['COLUMN ', ''])}{definition}{self.position(table)}"
        if kind == "drop":
            return f"DROP {self.pick(['COLUMN ', ''])}{name}"
        if kind == "modify":
            return f"MODIFY {name} {self.modified(table, column)}{self.position(table)}"
        if kind == "change":
            new = name if self.chance(40) else self.new_column_name(table)
            return f"CHANGE {name} {new} {self.modified(table, column)}{self.position(table)}"
        if kind == "rename":
            return f"RENAME COLUMN {name} TO {self.new_column_name(table)}"
        if kind == "set default" and not column.automatic:
            value = self.value(column, 20)
            if value == "DEFAULT" or column.data_type in LARGE:
                value = "NULL"
            literal = self.chance(85) and not value.startswith(("REPEAT", "CONCAT"))
            return f"ALTER {name} SET DEFAULT {value if literal else f'({value})'}"
        if kind == "drop default":
            return f"ALTER COLUMN {name} DROP DEFAULT"
        if kind == "add index":
            return f"ADD {self.key(table.columns)}"
        if kind == "drop index" and indexes:
            return f"DROP INDEX {self.pick(indexes).name if self.chance(95) else 'nope'}"
        if kind == "rename index" and indexes:
            return f"RENAME INDEX {self.pick(indexes).name} TO {self.fresh('r')}"
        if kind == "add primary":
            return f"ADD PRIMARY KEY ({self.key_parts(table.columns, 2)})"
        if kind == "drop primary":
            return "DROP PRIMARY KEY" + (f", ADD PRIMARY KEY ({self.key_parts(table.columns, 2)})" if self.chance(70) else "")
        if kind == "add check":
            return f"ADD {self.check(table)}"
        if kind == "drop check" and table.checks:
            return f"DROP CONSTRAINT {self.pick(table.checks)}"
        if kind == "add foreign" and (key := self.foreign_key(table.name, table.columns)):
            return f"ADD {key}"
        if kind == "drop foreign" and table.foreign_keys:
            return f"DROP FOREIGN KEY {self.pick(table.foreign_keys).name}"
        if kind == "convert":
            charset = self.pick(["utf8mb4", "utf8mb4", "utf8mb3", "latin1", "ascii"])
            collate = ""
            if charset == "utf8mb4" or self.chance(50):
                collate = f" COLLATE {self.pick(COLLATIONS[charset])}"
            return f"CONVERT TO CHARACTER SET {charset}{collate}"
        if kind == "charset":
            return f"DEFAULT{self.charset(100)}"
        if kind == "auto_increment":
            return f"AUTO_INCREMENT = {self.pick([1, 3, 10, 50, 120, 200])}"
        if kind == "comment":
            return f"COMMENT = '{self.pick(['', 'one', 'it‘s', 'two'])}'"
        if kind == "rename table":
            return f"RENAME TO {self.pick(['t1', 't2', 't3', 't4'])}"
        return self.pick(["FORCE", "ENGINE = InnoDB"])

    def alter(self, table):
        parts = [self.alter_part(table) for _ in range(self.choose((70, 1), (18, 2), (8, 3), (4, 4)))]
        return f"ALTER TABLE {table.name} {', '.join(parts)}"

    def insert(self, table, verb="INSERT"):
        columns = table.writable if self.chance(80) else self.sample(table.writable, 4)
        if self.chance(3):
            columns = columns + [column for column in table.columns if column.generated][:1]
        explicit = table.name in self.unnumbered
        if explicit:
            columns = [column for column in table.writable if column.automatic and column not in columns] + columns
        if verb == "INSERT":
            verb = self.choose((90, "INSERT"), (10, "INSERT IGNORE"))
        hostile = self.pick([0, 0, 10, 40])
        rows = self.choose((6, 1), (2, 2), (1, 4)) if not table.automatic else 1
        text = f"{verb} INTO {table.name} ({', '.join(quoted(column.name) for column in columns)}) VALUES "
        text += ", ".join("(" + ", ".join(
            str(self.random.randint(1, 60)) if explicit and column.automatic or column.name == "id"
            and self.chance(70) and column.family == "integer" and not column.automatic
            else self.value(column, hostile) for column in columns) + ")" for _ in range(rows))
        if verb == "INSERT" and self.chance(15):
            text += " ON DUPLICATE KEY UPDATE " + self.assignments(table, 3, in_insert=True)
        return text

    def insert_select(self, table):
        columns = self.sample(table.writable, 6)
        if table.automatic:
            return self.insert(table)
        source = self.pick(self.tables.values())
        items = ", ".join(quoted(self.pick(source.columns).name) if self.chance(70) else self.value(column).replace(
            "DEFAULT", "NULL") for column in columns)
        order = f" ORDER BY {', '.join(quoted(column.name) for column in source.columns)}"
        names = ", ".join(quoted(column.name) for column in columns)
        return f"INSERT INTO {table.name} ({names}) SELECT {items} FROM {source.name}{order} LIMIT {self.pick([1, 2, 5])}"

    def assignments(self, table, most, in_insert=False):
        columns = self.sample(table.writable, most)
        if not in_insert and self.chance(80):
            columns = [column for column in columns if column.name != "id"] or columns
        items = []
        for column in columns:
            value = self.assigned(table, column)
            if in_insert and self.chance(40):
                value = f"VALUES({quoted(column.name)})"
            items.append(f"{quoted(column.name)} = {value}")
        return ", ".join(items)

    def where(self, table):
        column = table.find("id") if self.chance(60) and table.find("id") else self.pick(table.columns)
        name = quoted(column.name)
        if column.name == "id" and column.family == "integer":
            return self.pick([f"{name} = {self.random.randint(1, 60)}", f"{name} > {self.random.randint(1, 60)}",
                              f"{name} < {self.random.randint(1, 60)}", f"{name} BETWEEN 10 AND 30"])
        if self.chance(20):
            return f"{name} IS {self.pick(['', 'NOT '])}NULL"
        return f"{name} {self.pick(['=', '<>', '>', '<=', '<=>'])} {self.fitting(column)}"

    def update(self, table):
        text = f"UPDATE {self.choose((95, ''), (5, 'IGNORE '))}{table.name} SET {self.assignments(table, 3)}"
        if self.chance(85):
            text += f" WHERE {self.where(table)}"
        # An order of all columns: which row fails first, or is in the way, does not depend on the plan.
        return text + f" ORDER BY {', '.join(quoted(column.name) for column in table.columns)}" + (
            f" LIMIT {self.pick([1, 2])}" if self.chance(10) else "")

    def delete(self, table):
        text = f"DELETE FROM {table.name}"
        if self.chance(97):
            text += f" WHERE {self.where(table)}"
        return text

    def session(self):
        return self.choose(
            (8, f"SET sql_mode = '{self.pick(SQL_MODES)}'"), (1, f"SET timestamp = {self.pick(TIMESTAMPS)}"),
            (1, f"SET foreign_key_checks = {self.pick([0, 1, 1])}"))

    def transaction(self):
        if self.in_transaction:
            return self.pick(["COMMIT", "ROLLBACK"])
        return "BEGIN"

    def next(self):
        """The next statement."""
        if not self.tables or (len(self.tables) < 3 and self.chance(5)):
            free = [name for name in ("t1", "t2", "t3") if name not in self.tables]
            return self.create_table(free[0] if free else "t4")
        table = self.pick(self.tables.values())
        if not table.writable:
            return f"DROP TABLE {table.name}"
        kind = self.choose((24, "alter"), (26, "insert"), (5, "replace"), (4, "insert_select"), (14, "update"),
                           (5, "delete"), (3, "session"), (2, "transaction"), (1, "other"), (1, "index"))
        if kind == "replace":
            return self.insert(table, "REPLACE")
        if kind in ("session", "transaction"):
            return getattr(self, kind)()
        if kind == "index":
            indexes = [index.name for index in table.indexes if index.name != "PRIMARY"]
            if indexes and self.chance(40):
                return f"DROP INDEX {self.pick(indexes)} ON {table.name}"
            unique = self.pick(["", "UNIQUE "])
            return f"CREATE {unique}INDEX {self.fresh('k')} ON {table.name} ({self.key_parts(table.columns)})"
        if kind == "other":
            return self.choose((4, f"TRUNCATE TABLE {table.name}"), (2, f"DROP TABLE {table.name}"),
                               (2, f"RENAME TABLE {table.name} TO t4"), (1, f"CREATE TABLE t4 LIKE {table.name}"),
                               (1, f"DROP TABLE IF EXISTS t4, {table.name}"))
        return getattr(self, kind)(table)
