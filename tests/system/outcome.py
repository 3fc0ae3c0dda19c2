"""What became of a transaction whose client was not told: by its id, and by a token of the client's own."""

import os
import random
import re
import signal
import threading
import time

from cluster import limit, wait_for
from cut import CUT_FOR, cluster_with_cables
from device import Device
from isolation_client import Session

SESSIONS = 8
UNKNOWN, ALREADY_COMMITTED = 50807, 50808
# A node that is cut off answers a waiting commit after five seconds; clocks and ticks take a moment.
TOLD_FROM, TOLD_BY = 4.9, 6.0
NAMED = re.compile(r"skarv_transaction_outcome\('(skarv-[^']+)'\)")


class Client(threading.Thread):
    """Counts one row up, each time under a token of its own, and tries everything again that fails, on one node or the other."""

    def __init__(self, cluster, number, until):
        super().__init__()
        self.paths = [node["socket"] for node in cluster.sql_nodes()]
        self.number, self.until, self.session = number, until, None
        self.random = random.Random(number)
        self.count, self.tries, self.already, self.failure = 0, 0, 0, None

    def run(self):
        try:
            while time.monotonic() < self.until:
                token = f"client {self.number}, change {self.count}"
                deadline = time.monotonic() + limit(20)
                while not self.is_done(token):
                    assert time.monotonic() < deadline, f"{token}: never done"
                self.count += 1
        except BaseException as failure:
            self.failure = failure
        if self.session is not None:
            self.session.close()

    def is_done(self, token):
        """One try. Whatever the answer, the next one may be another node's."""
        self.tries += 1
        update = f"UPDATE d.t SET v = v + 1 WHERE id = {self.number}"
        script = [update] if self.number % 2 else ["START TRANSACTION", update, "COMMIT"]
        try:
            if self.session is None:
                self.session = Session(self.random.choice(self.paths))
            for statement in [f"SET skarv_commit_token = '{token}'", *script]:
                answer = self.session.execute(statement)
                if answer.error == ALREADY_COMMITTED:
                    self.already += 1
                    return True
                if answer.error is not None:
                    self.forget()
                    return False
            return True
        except (OSError, AssertionError):
            self.forget()
            return False

    def forget(self):
        # A connection that is lost now and then, too, when nothing is wrong with it.
        if self.session is not None:
            self.session.close()
        self.session = None


def returns(cluster, node):
    """How often the supervisor has said that the node is back."""
    with open(os.path.join(cluster.dir, "supervisor.log")) as log:
        return log.read().count(f"node {node} is back")


def test_tokens(environment):
    """Clients that try again whatever the error, while both data nodes die in turn: every change is made once."""
    cluster = environment.cluster()
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v INT NOT NULL)")
    cluster.sql(2, "INSERT INTO d.t VALUES " + ", ".join(f"({id}, 0)" for id in range(SESSIONS)))
    kills = 10 if environment.long else 2
    until = time.monotonic() + 3 * kills
    clients = [Client(cluster, number, until) for number in range(SESSIONS)]
    for client in clients:
        client.start()
    for kill in range(kills):
        victim = 2 + kill % 2
        returned = returns(cluster, victim)
        os.kill(cluster.node(victim)["pid"], signal.SIGKILL)
        wait_for("the node is back", lambda: returns(cluster, victim) > returned)
    for client in clients:
        client.join()
        if client.failure is not None:
            raise client.failure
    rows = {int(id): int(value) for id, value in cluster.sql(2, "SELECT id, v FROM d.t")}
    assert rows == {client.number: client.count for client in clients}, (rows, [client.count for client in clients])
    cluster.desc("d.t")
    total, tries = sum(rows.values()), sum(client.tries for client in clients)
    already = sum(client.already for client in clients)
    print(f"       {kills} kills: {total} changes in {tries} tries, {already} were told that it was done already; each was made once")
    cluster.destroy()


