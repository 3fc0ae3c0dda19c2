"""The device of a data node's rows fails: a write, a sync or a read of it ends with EIO. Nothing is tried again; the node ends and says
why, its partner goes on, and nothing that was acknowledged is missing when the device is well again. Without a partner it goes on, and what
it has can be read."""

import contextlib
import itertools
import json
import os
import re
import subprocess
import threading
import time

from cluster import limit, wait_for
from full import LOG_FILES, log_of, small_device, value
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
        for what in ("read", "write", "sync", "hang", "away"):
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


def fails_and_returns(environment, faults, use=lambda cluster, path: None):
    """Each of these faults, of files of node 3, ends that node; its partner goes on, and it comes back when the device is well. `use` has
    such a file written."""
    device, cluster, writers = start(environment)
    for what, path in faults:
        pid, before = cluster.node(3)["pid"], len(log_of(cluster, 3))
        device.fail(what, path)
        use(cluster, path)
        wait_for(f"node 3 ends for a {what} of {path}", lambda: cluster.node(3)["pid"] != pid)
        go_on(writers)
        said = [line for line in log_of(cluster, 3)[before:].splitlines() if "cannot write" in line]
        assert said and path.split("/")[0] in said[-1] and "Input/output error" in said[-1], (what, path, said)
        device.heal()
        # The pause before it is started again grows with each time.
        wait_for("node 3 is another process", lambda: cluster.node(3)["pid"] not in (None, pid), 120)
        whole(environment, cluster)
        go_on(writers)
    cluster.note_pids()
    kill_all(cluster)
    cluster.up()
    check_rows(cluster, writers)
    cluster.desc("d.a")


def test_write(environment):
    """A write of a node's log fails: the node ends, its partner goes on, and it comes back when the device is well."""
    fails_and_returns(environment, [("write", "node3.rows/part-0/redo-")])


def test_sync(environment):
    """A sync of a node's log fails, of which nobody can know what is durable: the same."""
    fails_and_returns(environment, [("sync", "node3.rows/part-0/redo-")])


