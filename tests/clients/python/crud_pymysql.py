"""The suite through PyMySQL: the text protocol, with client-side interpolation of parameters."""

import os
import ssl
import sys

import pymysql
import pymysql.cursors
from pymysql.constants import CLIENT

import suite


class PyMysql(suite.Driver):
    name = "pymysql"

    def connect(self, database=None, multi_statements=False):
        options = self.options
        arguments = {
            "user": options.user,
            "password": options.password,
            "database": database,
            "charset": "utf8mb4",
            "client_flag": CLIENT.MULTI_STATEMENTS if multi_statements else 0,
            "connect_timeout": 20,
            "read_timeout": suite.ANSWER_TIMEOUT_S,
            "write_timeout": suite.ANSWER_TIMEOUT_S,
        }
        if options.socket:
            arguments["unix_socket"] = options.socket
        else:
            arguments["host"], arguments["port"] = options.host, options.port
        if options.tls == "required":
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            arguments["ssl"] = context
        else:
            arguments["ssl_disabled"] = True
        return pymysql.connect(**arguments)

    def is_encrypted(self, connection):
        # PyMySQL stays unencrypted without a word when the server offers no TLS, so look at the socket itself.
        encrypted = isinstance(connection._sock, ssl.SSLSocket)
        return encrypted and connection._sock.cipher() is not None

    def error_of(self, error):
        # PyMySQL does not keep the SQLSTATE; crud.sql, Go and Java check it.
        return error.args[0], None

    def extra_groups(self):
        return [
            ("long blob", long_blob),
            ("multi-statements", multi_statements),
            ("unbuffered cursor over 10,000 rows", unbuffered),
            ("dict cursor and column names", column_names),
            ("warnings", show_warnings),
            ("ping, select_db, autocommit(), a second database", connection_commands),
            ("prepared statements in SQL", sql_prepare),
        ]


def long_blob(run):
    content = os.urandom(suite.BLOB_SIZE_LONG)
    run.change("INSERT INTO big VALUES (%s, %s)", (2, content))
    run.equal(run.rows("SELECT content FROM big WHERE id = 2"), [(content,)], "1 MB")
    run.equal(run.change("UPDATE big SET content = CONCAT(content, content) WHERE id = 2"), 1, "doubled")
    run.equal(run.rows("SELECT content FROM big WHERE id = 2"), [(content * 2,)], "2 MB")
    run.connection.rollback()


def multi_statements(run):
    connection = run.driver.connect(run.database, multi_statements=True)
    try:
        cursor = connection.cursor()
        cursor.execute("SELECT 1; INSERT INTO item (code, shelf, price) VALUES ('m-1', 8, 1), ('m-2', 8, 1);"
                       " SELECT code FROM item WHERE shelf = 8 ORDER BY code; DELETE FROM item WHERE shelf = 8")
        run.equal(cursor.fetchall(), ((1,),), "first result")
        run.equal(cursor.nextset(), True, "a second result follows")
        run.equal(cursor.rowcount, 2, "affected rows of the second")
        cursor.nextset()
        run.equal(cursor.fetchall(), (("m-1",), ("m-2",)), "third result")
        cursor.nextset()
        run.equal(cursor.rowcount, 2, "affected rows of the fourth")
        run.equal(cursor.nextset(), None, "nothing follows")
        try:
            cursor.execute("SELECT 1; SELECT * FROM no_such_table; SELECT 2")
            run.equal(cursor.fetchall(), ((1,),), "the result before the error")
            cursor.nextset()
        except pymysql.err.ProgrammingError as error:
            run.equal(error.args[0], 1146, "the error in the middle")
        else:
            raise AssertionError("no error in the middle")
        connection.rollback()
    finally:
        connection.close()
    run.refused(1064, "42000", "SELECT 1; SELECT 2")


def unbuffered(run):
    with run.connection.cursor(pymysql.cursors.SSCursor) as cursor:
        cursor.execute("SELECT id, name FROM many WHERE id < 10000 ORDER BY id")
        count = 0
        for row in cursor:
            run.equal(row, (count, f"name-{count}"), "a row")
            count += 1
    run.equal(count, suite.ROW_COUNT_LARGE, "rows")


def column_names(run):
    with run.connection.cursor(pymysql.cursors.DictCursor) as cursor:
        cursor.execute("SELECT id AS `the id`, i.Code, COUNT(*), 1 + 1 FROM item i WHERE id = 3 GROUP BY id, code")
        run.equal(cursor.fetchall(), [{"the id": 3, "Code": "c-3", "COUNT(*)": 1, "1 + 1": 2}], "names as written")


def show_warnings(run):
    run.change("INSERT IGNORE INTO item (id, code, shelf, price) VALUES (1, 'w', 1, 1)")
    shown = run.connection.show_warnings()
    run.equal([(row[0], row[1]) for row in shown], [("Warning", 1062)], f"SHOW WARNINGS ({shown})")
    run.connection.rollback()


def connection_commands(run):
    connection = run.driver.connect()
    second = run.database + "_b"
    try:
        connection.ping(reconnect=False)
        connection.select_db(run.database)
        cursor = connection.cursor()
        cursor.execute("SELECT DATABASE()")
        run.equal(cursor.fetchall(), ((run.database,),), "after select_db")
        connection.autocommit(True)
        run.equal(connection.get_autocommit(), True, "the server status carries autocommit")
        cursor.execute(f"CREATE DATABASE {second} CHARACTER SET utf8mb4")
        try:
            cursor.execute(f"CREATE TABLE {second}.t (id INT PRIMARY KEY)")
            cursor.execute(f"INSERT INTO {second}.t SELECT id FROM item WHERE id <= 3")
            run.equal(cursor.rowcount, 3, "INSERT ... SELECT into another database")
            cursor.execute(f"SELECT t.id FROM {second}.t ORDER BY {second}.t.id DESC")
            run.equal(cursor.fetchall(), ((3,), (2,), (1,)), "a table of another database")
            cursor.execute("SELECT DATABASE(), COUNT(*) FROM item WHERE id <= 3")
            run.equal(cursor.fetchall(), ((run.database, 3),), "the current database is still the first")
            try:
                connection.select_db("no_such_database")
            except pymysql.err.OperationalError as error:
                run.equal(error.args[0], 1049, "unknown database")
            else:
                raise AssertionError("select_db of no_such_database succeeded")
        finally:
            cursor.execute(f"DROP DATABASE {second}")
    finally:
        connection.close()


def sql_prepare(run):
    run.change("PREPARE by_shelf FROM 'SELECT COUNT(*) FROM item WHERE shelf = ? AND id < ?'")
    run.change("SET @shelf = 2, @id = 4")
    run.equal(run.rows("EXECUTE by_shelf USING @shelf, @id"), [(1,)], "EXECUTE")
    run.change("SET @id = 1000")
    run.equal(run.rows("EXECUTE by_shelf USING @shelf, @id"), [(2,)], "EXECUTE again")
    run.change("DEALLOCATE PREPARE by_shelf")
    run.refused(1243, "HY000", "EXECUTE by_shelf USING @shelf, @id")


if __name__ == "__main__":
    sys.exit(suite.run([PyMysql(suite.options_parse(__doc__))]))
