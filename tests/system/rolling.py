"""Nodes are stopped and restarted as planned, under load: clients of the others notice a pause, and nothing else."""

import os
import signal
import statistics
import subprocess
import time

from cluster import ByHand, limit, wait_for
from isolation_client import Session
from rejoin import Load
from takeover import ROWS_PER_SESSION, SESSIONS

# The clients of a node that stops are told so, and their connections end.
SHUTDOWN = 1053
# What a client of another node may wait for one statement, in seconds.
PAUSE_MAX = 1.0
# A handover that waits for an open transaction lets others begin again after half a second.
PAUSE_OF_AN_ATTEMPT_MAX = 0.8


class RollingLoad(Load):
    """Sessions that are refused nothing, but for the reconnects of a node's own."""

    def serve(self, worker):
        statement = worker.session.statement
        if worker.node in self.victims and statement is not None:
            answer = worker.session.on_readable()
            if answer is None:
                return
            if answer.error in (SHUTDOWN, 2013):
                # Requests behind the end of the connection were not done; earlier ones may have been.
                commits = answer.error == 2013 and not worker.script and bool(worker.changes)
                worker.note(worker.unknown if commits else None)
                return self.leave(worker)
            assert worker.on_answer(answer) and not worker.rolled_back, f"{worker.session.name}: {answer}"
            if not worker.next():
                self.leave(worker)
            return
        super().serve(worker)
        assert not worker.rolled_back, f"{worker.session.name}: {statement} was rolled back"

    def leave(self, worker):
        self.selector.unregister(worker.session)
        worker.session.close()
        self.away.append(worker)

    def restart(self, node):
        """`<id> RESTART`; how long it took, and the longest wait of a client of another node, in seconds."""
        self.died_at = self.felt_at = began = time.monotonic()
        self.victims = {node}
        for worker in self.workers:
            worker.longest = 0.0
        command = [self.cluster.environment.binary, "mgm", "--dir", self.cluster.dir, "-e", f"{node} RESTART"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.run(lambda: process.poll() is not None)
        said = process.communicate()[0]
        assert process.returncode == 0 and f"node {node} is started after" in said, said
        took = time.monotonic() - began
        self.wait_back(node)
        self.cluster.note_pids()
        return took, max(worker.longest for worker in self.workers if worker.node != node)


def fill(cluster):
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v INT NOT NULL)")
    cluster.sql(2, "CREATE TABLE d.filler (id INT PRIMARY KEY, c VARCHAR(200), KEY (c))")
    values = ", ".join(f"({id}, 0)" for id in range(SESSIONS * ROWS_PER_SESSION))
    cluster.sql(2, f"INSERT INTO d.t VALUES {values}")
    for first in range(0, 20_000, 1000):
        values = ", ".join(f"({id}, '{id * 7919 % 104729}{'x' * (id % 150)}')" for id in range(first, first + 1000))
        cluster.sql(2, f"INSERT INTO d.filler VALUES {values}")


def leads(cluster):
    """How many shards each node leads, as ALL STATUS says."""
    lines = cluster.mgm("ALL STATUS").stdout.splitlines()
    return [int(line.split("leads=")[1].split()[0]) for line in lines if "leads=" in line]


def test_restart_of_every_node(environment):
    """Every node is restarted in turn under load, the one that leads the control plane and the sequencer too: no error for clients
    of the others, nothing lost, and in the end every data node leads its share."""
    cluster = environment.cluster()
    fill(cluster)
    load = RollingLoad(cluster)
    took, waits = [], []
    for node in (1, 2, 3) * (5 if environment.long else 1):
        until = time.monotonic() + 0.3
        load.run(lambda: time.monotonic() > until)
        seconds, wait = load.restart(node)
        took.append(seconds)
        waits.append(wait)
    load.check()
    until = time.monotonic() + limit(10)

    def is_shared():
        assert time.monotonic() < until, f"the nodes lead {leads(cluster)}"
        led = leads(cluster)
        return led[0] == 0 and led[1] == led[2] > 0

    load.run(is_shared)
    load.check()
    load.close()
    count = sum(worker.count for worker in load.workers)
    down = cluster.down()
    assert down.returncode == 0 and cluster.running() == [], down
    print(f"       {len(took)} restarts under load, {statistics.median(took):.1f} s each (worst {max(took):.1f}); longest wait of a "
          f"client of another node {1000 * max(waits):.0f} ms (median {1000 * statistics.median(waits):.0f}), no error; "
          f"{count} statements and transactions, nothing lost", flush=True)
    environment.figure("longest wait of a client of another node in a rolling restart", max(waits), "s", most=PAUSE_MAX)


