"""Runs the scripts of isolation_cases.py: levels, placements, the step language, and the check by serial orders."""

import itertools
import re
import select
import sqlite3
import time
from collections import namedtuple

from isolation_client import ANSWER_TIMEOUT, Session

# column: which of a step's outcomes, and which of a case's marks.
Level = namedtuple("Level", "name sql column strict")
LEVELS = [
    Level("READ UNCOMMITTED", "READ UNCOMMITTED", 0, False),
    Level("READ COMMITTED", "READ COMMITTED", 0, False),
    Level("REPEATABLE READ", "REPEATABLE READ", 1, False),
    Level("REPEATABLE READ strict", "REPEATABLE READ", 2, True),
    Level("SERIALIZABLE", "SERIALIZABLE", 3, False),
]

# shards: of a and b, one or two. keys: of a, b, c and d. nodes: of session 1, 2 and 3. database: of the table t.
Placement = namedtuple("Placement", "name shards keys nodes database")

# A statement counts as blocked when it has no answer for this time. A slow answer is thus taken for a wait, which the step
# that ends the wait does not mind; a wait is never taken for an answer.
BLOCKS_S = 0.1
# Finding a circle takes 100 ms; that is measured elsewhere. Here a busy machine must not matter.
DEADLOCK_TIMEOUT = 10
LOCK_WAIT_TIMEOUT = 2 * ANSWER_TIMEOUT


def connect(cluster, node, name="", database="d", level=None):
    session = Session(cluster.node(node)["socket"], name or f"a session of node {node}")
    session.query(f"USE {database}")
    session.query(f"SET SESSION innodb_lock_wait_timeout = {LOCK_WAIT_TIMEOUT}")
    if level is not None:
        session.query(f"SET SESSION TRANSACTION ISOLATION LEVEL {level.sql}")
        if level.strict:
            session.query("SET SESSION skarv_strict_snapshot = ON")
    return session


def keys_by_shard(cluster, session, table, count):
    """For each data node the first keys, so many, of each shard it is the primary of. EXPLAIN tells a key's shard,
    `skarv desc` the shard's primary."""
    primaries = {partition["shard"]: partition["node"] for partition in cluster.desc(f"d.{table}")["partitions"]
                 if partition["role"] == "primary"}
    keys = {shard: [] for shard in sorted(primaries)}
    for key in range(1, 1000):
        [row] = session.query(f"EXPLAIN UPDATE {table} SET value = 0 WHERE id = {key}")
        keys[int(row[3].removeprefix("p"))].append(key)
        if min(map(len, keys.values())) >= count:
            break
    else:
        raise AssertionError(f"no {count} keys of each shard: {keys}")
    nodes = {}
    for shard, of_shard in keys.items():
        nodes.setdefault(primaries[shard], []).append(of_shard[:count])
    assert set(nodes) == {2, 3}, f"the shards' primaries are not on both nodes: {nodes}"
    return nodes


def keys_by_node(cluster, session, table, count):
    """Keys of one shard whose primary is node 2, and of one whose primary is node 3."""
    nodes = keys_by_shard(cluster, session, table, count)
    return nodes[2][0], nodes[3][0]


