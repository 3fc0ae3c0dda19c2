"""Load with a judge: tests/clients/go/load against both nodes' sockets. Rows are judged, speed is only reported."""

import functools
import os
import subprocess
import tempfile

from clients import totals
from cluster import limit

# Above the -patience of the program, which tells more of what hangs.
ANSWER_TIMEOUT = 120


@functools.cache
def program(root):
    """The program, built once; it goes with its directory when this process ends."""
    directory = tempfile.TemporaryDirectory(prefix="skarv-go-")
    settings = dict(os.environ, GOTOOLCHAIN="local", GOFLAGS="-mod=readonly -buildvcs=false")
    subprocess.run(["go", "build", "-o", os.path.join(directory.name, "load"), "./load"], check=True, env=settings,
                   timeout=600, cwd=os.path.join(root, "tests", "clients", "go"))
    return directory


def judged(environment, cluster, mode, tables, seconds, *flags):
    """Runs one mode, which takes about so long; no check may fail, and the replicas are equal in the end."""
    binary = os.path.join(program(environment.root).name, "load")
    command = [binary, mode, "--tls", "off", "--keep", *map(str, flags), *cluster.sockets()]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, timeout=seconds + limit(ANSWER_TIMEOUT))
    passed, failed = totals(result.stdout)
    assert result.returncode == 0 and failed == 0 and passed > 0, result.stdout[-6000:]
    figures = [line for line in result.stdout.splitlines() if line.startswith("       ")]
    print("\n".join(figures), flush=True)
    databases = [name for [name] in cluster.sql(2, "SHOW DATABASES") if name.startswith(f"{mode}_")]
    assert len(databases) == passed, f"{databases} of {passed} checks"
    for database in databases:
        for table in tables:
            cluster.desc(f"{database}.{table}")


def test_hot_row(environment):
    """32 sessions of both nodes increment one row, in autocommit and after FOR UPDATE: every increment counts once."""
    cluster = environment.cluster()
    seconds = 30 if environment.long else 3
    judged(environment, cluster, "hotrow", ["hot"], 2 * seconds, "--seconds", seconds)


def test_bank(environment):
    """Transfers by 32 sessions at each level: the sum never differs, every acknowledged transfer is there once."""
    # Nothing is deleted, and a minute of each level leaves several million transfers.
    cluster = environment.cluster("data", "--memory", "2G" if environment.long else "256M")
    seconds = 60 if environment.long else 3
    judged(environment, cluster, "bank", ["account", "transfer"], 5 * seconds, "--seconds", seconds)


def test_big_transactions(environment):
    """INSERT, UPDATE, ROLLBACK and DELETE of many rows in one transaction, beside 16 sessions on another table."""
    rows, row_bytes, quiet, memory = (1_000_000, 200, 10, "2G") if environment.long else (20_000, 40, 1, "256M")
    cluster = environment.cluster("data", "--memory", memory)
    pids = ",".join(str(node["pid"]) for node in cluster.sql_nodes())
    judged(environment, cluster, "big", ["big", "other"], 1200 if environment.long else 60, "--sessions", 16,
           "--rows", rows, "--row-bytes", row_bytes, "--quiet", f"{quiet}s", "--pids", pids)


def test_rows_that_grow(environment):
    """Rows written small and grown to 1 MiB each in one transaction: more than a frame between nodes holds, in many."""
    cluster = environment.cluster("data", "--memory", "1G")
    rows, size = 120, 1 << 20
    values = ", ".join(f"({id}, 'small')" for id in range(rows))
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.growing (id INT PRIMARY KEY, text LONGTEXT)")
    cluster.sql(2, f"BEGIN; INSERT INTO d.growing VALUES {values}; UPDATE d.growing SET text = REPEAT('x', {size}); COMMIT")
    for node in (2, 3):
        counted = cluster.sql(node, "SELECT COUNT(*), SUM(LENGTH(text)), COUNT(DISTINCT LEFT(text, 5)) FROM d.growing")
        assert counted == [[str(rows), str(rows * size), "1"]], f"node {node}: {counted}"
    cluster.desc("d.growing")
    log = "".join(open(f"{cluster.dir}/node{node}.log").read() for node in (2, 3))
    assert "announces a frame" not in log, "a frame was longer than a link takes"


def test_long_rows_by_keys(environment):
    """One statement about many rows of 1 MiB each, by their keys: its node has time for others meanwhile, and is not taken for dead."""
    cluster = environment.cluster("data", "--memory", "2G")
    rows, size = 240, 1 << 20
    keys = ", ".join(map(str, range(rows)))
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.long_rows (id INT PRIMARY KEY, text LONGTEXT)")
    cluster.sql(2, f"INSERT INTO d.long_rows VALUES {', '.join(f'({id}, 1)' for id in range(rows))}")
    for node, letter in ((2, "x"), (3, "y")):
        cluster.sql(node, f"UPDATE d.long_rows SET text = REPEAT('{letter}', {size} + LENGTH(text) * 0) WHERE id IN ({keys})")
        texts = cluster.sql(node, f"SELECT text FROM d.long_rows WHERE id IN ({keys})")
        assert texts == [[letter * size]] * rows, f"node {node}: {len(texts)} rows"
    assert cluster.sql(2, f"DELETE FROM d.long_rows WHERE id IN ({keys}); SELECT ROW_COUNT()") == [[str(rows)]]
    log = "".join(open(f"{cluster.dir}/node{node}.log").read() for node in (1, 2, 3))
    assert "excluded" not in log, "a node was taken for dead"


def test_locks_freed(environment):
    """Cut, closed and killed sessions: who waits for their locks has them within 100 ms, on both nodes."""
    cluster = environment.cluster()
    rounds = 50 if environment.long else 8
    judged(environment, cluster, "killfree", ["held"], 6 * rounds, "--rounds", rounds)


def test_auto_increment(environment):
    """32 sessions of both nodes insert: values unique and rising in each session, LAST_INSERT_ID() as the rows have it."""
    cluster = environment.cluster()
    seconds = 10 if environment.long else 3
    judged(environment, cluster, "sequence", ["ticket"], 2 * seconds, "--seconds", seconds)