def test_token_of_a_commit_that_waits(environment):
    """A commit waits for a disk that hangs, and its client goes and tries again with the token: that is told no sooner than the first
    would have been."""
    device = Device(environment)
    cluster = environment.new_cluster("data")
    with device.under():
        cluster.up("--workers", "1", "--durability", "always")
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v INT); INSERT INTO d.t VALUES (1, 0)")
    update = "UPDATE d.t SET v = v + 1 WHERE id = 1"
    sessions = [Session(path, "one that tries") for path in cluster.sockets()]
    for session in sessions:
        assert session.execute("SET skarv_commit_token = 'order-4711'").error is None
    device.fail("hang", "node3.rows/part-0/redo-")
    sessions[0].send(update)
    wait_for("the commit is seen", lambda: cluster.sql(3, "SELECT v FROM d.t") == [["1"]])
    assert sessions[0].answer(0.5) is None, "it was told, and one disk does not have it"
    sessions[0].close()
    sessions[1].send(update)
    assert sessions[1].answer(2) is None, "it was told, and one disk does not have it"
    device.heal()
    answer = sessions[1].answer(limit(20))
    assert answer is not None and answer.error == ALREADY_COMMITTED, answer
    sessions[1].close()
    assert cluster.sql(2, "SELECT v FROM d.t") == [["1"]]
    cluster.desc("d.t")


def test_unknown(environment):
    """A node is cut off with commits under way: after five seconds their clients are told that the outcome is not known, with an
    id; the other side says what became of each, and that is what is there."""
    with cluster_with_cables(environment) as (cluster, network):
        cluster.sql(2, "CREATE TABLE d.t (id INT PRIMARY KEY)")
        # Links of nodes that were just admitted may take 1.5 s.
        time.sleep(2)
        found = []
        for turn in range(5 if environment.long else 2):
            found += cut_with_commits(environment, cluster, network, turn)
        committed = sum(outcome == "COMMITTED" for outcome in found)
        print(f"       {len(found)} clients were told that nobody knows: {committed} commits were made, "
              f"{len(found) - committed} were not")


def cut_with_commits(environment, cluster, network, turn):
    """What became of the commits that were under way on node 3."""
    sessions = [Session(cluster.path(3), str(number)) for number in range(SESSIONS)]
    last = {session: 1_000_000 * (turn * SESSIONS + number) for number, session in enumerate(sessions)}
    ways = [(2, 3), (1, 3), (3, 2), (3, 1)]

    def work(seconds):
        """All insert, one row after the other."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for session in sessions:
                if session.statement is None or (answer := session.answer(0)) is not None:
                    assert session.statement is None or answer.error is None, f"{session.name}: {answer}"
                    last[session] += 1
                    session.send(f"INSERT INTO d.t VALUES ({last[session]})")

    work(0.3)
    cut_at = time.monotonic()
    # What it asks for arrives for a moment longer, every other time.
    for sender, receiver in ways[:2]:
        network.cut(sender, receiver)
    if turn % 2 == 0:
        work(0.05)
    for sender, receiver in ways[2:]:
        network.cut(sender, receiver)
    work(0.2)
    ids, latest = {}, []
    for session in sessions:
        answer = session.answer(limit(10))
        assert answer is not None and answer.error == UNKNOWN, f"{session.name}: {answer}"
        told_after = answer.at - session.sent_at
        assert TOLD_FROM <= told_after, f"told after {told_after:.1f} s"
        latest.append(told_after - (session.sent_at - cut_at))
        ids[session] = NAMED.search(answer.message).group(1)
        assert session.answer(limit(5)).error == 2013, "the connection is not closed"
    environment.figure("until a client of a node that is cut off hears that the outcome is unknown", max(latest), "s", most=TOLD_BY)
    assert time.monotonic() > cut_at + CUT_FOR
    outcomes = {}
    for session in sessions:
        ask = f"SELECT skarv_transaction_outcome('{ids[session]}')"
        [[outcomes[session]]] = cluster.sql(2, ask)
        rows = cluster.sql(2, f"SELECT id FROM d.t WHERE id = {last[session]}")
        assert outcomes[session] == ("COMMITTED" if rows else "ROLLED BACK"), (ids[session], outcomes[session], rows)
    for sender, receiver in ways:
        network.heal(sender, receiver)
    before = cluster.processes[3]
    wait_for("node 3 is back", lambda: cluster.supervise() or cluster.processes[3] is not before and cluster.serves(3))
    for session in sessions:
        for node in (2, 3):
            [[again]] = cluster.sql(node, f"SELECT skarv_transaction_outcome('{ids[session]}')")
            assert again == outcomes[session], f"first {outcomes[session]}, then {again}"
        session.close()
    return list(outcomes.values())