def test_stop_and_start(environment):
    """A node is stopped, stays so, and is started; whoever asks for what would end the cluster hears why not."""
    cluster = environment.cluster()
    fill(cluster)
    refused = cluster.mgm("9 STOP")
    assert refused.returncode == 1 and "there is no node 9" in refused.stderr, refused
    refused = cluster.mgm("3 START")
    assert refused.returncode == 1 and "node 3 runs" in refused.stderr, refused
    stopped = cluster.mgm("3 STOP")
    assert stopped.returncode == 0 and "node 3 is stopped after" in stopped.stdout, stopped
    assert cluster.mgm("SHOW").stdout.splitlines()[2].startswith("id=3   stopped"), cluster.mgm("SHOW")
    for command, why in (("2 STOP", "the only copy of its rows"), ("2 RESTART", "the only copy of its rows"),
                         ("1 STOP", "only 1 of 3 voters would run"), ("3 STOP", "node 3 does not run")):
        refused = cluster.mgm(command)
        assert refused.returncode == 1 and why in refused.stderr, refused
    cluster.sql(2, "UPDATE d.t SET v = v + 7")
    # It stays stopped: a supervisor that looks after it has had time to start it.
    time.sleep(1)
    assert cluster.node(3)["pid"] is None, cluster.node(3)
    started = cluster.mgm("3 START", "--json")
    assert started.returncode == 0 and '"done":"node 3 is started after' in started.stdout, started
    cluster.note_pids()
    assert cluster.sql(3, "SELECT MIN(v), MAX(v) FROM d.t") == [["7", "7"]]
    cluster.desc("d.filler")


