"""What every Python driver must be able to do with a MySQL server, written once against the DB-API.

A driver program supplies a `Driver` (how it connects, what its errors look like, in which Python types values go out
and come back) and calls `run`.  Every check compares exact values: a row that went in must come out equal, in type as
well as in value, because the type tells whether the column metadata was right.  Each group is one line of output and
counts as one check; a group that raises is a failed check, and the next group starts on a new connection.

The suite never asks who the server is: MySQL, MariaDB and Skarv must all pass.
"""

import argparse
import datetime
import decimal
import os
import secrets
import sys
import traceback

# A server that hangs costs a check this long, not the whole run.
ANSWER_TIMEOUT_S = 60
ROW_COUNT_LARGE = 10_000
BLOB_SIZE_LONG = 1024 * 1024
# Above 16 MiB - 1 a MySQL packet is split; 18 MiB gives one full packet and a remainder in both directions.
BLOB_SIZE_SPLIT = 18 * 1024 * 1024

COLUMNS = (
    "i8", "u8", "i16", "u16", "i24", "u24", "i32", "u32", "i64", "u64", "f32", "f64", "amount",
    "c10", "v200", "txt", "vb", "b64k", "b16m", "day", "span", "span6", "moment", "stamp",
)

CREATE_ALL_TYPES = """
CREATE TABLE all_types (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    i8 TINYINT, u8 TINYINT UNSIGNED,
    i16 SMALLINT, u16 SMALLINT UNSIGNED,
    i24 MEDIUMINT, u24 MEDIUMINT UNSIGNED,
    i32 INT, u32 INT UNSIGNED,
    i64 BIGINT, u64 BIGINT UNSIGNED,
    f32 FLOAT, f64 DOUBLE, amount DECIMAL(20,6),
    c10 CHAR(10), v200 VARCHAR(200), txt TEXT,
    vb VARBINARY(255), b64k BLOB, b16m MEDIUMBLOB,
    day DATE, span TIME, span6 TIME(6), moment DATETIME(6), stamp TIMESTAMP NULL DEFAULT NULL,
    PRIMARY KEY (id),
    KEY all_types_i32 (i32)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4
"""

CREATE_ITEM = """
CREATE TABLE item (
    id INT NOT NULL AUTO_INCREMENT,
    code VARCHAR(32) NOT NULL,
    shelf INT NOT NULL,
    price DECIMAL(10,2) NOT NULL,
    quantity INT,
    note VARCHAR(50) DEFAULT 'none',
    PRIMARY KEY (id),
    UNIQUE KEY item_code (code),
    KEY item_shelf_price (shelf, price)
)
"""

D = decimal.Decimal
Date, DateTime, Span = datetime.date, datetime.datetime, datetime.timedelta


def fixture_rows():
    """Rows of all_types, one tuple each in the order of COLUMNS: smallest, largest, nulls and a usual one."""
    smallest = (
        -128, 0, -32768, 0, -8388608, 0, -2147483648, 0, -9223372036854775808, 0,
        -65504.5, -1.7976931348623157e308, D("-99999999999999.999999"),
        "", "", "", b"", b"", b"",
        Date(1000, 1, 1), -Span(hours=838, minutes=59, seconds=59), -Span(microseconds=1),
        DateTime(1000, 1, 1), DateTime(1970, 1, 1, 0, 0, 1),
    )
    largest = (
        127, 255, 32767, 65535, 8388607, 16777215, 2147483647, 4294967295,
        9223372036854775807, 18446744073709551615,
        65504.5, 1.7976931348623157e308, D("99999999999999.999999"),
        "ÅÄö€𝄞🐦漢字né", "🐦" * 200, "naïve — 日本語 \n\t\r\0\x1a '\"`\\ %s %% ? ; -- /* */ #",
        bytes(range(255)), bytes(range(256)) * 255, os.urandom(BLOB_SIZE_LONG),
        Date(9999, 12, 31), Span(hours=838, minutes=59, seconds=59),
        Span(hours=12, minutes=34, seconds=56, microseconds=789012),
        DateTime(9999, 12, 31, 23, 59, 59, 999999), DateTime(2038, 1, 19, 3, 14, 7),
    )
    usual = (
        -1, 200, -300, 40000, -70000, 9000000, -100000, 3000000000, -5000000000, 2**63 + 1,
        1.25, 0.1, D("-0.000001"),
        "abc", "it's a \"test\"", "some text", b"\x00\xff", b"blob'\\", b"x",
        Date(2024, 2, 29), Span(hours=1, seconds=1), Span(hours=100, microseconds=500000),
        DateTime(2024, 2, 29, 12, 0, 0, 1), DateTime(2024, 2, 29, 12, 0, 0),
    )
    nulls = (None,) * len(COLUMNS)
    for row in (smallest, largest, usual):
        assert len(row) == len(COLUMNS)
    return [smallest, largest, usual, nulls]


