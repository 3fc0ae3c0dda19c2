"""A node's process dies under load: its partner takes over, nothing acknowledged is lost, and nobody waits long."""

import os
import random
import selectors
import signal
import statistics
import time

from cluster import limit, wait_for
from isolation_client import Session

SESSIONS = 16
ROWS_PER_SESSION = 4
SECONDS_BEFORE, SECONDS_AFTER = 0.7, 1.5
# Between the deaths of two nodes: about as long as the first takeover takes.
SECONDS_BETWEEN = 0.005
# What a client of a node that lives may wait for one statement, in seconds.
PAUSE_MAX = 1.0
PAUSE_MEDIAN_MAX = 0.3
# The errors of a transaction that is rolled back, and of one whose outcome is not known, after which the connection is closed.
ROLLED_BACK, UNKNOWN = 1213, 50807
# What a node says that does not reach the voters: nothing was done.
CUT_OFF = 1297


class Worker:
    """A session with rows of its own, and what it knows of them."""

    def __init__(self, number, node, path, begin):
        self.node, self.path, self.name = node, path, f"session {number} on node {node}"
        self.session = Session(path, self.name)
        self.ids = range(number * ROWS_PER_SESSION, (number + 1) * ROWS_PER_SESSION)
        self.acknowledged = dict.fromkeys(self.ids, 0)
        # Increments that may have happened or not.
        self.unknown = dict.fromkeys(self.ids, 0)
        self.random = random.Random(number)
        self.script, self.changes, self.asked = [], [], None
        self.count, self.rolled_back, self.longest = 0, 0, 0.0
        self.may_be_cut_off = False
        self.begin = begin

    def next(self):
        """Sends the next statement: of the transaction under way, or one of its own. False if nobody is there to take it."""
        if not self.script:
            first, second = self.random.sample(self.ids, 2)
            kind = self.random.random()
            if kind < 0.4:
                self.script, self.changes = [f"UPDATE d.t SET v = v + 1 WHERE id = {first}"], [first]
            elif kind < 0.7:
                self.script, self.changes = [f"SELECT id, v FROM d.t WHERE id = {first}"], []
            else:
                self.changes = [first, second]
                update = "UPDATE d.t SET v = v + 1 WHERE id = {}"
                self.script = ["START TRANSACTION", update.format(first), update.format(second), "COMMIT"]
        self.asked = self.script.pop(0)
        try:
            self.session.send(self.asked)
        except OSError:
            self.note(None)
            return False
        return True

    def on_answer(self, answer):
        """Notes what it came to. False when the session is over."""
        # What commits by itself and what ends a transaction may have happened when its answer is lost.
        commits = not self.script and bool(self.changes)
        if answer.error == 2013:
            self.note(self.unknown if commits else None)
            return False
        if answer.at >= self.begin():
            self.longest = max(self.longest, answer.at - self.session.sent_at)
        if answer.error is None:
            for row in answer.rows or []:
                self.check(int(row[0]), int(row[1]))
            if not self.script:
                self.note(self.acknowledged)
                self.count += 1
            return True
        if answer.error == CUT_OFF and self.may_be_cut_off:
            self.note(None)
            return True
        assert answer.error in (ROLLED_BACK, UNKNOWN), f"{self.session.name}: {self.asked}: {answer}"
        if answer.error == UNKNOWN:
            assert commits, f"{self.session.name}: {self.asked}: {answer}"
            assert self.session.answer(limit(5)).error == 2013, "the connection is not closed"
            try:
                self.session = Session(self.path, self.name)
            except (OSError, AssertionError):
                # Its own node dies now: the caller knows whether that one was to.
                self.note(self.unknown)
                return False
        self.note(self.unknown if answer.error == UNKNOWN else None)
        self.rolled_back += 1
        return True

    def note(self, where):
        for id in self.changes if where is not None else []:
            where[id] += 1
        self.script, self.changes = [], []

    def check(self, id, value):
        least = self.acknowledged[id]
        assert least <= value <= least + self.unknown[id], (
            f"{self.session.name}: row {id} is {value}; {least} acknowledged, {self.unknown[id]} unknown")


