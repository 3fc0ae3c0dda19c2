"""A node that died comes back by itself, under load, and holds everything: then the other one dies."""

import json
import os
import re
import selectors
import shutil
import signal
import socket
import statistics
import time

from cluster import ByHand, limit, wait_for
from isolation_client import Session
from takeover import ROWS_PER_SESSION, SESSIONS, Worker

# Seconds for which clients may notice a death; later events must not be noticed.
DEATH_FELT_MAX = 2.0
# Until a node is back, with the few rows of this test: half a second of pause, a start, and the copy.
BACK_MAX = 20.0
FILLER_ROWS = 20_000


class Load:
    """Sessions on both data nodes that change rows of their own and know what must be there."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.paths = {node["id"]: node["socket"] for node in cluster.sql_nodes()}
        self.died_at = float("-inf")
        # Nodes whose clients may lose their connections.
        self.victims = set()
        # When clients may have noticed something last.
        self.felt_at = float("-inf")
        # How often each node has come back.
        self.returned = {}
        self.selector = selectors.DefaultSelector()
        self.workers = [Worker(number, 2 + number % 2, self.paths[2 + number % 2], lambda: self.died_at)
                        for number in range(SESSIONS)]
        self.away = []
        for worker in self.workers:
            self.go_on(worker)

    def go_on(self, worker):
        self.selector.register(worker.session, selectors.EVENT_READ, worker)
        assert worker.next()

    def run(self, until):
        """Serves all sessions until the condition holds, which is looked at now and then."""
        look = 0.0
        while time.monotonic() < look or not until():
            if time.monotonic() >= look:
                look = time.monotonic() + 0.1
            for key, _ in self.selector.select(0.02):
                self.serve(key.data)

    def serve(self, worker):
        answer = worker.session.on_readable()
        if answer is None:
            return
        session, refused = worker.session, worker.rolled_back
        goes_on = worker.on_answer(answer)
        if worker.rolled_back > refused:
            late = time.monotonic() - self.felt_at
            assert late < limit(DEATH_FELT_MAX), f"{session.name}: {answer} {late:.1f} s after a node died, none has since"
        if worker.session is not session:
            self.selector.unregister(session)
            self.selector.register(worker.session, selectors.EVENT_READ, worker)
        if not (goes_on and worker.next()):
            assert worker.node in self.victims, f"{worker.session.name}: {answer}"
            self.selector.unregister(worker.session)
            worker.session.close()
            self.away.append(worker)

    def kill(self, victim):
        """kill -9; returns when the node is a full member again, and how long that took, in seconds."""
        self.victims = {victim}
        before = self.cluster.node(victim)
        os.kill(before["pid"], signal.SIGKILL)
        self.died_at = self.felt_at = time.monotonic()
        for worker in self.workers:
            worker.longest = 0.0
        self.wait_back(victim)
        return time.monotonic() - self.died_at

    def wait_back(self, victim):
        """Until the supervisor has said once more that the node is back; then its clients come back, too."""
        def is_back():
            assert time.monotonic() < self.felt_at + limit(BACK_MAX), f"node {victim} is not back"
            said = open(os.path.join(self.cluster.dir, "supervisor.log")).read().count(f"node {victim} is back")
            return said > self.returned.get(victim, 0)

        self.run(is_back)
        self.returned[victim] = self.returned.get(victim, 0) + 1
        for worker in self.away:
            worker.session = Session(worker.path, worker.name)
            self.go_on(worker)
        self.away.clear()
        self.victims = set()

    def check(self):
        """Lets all sessions end what they do, and compares what is there with what they know; then they go on."""
        for worker in self.workers:
            while worker.script or worker.session.statement is not None:
                answer = worker.session.answer(limit(10))
                assert answer is not None, f"{worker.session.name}: no answer: {worker.asked}"
                assert worker.on_answer(answer), f"{worker.session.name}: {answer}"
                if worker.script:
                    worker.next()
            self.selector.unregister(worker.session)
        self.cluster.desc("d.t")
        self.cluster.desc("d.filler")
        for node in (2, 3):
            rows = {int(id): int(value) for id, value in self.cluster.sql(node, "SELECT id, v FROM d.t")}
            assert len(rows) == SESSIONS * ROWS_PER_SESSION, rows
            for worker in self.workers:
                for id in worker.ids:
                    worker.check(id, rows[id])
        for worker in self.workers:
            self.go_on(worker)

    def close(self):
        for worker in self.workers:
            worker.session.close()


def in_turns(environment, count):
    """So many kills of the two data nodes in one cluster, and one of the voter. How long each took to be back, the longest waits of
    clients of the other, in seconds, and how much was done."""
    cluster = environment.cluster()
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v INT NOT NULL)")
    cluster.sql(2, "CREATE TABLE d.filler (id INT PRIMARY KEY, c VARCHAR(200), KEY (c))")
    values = ", ".join(f"({id}, 0)" for id in range(SESSIONS * ROWS_PER_SESSION))
    cluster.sql(2, f"INSERT INTO d.t VALUES {values}")
    for first in range(0, FILLER_ROWS, 1000):
        values = ", ".join(f"({id}, '{id * 7919 % 104729}{'x' * (id % 150)}')" for id in range(first, first + 1000))
        cluster.sql(2, f"INSERT INTO d.filler VALUES {values}")
    load = Load(cluster)
    back, waits = [], []
    for victim in [3, 2] * (count // 2):
        until = time.monotonic() + 0.3
        load.run(lambda: time.monotonic() > until)
        # The one that led everything is the victim each time: the other was filled last.
        back.append(load.kill(victim))
        waits.append(max(worker.longest for worker in load.workers if worker.node != victim))
        # Now and then the next one dies as soon as this one is back.
        if victim == 2:
            load.check()
    # The voter, too, which led the control plane at the start.
    load.kill(1)
    load.check()
    load.close()
    count = sum(worker.count for worker in load.workers)
    down = cluster.down()
    assert down.returncode == 0 and cluster.running() == [], down
    return back, waits, count


def test_in_turns(environment):
    """Data nodes die in turns under load, each when the other is back: what was written meanwhile only that one holds."""
    back, waits, count = in_turns(environment, 20 if environment.long else 2)
    print(f"       {len(back)} data nodes killed in turns, each when the other was back: back after {statistics.median(back):.1f} s "
          f"(worst {max(back):.1f}); longest wait of a client of the other {1000 * max(waits):.0f} ms (median "
          f"{1000 * statistics.median(waits):.0f}); {count} statements and transactions, nothing lost", flush=True)
    environment.figure("longest wait of a client while the other data node dies and is filled", max(waits), "s", most=1.0)


def test_progress(environment):
    """How far a node is filled, as a table, on the node that fills it."""
    cluster = environment.cluster("data", "--memory", "256M")
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.filler (id INT PRIMARY KEY, c VARCHAR(200))")
    rows = 400_000 if environment.long else 150_000
    for first in range(0, rows, 2000):
        values = ", ".join(f"({id}, '{'x' * 200}')" for id in range(first, first + 2000))
        cluster.sql(2, f"INSERT INTO d.filler VALUES {values}")
    columns = "NODE_ID, STATE, FILLED_ROWS, FILLED_ROWS_EXPECTED, FILLED_BYTES, FILLED_SECONDS, FILLED_SECONDS_LEFT"
    watcher = Session(cluster.node(2)["socket"], "watcher")
    look = lambda: {row[0]: row[1:] for row in watcher.query(f"SELECT {columns} FROM performance_schema.skarv_nodes")}
    nothing = [None] * 5
    assert look() == {"1": ["started", *nothing], "2": ["started", *nothing], "3": ["started", *nothing]}
    os.kill(cluster.node(3)["pid"], signal.SIGKILL)
    seen, deadline = [], time.monotonic() + limit(BACK_MAX)
    while True:
        state, *filled = look()["3"]
        if filled != nothing:
            seen.append(filled)
        if state == "started" and seen:
            break
        assert time.monotonic() < deadline, "node 3 is not filled"
        time.sleep(0.01)
    wait_for("nothing is filled any more", lambda: look()["3"] == ["started", *nothing])
    done = [int(rows) for rows, *_ in seen]
    assert done == sorted(done) and len(set(done)) > 3, done
    assert all(int(expected) >= rows for _, expected, *_ in seen), seen
    # Of what its own disk had little is sent.
    assert max(int(size) for _, _, size, *_ in seen) < 200 * rows // 2, seen
    assert [left for *_, left in seen if left is not None], seen
    watcher.close()
    cluster.note_pids()
    cluster.desc("d.filler")


def test_by_hand(environment):
    """Without a supervisor: a node that is started again from its directory says that it is over; without the directory it must be
    known to be, and is no voter any more."""
    # Silence is long, because a process must be started within it.
    nodes = ByHand(environment, heartbeat_ms=1000)
    nodes.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1),(2),(3)")
    nodes.kill(3)
    nodes.restart(3)
    nodes.sql(3, "INSERT INTO d.t VALUES (4)")
    nodes.check_equal("d.t")
    nodes.kill(2)
    nodes.restart(2)
    assert nodes.sql(2, "SELECT COUNT(*) FROM d.t") == "4\n"
    nodes.check_equal("d.t")
    # The voter leads the control plane, or has: it comes back with its votes.
    nodes.kill(1)
    nodes.restart(1)
    nodes.sql(2, "CREATE TABLE d.u (id INT PRIMARY KEY)")

    nodes.kill(3)
    shutil.rmtree(nodes.dir(3))
    nodes.processes[3] = nodes.start(3)
    logs = lambda: "".join(open(os.path.join(nodes.dir(id), f"node{id}.log")).read() for id in (1, 2))
    wait_for("the others refuse it", lambda: "node 3 was started from another directory" in logs())
    nodes.kill(3)


def test_from_own_disk(environment):
    """A node that comes back begins with what its own disk has, beside writes: most rows are not copied, those that were deleted while it was
    away are gone, and both nodes have the same."""
    nodes = ByHand(environment)
    nodes.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, v INT NOT NULL, u INT NOT NULL, UNIQUE KEY (u), KEY (v))")
    for first in range(1, 100_000, 5000):
        values = ", ".join(f"({id}, {id}, {-id})" for id in range(first, first + 5000))
        nodes.sql(2, f"INSERT INTO d.t VALUES {values}")
    # Two global checkpoints.
    nodes.sql(2, "SET SESSION skarv_durability = 'always'; INSERT INTO d.t VALUES (100001, 0, 100001)")
    nodes.kill(3)
    nodes.sql(2, "DELETE FROM d.t WHERE id BETWEEN 1000 AND 1999; UPDATE d.t SET v = v + 1 WHERE id BETWEEN 5000 AND 5999; "
                 "INSERT INTO d.t (v, u) VALUES (7, 7000000)")
    nodes.processes[3] = nodes.start(3)
    log = lambda id: open(os.path.join(nodes.dir(id), f"node{id}.log")).read()
    filled = lambda: re.findall(r"node 3 is filled with shard \d+: it had (\d+) rows, and (\d+) were copied", log(2))
    shards = 4
    written = 0
    while len(filled()) < shards:
        written += 1
        nodes.sql(2, f"UPDATE d.t SET v = v + 1 WHERE id = {20_000 + 10 * written}; DELETE FROM d.t WHERE id = {written}")
    nodes.wait_ready(3)
    kept, copied = (sum(map(int, column)) for column in zip(*filled()))
    # Rows and the entries of their unique key: two for each.
    assert kept > 150_000 > 3 * copied, (kept, copied, written)
    nodes.check_equal("d.t")
    assert nodes.sql(3, "SELECT COUNT(*) FROM d.t WHERE id BETWEEN 1000 AND 1999") == "0\n"
    changed = "SELECT COUNT(*), SUM(v), SUM(u) FROM d.t"
    assert nodes.sql(3, changed) == nodes.sql(2, changed)
    # Alone, it has all of it, and its disk too.
    nodes.kill(2)
    assert nodes.sql(3, "SELECT COUNT(*) FROM d.t") == f"{100_000 + 2 - 1000 - written}\n"
    nodes.restart(2)


def ask(node, request):
    """One request at a node's management socket."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(limit(10))
        connection.connect(node["management_socket"])
        connection.sendall(json.dumps(request).encode() + b"\n")
        return json.loads(connection.makefile().readline())