class Driver:
    """What differs between the drivers. A driver program subclasses this."""

    name = "driver"
    # Statements go through the binary protocol: parameters are sent apart from the text.
    prepared = False

    def __init__(self, options):
        self.options = options

    def connect(self, database=None, multi_statements=False):
        """A new connection with autocommit off (the DB-API default)."""
        raise NotImplementedError(self.name)

    def cursor(self, connection):
        return connection.cursor()

    def is_encrypted(self, connection):
        """By the driver's own means, not by asking the server."""
        raise NotImplementedError(self.name)

    def error_of(self, error):
        """(error number, SQLSTATE) of a driver exception; SQLSTATE None where the driver hides it."""
        raise NotImplementedError(self.name)

    # False where the driver cannot read a TIME below zero: the suite then reads spans as text.
    reads_negative_spans = True
    # False where the driver cannot read a row above 16 MB: the suite then reads it in two pieces.
    reads_split_rows = True

    def last_insert_id(self, cursor):
        return cursor.lastrowid

    def parameter(self, value):
        """Converts a value that the driver cannot send. Neither driver sends a timedelta below zero correctly."""
        if isinstance(value, Span) and value < Span(0):
            return span_text(value)
        return value

    def extra_groups(self):
        """(name, function(suite)) pairs of what only this driver has."""
        return []


class Suite:
    """One run of one driver: owns the database, the current connection and the tally."""

    def __init__(self, driver):
        self.driver = driver
        self.database = "crud_" + secrets.token_hex(6)
        self.connection = None
        self.passed_count = 0
        self.failed_count = 0
        # Names of features that the server refused, as it may, in the group at hand.
        self.refused_features = []

    # Statements.

    def execute(self, statement, parameters=None):
        cursor = self.driver.cursor(self.connection)
        if parameters is None:
            cursor.execute(statement)
        else:
            cursor.execute(statement, tuple(self.driver.parameter(value) for value in parameters))
        return cursor

    def change(self, statement, parameters=None):
        """Executes a statement without a result; returns its affected-row count."""
        cursor = self.execute(statement, parameters)
        count = cursor.rowcount
        cursor.close()
        return count

    def insert(self, statement, parameters=None):
        """Executes an INSERT; returns the driver's idea of LAST_INSERT_ID."""
        cursor = self.execute(statement, parameters)
        key = self.driver.last_insert_id(cursor)
        cursor.close()
        return key

    def rows(self, statement, parameters=None):
        cursor = self.execute(statement, parameters)
        rows = [tuple(row) for row in cursor.fetchall()]
        cursor.close()
        return rows

    # Checks.

    def equal(self, actual, expected, what):
        """Values and types must be equal, element by element."""
        if actual == expected and same_types(actual, expected):
            return
        raise AssertionError(f"{what}: expected {brief(expected)}, got {brief(actual)}")

    def refused(self, number, sqlstate, statement, parameters=None):
        """The statement must fail with exactly this error; returns the exception."""
        try:
            self.execute(statement, parameters).fetchall()
        except Exception as error:  # noqa: BLE001 - each driver has its own hierarchy
            actual_number, actual_sqlstate = self.driver.error_of(error)
            self.equal(actual_number, number, f"error number of {statement[:60]!r} ({error})")
            if sqlstate is not None and actual_sqlstate is not None:
                self.equal(actual_sqlstate, sqlstate, f"SQLSTATE of {statement[:60]!r}")
            return error
        raise AssertionError(f"{statement[:60]!r} was accepted; error {number} was expected")

    def serves(self, feature, *statements):
        """Whether the server has a feature that Skarv refuses by design.

        The first statement is tried. Where it succeeds, the caller checks the feature itself. Where Skarv refuses it,
        every one of the statements must be refused with error 1235 and the feature's name. All else is an error.
        """
        try:
            cursor = self.execute(statements[0])
            if cursor.description is not None:
                cursor.fetchall()
            cursor.close()
            return True
        except Exception as error:  # noqa: BLE001 - each driver has its own hierarchy
            if self.driver.error_of(error)[0] != 1235 or "skarv" not in self.rows("SELECT VERSION()")[0][0]:
                raise
        for statement in statements:
            error = self.refused(1235, "42000", statement)
            if f"'{feature}'" not in str(error):
                raise AssertionError(f"the refusal of {statement[:60]!r} does not name {feature!r}: {error}")
        self.refused_features.append(feature)
        return False

    def group(self, name, check):
        self.refused_features = []
        try:
            if self.connection is None and check is not create_database:
                raise ConnectionError("no connection")
            check(self)
        except Exception as error:  # noqa: BLE001 - a failed check must not stop the others
            self.failed_count += 1
            where = traceback.extract_tb(error.__traceback__)
            lines = [f"{frame.name}:{frame.lineno}" for frame in where if os.path.dirname(__file__) in frame.filename]
            print(f"FAILED {self.driver.name}: {name}: {type(error).__name__}: {brief(error)} [{' '.join(lines[-3:])}]")
            self.reconnect()
        else:
            self.passed_count += 1
            refused = f" (refused with error 1235: {', '.join(self.refused_features)})" if self.refused_features else ""
            print(f"ok     {self.driver.name}: {name}{refused}")
        sys.stdout.flush()

    def reconnect(self):
        """Whatever state a failed group left behind, the next one starts afresh."""
        close_quietly(self.connection)
        self.connection = None
        try:
            self.connection = self.driver.connect(self.database)
            self.change("SET time_zone = '+00:00'")
        except Exception as error:  # noqa: BLE001 - every following group will say so
            print(f"       {self.driver.name}: no new connection: {brief(error)}")

    def run(self):
        for name, check in [*GROUPS, *self.driver.extra_groups()]:
            self.group(name, check)
        self.group("drop database", drop_database)
        close_quietly(self.connection)


