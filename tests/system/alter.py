"""ALTER TABLE that changes rows, beside sessions of both nodes that write and read them: nothing is lost, nothing is stale, and whatever
dies meanwhile, the table has its old definition or its new one."""

import heapq
import os
import random
import re
import selectors
import signal
import threading
import time
from collections import Counter

from cluster import HANG, limit
from isolation_client import Answer, Session
from load import sysbench

WRITERS, READERS = 8, 4
# Of each writer, which writes no others; about half of them have rows.
KEYS = 400
# Of each writer: rows with the same id modulo this have one parent, whose key changes with theirs.
FAMILIES = 10
# Seconds that a statement waits at most: for a closed table, for a lock or for a takeover.
ANSWER_MAX = 30
SLEEP_MAX = 0.02
# How long a transaction is open that does nothing, longer than an ALTER keeps a table closed, and how long there is none.
IDLE, NOT_IDLE = 1.2, 5.0
# After the death of its node a copy is gone.
GONE_MAX = 5.0
BACK_MAX = 20.0
SERVER_GONE, DEADLOCK, LOCK_WAIT, DEFINITION_CHANGED, UNKNOWN = 2013, 1213, 1205, 1412, 50807
# What a transaction of several statements may end with.
OF_TRANSACTIONS = (DEADLOCK, LOCK_WAIT, DEFINITION_CHANGED)

# v has the sum 0, the other columns follow from id and the family. Writers name the columns up to name, no others.
TABLE = """CREATE TABLE t (id INT NOT NULL, v INT NOT NULL, u INT, g INT NOT NULL, name VARCHAR(20) NOT NULL, k INT NOT NULL DEFAULT 1,
    PRIMARY KEY (id), UNIQUE KEY (u), KEY by_v (v), KEY by_id (id), KEY families (g),
    CONSTRAINT families FOREIGN KEY (g) REFERENCES p (g) ON UPDATE CASCADE ON DELETE CASCADE)"""
SCHEMA = ["CREATE TABLE p (g INT PRIMARY KEY)", "CREATE TABLE q (k INT PRIMARY KEY)", "INSERT INTO q VALUES (1)", TABLE]
# Each with what finds no row then. The last one leads back to the first definition.
ALTERATIONS = [
    ("ADD COLUMN w VARCHAR(20) NOT NULL DEFAULT 'filled' FIRST", "w <> 'filled'"),
    ("MODIFY v BIGINT NOT NULL", "v > 9223372036854775806"),
    ("ADD INDEX by_k (k, v)", "k <> 1"),
    ("ADD CONSTRAINT second FOREIGN KEY (k) REFERENCES q (k)", "k <> 1"),
    ("DROP PRIMARY KEY, ADD PRIMARY KEY (g, id)", "id <> -u"),
    ("CONVERT TO CHARACTER SET latin1", "LENGTH(name) <> LENGTH(id) + 1"),
    ("MODIFY v DECIMAL(20, 0) NOT NULL, DROP COLUMN w, ADD COLUMN s VARCHAR(30) AS (CONCAT(v, name)) STORED", "s <> CONCAT(v, name)"),
    ("DROP FOREIGN KEY second, DROP INDEX by_k, DROP COLUMN s", "k <> 1"),
    ("DROP PRIMARY KEY, ADD PRIMARY KEY (id), MODIFY v INT NOT NULL, CONVERT TO CHARACTER SET utf8mb4",
     "LENGTH(name) <> LENGTH(id) + 2"),
]
# ADD COLUMN, MODIFY, another primary key, CONVERT TO, and DROP COLUMN with two others.
KILLED_IN = (0, 1, 4, 5, 6)
# Numbers that are 0 at every time.
CHECKS = [
    "SELECT COALESCE(SUM(v), 0) FROM t",
    "SELECT COUNT(*) FROM t WHERE u <> -id OR name <> CONCAT('ä', id) OR k <> 1",
    "SELECT (SELECT COUNT(*) FROM t FORCE INDEX (u) WHERE u < 0) - (SELECT COUNT(*) FROM t FORCE INDEX (by_id) WHERE id > 0)",
    "SELECT (SELECT COUNT(*) FROM t FORCE INDEX (by_v) WHERE v > -100000000) - COUNT(*) FROM t",
    "SELECT COUNT(*) FROM t LEFT JOIN p ON p.g = t.g WHERE p.g IS NULL",
    "SELECT COUNT(*) FROM t a LEFT JOIN t b ON b.u = -a.id WHERE b.id IS NULL OR b.v <> a.v",
]