def test_taken_for_dead(environment):
    """A node that lives is said to be dead: it is excluded, ends when it hears of it, and comes back when it is started again."""
    cluster = environment.cluster("data")
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v INT NOT NULL); INSERT INTO d.t VALUES (1, 0)")
    before = cluster.node(3)
    incarnation = ask(before, {"command": "ping"})["incarnation"]
    os.kill(before["pid"], signal.SIGSTOP)
    assert ask(cluster.node(2), {"command": "node_died", "node": 3, "incarnation": incarnation}) == {"ok": True}
    assert cluster.sql(2, "UPDATE d.t SET v = v + 1; SELECT v FROM d.t") == [["1"]]
    os.kill(before["pid"], signal.SIGCONT)
    after = wait_for("node 3 is started again", lambda: (node := cluster.node(3))["restarts"] == 1 and node["pid"] and node)
    cluster.note_pids()
    assert after["pid"] != before["pid"]
    with open(os.path.join(cluster.dir, "supervisor.log")) as file:
        said = file.read()
    assert "the cluster has excluded it" in said, said
    wait_for("node 3 is back", lambda: " started " in cluster.mgm("SHOW").stdout.splitlines()[2])
    assert cluster.sql(3, "SELECT v FROM d.t") == [["1"]]
    cluster.desc("d.t")