def span_text(span):
    """A timedelta as MySQL writes a TIME(6)."""
    sign, span = ("-", -span) if span < Span(0) else ("", span)
    seconds = span.days * 86400 + span.seconds
    return f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{span.microseconds:06d}"


def same_types(actual, expected):
    if type(actual) is not type(expected):
        return False
    if isinstance(expected, (list, tuple)):
        return all(same_types(a, b) for a, b in zip(actual, expected))
    return True


def brief(value):
    text = str(value) if isinstance(value, Exception) else repr(value)
    text = text.replace("\n", " ")
    return text if len(text) <= 300 else f"{text[:140]} ... {text[-140:]}"


def close_quietly(connection):
    if connection is None:
        return
    try:
        connection.close()
    except Exception:  # noqa: BLE001 - it may be broken already, which a check has reported
        pass


# The groups, in order; each builds on the tables of those before it.


def create_database(suite):
    suite.connection = suite.driver.connect()
    suite.change(f"CREATE DATABASE {suite.database} CHARACTER SET utf8mb4")
    suite.change(f"USE {suite.database}")
    suite.equal(suite.rows("SELECT DATABASE()"), [(suite.database,)], "DATABASE()")
    suite.change("SET time_zone = '+00:00'")
    close_quietly(suite.connection)
    suite.connection = suite.driver.connect(suite.database)
    suite.change("SET time_zone = '+00:00'")
    suite.equal(suite.rows("SELECT DATABASE()"), [(suite.database,)], "DATABASE() of a new connection")


def encryption(suite):
    required = suite.driver.options.tls == "required"
    suite.equal(suite.driver.is_encrypted(suite.connection), required, "encrypted, says the driver")
    status = suite.rows("SHOW STATUS LIKE 'Ssl_cipher'")
    suite.equal(len(status), 1, "rows of SHOW STATUS LIKE 'Ssl_cipher'")
    suite.equal(status[0][1] != "", required, f"encrypted, says the server ({status})")


def create_tables(suite):
    suite.change(CREATE_ALL_TYPES)
    suite.change(CREATE_ITEM)
    suite.equal(suite.rows("SHOW TABLES"), [("all_types",), ("item",)], "SHOW TABLES")
    suite.equal(suite.rows("SELECT COUNT(*) FROM item"), [(0,)], "a new table is empty")


