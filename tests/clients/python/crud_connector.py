"""The suite through mysql-connector-python, pure Python: plain cursors (text protocol) and prepared ones (binary)."""

import datetime
import io
import os
import ssl
import sys

import mysql.connector
from mysql.connector import FieldType
from mysql.connector.constants import ClientFlag

import suite


class Connector(suite.Driver):
    def __init__(self, options, prepared):
        super().__init__(options)
        self.prepared = prepared
        # Its binary protocol negates only the days of a TIME below zero, and does not join the packets of a long row.
        self.reads_negative_spans = not prepared
        self.reads_split_rows = not prepared
        self.name = "connector prepared" if prepared else "connector plain"

    def connect(self, database=None, multi_statements=False):
        options = self.options
        arguments = {
            "user": options.user,
            "password": options.password,
            "use_pure": True,
            "charset": "utf8mb4",
            "collation": "utf8mb4_general_ci",
            "connection_timeout": 20,
            "read_timeout": suite.ANSWER_TIMEOUT_S,
            "write_timeout": suite.ANSWER_TIMEOUT_S,
            # The connector asks for matched rows by default; the suite checks changed rows, as the server's default.
            "client_flags": [-ClientFlag.FOUND_ROWS],
        }
        if database:
            arguments["database"] = database
        if options.socket:
            arguments["unix_socket"] = options.socket
        else:
            arguments["host"], arguments["port"] = options.host, options.port
        if options.tls == "required":
            arguments["ssl_disabled"] = False
            arguments["ssl_verify_cert"] = False
        else:
            arguments["ssl_disabled"] = True
        return mysql.connector.connect(**arguments)

    def cursor(self, connection):
        return connection.cursor(prepared=True) if self.prepared else connection.cursor()

    def is_encrypted(self, connection):
        return isinstance(connection._socket.sock, ssl.SSLSocket)

    def error_of(self, error):
        return error.errno, error.sqlstate

    def extra_groups(self):
        groups = [
            ("reset connection", reset_connection),
            ("change user", change_user),
            ("ping, statistics, init db", connection_commands),
        ]
        if self.prepared:
            groups += [
                ("long data of a blob parameter", long_data),
                ("a prepared statement executed many times", prepared_reuse),
                ("several prepared statements at once", prepared_several),
                ("NULL in turn with values", prepared_nulls),
            ]
        else:
            groups += [("multi-statements", multi_statements), ("column metadata", metadata)]
        return groups


def reset_connection(run):
    connection = run.driver.connect(run.database)
    try:
        cursor = connection.cursor()
        cursor.execute("SET @kept = 1")
        cursor.execute("SET autocommit = 0")
        cursor.execute("UPDATE item SET quantity = 55 WHERE id = 2")
        connection.cmd_reset_connection()
        cursor = connection.cursor()
        cursor.execute("SELECT @kept, DATABASE(), quantity FROM item WHERE id = 2")
        run.equal(cursor.fetchall(), [(None, run.database, 20)], "variable gone, database kept, update rolled back")
    finally:
        connection.close()


def change_user(run):
    connection = run.driver.connect()
    try:
        cursor = connection.cursor()
        cursor.execute("SET @kept = 1")
        connection.cmd_change_user(run.driver.options.user, run.driver.options.password, run.database)
        cursor = connection.cursor()
        cursor.execute("SELECT @kept, DATABASE()")
        run.equal(cursor.fetchall(), [(None, run.database)], "after change user")
        cursor.execute("SELECT '🐦'")
        run.equal(cursor.fetchall(), [("🐦",)], "its character set")
    finally:
        connection.close()


def connection_commands(run):
    connection = run.driver.connect()
    try:
        connection.ping()
        connection.cmd_init_db(run.database)
        run.equal(connection.database, run.database, "after init db")
        uptime = connection.cmd_statistics()["Uptime"]
        run.equal(0 <= int(uptime), True, f"uptime {uptime}")
        cursor = connection.cursor()
        cursor.execute("SELECT 1")
        cursor.fetchall()
        connection.close()
        run.equal(connection.is_connected(), False, "closed")
    finally:
        connection.close()


def long_data(run):
    # The connector sends a stream with COM_STMT_SEND_LONG_DATA, in pieces, before the execute.
    content = os.urandom(suite.BLOB_SIZE_LONG + 1)
    cursor = run.connection.cursor(prepared=True)
    cursor.execute("INSERT INTO big (id, content) VALUES (%s, %s)", (3, io.BytesIO(content)))
    run.equal(cursor.rowcount, 1, "affected rows")
    # The next execution must not see the old long data.
    cursor.execute("INSERT INTO big (id, content) VALUES (%s, %s)", (4, b"short"))
    cursor.execute("INSERT INTO big (id, content) VALUES (%s, %s)", (5, None))
    cursor.close()
    run.equal(run.rows("SELECT id, content FROM big WHERE id BETWEEN 3 AND 5 ORDER BY id"),
              [(3, content), (4, b"short"), (5, None)], "contents")
    run.connection.rollback()