def test_a_transaction_that_goes_on(environment):
    """A handover waits for a transaction that has begun, and others wait for half a second at a time; it is done when that ends."""
    cluster = environment.cluster()
    fill(cluster)
    paths = {node["id"]: node["socket"] for node in cluster.sql_nodes()}
    slow, quick = Session(paths[3], "slow"), Session(paths[3], "quick")
    for statement in ("BEGIN", "UPDATE d.t SET v = v + 1"):
        slow.send(statement)
        assert slow.answer(limit(10)).error is None
    command = [environment.binary, "mgm", "--dir", cluster.dir, "-e", "2 STOP"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    until, longest = time.monotonic() + 3, 0.0
    while time.monotonic() < until:
        began = time.monotonic()
        quick.send("INSERT INTO d.filler VALUES (-1, 'y')")
        assert quick.answer(limit(10)).error is None
        quick.send("DELETE FROM d.filler WHERE id = -1")
        assert quick.answer(limit(10)).error is None
        longest = max(longest, time.monotonic() - began)
    assert process.poll() is None, process.communicate()
    # It was tried, and given up for the others' sake.
    assert 0.3 < longest, longest
    environment.figure("longest wait of a client while a handover waits for a transaction", longest, "s", most=PAUSE_OF_AN_ATTEMPT_MAX)
    slow.send("COMMIT")
    assert slow.answer(limit(10)).error is None
    said = process.communicate(timeout=limit(20))[0]
    assert process.returncode == 0 and "node 2 is stopped" in said, said
    quick.send("SELECT MIN(v), MAX(v) FROM d.t")
    assert quick.answer(limit(10)).rows == [["1", "1"]]
    slow.close()
    quick.close()


def test_it_serves_again(environment):
    """The partner of a node that hands over dies: that has the last copy then, and serves again instead of stopping."""
    cluster = environment.cluster()
    fill(cluster)
    paths = {node["id"]: node["socket"] for node in cluster.sql_nodes()}
    slow = Session(paths[3], "slow")
    for statement in ("BEGIN", "UPDATE d.t SET v = v + 1"):
        slow.send(statement)
        assert slow.answer(limit(10)).error is None
    command = [environment.binary, "mgm", "--dir", cluster.dir, "-e", "2 STOP"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    log = os.path.join(cluster.dir, "node2.log")
    wait_for("node 2 hands over", lambda: "hands over what it leads" in open(log).read())
    refused = cluster.mgm("3 STOP")
    assert refused.returncode == 1 and "node 2 is being stopped: one at a time" in refused.stderr, refused
    os.kill(cluster.node(3)["pid"], signal.SIGKILL)
    said = process.communicate(timeout=limit(20))[0]
    assert process.returncode == 1 and "node 2 does not stop, and serves again" in said, said
    slow.close()
    # At its port and at its socket; the transaction went with its node.
    port = cluster.node(2)["port"]
    client = ["mariadb", "--no-defaults", "--user=root", "--host=127.0.0.1", f"--port={port}", "-NBe", "SELECT MAX(v) FROM d.t"]
    assert subprocess.run(client, capture_output=True, text=True, timeout=limit(60), check=True).stdout == "0\n"
    cluster.sql(2, "UPDATE d.t SET v = v + 1")
    wait_for("node 3 is back", lambda: " started " in cluster.mgm("SHOW").stdout.splitlines()[2])
    cluster.note_pids()
    stopped = cluster.mgm("2 STOP")
    assert stopped.returncode == 0, stopped
    assert cluster.sql(3, "SELECT MIN(v), MAX(v) FROM d.t") == [["1", "1"]]


def test_by_hand(environment):
    """Without a supervisor, over TCP: a node that is restarted through another one starts its process anew itself."""
    nodes = ByHand(environment)
    nodes.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1),(2),(3)")
    for id, other in ((3, 2), (2, 3), (1, 2)):
        pid = nodes.processes[id].pid
        done = environment.run("mgm", "--dir", nodes.dir(other), "-e", f"{id} RESTART")
        assert done.returncode == 0 and f"node {id} is started after" in done.stdout, done
        assert nodes.processes[id].poll() is None and nodes.processes[id].pid == pid
        log = open(os.path.join(nodes.dir(id), f"node{id}.log")).read()
        assert log.count(f"node {id} starts: process {pid}") == 2, log
    assert nodes.sql(2, "SELECT COUNT(*) FROM d.t") == nodes.sql(3, "SELECT COUNT(*) FROM d.t") == "3\n"
    nodes.check_equal("d.t")
    # A signal ends a node that is about to restart, and it stays so.
    slow = Session(os.path.join(nodes.dir(2), "mysql.sock"), "slow")
    for statement in ("BEGIN", "DELETE FROM d.t WHERE id = 1"):
        slow.send(statement)
        assert slow.answer(limit(10)).error is None
    command = [environment.binary, "mgm", "--dir", nodes.dir(2), "-e", "3 RESTART"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    log = os.path.join(nodes.dir(3), "node3.log")
    wait_for("node 3 hands over", lambda: open(log).read().count("hands over what it leads") == 2)
    nodes.processes[3].terminate()
    assert nodes.processes[3].wait(limit(20)) == 0, nodes.processes[3]
    process.kill()
    process.communicate()
    slow.close()
    nodes.restart(3)
    done = environment.run("mgm", "--dir", nodes.dir(2), "-e", "3 STOP")
    assert done.returncode == 0, done
    wait_for("node 3 ends", lambda: nodes.processes[3].poll() is not None)
    assert nodes.processes[3].returncode == 0, nodes.processes[3]
    refused = environment.run("mgm", "--dir", nodes.dir(2), "-e", "3 START")
    assert refused.returncode == 1 and "skarv server --node 3" in refused.stderr, refused
    nodes.restart(3)
    assert nodes.sql(3, "SELECT COUNT(*) FROM d.t") == "3\n"