def all_types(suite):
    names = ", ".join(COLUMNS)
    marks = ", ".join(["%s"] * len(COLUMNS))
    fixtures = fixture_rows()
    for row in fixtures:
        suite.equal(suite.change(f"INSERT INTO all_types ({names}) VALUES ({marks})", row), 1, "affected rows")
    suite.connection.commit()
    if not suite.driver.reads_negative_spans:
        names = names.replace("span,", "CAST(CAST(span AS TIME(6)) AS CHAR),").replace("span6,", "CAST(span6 AS CHAR),")
        fixtures = [tuple(span_text(v) if isinstance(v, Span) else v for v in row) for row in fixtures]
    stored = suite.rows(f"SELECT {names} FROM all_types ORDER BY id")
    suite.equal(len(stored), len(fixtures), "row count")
    for row_index, (actual, expected) in enumerate(zip(stored, fixtures)):
        for name, a, b in zip(COLUMNS, actual, expected):
            suite.equal(a, b, f"row {row_index} column {name}")


def parameters_in_conditions(suite):
    usual = fixture_rows()[2]
    # FLOAT is left out: comparing a 4-byte float with a decimal literal is not defined to succeed.
    # LONG columns are compared too, so that a BLOB parameter meets a BLOB column.
    for name, value in zip(COLUMNS, usual):
        if name != "f32":
            suite.equal(suite.rows(f"SELECT id FROM all_types WHERE {name} = %s", (value,)), [(3,)], f"{name} = %s")
    suite.equal(suite.rows("SELECT id FROM all_types WHERE u64 > %s ORDER BY u64", (2**63,)), [(3,), (2,)], "u64 > 2^63")
    suite.equal(suite.rows("SELECT id FROM all_types WHERE i8 <=> %s", (None,)), [(4,)], "i8 <=> NULL")
    suite.equal(suite.rows("SELECT id FROM all_types WHERE i8 = %s", (None,)), [], "i8 = NULL")
    suite.equal(suite.rows("SELECT COUNT(*), COUNT(i8) FROM all_types"), [(4, 3)], "COUNT skips NULLs")


def auto_increment(suite):
    sql = "INSERT INTO item (code, shelf, price, quantity) VALUES "
    suite.equal(suite.insert(sql + "(%s, %s, %s, %s)", ("c-1", 1, D("1.00"), 10)), 1, "first key")
    count = suite.change(sql + "('c-2',1,2.50,20), ('c-3',2,3.00,NULL), ('c-4',2,4.75,40), ('c-5',3,5.00,50)")
    suite.equal(count, 4, "affected rows of a multi-row insert")
    suite.equal(suite.rows("SELECT LAST_INSERT_ID()"), [(2,)], "LAST_INSERT_ID() is the first of several")
    suite.equal(suite.insert("INSERT INTO item (id, code, shelf, price) VALUES (100, 'c-100', 9, 9.99)"), 100, "given key")
    suite.equal(suite.insert("INSERT INTO item (code, shelf, price) VALUES ('c-101', 9, 9.99)"), 101, "key after a given one")
    suite.equal(suite.change("DELETE FROM item WHERE id >= 100"), 2, "deleted")
    suite.connection.commit()


def defaults(suite):
    row = suite.rows("SELECT quantity, note FROM item WHERE code = 'c-3'")
    suite.equal(row, [(None, "none")], "an explicit NULL and a default")
    suite.change("INSERT INTO item (code, shelf, price, note) VALUES ('c-6', 3, 6.00, NULL)")
    suite.equal(suite.rows("SELECT quantity, note FROM item WHERE code = 'c-6'"), [(None, None)], "NULL beats the default")
    suite.change("INSERT INTO item (code, shelf, price, note) VALUES ('c-7', 3, 7.00, DEFAULT)")
    suite.equal(suite.rows("SELECT note FROM item WHERE code = 'c-7'"), [("none",)], "the keyword DEFAULT")
    suite.equal(suite.change("DELETE FROM item WHERE code IN ('c-6', 'c-7')"), 2, "deleted")
    suite.connection.commit()