def prepared_reuse(run):
    insert = run.connection.cursor(prepared=True)
    moment = datetime.datetime(2024, 1, 1)
    for i in range(300):
        insert.execute("INSERT INTO all_types (i64, f64, v200, moment, span6) VALUES (%s, %s, %s, %s, %s)",
                       (-i, i / 4, f"reuse-{i}", moment + datetime.timedelta(microseconds=i),
                        datetime.timedelta(hours=i, microseconds=i)))
    insert.close()
    select = run.connection.cursor(prepared=True)
    for i in range(0, 300, 7):
        select.execute("SELECT i64, f64, moment, span6 FROM all_types WHERE v200 = %s", (f"reuse-{i}",))
        run.equal(select.fetchall(), [(-i, i / 4, moment + datetime.timedelta(microseconds=i),
                                       datetime.timedelta(hours=i, microseconds=i))], f"row {i}")
    select.close()
    run.connection.rollback()


def prepared_several(run):
    first = run.connection.cursor(prepared=True)
    second = run.connection.cursor(prepared=True)
    for i in (1, 2, 3):
        first.execute("SELECT code FROM item WHERE id = %s", (i,))
        run.equal(first.fetchall(), [(f"c-{i}",)], "first")
        second.execute("SELECT id FROM item WHERE code = %s", (f"c-{i}",))
        run.equal(second.fetchall(), [(i,)], "second")
    first.close()
    second.execute("SELECT id FROM item WHERE code = %s", ("c-4",))
    run.equal(second.fetchall(), [(4,)], "the second after the first is closed")
    second.close()
    cursor = run.connection.cursor(prepared=True)
    try:
        cursor.execute("SELECT * FROM no_such_table WHERE id = %s", (1,))
    except mysql.connector.Error as error:
        run.equal((error.errno, error.sqlstate), (1146, "42S02"), "an error at prepare")
    else:
        raise AssertionError("a statement on an unknown table was prepared")


def prepared_nulls(run):
    cursor = run.connection.cursor(prepared=True)
    values = [(1, None), (None, "a"), (None, None), (4, "b"), (2**63 + 5, None), (-5, "c"), ("77", None)]
    for u64_or_i64, text in values[:4]:
        cursor.execute("SELECT %s, %s", (u64_or_i64, text))
        run.equal(cursor.fetchall(), [(u64_or_i64, text)], "echo")
    cursor.execute("INSERT INTO all_types (u64, v200) VALUES (%s, %s)", values[4])
    cursor.execute("INSERT INTO all_types (u64, v200) VALUES (%s, %s)", (None, "x"))
    cursor.execute("INSERT INTO all_types (u64, v200) VALUES (%s, %s)", values[6])
    cursor.close()
    run.equal(run.rows("SELECT u64, v200 FROM all_types WHERE id > 4 ORDER BY id"),
              [(2**63 + 5, None), (None, "x"), (77, None)], "stored")
    run.connection.rollback()


def multi_statements(run):
    # cmd_query_iter sends the text whole and reads one result after another.
    sql = ("SELECT 1; INSERT INTO item (code, shelf, price) VALUES ('m-1', 8, 1), ('m-2', 8, 1);"
           " SELECT code FROM item WHERE shelf = 8 ORDER BY code")
    seen = []
    for result in run.connection.cmd_query_iter(sql):
        if "columns" in result:
            seen.append(run.connection.get_rows()[0])
        else:
            seen.append(result["affected_rows"])
    run.equal(len(seen), 3, f"results {seen}")
    run.equal(seen[1], 2, "affected rows of the second")
    texts = [bytes(row[0]).decode() if isinstance(row[0], (bytes, bytearray)) else row[0] for row in seen[2]]
    run.equal(texts, ["m-1", "m-2"], "third result")
    run.connection.rollback()


def metadata(run):
    cursor = run.connection.cursor()
    cursor.execute("SELECT id, u64, amount, v200, b64k, moment FROM all_types WHERE id = 3")
    cursor.fetchall()
    run.equal([(column[0], FieldType.get_info(column[1])) for column in cursor.description],
              [("id", "LONGLONG"), ("u64", "LONGLONG"), ("amount", "NEWDECIMAL"), ("v200", "VAR_STRING"),
               ("b64k", "BLOB"), ("moment", "DATETIME")], "names and types")
    run.equal([column[6] for column in cursor.description], [0, 1, 1, 1, 1, 1], "null_ok")
    cursor.close()


def main():
    options = suite.options_parse(__doc__)
    return suite.run([Connector(options, prepared=False), Connector(options, prepared=True)])


if __name__ == "__main__":
    sys.exit(main())