class Steps:
    """One script under way: its sessions, and what they have seen."""

    def __init__(self, case, level, placement, sessions):
        self.case, self.level, self.placement = case, level, placement
        self.sessions = sessions
        self.keys = dict(zip("abcd", placement.keys))
        self.names = {str(key): name for name, key in self.keys.items()}
        self.waiting = {}
        # Of sessions in a transaction: its statements so far, each with its answer, and the step it began with.
        self.open = {number: ([], 0) for number in sessions}
        # Of committed ones: statements with answers, first step, last step.
        self.committed = []
        self.victims = set()
        self.step = 0
        self.deadlocks_min = self.deadlocks_max = self.deadlocks = 0
        self.final = None

    def run(self, script):
        lines = [line.strip() for line in script.strip().splitlines()]
        for line, after in zip(lines, lines[1:] + [""]):
            self.step += 1
            try:
                self.run_line(line, is_unblocked=re.match(r"\d ->", line), unblocks=re.match(r"\d ->", after))
            except AssertionError as error:
                raise AssertionError(f"{line.format(**self.keys)}: {error}") from None
        self.finish()

    def run_freely(self, script):
        """Runs a script without its outcomes: what a session would say while it waits is left out, and any number of
        them may fail with 1213. What has been seen must be explained by a serial order all the same."""
        self.deadlocks_max = len(self.sessions)
        for line in script.strip().splitlines():
            number, _, statement = line.partition("->")[0].strip().partition(" ")
            if number == "end" or not statement:
                continue
            self.step += 1
            number = int(number)
            self.take_next(time.monotonic())
            if number in self.waiting or number in self.victims:
                continue
            self.waiting[number] = statement.format(**self.keys)
            self.sessions[number].send(self.waiting[number])
            if not self.sessions[number].is_waiting(BLOCKS_S):
                self.take_next(time.monotonic() + ANSWER_TIMEOUT)
        self.finish()

    def run_line(self, line, is_unblocked, unblocks):
        left, _, right = line.partition("->")
        outcomes = [part.strip() for part in right.split("|")]
        expected = outcomes[min(self.level.column, len(outcomes) - 1)]
        if expected == "done, or deadlock over shards":
            expected = "" if self.placement.shards == 1 else "done or deadlock"
        if left.strip() == "end":
            self.final = expected
            return
        number, _, statement = left.strip().partition(" ")
        number, statement = int(number), statement.strip().format(**self.keys)
        if is_unblocked:
            assert number in self.waiting, "was not blocked"
            self.check(number, expected, self.sessions[number].answer(ANSWER_TIMEOUT))
            return
        # Also those that the step is to set free have waited until now.
        self.check_waits("has not waited")
        self.sessions[number].send(statement)
        self.waiting[number] = statement
        if expected == "blocks":
            if not self.sessions[number].is_waiting(BLOCKS_S):
                raise AssertionError(f"does not block: {self.sessions[number].answer(ANSWER_TIMEOUT)}")
        elif expected.endswith("deadlock"):
            self.deadlocks_max = 1
            self.deadlocks_min = 1 if expected == "deadlock" else 0
            self.wait_for_deadlock(number)
        else:
            self.check(number, expected, self.sessions[number].answer(ANSWER_TIMEOUT))
        if not unblocks and not expected.endswith("deadlock"):
            self.check_waits("has been set free")

    def check_waits(self, what):
        for number, statement in self.waiting.items():
            if not self.sessions[number].is_waiting(0):
                answer = self.sessions[number].answer(ANSWER_TIMEOUT)
                raise AssertionError(f"session {number} {what}: {statement} -> {answer}")

    def check(self, number, expected, answer):
        assert answer is not None, f"no answer within {ANSWER_TIMEOUT} s"
        if expected.startswith("error"):
            assert str(answer.error) == expected.split()[1], f"expected {expected}, got {answer}"
        else:
            assert answer.error is None, f"expected {expected or 'no error'}, got {answer}"
            seen = f"{answer.changed} changed" if answer.rows is None else self.text_of(answer.rows)
            assert expected in ("", seen), f"expected {expected}, got {seen}"
        self.take(number, answer)

    def take(self, number, answer):
        """Keeps what a statement has come to."""
        statement = self.waiting.pop(number)
        # A duplicate key is something that is seen, too.
        if answer.error not in (None, 1062):
            assert answer.error == 1213, f"session {number}: {statement}: {answer}"
            self.open.pop(number, None)
            self.victims.add(number)
        elif statement in ("commit", "rollback"):
            if number in self.open:
                done, first = self.open.pop(number)
                if statement == "commit":
                    self.committed.append((done, first, self.step))
        elif number in self.open:
            done, first = self.open[number]
            done.append((statement, answer))
            self.open[number] = (done, first or self.step)
        else:
            self.committed.append(([(statement, answer)], self.step, self.step))

    def wait_for_deadlock(self, closing):
        """Until one of the waiting statements has failed with 1213, or the last one needs no wait. Who went on because another was
        the victim may hear that first."""
        deadline = time.monotonic() + DEADLOCK_TIMEOUT
        while self.deadlocks == 0 and (closing in self.waiting or self.deadlocks_min and self.waiting):
            assert self.take_next(deadline), f"no deadlock found within {DEADLOCK_TIMEOUT} s"
        assert self.deadlocks > 0 or self.deadlocks_min == 0, "no deadlock: all went well"

    def take_next(self, deadline):
        """Takes the next answer of a waiting statement; whether there was one in time."""
        waiting = {self.sessions[number]: number for number in self.waiting}
        for session in select.select(list(waiting), [], [], max(deadline - time.monotonic(), 0))[0]:
            answer = session.on_readable()
            if answer is not None:
                self.deadlocks += answer.error == 1213
                self.take(waiting[session], answer)
        return time.monotonic() < deadline

    def finish(self):
        """Every session that can commit does, until all have."""
        deadline = time.monotonic() + ANSWER_TIMEOUT
        while self.open or self.waiting:
            self.step += 1
            for number in [number for number in self.open if number not in self.waiting]:
                self.waiting[number] = "commit"
                self.sessions[number].send("commit")
            assert self.take_next(deadline), f"cannot end: {self.waiting}"
        assert self.deadlocks_min <= self.deadlocks <= self.deadlocks_max, f"{self.deadlocks} deadlocks"

    def text_of(self, rows):
        pairs = sorted(f"{self.names.get(id, id)}={value}" for id, value in rows)
        return " ".join(pairs) or "nothing"

    def check_end(self, node, rows):
        """What a node shows in the end; at SERIALIZABLE also that a serial order explains all that was seen."""
        text = self.text_of(rows)
        assert self.final in (None, text), f"node {node} shows {text} in the end, not {self.final}"
        if self.level.sql == "SERIALIZABLE":
            orders = [order for order in itertools.permutations(self.committed) if follows_real_time(order)]
            assert any(self.is_explained_by(order, text) for order in orders), (
                f"no serial order makes what was seen, and {text} on node {node}: "
                + "; ".join(f"[{', '.join(f'{statement} -> {answer}' for statement, answer in done)}]"
                            for done, _, _ in self.committed))

    def is_explained_by(self, order, final):
        """Do these transactions, one after the other, see what was seen and leave what is there?"""
        with sqlite3.connect(":memory:") as database:
            database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, value INTEGER)")
            database.execute(f"INSERT INTO t VALUES ({self.keys['a']}, 10), ({self.keys['b']}, 20)")
            for done, _, _ in order:
                for statement, answer in done:
                    try:
                        cursor = database.execute(statement.removesuffix(" for update"))
                    except sqlite3.IntegrityError:
                        same = answer.error == 1062
                    else:
                        if answer.rows is None:
                            same = answer.error is None and cursor.rowcount == answer.changed
                        else:
                            same = self.text_of(cursor_rows(cursor)) == self.text_of(answer.rows)
                    if not same:
                        return False
            return self.text_of(cursor_rows(database.execute("SELECT * FROM t"))) == final