def queries(suite):
    rows = suite.rows
    suite.equal(rows("SELECT code, price FROM item WHERE id = %s", (2,)), [("c-2", D("2.50"))], "point select")
    suite.equal(rows("SELECT id FROM item WHERE code = %s", ("c-4",)), [(4,)], "by unique key")
    suite.equal(rows("SELECT id FROM item WHERE id = %s", (77,)), [], "no such row")
    suite.equal(rows("SELECT id FROM item WHERE shelf = 2 ORDER BY price DESC"), [(4,), (3,)], "by secondary key")
    suite.equal(rows("SELECT id FROM item WHERE id BETWEEN 2 AND 4 ORDER BY id DESC LIMIT 2"), [(4,), (3,)], "range")
    suite.equal(rows("SELECT id FROM item ORDER BY id LIMIT 2 OFFSET 1"), [(2,), (3,)], "LIMIT OFFSET")
    suite.equal(rows("SELECT id FROM item ORDER BY id LIMIT %s, %s", (3, 1)), [(4,)], "LIMIT with parameters")
    suite.equal(rows("SELECT id FROM item WHERE code LIKE 'c-%' AND id > 3 ORDER BY id"), [(4,), (5,)], "LIKE")
    suite.equal(rows("SELECT id FROM item WHERE code LIKE %s", ("%-_",)), [(1,), (2,), (3,), (4,), (5,)], "LIKE parameter")
    suite.equal(rows("SELECT id FROM item WHERE id IN (%s, %s, %s) ORDER BY id", (5, 1, 9)), [(1,), (5,)], "IN")
    suite.equal(rows("SELECT id FROM item WHERE quantity IS NULL"), [(3,)], "IS NULL")
    suite.equal(rows("SELECT DISTINCT shelf FROM item ORDER BY shelf"), [(1,), (2,), (3,)], "DISTINCT")


def aggregates(suite):
    by_shelf = suite.rows("SELECT shelf, COUNT(*), SUM(price), MIN(price), MAX(quantity), AVG(quantity)"
                          " FROM item GROUP BY shelf ORDER BY shelf")
    suite.equal(by_shelf, [
        (1, 2, D("3.50"), D("1.00"), 20, D("15.0000")),
        (2, 2, D("7.75"), D("3.00"), 40, D("40.0000")),
        (3, 1, D("5.00"), D("5.00"), 50, D("50.0000")),
    ], "GROUP BY")
    suite.equal(suite.rows("SELECT shelf FROM item GROUP BY shelf HAVING COUNT(*) > %s ORDER BY shelf DESC", (1,)),
                [(2,), (1,)], "HAVING")
    suite.equal(suite.rows("SELECT SUM(quantity), COUNT(DISTINCT shelf) FROM item"), [(D("120"), 3)], "of integers")
    suite.equal(suite.rows("SELECT SUM(f64), SUM(amount), AVG(amount), MAX(moment) FROM all_types WHERE id >= 3"),
                [(0.1, D("-0.000001"), D("-0.0000010000"), DateTime(2024, 2, 29, 12, 0, 0, 1))], "of other types")
    suite.equal(suite.rows("SELECT SUM(price), COUNT(*), MAX(id) FROM item WHERE id > 1000"), [(None, 0, None)], "of nothing")


def join(suite):
    inner = "SELECT a.code, b.code FROM item a JOIN item b ON a.shelf = b.shelf AND a.id < b.id ORDER BY a.id"
    left = "SELECT a.id, b.id FROM item a LEFT JOIN item b ON b.id = a.id + 3 ORDER BY a.id"
    if suite.serves("JOIN", inner, left, "SELECT a.id FROM item a, item b"):
        suite.equal(suite.rows(inner), [("c-1", "c-2"), ("c-3", "c-4")], "inner join")
        suite.equal(suite.rows(left), [(1, 4), (2, 5), (3, None), (4, None), (5, None)], "left join")