def row_text(id, value, group):
    return f"({id}, {value}, {-id}, {group}, 'ä{id}')"


class Client:
    """A session, and a script for it: a generator that yields statements, or seconds to wait, and is given the answers."""

    def __init__(self, load, name, node):
        self.load, self.node, self.name = load, node, f"{name} on node {node}"
        self.session = self.asked = None
        self.script = self.run()
        self.count, self.rolled_back, self.is_done = 0, 0, False
        # Has its connection ended while it slept?
        self.is_cut = False

    def ask(self, statement, errors=()):
        """The answer, which may be one of these errors. None if the node has died, and its clients may notice."""
        answer = yield statement
        if answer.error == SERVER_GONE:
            # Looked at where it was noticed.
            return None
        is_felt = answer.error in (DEADLOCK, UNKNOWN) and self.load.is_death_felt()
        assert answer.error is None or answer.error in errors or is_felt, f"{self.name}: {statement[:300]}: {answer}"
        return answer

    def answer_times(self, answer):
        """When it was asked and answered, as seconds behind the beginning of the last ALTER."""
        alteration, began = self.load.altering or ("none", 0.0)
        return f"asked at {self.session.sent_at - began:.3f} s of the ALTER {alteration}, answered at {answer.at - began:.3f} s"

    def set_up(self):
        """Statements of a new connection; False if it is gone."""
        for statement in ("USE d", *self.greeting):
            if (yield from self.ask(statement)) is None:
                return False
        return True