def cursor_rows(cursor):
    return [[str(value) for value in row] for row in cursor]


def follows_real_time(order):
    """Who had ended before another began comes before it."""
    return not any(later[2] < earlier[1] for earlier, later in itertools.combinations(order, 2))


def run_case(case, level, placement, cluster):
    """Runs a case with sessions of its own; an AssertionError says what was not as expected."""
    if level.sql != "SERIALIZABLE":
        run_script(case, case.weak, level, placement, cluster, Steps.run)
    elif placement.database == "d":
        run_script(case, case.serializable, level, placement, cluster, Steps.run)
    else:
        # With an index more than one way of locking is right, so only the outcome counts: in both orders of steps.
        run_script(case, case.serializable, level, placement, cluster, Steps.run_freely)
        run_script(case, case.weak, level, placement, cluster, Steps.run_freely)


def run_script(case, script, level, placement, cluster, run):
    numbers = sorted({int(number) for number in re.findall(r"^\s*(\d) ", script, re.MULTILINE)})
    sessions = {}
    admins = {}
    try:
        for node in sorted(set(placement.nodes) | {2, 3}):
            admins[node] = connect(cluster, node, database=placement.database)
        admins[2].query("DELETE FROM t")
        admins[2].query(f"INSERT INTO t (id, value) VALUES ({placement.keys[0]}, 10), ({placement.keys[1]}, 20)")
        for number in numbers:
            sessions[number] = connect(cluster, placement.nodes[number - 1], f"session {number}",
                                       placement.database, level)
            sessions[number].query("BEGIN")
        steps = Steps(case, level, placement, sessions)
        run(steps, script)
        for node, admin in admins.items():
            steps.check_end(node, admin.query("SELECT id, value FROM t"))
    finally:
        for session in [*sessions.values(), *admins.values()]:
            session.close()