def updates(suite):
    change = suite.change
    suite.equal(change("UPDATE item SET quantity = quantity + %s, price = price * 2 WHERE id = %s", (5, 1)), 1, "arithmetic")
    suite.equal(suite.rows("SELECT quantity, price FROM item WHERE id = 1"), [(15, D("2.00"))], "its result")
    suite.equal(change("UPDATE item SET quantity = quantity - 5, price = price / 2 WHERE id = 1"), 1, "and back")
    suite.equal(suite.rows("SELECT quantity, price FROM item WHERE id = 1"), [(10, D("1.00"))], "its result")
    suite.equal(change("UPDATE item SET quantity = quantity + 1 WHERE shelf = 2"), 1, "NULL + 1 changes nothing")
    suite.equal(change("UPDATE item SET note = 'seen' WHERE shelf <= 2"), 4, "several rows")
    suite.equal(change("UPDATE item SET note = 'seen' WHERE shelf <= 2"), 0, "unchanged rows are not counted")
    suite.equal(change("UPDATE item SET note = 'x' WHERE id = 77"), 0, "no such row")
    suite.equal(change("DELETE FROM item WHERE id = %s", (77,)), 0, "delete no such row")
    upsert = "INSERT INTO item (code, shelf, price) VALUES ('c-1', 1, 8) ON DUPLICATE KEY UPDATE price = price + 1"
    suite.equal(change(upsert), 2, "an upsert that updates counts two")
    suite.equal(suite.rows("SELECT id, price FROM item WHERE code = 'c-1'"), [(1, D("2.00"))], "its result")
    suite.equal(change("INSERT IGNORE INTO item (id, code, shelf, price) VALUES (1, 'zz', 1, 1)"), 0, "INSERT IGNORE")
    suite.equal(change("REPLACE INTO item (id, code, shelf, price, quantity) VALUES (1, 'c-1', 1, 1.00, 10)"), 2, "REPLACE")
    suite.connection.commit()


def transactions(suite):
    other = suite.driver.connect(suite.database)
    try:
        def seen_by_other():
            cursor = suite.driver.cursor(other)
            cursor.execute("SELECT quantity FROM item WHERE id = 2")
            value = cursor.fetchall()[0][0]
            cursor.close()
            other.rollback()
            return value

        suite.change("UPDATE item SET quantity = 21 WHERE id = 2")
        suite.equal(suite.rows("SELECT quantity FROM item WHERE id = 2"), [(21,)], "own write")
        suite.equal(seen_by_other(), 20, "uncommitted write, seen by another")
        suite.connection.rollback()
        suite.equal(suite.rows("SELECT quantity FROM item WHERE id = 2"), [(20,)], "after rollback")
        suite.connection.rollback()

        suite.change("UPDATE item SET quantity = 22 WHERE id = 2")
        suite.change("INSERT INTO item (code, shelf, price) VALUES ('c-tx', 7, 7)")
        suite.change("DELETE FROM item WHERE id = 5")
        suite.connection.commit()
        suite.equal(seen_by_other(), 22, "committed write, seen by another")
        suite.equal(suite.rows("SELECT code FROM item WHERE id >= 5"), [("c-tx",)], "insert and delete committed")

        suite.change("DELETE FROM item")
        suite.equal(suite.rows("SELECT COUNT(*) FROM item"), [(0,)], "all deleted")
        suite.connection.rollback()
        suite.equal(suite.rows("SELECT COUNT(*) FROM item"), [(5,)], "and back")
        suite.connection.rollback()

        suite.change("SET autocommit = 1")
        suite.change("UPDATE item SET quantity = 20 WHERE id = 2")
        suite.equal(seen_by_other(), 20, "autocommitted write, seen by another")
        suite.change("START TRANSACTION")
        suite.change("UPDATE item SET quantity = 99 WHERE id = 2")
        suite.change("ROLLBACK")
        suite.equal(suite.rows("SELECT quantity FROM item WHERE id = 2"), [(20,)], "explicit ROLLBACK")
        suite.change("SET autocommit = 0")
    finally:
        close_quietly(other)


def savepoints(suite):
    suite.change("UPDATE item SET quantity = 30 WHERE id = 2")
    if suite.serves("SAVEPOINT", "SAVEPOINT before_more", "ROLLBACK TO SAVEPOINT before_more", "RELEASE SAVEPOINT before_more"):
        suite.change("UPDATE item SET quantity = 31 WHERE id = 2")
        suite.change("ROLLBACK TO SAVEPOINT before_more")
        suite.equal(suite.rows("SELECT quantity FROM item WHERE id = 2"), [(30,)], "after ROLLBACK TO SAVEPOINT")
        suite.change("RELEASE SAVEPOINT before_more")
        suite.refused(1305, "42000", "ROLLBACK TO SAVEPOINT before_more")
    suite.equal(suite.rows("SELECT quantity FROM item WHERE id = 2"), [(30,)], "the transaction is still open")
    suite.connection.rollback()
    suite.equal(suite.rows("SELECT quantity FROM item WHERE id = 2"), [(20,)], "after ROLLBACK")
    suite.connection.rollback()


