"""The device of a data node's rows fails: a write, a sync or a read of it ends with EIO. Nothing is tried again; the node ends and says
why, its partner goes on, and nothing that was acknowledged is missing when the device is well again. Without a partner it goes on, and what
it has can be read."""

import contextlib
import itertools
import os
import re
import subprocess
import threading
import time

from cluster import wait_for
from full import log_of
from isolation_client import Session
from power import Writer, kill_all, rows_of

WRITERS = 4
# Rows of a writer between two things that happen.
ROWS = 20


class Device:
    """What fails for the processes that are started within."""

    def __init__(self, environment):
        self.dir = environment.path("device")
        os.makedirs(self.dir)
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "device.c")
        self.library = os.path.join(self.dir, "device.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", self.library, source], check=True)

    def fail(self, what, path):
        with open(os.path.join(self.dir, "new"), "w") as file:
            file.write(path)
        # Whole or not at all: it is looked at all the time.
        os.rename(os.path.join(self.dir, "new"), os.path.join(self.dir, what))

    def heal(self):
        for what in ("read", "write", "sync", "hang"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(self.dir, what))

    @contextlib.contextmanager
    def under(self):
        os.environ.update(LD_PRELOAD=self.library, SKARV_FAILING_DEVICE=self.dir)
        try:
            yield
        finally:
            del os.environ["LD_PRELOAD"], os.environ["SKARV_FAILING_DEVICE"]


def start(environment):
    """A cluster on such a device, and writers at the node that goes on."""
    device = Device(environment)
    cluster = environment.new_cluster("data")
    with device.under():
        cluster.up("--workers", "1", "--durability", "always")
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.a (id INT PRIMARY KEY, n INT); CREATE TABLE d.b (id INT PRIMARY KEY, n INT)")
    writers = [Writer(number, 0, cluster.sockets()[0], "always") for number in range(WRITERS)]
    go_on(writers)
    return device, cluster, writers


def go_on(writers):
    wanted = [len(writer.acknowledged) + ROWS for writer in writers]
    wait_for("the writers go on", lambda: any(writer.ended for writer in writers)
             or all(len(writer.acknowledged) >= count for writer, count in zip(writers, wanted)), 30)
    ended = [str(writer.ended) for writer in writers if writer.ended]
    assert not ended, ended


