"""LOAD DATA: files of clients that come slowly, break off or are too long, and files of the server."""

import os
import subprocess

from cluster import HANG, wait_for
from isolation_script import connect

ROWS = 100_000


def start(cluster, node, statements):
    """The command line client with these statements, which sends files, and goes on behind errors."""
    command = ["mariadb", "--no-defaults", "--user=root", f"--socket={cluster.node(node)['socket']}", "-BN",
               "--local-infile=1", "--force"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    process.stdin.write(statements)
    process.stdin.close()
    return process


def said(process):
    """All that the client says, without the statements that it repeats when they fail."""
    lines = process.stdout.read().splitlines()
    process.wait(HANG)
    return [line for line in lines if line and not line.startswith(("--", "LOAD "))]


class Pipe:
    """A file that comes as the test writes it."""

    def __init__(self, path):
        self.path = path
        os.mkfifo(path)

    def open(self):
        self.file = open(self.path, "w")
        return self

    def rows(self, first, count):
        self.file.writelines(f"{id}\tvalue of row {id}\n" for id in range(first, first + count))
        self.file.flush()

    def close(self):
        self.file.close()


def loading(admin):
    """Connections that load, by their ids."""
    return [row[0] for row in admin.query("SELECT id FROM information_schema.processlist WHERE info LIKE 'LOAD DATA%'")]


def count(admin):
    return int(admin.query("SELECT COUNT(*) FROM d.t")[0][0])


def test_files(environment):
    """Files of the client: slow, broken off, killed. Files of the server: of the directory that was named, and no others."""
    files = environment.path("files")
    os.mkdir(files)
    cluster = environment.cluster("data", "--secure-file-priv", files)
    admin = connect(cluster, 2, database="information_schema")
    admin.query("CREATE DATABASE d")
    admin.query("CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(40), KEY (v))")
    refused = said(start(cluster, 2, "LOAD DATA LOCAL INFILE '/dev/null' INTO TABLE d.t;"))
    assert refused[0].startswith("ERROR 3948"), refused
    admin.query("SET GLOBAL local_infile = ON")

    # Rows come as the client sends them, and others see none of them before the end.
    pipe = Pipe(environment.path("pipe"))
    statement = f"LOAD DATA LOCAL INFILE '{pipe.path}' INTO TABLE d.t;"
    process = start(cluster, 2, statement + "SELECT ROW_COUNT();")
    pipe.open()
    pipe.rows(1, 1000)
    wait_for("the statement runs", lambda: loading(admin))
    assert count(admin) == 0
    pipe.rows(1001, ROWS)
    pipe.close()
    assert said(process) == [str(ROWS + 1000)]
    assert count(admin) == ROWS + 1000
    admin.query("TRUNCATE d.t")

    # A client that is gone leaves nothing.
    process = start(cluster, 2, statement)
    pipe.open()
    pipe.rows(1, ROWS)
    wait_for("the statement runs", lambda: loading(admin))
    process.kill()
    process.wait()
    process.stdout.close()
    try:
        pipe.close()
    except BrokenPipeError:
        pass
    wait_for("the statement has ended", lambda: not loading(admin))
    assert count(admin) == 0

    # KILL QUERY: the client receives the error behind its file, and its next statement runs.
    process = start(cluster, 2, statement + "SELECT COUNT(*) FROM d.t;")
    pipe.open()
    pipe.rows(1, 1000)
    wait_for("the statement runs", lambda: loading(admin))
    admin.query(f"KILL QUERY {loading(admin)[0]}")
    wait_for("the statement has ended", lambda: not loading(admin))
    pipe.rows(1001, ROWS)
    pipe.close()
    answers = said(process)
    assert answers[0].startswith("ERROR 1317") and answers[1:] == ["0"], answers

    # A client that sends nothing is cut off.
    admin.query("SET GLOBAL net_read_timeout = 2")
    process = start(cluster, 2, statement)
    pipe.open()
    pipe.rows(1, 1000)
    wait_for("the silent client is cut off", lambda: not loading(admin) and count(admin) == 0, 10)
    pipe.close()
    answers = said(process)
    assert answers and answers[0].startswith(("ERROR 1159", "ERROR 2013", "ERROR 2006")), answers
    admin.query("SET GLOBAL net_read_timeout = DEFAULT")

    # Files of the server.
    with open(os.path.join(files, "rows"), "w") as file:
        file.writelines(f"{id}\trow {id}\n" for id in range(ROWS))
    outside = environment.path("outside")
    with open(outside, "w") as file:
        file.write("1\tsecret\n")
    os.symlink(outside, os.path.join(files, "link"))
    answers = said(start(cluster, 3, f"LOAD DATA INFILE '{files}/rows' INTO TABLE d.t; SELECT ROW_COUNT();"))
    assert answers == [str(ROWS)], answers
    assert count(admin) == ROWS
    for name, error in ((outside, 1290), (f"{files}/link", 1290), (f"{files}/../outside", 1290), ("rows", 1290), (f"{files}/no", 13), (files, 1085)):
        answers = said(start(cluster, 2, f"LOAD DATA INFILE '{name}' INTO TABLE d.t;"))
        assert answers and answers[0].startswith(f"ERROR {error} "), f"{name}: {answers}"