def errors(suite):
    insert = "INSERT INTO item (code, shelf, price) VALUES (%s, %s, %s)"
    error = suite.refused(1062, "23000", insert, ("c-3", 1, 1))
    if "c-3" not in str(error) or "item_code" not in str(error):
        raise AssertionError(f"the message names neither the value nor the key: {error}")
    suite.refused(1062, "23000", "INSERT INTO item (id, code, shelf, price) VALUES (1, 'new', 1, 1)")
    suite.refused(1062, "23000", "UPDATE item SET code = 'c-3' WHERE id = 1")
    suite.refused(1146, "42S02", "SELECT * FROM no_such_table")
    suite.refused(1146, "42S02", "INSERT INTO no_such_table VALUES (%s)", (1,))
    suite.refused(1064, "42000", "SELEC 1")
    suite.refused(1064, "42000", "SELECT * FROM item WHERE")
    suite.refused(1054, "42S22", "SELECT no_such_column FROM item")
    suite.refused(1049, "42000", "USE no_such_database")
    suite.refused(1050, "42S01", "CREATE TABLE item (id INT PRIMARY KEY)")
    suite.refused(1051, "42S02", "DROP TABLE no_such_table")
    suite.refused(1048, "23000", insert, ("c-null", None, 1))
    suite.refused(1364, "HY000", "INSERT INTO item (code, price) VALUES ('c-none', 1)")
    suite.refused(1406, "22001", insert, ("x" * 33, 1, 1))
    suite.refused(1264, "22003", insert, ("c-range", 2**31, 1))
    # MySQL says HY000 and MariaDB 22007: only the number is checked.
    suite.refused(1366, None, "INSERT INTO item (code, shelf, price) VALUES ('c-w', 'word', 1)")
    suite.refused(1136, "21S01", "INSERT INTO item (code, shelf, price) VALUES (1, 2)")
    suite.connection.rollback()
    suite.equal(suite.rows("SELECT COUNT(*) FROM item"), [(5,)], "the refused statements left nothing")
    suite.connection.rollback()


def failed_statement_keeps_transaction(suite):
    suite.change("UPDATE item SET quantity = 77 WHERE id = 2")
    suite.refused(1062, "23000", "INSERT INTO item (code, shelf, price) VALUES ('new-1', 1, 1), ('c-3', 1, 1)")
    suite.equal(suite.rows("SELECT COUNT(*) FROM item WHERE code = 'new-1'"), [(0,)], "a failed statement is undone whole")
    suite.connection.commit()
    suite.equal(suite.rows("SELECT quantity FROM item WHERE id = 2"), [(77,)], "the statement before it is kept")
    suite.change("UPDATE item SET quantity = 20 WHERE id = 2")
    suite.connection.commit()


def split_packets(suite):
    suite.change("CREATE TABLE big (id INT PRIMARY KEY, content LONGBLOB)")
    content = os.urandom(BLOB_SIZE_SPLIT)
    suite.equal(suite.change("INSERT INTO big VALUES (%s, %s)", (1, content)), 1, "affected rows")
    suite.connection.commit()
    suite.equal(suite.rows("SELECT LENGTH(content) FROM big"), [(len(content),)], "LENGTH")
    if suite.driver.reads_split_rows:
        suite.equal(suite.rows("SELECT content FROM big WHERE id = %s", (1,))[0][0], content, "content")
    else:
        half = len(content) // 2
        sql = "SELECT SUBSTRING(content, %s, %s) FROM big WHERE id = 1"
        suite.equal(suite.rows(sql, (1, half))[0][0], content[:half], "first half")
        suite.equal(suite.rows(sql, (half + 1, half))[0][0], content[half:], "second half")
    suite.equal(suite.rows("SELECT SUBSTRING(content, %s, 4) FROM big", (2**24,))[0][0], content[2**24 - 1:2**24 + 3], "part")
    # A payload of exactly 16 MiB - 1 is followed by an empty packet: one byte less and one more are ordinary.
    for size in range(2**24 - 1 - 12, 2**24 + 2):
        statement = "SELECT LENGTH('" + "k" * (size - len("SELECT LENGTH('") - len("')")) + "')"
        suite.equal(suite.rows(statement), [(size - 17,)], f"a statement of {size} bytes")
    suite.change("DELETE FROM big")
    suite.connection.commit()