class Writer(Client):
    """It has keys of its own, and a model of its rows: what was acknowledged."""

    greeting = ["PREPARE add_to FROM 'UPDATE t SET v = v + ? WHERE id = ?'"]

    def __init__(self, load, number, node, seed):
        super().__init__(load, f"writer {number}", node)
        self.random = random.Random(f"{seed} {number}")
        self.first = 1 + number * KEYS
        self.groups = {family: 2 * (number * FAMILIES + family) for family in range(FAMILIES)}
        self.rows = {}
        keys = self.random.sample(range(self.first, self.first + KEYS), KEYS // 2)
        for key, value in zip(keys, [1, -1] * (KEYS // 4)):
            self.rows[key] = value

    def group(self, id):
        return self.groups[id % FAMILIES]

    def row(self, id, value):
        return row_text(id, value, self.group(id))

    def all_rows(self, rows=None, groups=None):
        rows, groups = self.rows if rows is None else rows, self.groups if groups is None else groups
        return {id: (value, groups[id % FAMILIES]) for id, value in rows.items()}

    def change(self):
        """Statements that conserve the sum, and the rows and groups behind them."""
        rows, groups = dict(self.rows), dict(self.groups)
        if self.random.random() < 0.1:
            family = self.random.randrange(FAMILIES)
            groups[family] ^= 1
            return [f"UPDATE p SET g = {groups[family]} WHERE g = {self.groups[family]}"], rows, groups
        one, other = self.random.sample(range(self.first, self.first + KEYS), 2)
        amount = self.random.randint(1, 100)
        insert = "INSERT INTO t (id, v, u, g, name) VALUES "
        into = lambda id: f"id = {id}, u = {-id}, g = {self.group(id)}, name = 'ä{id}'"
        if one not in rows and other not in rows:
            rows |= {one: amount, other: -amount}
            statements = [f"{insert}{self.row(one, amount)}, {self.row(other, -amount)}"]
        elif other not in rows:
            # The row moves to another key.
            value = rows[other] = rows.pop(one)
            statements = self.random.choice([
                [f"UPDATE t SET {into(other)} WHERE id = {one}"],
                [f"UPDATE t SET {into(other)} WHERE u = {-one}"],
                [f"DELETE FROM t WHERE u = {-one}", f"REPLACE INTO t (id, v, u, g, name) VALUES {self.row(other, value)}"],
                [f"{insert}{self.row(other, value)}", f"DELETE FROM t WHERE id = {one}"],
            ])
        elif one not in rows:
            rows |= {one: -amount, other: rows[other] + amount}
            statements = [f"{insert}{self.row(one, -amount)}",
                          f"{insert}{self.row(other, 0)} ON DUPLICATE KEY UPDATE v = t.v + {amount}"]
        elif self.random.random() < 0.5:
            rows |= {one: rows[one] + amount, other: rows[other] - amount}
            statements = self.random.choice([
                [f"UPDATE t SET v = v + {amount} WHERE id = {one}", f"UPDATE t SET v = v - {amount} WHERE u = {-other}"],
                [f"UPDATE t SET v = v + IF(id = {one}, {amount}, {-amount}) WHERE id IN ({one}, {other})"],
                [f"SET @one = {one}, @other = {other}, @less = {-amount}, @more = {amount}",
                 "EXECUTE add_to USING @more, @one", "EXECUTE add_to USING @less, @other"],
            ])
        else:
            rows[other] += rows.pop(one)
            statements = [f"DELETE FROM t WHERE id = {one}", f"UPDATE t SET v = {rows[other]} WHERE id IN ({one}, {other})"]
        return statements, rows, groups

    def run(self):
        is_ready = False
        # What there may be, of which each is rows and groups.
        maybe = None
        while True:
            while not is_ready:
                is_ready = yield from self.set_up()
                if is_ready and maybe:
                    is_ready = yield from self.find_out(maybe)
            maybe = None
            if self.load.is_ending:
                return
            yield self.random.random() * SLEEP_MAX
            statements, rows, groups = self.change()
            before, after = (self.rows, self.groups), (rows, groups)
            if len(statements) == 1 and self.random.random() < 0.5:
                answer = yield from self.ask(statements[0])
                self.check_changed(statements[0], answer)
                is_right = answer and answer.error is None
                maybe = None if is_right else [before, after]
            else:
                answer, is_right, maybe = yield from self.transaction(statements, before, after)
            if is_right:
                self.rows, self.groups = rows, groups
                self.count += 1
            elif answer is None or answer.error == UNKNOWN:
                is_ready = False
                if answer is not None:
                    # The server closes the connection behind that.
                    self.load.reconnect(self)
            elif maybe:
                # Rolled back, for a node has died: there is nothing of it.
                self.rolled_back += 1
                maybe = None

    def transaction(self, statements, before, after):
        """The last answer, whether it is committed, and what there may be if nobody knows."""
        level = self.random.choice(["READ COMMITTED", "REPEATABLE READ"])
        statements = [f"SET SESSION TRANSACTION ISOLATION LEVEL {level}", "BEGIN", *statements]
        if self.random.random() < 0.3:
            # The snapshot is older than the changes.
            statements.insert(2, f"SELECT COUNT(*) FROM t WHERE id BETWEEN {self.first} AND {self.first + 9}")
        end = "ROLLBACK" if self.random.random() < 0.1 else "COMMIT"
        for statement in statements:
            answer = yield from self.ask(statement, OF_TRANSACTIONS)
            if answer is None:
                return None, False, [before]
            self.check_changed(statement, answer)
            if answer.error is not None:
                assert answer.error != UNKNOWN, f"{self.name}: {statement}: {answer}"
                self.rolled_back += 1
                end = "ROLLBACK"
                break
        answer = yield from self.ask(end, OF_TRANSACTIONS if end == "COMMIT" else ())
        if answer is None or answer.error == UNKNOWN:
            return answer, False, [before, after] if end == "COMMIT" else [before]
        return answer, answer.error is None and end == "COMMIT", None

    def check_changed(self, statement, answer):
        """Each changes rows, but for one that sets what there may be already."""
        may_change_none = statement.startswith(("SET", "BEGIN", "SELECT")) or re.search(r"SET v = -?[0-9]", statement)
        is_right = may_change_none or answer is None or answer.error is not None or answer.changed > 0
        assert is_right, f"{self.name}: {statement}: {answer}, {self.answer_times(answer)}"

    def find_out(self, maybe):
        """Takes over which of these there is; False if the node is gone again. A read under locks waits for whoever still ends it."""
        query = f"SELECT id, v, g FROM t WHERE id BETWEEN {self.first} AND {self.first + KEYS - 1} FOR SHARE"
        answer = yield from self.ask(query)
        if answer is None or answer.error is not None:
            return False
        found = {int(id): (int(value), int(group)) for id, value, group in answer.rows}
        for rows, groups in maybe:
            if found == self.all_rows(rows, groups):
                self.rows, self.groups = rows, groups
                return True
        raise AssertionError(f"{self.name}: its rows are none of {len(maybe)} states: {differences(found, self.all_rows(*maybe[0]))}")


class Reader(Client):
    """Asks for numbers that are 0 at every time: alone, and several at one snapshot."""

    def __init__(self, load, number, node, seed):
        super().__init__(load, f"reader {number}", node)
        self.random = random.Random(f"{seed} reader {number}")
        level = "READ COMMITTED" if number // 2 % 2 else "REPEATABLE READ"
        self.greeting = [f"SET SESSION TRANSACTION ISOLATION LEVEL {level}"]
        self.greeting += [f"""PREPARE q{place} FROM "{query}\"""" for place, query in enumerate(CHECKS)]

    def run(self):
        is_ready = False
        while True:
            while not is_ready:
                is_ready = yield from self.set_up()
            if self.load.is_ending:
                return
            yield self.random.random() * SLEEP_MAX
            is_open = self.random.random() < 0.5
            count = self.random.randint(1, 4) if is_open else 1
            queries = [query if self.random.random() < 0.5 else f"EXECUTE q{place}"
                       for place, query in self.random.sample(list(enumerate(CHECKS)), count)]
            statements = ["BEGIN", *queries, "COMMIT"] if is_open else queries
            for statement in statements:
                answer = yield from self.ask(statement, OF_TRANSACTIONS if is_open else ())
                if answer is None:
                    is_ready = False
                    break
                if answer.error is not None:
                    self.rolled_back += 1
                    is_ready = (yield from self.ask("ROLLBACK")) is not None
                    break
                if statement in queries:
                    place = statements.index(statement)
                    assert answer.rows == [["0"]], (f"{self.name}, {self.greeting[0]}: {statements[:place + 1]}: {answer}, "
                                                    f"{self.answer_times(answer)}")
                    self.count += 1


BEGIN, READ = "START TRANSACTION WITH CONSISTENT SNAPSHOT", "SELECT COUNT(*) FROM t WHERE id < 10"


class Idle(Client):
    """Now and then it leaves a transaction open that has read the table, or reads it for the first time when its snapshot is old."""

    greeting = []

    def run(self):
        is_ready = False
        while True:
            while not is_ready:
                is_ready = yield from self.set_up()
            if self.load.is_ending:
                return
            for statement in (BEGIN, READ, IDLE, "COMMIT", NOT_IDLE / 2, BEGIN, NOT_IDLE / 4, READ, "COMMIT", NOT_IDLE / 4):
                if isinstance(statement, float):
                    yield statement
                    continue
                answer = yield from self.ask(statement, OF_TRANSACTIONS)
                if answer is None:
                    is_ready = False
                    break
                self.count += answer.error is None
                self.rolled_back += answer.error is not None


class Load:
    """All clients, served by one loop."""

    def __init__(self, cluster, seed):
        self.cluster = cluster
        self.paths = {node["id"]: node["socket"] for node in cluster.sql_nodes()}
        nodes = sorted(self.paths)
        self.is_ending, self.victims, self.died_at = False, set(), float("-inf")
        self.writers = [Writer(self, number, nodes[number % 2], seed) for number in range(WRITERS)]
        self.clients = [*self.writers, *(Reader(self, number, nodes[number % 2], seed) for number in range(READERS)),
                        Idle(self, "idle", nodes[0])]
        self.selector = selectors.DefaultSelector()
        # (when, number, client): those that sleep.
        self.sleepers, self.away, self.number = [], [], 0
        # Which ALTER has begun last, and when.
        self.altering = None
        # Seconds of the longest statement, and its text.
        self.longest = (0.0, "")

    def start(self):
        values = [f"({group})" for writer in self.writers for group in writer.groups.values()]
        self.cluster.sql(2, f"USE d; INSERT INTO p VALUES {', '.join(values)}")
        for writer in self.writers:
            rows = [writer.row(id, value) for id, value in writer.rows.items()]
            self.cluster.sql(2, f"USE d; INSERT INTO t (id, v, u, g, name) VALUES {', '.join(rows)}")
        for client in self.clients:
            self.connect(client)
            self.go_on(client, None)

    def is_death_felt(self):
        return time.monotonic() < self.died_at + limit(2)

    def connect(self, client):
        client.session = Session(self.paths[client.node], client.name)
        self.selector.register(client.session, selectors.EVENT_READ, client)

    def leave(self, client):
        if client.session is not None:
            self.selector.unregister(client.session)
            client.session.close()
            client.session = None

    def reconnect(self, client):
        self.leave(client)
        try:
            self.connect(client)
        except (OSError, AssertionError):
            assert client.node in self.victims, f"{client.name}: no new connection"

    def go_on(self, client, answer):
        try:
            self.do(client, client.script.send(answer))
        except StopIteration:
            client.is_done = True

    def do(self, client, wanted):
        client.asked = wanted
        if isinstance(wanted, float):
            self.number += 1
            until = 0.0 if self.is_ending else time.monotonic() + wanted
            heapq.heappush(self.sleepers, (until, self.number, client))
            return
        if client.session is None:
            if client.is_cut:
                client.is_cut = False
                self.go_on(client, Answer(error=SERVER_GONE))
                return
            if client.node in self.victims:
                self.away.append(client)
                return
            self.connect(client)
        try:
            client.session.send(wanted)
        except OSError as failure:
            assert client.node in self.victims, f"{client.name}: {wanted}: {failure}"
            self.leave(client)
            self.go_on(client, Answer(error=SERVER_GONE))

    def serve(self, client):
        answer = client.session.on_readable()
        if answer is None:
            return
        took = answer.at - client.session.sent_at
        if client.node not in self.victims and self.longest[0] < took:
            self.longest = took, f"{client.name}: {client.asked[:100]}"
        if answer.error == SERVER_GONE:
            assert client.node in self.victims, f"{client.name}: {client.asked}: {answer}"
            self.leave(client)
            if isinstance(client.asked, float):
                client.is_cut = True
                return
        self.go_on(client, answer)

    def run(self, until):
        """Serves all until the condition holds."""
        look = 0.0
        while time.monotonic() < look or not until():
            now = time.monotonic()
            if look <= now:
                look = now + 0.02
                for client in self.clients:
                    session = client.session
                    if session is not None and session.statement is not None:
                        assert now < session.sent_at + limit(ANSWER_MAX), f"{client.name}: no answer: {session.statement}"
            while self.sleepers and self.sleepers[0][0] <= now:
                self.go_on(heapq.heappop(self.sleepers)[2], None)
            for key, _ in self.selector.select(0.002):
                self.serve(key.data)

    def wait(self, what, condition, seconds=None):
        """The same, for so long at most."""
        seconds = HANG if seconds is None else limit(seconds)
        deadline = time.monotonic() + seconds

        def holds():
            assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
            return condition()

        self.run(holds)

    def beside(self, function, *arguments):
        """Serves all while something else is done; its result."""
        results, failures = [], []

        def work():
            try:
                results.append(function(*arguments))
            except Exception as failure:
                failures.append(failure)

        thread = threading.Thread(target=work)
        thread.start()
        self.wait(function.__name__, lambda: not thread.is_alive())
        if failures:
            raise failures[0]
        return results[0]

    def run_for(self, seconds):
        until = time.monotonic() + seconds
        self.run(lambda: until < time.monotonic())

    def come_back(self):
        """The node is back: so are its clients."""
        self.victims = set()
        away, self.away = self.away, []
        for client in away:
            self.do(client, client.asked)

    def end(self):
        """All end what they do. The rows are those of the models, found by every index on both nodes."""
        self.is_ending = True
        self.sleepers = [(0.0, number, client) for _, number, client in self.sleepers]
        self.wait("all have ended", lambda: all(client.is_done for client in self.clients))
        expected = {}
        for writer in self.writers:
            expected |= writer.all_rows()
        groups = sorted(group for writer in self.writers for group in writer.groups.values())
        for node in self.paths:
            for index, where in (("PRIMARY", "id > 0"), ("PRIMARY", "g >= 0 AND id > 0"), ("u", "u < 0"), ("by_v", "v > -100000000"),
                                 ("by_id", "id > 0"), ("families", "g >= 0")):
                hint = "" if index == "families" else f"FORCE INDEX ({index})"
                query = f"SELECT id, v, g, u, name, k FROM d.t {hint} WHERE {where}"
                rows = self.cluster.sql(node, query)
                found = {int(id): (int(value), int(group)) for id, value, group, *_ in rows}
                assert found == expected and len(rows) == len(found), f"node {node}: {query}: {differences(found, expected)}"
                assert all(rest == [str(-int(id)), f"ä{id}", "1"] for id, _, _, *rest in rows), f"node {node}: {query}: {rows[:20]}"
            assert [int(group) for [group] in self.cluster.sql(node, "SELECT g FROM d.p ORDER BY g")] == groups
        for table in ("d.t", "d.p", "d.q"):
            described = self.cluster.desc(table)
            assert table != "d.t" or described["rows"] == len(expected), f"{described['rows']} rows instead of {len(expected)}"

    def begin(self):
        """Behind an end."""
        self.is_ending = False
        for client in self.clients:
            if client.is_done:
                client.is_done, client.script = False, client.run()
                self.go_on(client, None)

    def close(self):
        for client in self.clients:
            self.leave(client)
        done = {(type(client), client.node) for client in self.clients if client.count}
        assert done == {(type(client), client.node) for client in self.clients}, f"only these have done something: {done}"


def differences(found, expected):
    kinds = {"missing": [(id, expected[id]) for id in expected if id not in found],
             "there": [(id, found[id]) for id in found if id not in expected],
             "other": [(id, found[id], expected[id]) for id in found if id in expected and found[id] != expected[id]]}
    return {kind: (len(rows), rows[:5]) for kind, rows in kinds.items() if rows}


def definition(cluster, node, database="d"):
    return cluster.sql(node, f"SHOW CREATE TABLE {database}.t")[0][1]


def prepare(environment):
    """A cluster with the tables, and the definitions that the table has one after the other: those of a twin without rows."""
    cluster = environment.cluster()
    for database in ("twin", "d"):
        cluster.sql(2, "; ".join([f"CREATE DATABASE {database}", f"USE {database}", *SCHEMA]))
    definitions = [definition(cluster, 2, "twin")]
    for alteration, _ in ALTERATIONS:
        cluster.sql(2, f"ALTER TABLE twin.t {alteration}")
        definitions.append(definition(cluster, 2, "twin"))
    assert definitions[0] == definitions[-1] == definition(cluster, 2) and len(set(definitions)) == len(ALTERATIONS), definitions
    cluster.sql(2, "DROP DATABASE twin")
    return cluster, definitions


def seed_of_run():
    return int(os.environ.get("SKARV_TEST_SEED", "20261201"))


class Alterer:
    """The session that alters the table."""

    def __init__(self, load, node):
        self.load = load
        self.session = Session(load.paths[node], f"alterer on node {node}")
        assert self.session.execute("USE d").error is None

    def start(self, number):
        self.got = None
        self.load.altering = ALTERATIONS[number][0], time.monotonic()
        self.session.send(f"ALTER TABLE t {ALTERATIONS[number][0]}")

    def is_done(self):
        """Has it an answer, self.got?"""
        if self.got is None and not self.session.is_waiting(0):
            self.got = self.session.on_readable()
        return self.got is not None

    def alter(self, number):
        """One that must go well, and does what it is to; how long it took, in seconds."""
        alteration, wrong = ALTERATIONS[number]
        self.start(number)
        self.load.wait(f"answer to {alteration}", self.is_done)
        assert self.got.error is None, f"{alteration}: {self.got}"
        took = self.got.at - self.session.sent_at
        self.got = None
        self.session.send(f"SELECT COUNT(*) FROM t WHERE {wrong}")
        self.load.wait(f"answer behind {alteration}", self.is_done)
        assert self.got.rows == [["0"]], f"{alteration}: rows where {wrong}: {self.got}"
        self.session.close()
        return took


def copies(cluster, node):
    """What the node's memory has of tables of d, beside those that there are and the entries of the unique key."""
    said = cluster.mgm(f"{node} REPORT MEMORY").stdout
    names = re.findall(r"^ +(d\.\S.*?)  +\d+ rows", said, re.MULTILINE)
    assert "d.t" in names, said
    return sorted(set(names) - {"d.p", "d.q", "d.t", "d.#t#u"})


def test_under_load(environment):
    """ALTER TABLE beside writers and readers of both nodes: no error, no row lost or stale, and every index has all rows."""
    cluster, definitions = prepare(environment)
    load = Load(cluster, seed_of_run())
    load.start()
    load.run_for(0.5)
    before, load.longest, took = load.longest[0], (0.0, ""), []
    for turn in range(len(ALTERATIONS) * (10 if environment.long else 1)):
        number = turn % len(ALTERATIONS)
        took.append(Alterer(load, 2 + turn % 2).alter(number))
        for node in load.paths:
            found = load.beside(definition, cluster, node)
            assert found == definitions[number + 1], f"node {node}, {ALTERATIONS[number][0]}: {found}"
    longest = load.longest
    load.wait("nothing is left of the copies", lambda: not any(load.beside(copies, cluster, node) for node in load.paths), GONE_MAX)
    load.end()
    load.close()
    done, checked = (sum(client.count for client in load.clients if isinstance(client, kind)) for kind in (Writer, Reader))
    rolled_back = sum(client.rolled_back for client in load.clients)
    print(f"       {len(took)} ALTERs of {sum(took) / len(took):.1f} s on average, {max(took):.1f} s at most; {done} transactions and "
          f"{checked} answers beside them, {rolled_back} told to try again; the longest statement {1000 * longest[0]:.0f} ms "
          f"({longest[1]}), {1000 * before:.0f} ms before", flush=True)
    if environment.long:
        cluster.destroy()
        under_sysbench(environment)


# Of the table of sysbench; each also leads to the next one.
BIG = ["ADD COLUMN w INT NOT NULL DEFAULT 1", "MODIFY k BIGINT NOT NULL DEFAULT 0", "ADD INDEX by_w (w, k)",
       "ADD CONSTRAINT w FOREIGN KEY (w) REFERENCES q (w)", "DROP PRIMARY KEY, ADD PRIMARY KEY (id, w)", "CONVERT TO CHARACTER SET latin1",
       "DROP PRIMARY KEY, ADD PRIMARY KEY (id), DROP FOREIGN KEY w, DROP INDEX by_w, DROP COLUMN w"]
BIG_SIZE, BIG_THREADS, BIG_SECONDS = 1_000_000, 4, 5
# What latencies may be during an ALTER, as a multiple of what they are without.
SLOWER_MAX = 2.0


def under_sysbench(environment):
    """The same for a million rows, beside oltp_read_write."""
    cluster = environment.cluster("big", "--memory", "2G")
    cluster.sql(2, "CREATE DATABASE sbtest; CREATE TABLE sbtest.q (w INT PRIMARY KEY); INSERT INTO sbtest.q VALUES (1)")

    def latencies(seconds):
        """How many transactions took so many milliseconds."""
        said = sysbench(cluster, "oltp_read_write", "run", BIG_SIZE, BIG_THREADS, seconds, True, 1, "--histogram",
                        "--mysql-ignore-errors=1213,1205,1412,1020")
        return Counter({float(value): int(count) for value, count in re.findall(r"^ +([\d.]+) \|\** +(\d+)$", said, re.MULTILINE)})

    def p99(counts):
        seen = 0
        for value in sorted(counts):
            seen += counts[value]
            if 0.99 * counts.total() <= seen:
                return value

    sysbench(cluster, "oltp_read_write", "prepare", BIG_SIZE, 1, BIG_SECONDS, True, 1)
    for alteration in BIG:
        before = p99(latencies(4 * BIG_SECONDS))
        took, failures = [], []

        def alter():
            began = time.monotonic()
            try:
                cluster.sql(3, f"ALTER TABLE sbtest.sbtest1 {alteration}", timeout=3600)
            except Exception as failure:
                failures.append(failure)
            took.append(time.monotonic() - began)

        thread = threading.Thread(target=alter)
        thread.start()
        counts = Counter()
        while thread.is_alive():
            counts += latencies(BIG_SECONDS)
        thread.join()
        if failures:
            raise failures[0]
        during = p99(counts)
        print(f"       {alteration}: {took[0]:.1f} s; of {counts.total()} transactions beside it the longest {max(counts):.0f} ms, p99 "
              f"{during:.1f} ms, {before:.1f} ms before", flush=True)
        environment.figure(f"p99 beside ALTER TABLE {alteration}, of that before", during / before, "times", most=SLOWER_MAX)
        assert cluster.desc("sbtest.sbtest1")["rows"] == BIG_SIZE


def test_killed(environment):
    """The node dies whose session alters a table: it has the old definition or the new one, and all rows; nothing is left of a copy."""
    count = 20 * len(KILLED_IN) if environment.long else 3
    seed = seed_of_run()
    cluster, definitions = prepare(environment)
    generator = random.Random(f"{seed} kills")
    # The place of the table's definition, and how long an ALTER takes.
    at, seconds, altered, back = 0 if environment.long else generator.choice(KILLED_IN), 0.8, 0, []
    for alteration, _ in ALTERATIONS[:at]:
        cluster.sql(2, f"ALTER TABLE d.t {alteration}")
    load = Load(cluster, seed)
    load.start()
    for turn in range(count):
        victim, survivor = (3, 2) if turn % 2 == 0 else (2, 3)
        # The short form takes the next ALTER, the long form takes each equally often.
        wanted = KILLED_IN[turn % len(KILLED_IN):][:1] if environment.long else KILLED_IN
        while at not in wanted:
            seconds = Alterer(load, survivor).alter(at)
            at = (at + 1) % len(ALTERATIONS)
        alterer = Alterer(load, victim)
        alterer.start(at)
        load.run_for(generator.uniform(0, 1.6 * seconds))
        is_acknowledged = alterer.is_done()
        assert not is_acknowledged or alterer.got.error is None, f"{ALTERATIONS[at][0]}: {alterer.got}"
        load.victims, load.died_at = {victim}, time.monotonic()
        os.kill(cluster.node(victim)["pid"], signal.SIGKILL)
        # Whoever looks next, on the other node, finds one of both.
        found = load.beside(definition, cluster, survivor)
        assert found in definitions[at:at + 2], f"{ALTERATIONS[at][0]}: {found}"
        is_altered = found == definitions[at + 1]
        assert is_altered or not is_acknowledged, f"{ALTERATIONS[at][0]} was acknowledged: {found}"
        load.wait("nothing is left of the copy", lambda: not load.beside(copies, cluster, survivor), GONE_MAX)
        again = load.beside(definition, cluster, survivor)
        assert again == found, f"{ALTERATIONS[at][0]}: {found}, and then {again}"
        altered += is_altered
        at = (at + is_altered) % len(ALTERATIONS)
        # The next one, while the other node comes back.
        seconds = Alterer(load, survivor).alter(at)
        alterer.session.close()
        found = load.beside(definition, cluster, survivor)
        assert found == definitions[at + 1], f"{ALTERATIONS[at][0]}: {found}"
        at = (at + 1) % len(ALTERATIONS)
        is_back = f"node {victim} is back"
        log = os.path.join(cluster.dir, "supervisor.log")
        load.wait(is_back, lambda: turn // 2 < open(log).read().count(is_back), BACK_MAX)
        back.append(time.monotonic() - load.died_at)
        cluster.note_pids()
        load.come_back()
        load.end()
        assert cluster.sql(victim, "SHOW TABLES FROM d") == [["p"], ["q"], ["t"]]
        assert [definition(cluster, node) for node in load.paths] == 2 * [found] and not copies(cluster, 2) and not copies(cluster, 3)
        load.begin()
    load.end()
    load.close()
    done = sum(client.count for client in load.writers)
    print(f"       the node of an ALTER killed {count} times, {altered} times with the new definition; back after {max(back):.1f} s at most; "
          f"{done} transactions; the longest statement on the other node {1000 * load.longest[0]:.0f} ms ({load.longest[1]})", flush=True)