def check_rows(cluster, writers):
    """All that was acknowledged is there, and at most one more of each writer, and no half of a transaction."""
    left = rows_of(cluster, "a")
    assert left == rows_of(cluster, "b")
    for writer in writers:
        own = [row for id, row in left if id // 1_000_000 == writer.number]
        assert own == list(range(len(own))), (writer.number, own[:5])
        assert len(writer.acknowledged) <= len(own) <= len(writer.acknowledged) + 1, (writer.number, len(own))


def whole(environment, cluster):
    wait_for("both count", lambda: environment.run("desc", "--dir", cluster.dir, "d.a").returncode == 0, 60)


def fails_and_returns(environment, what):
    device, cluster, writers = start(environment)
    pid = cluster.node(3)["pid"]
    device.fail(what, "node3.rows/part-0/redo-")
    wait_for("node 3 ends", lambda: "this process ends" in log_of(cluster, 3))
    go_on(writers)
    said = [line for line in log_of(cluster, 3).splitlines() if "cannot write its rows" in line]
    assert said and "node3.rows/part-0" in said[-1] and "Input/output error" in said[-1], said
    device.heal()
    wait_for("node 3 is another process", lambda: cluster.node(3)["pid"] not in (None, pid), 60)
    whole(environment, cluster)
    go_on(writers)
    cluster.note_pids()
    kill_all(cluster)
    cluster.up()
    check_rows(cluster, writers)
    cluster.desc("d.a")


def test_write(environment):
    """A write of a node's log fails: the node ends, its partner goes on, and it comes back when the device is well."""
    fails_and_returns(environment, "write")


def test_sync(environment):
    """A sync of a node's log fails, of which nobody can know what is durable: the same."""
    fails_and_returns(environment, "sync")


def test_last(environment):
    """The device of the last node fails in a sync: it goes on, refuses what would be written, and acknowledges nothing; its rows can be read.
    All that was acknowledged is there when the device is well and the node is started again."""
    device, cluster, writers = start(environment)
    assert cluster.mgm("3 STOP").returncode == 0
    go_on(writers)
    pid = cluster.node(2)["pid"]
    device.fail("sync", "node2.rows/part-0/redo-")
    wait_for("node 2 says so", lambda: "no other node has the rows kept here" in log_of(cluster, 2))
    said = [line for line in log_of(cluster, 2).splitlines() if "cannot write its rows" in line]
    assert len(said) == 1 and "node2.rows/part-0" in said[0] and "Input/output error" in said[0], said
    for writer in writers:
        writer.join(30)
        assert not writer.is_alive()
    session = Session(cluster.sockets()[0], "reader")
    for statement in ("INSERT INTO d.a VALUES (-1, 0)", "UPDATE d.a SET n = n + 1", "DELETE FROM d.b"):
        answer = session.execute(statement)
        assert answer.error == 1026 and "node 2" in answer.message, (statement, answer)
    for table in ("a", "b"):
        found = int(session.execute(f"SELECT COUNT(*) FROM d.{table}").rows[0][0])
        assert sum(len(writer.acknowledged) for writer in writers) <= found, found
    assert cluster.node(2)["pid"] == pid
    device.heal()
    cluster.note_pids()
    cluster.down()
    wait_for("all are gone", lambda: not cluster.running())
    cluster.up()
    check_rows(cluster, writers)
    whole(environment, cluster)
    cluster.desc("d.a")


def test_read(environment):
    """The log of a node cannot be read when it starts: it is damaged, is put aside, and the node is filled by its partner."""
    device, cluster, writers = start(environment)
    kill_all(cluster)
    device.fail("read", "node3.rows/part-0/redo-")
    with device.under():
        cluster.up()
    check_rows(cluster, writers)
    whole(environment, cluster)
    assert os.path.isdir(os.path.join(cluster.dir, "node3.rows.damaged-1"))
    said = [line for line in log_of(cluster, 3).splitlines() if "are damaged" in line]
    assert said and "Input/output error" in said[-1], said
    cluster.desc("d.a")


def memory_of(cluster, id):
    """What a node's process takes, in MiB."""
    with open(f"/proc/{cluster.node(id)['pid']}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) // 1024


def test_hangs(environment):
    """The device of a node that only replicates hangs: at the default level commits go on, until so much waits for it that writes wait, too,
    instead of filling that node's memory. Reads are answered, a backup that waits for the device can be aborted, and all goes on as
    soon as the device does."""
    device = Device(environment)
    cluster = environment.new_cluster("data")
    with device.under():
        cluster.up("--workers", "1", "--memory", "256M")
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c LONGTEXT); "
                   "INSERT INTO d.t VALUES " + ",".join(f"({id}, '')" for id in range(3 * WRITERS)))
    wait_for("it has its memory", lambda: "the memory for rows is taken" in log_of(cluster, 3), 60)
    at_rest = memory_of(cluster, 3)
    device.fail("hang", "node3.rows/part-0/redo-")
    done, failed, goes_on = [], [], threading.Event()

    # After five seconds writes wait because no global checkpoint was done: several are faster than that.
    def update(writer):
        session = Session(cluster.sockets()[0], f"writer {writer}")
        for count in itertools.count():
            id = writer + WRITERS * (count % 3)
            answer = session.execute(f"UPDATE d.t SET c = REPEAT('{count // 3 % 10}', 200000) WHERE id = {id}")
            if answer.error is not None:
                failed.append(answer)
            if failed or goes_on.is_set():
                return
            done.append(id)

    writers = [threading.Thread(target=update, args=(writer,)) for writer in range(WRITERS)]
    for writer in writers:
        writer.start()
    wait_for("writes wait", lambda: "the disk of node 3 does not keep up" in log_of(cluster, 2), 60)
    count = len(done)
    assert 200 << 20 < count * 200_000, count
    time.sleep(1)
    assert len(done) <= count + WRITERS, (count, len(done))
    grown = memory_of(cluster, 3) - at_rest
    assert grown < 450, f"{grown} MiB for 256 MiB that wait"
    assert cluster.sql(2, "SELECT COUNT(*) FROM d.t WHERE LENGTH(c) = 200000") == [[str(3 * WRITERS)]]
    assert cluster.mgm("START BACKUP NOWAIT").returncode == 0
    assert "running" in cluster.mgm("BACKUP STATUS").stdout
    assert cluster.mgm("ABORT BACKUP").returncode == 0
    wait_for("it is aborted", lambda: "aborted" in cluster.mgm("BACKUP STATUS").stdout, 10)
    device.heal()
    wait_for("writes go on", lambda: len(done) > count + 100)
    goes_on.set()
    for writer in writers:
        writer.join(30)
    assert not failed, failed
    assert cluster.mgm("START BACKUP").returncode == 0
    cluster.desc("d.t")