def many_rows(suite):
    suite.change("CREATE TABLE many (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL, v BIGINT)")
    chunk = 1000
    for start in range(0, ROW_COUNT_LARGE, chunk):
        values = ", ".join(f"({i}, 'name-{i}', {i * i})" for i in range(start, start + chunk))
        suite.equal(suite.change(f"INSERT INTO many VALUES {values}"), chunk, "affected rows")
    suite.connection.commit()
    expected = [(i, f"name-{i}", i * i) for i in range(ROW_COUNT_LARGE)]
    suite.equal(suite.rows("SELECT id, name, v FROM many ORDER BY id"), expected, "all rows, in order")
    suite.equal(suite.rows("SELECT id, name, v FROM many WHERE v >= %s ORDER BY id DESC", (0,)), expected[::-1], "backwards")
    suite.equal(sorted(suite.rows("SELECT id, name, v FROM many")), expected, "without an order")
    suite.equal(suite.change("UPDATE many SET v = v + 1"), ROW_COUNT_LARGE, "affected rows")
    suite.equal(suite.rows("SELECT SUM(v) FROM many"), [(D(sum(row[2] + 1 for row in expected)),)], "SUM")
    suite.connection.commit()


def executemany(suite):
    cursor = suite.driver.cursor(suite.connection)
    rows = [(1_000_000 + i, f"batch-{i}", None if i % 3 == 0 else -i) for i in range(500)]
    cursor.executemany("INSERT INTO many (id, name, v) VALUES (%s, %s, %s)", rows)
    suite.equal(cursor.rowcount, 500, "affected rows")
    cursor.close()
    suite.connection.commit()
    suite.equal(suite.rows("SELECT id, name, v FROM many WHERE id >= 1000000 ORDER BY id"), rows, "rows")


def session_state(suite):
    suite.change("SET @answer = 42")
    suite.equal(suite.rows("SELECT @answer + 1"), [(43,)], "a user variable")
    suite.equal(suite.rows("SELECT @@autocommit"), [(0,)], "autocommit, as the driver set it")
    version = suite.rows("SELECT VERSION()")[0][0]
    if not version[:1].isdigit():
        raise AssertionError(f"VERSION() is {version!r}: drivers parse its number")
    own = suite.rows("SELECT CONNECTION_ID()")[0][0]
    if not (isinstance(own, int) and 0 < own):
        raise AssertionError(f"CONNECTION_ID() is {own!r}")


def drop_database(suite):
    suite.reconnect()
    suite.change(f"DROP DATABASE {suite.database}")
    suite.equal(suite.rows(f"SHOW DATABASES LIKE '{suite.database}'"), [], "it is gone")


GROUPS = [
    ("create database, connect to it", create_database),
    ("encryption as asked for", encryption),
    ("create tables", create_tables),
    ("all types round trip", all_types),
    ("parameters of all types in conditions", parameters_in_conditions),
    ("AUTO_INCREMENT and LAST_INSERT_ID", auto_increment),
    ("NULLs and defaults", defaults),
    ("point, range, LIKE, IN, LIMIT", queries),
    ("aggregates", aggregates),
    ("joins", join),
    ("UPDATE, DELETE, upsert, affected rows", updates),
    ("commit and rollback", transactions),
    ("savepoints", savepoints),
    ("errors and SQLSTATEs", errors),
    ("a failed statement keeps the transaction", failed_statement_keeps_transaction),
    ("packets above 16 MB", split_packets),
    ("10,000 rows", many_rows),
    ("executemany", executemany),
    ("session state", session_state),
]


def options_parse(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=3306)
    parser.add_argument("--socket", help="connect to this unix socket instead of host and port")
    parser.add_argument("--user", default="root")
    parser.add_argument("--password", default="")
    parser.add_argument("--tls", choices=("required", "off"), default="required")
    return parser.parse_args()


def run(drivers):
    """Runs the suite once for each driver; prints the closing line and returns the exit code."""
    passed_count = failed_count = 0
    for driver in drivers:
        suite = Suite(driver)
        suite.run()
        passed_count += suite.passed_count
        failed_count += suite.failed_count
    print(f"{passed_count} passed, {failed_count} failed")
    return 0 if failed_count == 0 and passed_count > 0 else 1
