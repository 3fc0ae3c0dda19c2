"""Files of a data node's rows are damaged while it is down: it says which, puts them aside and is filled by its partner; what nobody has
whole is not served."""

import glob
import os

from cluster import is_ours, wait_for
from full import LOG_FILES, VALUE_BYTES, log_of, value
from isolation_client import Session

ROWS = 200


def flip(path, at, count=1):
    """Changes a bit of each of so many bytes."""
    with open(path, "r+b") as file:
        file.seek(at)
        old = file.read(count)
        assert len(old) == count, (path, at)
        file.seek(at)
        file.write(bytes(byte ^ 0x10 for byte in old))


def used_bytes(path):
    """Where what was written into a file of the log ends: its places were made with zeros."""
    with open(path, "rb") as file:
        return len(file.read().rstrip(b"\0"))


def with_rows(environment, checkpoints):
    """A cluster that was stopped; with local checkpoints, if they are wanted."""
    cluster = environment.cluster("data", "--workers", "1", "--durability", "always")
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v MEDIUMTEXT, KEY (v(20)))")
    rows = ", ".join(f"({id}, 'row {id}')" for id in range(ROWS))
    cluster.sql(2, f"INSERT INTO d.t VALUES {rows}")
    if checkpoints:
        session = Session(cluster.sockets()[0], "writer")
        number = 0
        # When the log before a checkpoint has gone, nothing can be begun with but that.
        while not all(checkpoints_of(cluster, id) and first_log_file(cluster, id) > 1 for id in (2, 3)):
            answer = session.execute(f"REPLACE INTO d.t VALUES (1000, '{value(number)}')")
            assert answer.error is None, answer
            number += 1
            assert number * VALUE_BYTES < 8 * LOG_FILES, "a checkpoint is made when the log has grown"
        cluster.sql(2, "DELETE FROM d.t WHERE id = 1000")
    for id in range(20):
        cluster.sql(2, f"UPDATE d.t SET v = 'changed {id}' WHERE id = {id}")
    assert cluster.down().returncode == 0
    wait_for("its processes are gone", lambda: not any(is_ours(pid, cluster.dir) for pid in cluster.pids_seen))
    return cluster


def checkpoints_of(cluster, id):
    return sorted(glob.glob(os.path.join(cluster.dir, f"node{id}.rows", "part-0", "rows-*")))


def log_files_of(cluster, id):
    return sorted(glob.glob(os.path.join(cluster.dir, f"node{id}.rows", "part-0", "redo-*")))


def first_log_file(cluster, id):
    return int(log_files_of(cluster, id)[0].rsplit("-", 1)[1])


def damage_log(cluster, id):
    path = log_files_of(cluster, id)[-1]
    flip(path, used_bytes(path) // 2, 8)
    return path


def damage_checkpoint(cluster, id):
    path = checkpoints_of(cluster, id)[-1]
    flip(path, os.path.getsize(path) // 2)
    return path


def remove_log_file(cluster, id):
    os.remove(log_files_of(cluster, id)[0])


def check_rows(cluster):
    expected = sorted((id, f"changed {id}" if id < 20 else f"row {id}") for id in range(ROWS))
    for id in (2, 3):
        found = sorted((int(row[0]), row[1]) for row in cluster.sql(id, "SELECT id, v FROM d.t"))
        assert found == expected, (id, len(found))


def up_again(environment, cluster, node, damaged):
    """The cluster starts, says what is damaged, by its name as a rule, has put it aside, and has everything twice again."""
    cluster.up()
    check_rows(cluster)
    said = log_of(cluster, node)
    lines = [line for line in said.splitlines() if "are damaged" in line and damaged in line]
    assert lines, said[-3000:]
    assert os.path.isdir(os.path.join(cluster.dir, f"node{node}.rows.damaged-1"))
    wait_for("both count", lambda: environment.run("desc", "--dir", cluster.dir, "d.t").returncode == 0)
    cluster.desc("d.t")
    # Both disks can be begun with again.
    assert cluster.down().returncode == 0
    cluster.up()
    check_rows(cluster)
    cluster.desc("d.t")


def test_log(environment):
    """Bytes in the middle of one node's log are changed."""
    cluster = with_rows(environment, checkpoints=False)
    up_again(environment, cluster, 3, os.path.basename(damage_log(cluster, 3)))


def test_checkpoint(environment):
    """A bit in the middle of one node's local checkpoint is changed, which is found while it is loaded."""
    cluster = with_rows(environment, checkpoints=True)
    up_again(environment, cluster, 2, os.path.basename(damage_checkpoint(cluster, 2)))


def test_missing_file(environment):
    """A file of one node's log is gone."""
    cluster = with_rows(environment, checkpoints=True)
    remove_log_file(cluster, 3)
    up_again(environment, cluster, 3, "part-0/redo is damaged: no file begins at place")


def refuse(environment, checkpoints, damage):
    cluster = with_rows(environment, checkpoints)
    for id in (2, 3):
        damage(cluster, id)
    refused = environment.run("up", "--detach", "--dir", cluster.dir, "--port", 0, "--timeout", 12)
    assert refused.returncode == 1, refused
    said = "".join(log_of(cluster, id) for id in (1, 2, 3))
    assert "holds nothing of the rows that the last members of group 0 had" in said, said[-3000:]
    for id in (2, 3):
        assert "are damaged" in log_of(cluster, id), log_of(cluster, id)[-3000:]
        assert os.path.isdir(os.path.join(cluster.dir, f"node{id}.rows.damaged-1"))


def test_both_logs(environment):
    """The logs of both nodes are damaged: the cluster says so, and does not start with less than it had."""
    refuse(environment, False, damage_log)


def test_both_checkpoints(environment):
    """The local checkpoints of both are, which both find while they load."""
    refuse(environment, True, damage_checkpoint)