def kill_under_load(environment, name, victims, mark, arguments=()):
    """One cluster; these nodes are killed, one soon after the other. The longest wait of a statement on a node that lives, in seconds."""
    cluster = environment.cluster(name, "--no-restart", *arguments)
    line = cluster.mgm("SHOW").stdout.splitlines()[victims[0] - 1]
    assert line.startswith(f"id={victims[0]} ") and mark in line, f"not {mark}: {line}"
    paths = {node["id"]: node["socket"] for node in cluster.sql_nodes()}
    nodes = sorted(paths)
    survivors = [node for node in nodes if node not in victims]
    cluster.sql(survivors[0], "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v INT NOT NULL)")
    values = ", ".join(f"({id}, 0)" for id in range(SESSIONS * ROWS_PER_SESSION))
    cluster.sql(survivors[0], f"INSERT INTO d.t VALUES {values}")
    killed_at = [float("inf")]
    places = [nodes[number % len(nodes)] for number in range(SESSIONS)]
    workers = [Worker(number, node, paths[node], lambda: killed_at[0]) for number, node in enumerate(places)]
    selector = selectors.DefaultSelector()
    for worker in workers:
        selector.register(worker.session, selectors.EVENT_READ, worker)
        assert worker.next()
    started = time.monotonic()
    due = [(started + SECONDS_BEFORE + place * SECONDS_BETWEEN, cluster.node(victim)["pid"]) for place, victim in enumerate(victims)]
    while time.monotonic() < started + SECONDS_BEFORE + SECONDS_AFTER:
        if due and time.monotonic() > due[0][0]:
            os.kill(due.pop(0)[1], signal.SIGKILL)
            killed_at[0] = min(killed_at[0], time.monotonic())
        for key, _ in selector.select(0.1):
            worker = key.data
            answer = worker.session.on_readable()
            if answer is None:
                continue
            session = worker.session
            goes_on = worker.on_answer(answer)
            if worker.session is not session:
                selector.unregister(session)
                selector.register(worker.session, selectors.EVENT_READ, worker)
            if not (goes_on and worker.next()):
                assert worker.node in victims, f"{worker.session.name}: {answer}"
                selector.unregister(worker.session)
    living = [worker for worker in workers if worker.node not in victims]
    for worker in living:
        # A statement that is never answered is the longest wait of all.
        answer = worker.session.answer(limit(10))
        assert answer is not None, f"{worker.session.name}: no answer: {worker.asked}"
        assert worker.on_answer(answer), f"{worker.session.name}: {answer}"
    for worker in workers:
        if worker.script and not worker.session.is_closed:
            worker.session.execute("ROLLBACK")
    rows = {int(id): int(value) for id, value in cluster.sql(survivors[0], "SELECT id, v FROM d.t")}
    assert len(rows) == SESSIONS * ROWS_PER_SESSION, rows
    for worker in workers:
        for id in worker.ids:
            worker.check(id, rows[id])
        worker.session.close()
    # The cluster reports the failure, and continues.
    for victim in victims:
        wait_for("the supervisor notices", lambda: cluster.node(victim)["pid"] is None)
        shown = cluster.mgm("SHOW").stdout.splitlines()
        assert f"id={victim} " in shown[victim - 1] and " down " in shown[victim - 1], shown
    for node in survivors:
        cluster.sql(node, "CREATE TABLE d.after (id INT PRIMARY KEY); INSERT INTO d.after VALUES (1); DROP TABLE d.after")
    assert all(worker.count for worker in living), "a session has done nothing"
    counts = sum(worker.count for worker in workers), sum(worker.rolled_back for worker in living)
    cluster.destroy()
    return max(worker.longest for worker in living), counts


