"""Local checkpoints: what has not changed is not written again."""

import os

from cluster import wait_for
from damage import checkpoints_of, first_log_file
from full import LOG_FILES, VALUE_BYTES, value
from isolation_client import Session
from power import kill_all

NODES = (2, 3)
QUIET_ROWS = 400
# Does not become smaller, so its sections are those that are large.
QUIET_VALUE_BYTES = 10_000
LARGE = 500_000


def sections_of(cluster):
    """Of both nodes, what tells a file from another one by the same name."""
    files = {}
    for id in NODES:
        for path in checkpoints_of(cluster, id):
            try:
                status = os.stat(path)
            except FileNotFoundError:
                continue
            files[path] = (status.st_ino, status.st_mtime_ns, status.st_size)
    return files


def large(files):
    return {path: file for path, file in files.items() if LARGE < file[2]}


def write_until_again(cluster, number):
    """Replaces a large value again and again until both nodes rely on another checkpoint, and so need a file of their logs no more."""
    session = Session(cluster.sockets()[0], "writer")
    before = {id: first_log_file(cluster, id) for id in NODES}
    begin = number
    while not all(before[id] < first_log_file(cluster, id) for id in NODES):
        answer = session.execute(f"REPLACE INTO d.busy VALUES (1, '{value(number)}')")
        assert answer.error is None, answer
        number += 1
        assert number * VALUE_BYTES < begin * VALUE_BYTES + 8 * LOG_FILES, "a checkpoint is made when the log has grown"
    return number


def test_quiet_table(environment):
    """A table that nobody changes stays in the files it is in, whatever is written to others, and after a power failure, too. When a row
    of it has changed its part is written again, and another power failure shows that the new one is whole."""
    cluster = environment.cluster("data", "--workers", "1", "--durability", "always")
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.quiet (id INT PRIMARY KEY, v MEDIUMTEXT); "
                   "CREATE TABLE d.busy (id INT PRIMARY KEY, v MEDIUMTEXT)")
    expected = {}
    for id in range(QUIET_ROWS):
        expected[id] = os.urandom(QUIET_VALUE_BYTES // 2).hex()
        cluster.sql(2, f"INSERT INTO d.quiet VALUES ({id}, '{expected[id]}')")

    def check():
        for id in NODES:
            found = {int(row[0]): row[1] for row in cluster.sql(id, "SELECT id, v FROM d.quiet")}
            assert found == expected, (id, len(found))

    number = write_until_again(cluster, 0)
    # Each node has a part of the table for each of the two shards.
    before = large(sections_of(cluster))
    assert len(before) == 4, before
    number = write_until_again(cluster, number)
    assert large(sections_of(cluster)) == before, "it is in the same files"

    kill_all(cluster)
    cluster.up()
    check()
    number = write_until_again(cluster, number)
    assert large(sections_of(cluster)) == before, "it is in the files that it was loaded from"

    expected[7] = "changed"
    cluster.sql(2, "UPDATE d.quiet SET v = 'changed' WHERE id = 7")
    number = write_until_again(cluster, number)
    write_until_again(cluster, number)
    wait_for("the old files have gone", lambda: len(large(sections_of(cluster))) == 4)
    after = large(sections_of(cluster))
    assert len(before.keys() & after.keys()) == 2, (before, after)
    kill_all(cluster)
    cluster.up()
    check()