def test_other_files(environment):
    """A write or a sync of a local checkpoint, of what says which there are, or of a voter's journal fails: the same."""
    def use(cluster, path):
        if "control" in path:
            cluster.sql(2, "CREATE TABLE d.c (id INT PRIMARY KEY); DROP TABLE d.c")
            return
        # The log grows until a checkpoint is made.
        session = Session(cluster.sockets()[0], "grows")
        assert session.execute("CREATE TABLE IF NOT EXISTS d.g (id INT PRIMARY KEY, v MEDIUMTEXT)").error is None
        pid = cluster.node(3)["pid"]
        for number in range(3 * LOG_FILES // len(value(0))):
            if cluster.node(3)["pid"] != pid:
                return
            answer = session.execute(f"REPLACE INTO d.g VALUES ({number % 10}, '{value(number)}')")
            # One that was under way when the node ended is begun again.
            assert answer.error in (None, 1213), answer

    rows, control = "node3.rows/part-0/", "node3.control"
    fails_and_returns(environment, [("write", rows + "rows-"), ("sync", rows + "rows-"), ("write", rows + "manifest-"),
                                    ("write", control), ("sync", control)], use)


def test_checkpoint_cannot_be_read(environment):
    """What was written of a local checkpoint cannot be read back: the log says so and names the file, the checkpoint before it and the log stay,
    and all is there when the device is well and all processes are killed."""
    device, cluster, writers = start(environment)
    session = Session(cluster.sockets()[0], "grows")
    assert session.execute("CREATE TABLE d.g (id INT PRIMARY KEY, v MEDIUMTEXT)").error is None
    device.fail("read", "node3.rows/part-0/rows-")
    said = "a local checkpoint cannot be read back as it was written"
    count = 0
    while said not in log_of(cluster, 3):
        assert count * len(value(0)) < 6 * LOG_FILES, "no checkpoint is made"
        for _ in range(20):
            assert session.execute(f"REPLACE INTO d.g VALUES ({count % 10}, '{value(count)}')").error is None
            count += 1
    [line] = [line for line in log_of(cluster, 3).splitlines() if said in line]
    assert "node3.rows/part-0/rows-" in line and "Input/output error" in line and "it is written again" in line, line
    device.heal()
    go_on(writers)
    kill_all(cluster)
    cluster.up()
    check_rows(cluster, writers)
    last = {number % 10: value(number) for number in range(count)}
    assert dict((int(id), v) for id, v in cluster.sql(3, "SELECT id, v FROM d.g")) == last
    whole(environment, cluster)
    for table in ("d.a", "d.g"):
        cluster.desc(table)


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
        writer.join(limit(30))
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
        writer.join(limit(30))
    assert not failed, failed
    assert cluster.mgm("START BACKUP").returncode == 0
    cluster.desc("d.t")


def test_backup_hangs(environment):
    """What a backup writes to hangs, or its whole directory: the nodes go on, it can be aborted, and another one is made. Where the disk of rows
    has no room for what a backup has still to copy that backup ends, and writes go on. When what hung goes on it leaves nothing."""
    device = Device(environment)
    cluster = environment.new_cluster("data")
    elsewhere = environment.path("elsewhere")

    def state_of(id):
        found = [backup for backup in json.loads(cluster.mgm("BACKUP STATUS", "--json").stdout)["backups"] if backup["id"] == id]
        assert len(found) == 1, found
        return found[0]

    def begin(id, is_begun):
        assert cluster.mgm(f"START BACKUP {id} TO '{elsewhere}' NOWAIT").returncode == 0
        # There are none before its global checkpoint is done.
        wait_for("it has begun", lambda: (nodes := {node["node"]: node for node in state_of(id)["nodes"]}) and is_begun(nodes))
        assert state_of(id)["state"] == "running", state_of(id)

    def abort(id):
        assert cluster.mgm("ABORT BACKUP").returncode == 0
        wait_for("it is aborted", lambda: state_of(id)["state"] == "aborted", 20)

    with small_device(cluster, os.path.join(cluster.dir, "node2.rows"), 8 * LOG_FILES):
        with device.under():
            cluster.up("--workers", "2")
        cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v MEDIUMTEXT); INSERT INTO d.t VALUES "
                       + ", ".join(f"({id}, '')" for id in range(20)))
        pids = [cluster.node(id)["pid"] for id in (2, 3)]
        session = Session(cluster.sockets()[1], "writer")

        # Nothing that names it is answered.
        device.fail("away", elsewhere)
        said = cluster.mgm(f"START BACKUP TO '{elsewhere}'")
        assert said.returncode != 0 and "does not answer: START BACKUP with an id" in said.stderr, said
        begin(1, lambda nodes: len(nodes) == 2)
        abort(1)
        device.heal()

        # One node is done, the other one's file does not become durable; and then what the first one has is not to be reached.
        device.fail("hang", "BACKUP-2/node-3.")
        begin(2, lambda nodes: nodes[2]["state"] == "done" and nodes[3]["bytes_read"] > 0)
        device.fail("away", f"{elsewhere}/BACKUP-2")
        abort(2)
        for id in (2, 3):
            [said] = [line for line in log_of(cluster, id).splitlines() if "backup 2 failed: it was aborted" in line]
            assert "does not answer" in said, said
        assert [cluster.node(id)["pid"] for id in (2, 3)] == pids, "the nodes go on"
        assert session.execute("UPDATE d.t SET v = 'first' WHERE id = 0").error is None

        # While threads still wait for that.
        device.fail("hang", "BACKUP-3/node-2.")
        begin(3, lambda nodes: nodes[2]["bytes_read"] > 0)
        written = refused = 0
        ends = "backup 3 failed: the disk of this node is short of room"
        began = time.monotonic()
        while ends not in log_of(cluster, 2):
            assert time.monotonic() - began < limit(90), "it keeps what the device has no room for"
            for _ in range(10):
                # Each node copies one worker's shards.
                answer = session.execute(f"UPDATE d.t SET v = '{value(written)}' WHERE id = {(written + refused) % 20}")
                assert answer.error in (None, 1021), answer
                written, refused = (written + 1, refused) if answer.error is None else (written, refused + 1)
        wait_for("it has failed", lambda: state_of(3)["state"] == "failed")
        assert "node 2: the disk of this node is short of room" in state_of(3)["why"], state_of(3)
        wait_for("rows are written", lambda: session.execute("UPDATE d.t SET v = 'last' WHERE id = 0").error is None, 15)
        device.heal()
        wait_for("what was written there goes", lambda: not os.listdir(elsewhere), 15)
        assert cluster.mgm(f"START BACKUP 2 TO '{elsewhere}'").returncode == 0
        assert len(os.listdir(f"{elsewhere}/BACKUP-2")) == 2
        assert [cluster.node(id)["pid"] for id in (2, 3)] == pids, "the nodes go on"
        print(f"    {written} updates of {len(value(0)):,} bytes, {refused} refused until the backup ended", flush=True)