def kills(environment, victims, what, mark, arguments=()):
    rounds = 20 if environment.long else 1
    pauses, done, rolled_back = [], 0, 0
    for number in range(rounds):
        pause, (count, refused) = kill_under_load(environment, f"{what}-{number}".replace(" ", "-"), victims, mark, arguments)
        pauses.append(pause)
        done, rolled_back = done + count, rolled_back + refused
    median, worst = statistics.median(pauses), max(pauses)
    print(f"       kill -9 of the {what}, {rounds} times: longest wait of a client of a living node: median {1000 * median:.0f} ms, "
          f"worst {1000 * worst:.0f} ms; {done} statements and transactions, {rolled_back} told to try again", flush=True)
    environment.figure(f"longest wait after kill -9 of the {what}", worst, "s", most=PAUSE_MAX)
    environment.figure(f"median wait after kill -9 of the {what}", median, "s", most=PAUSE_MEDIAN_MAX)


def test_data_node(environment):
    """kill -9 of a data node under load: every acknowledged change is there, nothing stale is read, clients hardly wait."""
    kills(environment, [3], "data node", "data")


def test_lost_with_a_wrong_statement(environment):
    """A transaction has changed rows of a node that dies. Whatever is wrong with its next statement, the client hears that the transaction
    is rolled back: else it would go on with half of it."""
    cluster = environment.cluster("data")
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(5))")
    cluster.sql(2, "INSERT INTO d.t VALUES " + ", ".join(f"({id}, 'old')" for id in range(64)))
    wrong = ["INSERT INTO d.t VALUES (100, 'too long')", "UPDATE d.t SET nosuch = 1",
             "INSERT INTO d.t VALUES (101, 'new'), (3, 'taken'), (7, 'taken')"]

    def update(value, place):
        return f"UPDATE d.t SET v = '{value}' WHERE id IN ({', '.join(str(id) for id in range(place, 64, 4))})"

    sessions = [Session(cluster.sockets()[0], statement) for statement in wrong]
    for place, session in enumerate(sessions):
        for statement in ("START TRANSACTION", update("new", place)):
            assert session.execute(statement).error is None
    os.kill(cluster.node(3)["pid"], signal.SIGKILL)
    heirs = Session(cluster.sockets()[0], "other")
    wait_for("the other one leads", lambda: heirs.execute(update("left", 3)).error is None)
    for session, statement in zip(sessions, wrong):
        answer = session.execute(statement)
        if answer.error == 1054:
            # Wrong by itself, whatever the rows: the transaction continues, so its COMMIT gets the error.
            answer = session.execute("COMMIT")
        assert answer.error == ROLLED_BACK, (statement, answer)
        for end in ("UPDATE d.t SET v = 'alone' WHERE id = 3", "COMMIT"):
            assert session.execute(end).error is None
    found = cluster.sql(2, "SELECT v, COUNT(*) FROM d.t GROUP BY v ORDER BY v")
    assert sorted(found) == [["alone", "1"], ["left", "15"], ["old", "48"]], found


def test_sequencer(environment):
    """The same for the data node that is the sequencer."""
    kills(environment, [2], "sequencer", "sequencer")


def test_voter(environment):
    """The same for the voter, who leads the control plane."""
    kills(environment, [1], "voter", "*")


def test_one_of_three(environment):
    """Of three copies of every row one is lost, with the sequencer."""
    kills(environment, [2], "one of three", "sequencer", ["--data-nodes", 3, "--replicas", 3])


def test_two_of_three(environment):
    """Of three copies two are lost, while the cluster is still busy with the first."""
    kills(environment, [2, 4], "two of three", "sequencer", ["--data-nodes", 3, "--replicas", 3])


def test_one_of_each_group(environment):
    """Two node groups: a node of each is lost, and transactions over both were under way."""
    kills(environment, [2, 5], "one of each of two groups", "sequencer", ["--data-nodes", 4])
