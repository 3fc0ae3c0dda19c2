"""All processes end at once, as when the power fails: the cluster starts again with the rows that it had."""

import os
import random
import signal
import subprocess
import threading
import time

from cluster import ByHand, Cluster, is_ours, limit, wait_for
from isolation_client import Session

SESSIONS = 8
# What the death of a node does to transactions that were under way: nothing of them is left, and they are begun again.
ROLLED_BACK = 1213
# What may be gone at the default level: half a second between two global checkpoints, and the syncs, on a machine that is busy.
WINDOW_SECONDS = 2.5
# All write for longer than that before an end: older commits must be there.
WRITTEN_SECONDS = WINDOW_SECONDS + 1.5
# The death of a node is known to all after that.
KNOWN_SECONDS = 3.0
# What each writer has written before all processes are killed.
ROWS_LEAST = 10
ACCOUNTS = 20
AMOUNT = 1000


class Writer(threading.Thread):
    """Writes its rows one after the other, each into two tables in one transaction, and notes when each was acknowledged. Their keys are
    different ones, so most transactions are of two shards."""

    def __init__(self, number, first, path, level):
        super().__init__(daemon=True)
        self.number, self.first, self.path, self.level = number, first, path, level
        self.acknowledged = []
        # What it has ended for.
        self.ended = None
        self.start()

    def run(self):
        try:
            session = Session(self.path, f"writer {self.number}")
            ask(session, f"SET skarv_durability = '{self.level}'")
            row = self.first
            while True:
                answer = self.write(session, row)
                if answer.error is None:
                    self.acknowledged.append((row, time.monotonic()))
                    row += 1
                elif answer.error != ROLLED_BACK:
                    self.ended = answer
                    return
        except (OSError, AssertionError) as error:
            self.ended = error

    def write(self, session, row):
        """The answer to the transaction's end, or to the first of its statements that failed."""
        id = self.number * 1_000_000 + row
        # Those with a commit token end with another request than the others.
        token = [f"SET skarv_commit_token = '{id}-{time.monotonic_ns()}'"] if self.number % 4 == 3 else []
        for statement in (*token, "START TRANSACTION", f"INSERT INTO d.a VALUES ({id}, {row})", f"INSERT INTO d.b VALUES ({-id}, {row})", "COMMIT"):
            answer = ask(session, statement)
            if answer.error is not None:
                break
        return answer


class Teller(threading.Thread):
    """Moves amounts between accounts, on and on."""

    def __init__(self, number, path, level):
        super().__init__(daemon=True)
        self.path, self.level, self.random = path, level, random.Random(number)
        self.moved = 0
        self.start()

    def run(self):
        try:
            session = Session(self.path, "teller")
            ask(session, f"SET skarv_durability = '{self.level}'")
            while True:
                source, target = self.random.sample(range(ACCOUNTS), 2)
                amount = self.random.randint(1, 9)
                statements = ("START TRANSACTION", f"UPDATE d.bank SET amount = amount - {amount} WHERE id = {source}",
                              f"UPDATE d.bank SET amount = amount + {amount} WHERE id = {target}", "COMMIT")
                if all(ask(session, statement).error is None for statement in statements):
                    self.moved += 1
                else:
                    ask(session, "ROLLBACK")
        except (OSError, AssertionError):
            # Its node has been killed.
            return


def ask(session, statement):
    return session.execute(statement)


def kill_all(cluster):
    """SIGKILL for the supervisor and all nodes, as near to one moment as can be. Returns when that began."""
    cluster.note_pids()
    pids = cluster.running()
    assert len(pids) == len(cluster.status()["nodes"]) + 1, pids
    began = time.monotonic()
    kill_those_left(cluster)
    return began


def rows_of(cluster, table, node=2):
    """Those of the writers, by the first table's keys."""
    return sorted((abs(int(id)), int(row)) for id, row in cluster.sql(node, f"SELECT id, n FROM d.{table}"))


def check_left(writers, left, killed_at, level, is_judged):
    """What is left of each writer's rows: the first of them, without a gap; all that was there when it began, and all that was
    acknowledged, but for the last moment at the default level, whose length only the long tier judges. Returns how long before each of the acknowledged was told that is gone, and
    the next row of each writer."""
    lost, next_rows = [], {}
    for writer in writers:
        own = [row for id, row in left if id // 1_000_000 == writer.number]
        assert own == list(range(len(own))), (writer.number, own[:5], len(own))
        next_rows[writer.number] = len(own)
        new, count = len(own) - writer.first, len(writer.acknowledged)
        assert new >= 0, f"{-new} rows of writer {writer.number} are gone that were there before"
        # One more may have been committed without an answer.
        assert new <= count + 1, (writer.number, new, count)
        gone = writer.acknowledged[new:]
        lost += [killed_at - at for _, at in gone]
        if level == "always":
            assert not gone, f"{len(gone)} acknowledged rows of writer {writer.number} are gone"
        elif is_judged:
            check_window(writer, gone, killed_at)
    return lost, next_rows


def check_window(writer, gone, killed_at):
    """Only what was acknowledged in the last moment is gone, and it had written before, and then."""
    times = [at for _, at in writer.acknowledged]
    assert times and times[0] < killed_at - WINDOW_SECONDS < times[-1], (writer.number, writer.ended, killed_at, times[:1], times[-1:])
    for _, at in gone:
        assert killed_at - at < WINDOW_SECONDS, f"what was acknowledged {killed_at - at:.1f} s before is gone"


def up(cluster, *arguments):
    """Starts it again. Returns how many seconds that took."""
    began = time.monotonic()
    cluster.up(*arguments)
    return time.monotonic() - began


def restart_info(cluster, took):
    """What all nodes say of the last cluster restart, which took so many seconds: the same. Returns the first row, by column."""
    columns = [row[0] for row in cluster.sql(2, "DESCRIBE skarv.restart_info")]
    told = [cluster.sql(id, "SELECT * FROM skarv.restart_info ORDER BY node_id") for id in (2, 3)]
    assert told[0] == told[1] and told[0], told
    rows = [dict(zip(columns, row)) for row in told[0]]
    for row in rows:
        assert int(row["LINEAGE_BEFORE"]) < int(row["LINEAGE"]), row
        assert 0 < int(row["LOG_ENTRIES"]) and 0 < int(row["LOG_BYTES"]), row
        steps = ("LOOKED_MS", "WAITED_MS", "LOADED_MS", "WAITED_FOR_OTHERS_MS")
        assert abs(sum(int(row[step]) for step in steps) - int(row["TOTAL_MS"])) <= len(steps), row
        assert 0 < int(row["TOTAL_MS"]) <= took * 1000 and int(row["LOADED_MS"]) <= int(row["TOTAL_MS"]), (row, took)
    return rows[0]


def check_lost(cluster, level, connections, took):
    """What the restart says of what was lost is so, as far as that can be seen. Returns how many transactions it says were lost."""
    info = restart_info(cluster, took)
    count = int(info["LOST_TRANSACTIONS"])
    assert info["NOTHING_LOST"] == ("NO" if count else "NOT KNOWN"), info
    if level == "always":
        # They were on some disk and not on all: each connection can have had one of which it was told nothing.
        assert count <= connections, info
    lost = cluster.sql(2, "SELECT transaction_id, committed_at FROM skarv.lost_transactions")
    assert len(lost) == min(count, 1000), (len(lost), info)
    restored = timestamp(info["RESTORED_UP_TO"])
    for id, at in lost[:3] + lost[-3:]:
        assert at == "NULL" or restored < timestamp(at), (at, info)
        outcome = cluster.sql(3, f"SELECT skarv_transaction_outcome('{id}')")
        assert outcome == [["ROLLED BACK BY RESTART"]], (id, outcome)
    return count


def timestamp(text):
    """Of the sequencer: its epoch and a number."""
    return tuple(int(part) for part in text.split("."))


def kill_again_and_again(environment, level, rounds):
    cluster = environment.cluster("data")
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.a (id BIGINT PRIMARY KEY, n INT, KEY (n)); "
                   "CREATE TABLE d.b (id BIGINT PRIMARY KEY, n INT); CREATE TABLE d.bank (id INT PRIMARY KEY, amount INT)")
    cluster.sql(2, "INSERT INTO d.bank VALUES " + ", ".join(f"({id}, {AMOUNT})" for id in range(ACCOUNTS)))
    first = {number: 0 for number in range(SESSIONS)}
    took, lost, told = [], [], 0
    for _ in range(rounds):
        paths = cluster.sockets()
        writers = [Writer(number, first[number], paths[number % len(paths)], level) for number in first]
        tellers = [Teller(number, path, level) for number, path in enumerate(paths)]
        if environment.long:
            time.sleep(WRITTEN_SECONDS)
        # More than one global checkpoint is made meanwhile, and the next one is not.
        began = time.monotonic()
        wait_for("everybody writes, for a while", lambda: time.monotonic() > began + 1.3 and all(teller.moved for teller in tellers)
                 and all(len(writer.acknowledged) > ROWS_LEAST for writer in writers))
        killed_at = kill_all(cluster)
        for thread in (*writers, *tellers):
            thread.join(limit(30))
        took.append(up(cluster))
        left = rows_of(cluster, "a")
        assert left == rows_of(cluster, "b"), "half a transaction is there"
        assert cluster.sql(3, "SELECT COUNT(*), SUM(amount) FROM d.bank") == [[str(ACCOUNTS), str(ACCOUNTS * AMOUNT)]]
        gone, first = check_left(writers, left, killed_at, level, environment.long)
        lost += gone
        told += check_lost(cluster, level, len(writers) + len(tellers), took[-1])
        for table in ("d.a", "d.b", "d.bank"):
            cluster.desc(table)
    if environment.long and level != "always":
        # What had got into the files of some node behind the last checkpoint is in most rounds much more than nothing.
        assert told > 0, len(lost)
    print(f"    {rounds} times at {level}: {len(left)} rows, {len(lost)} of the acknowledged gone, the oldest {max(lost, default=0):.2f} s before, "
          f"{told} lost by skarv.restart_info, up again in {max(took):.1f} s at most", flush=True)


def test_always_loses_nothing(environment):
    """All processes are killed at once under load, again and again: nothing that was told is gone, and nothing else is there."""
    kill_again_and_again(environment, "always", 20 if environment.long else 1)


def test_default_loses_the_last_moment(environment):
    """The same at the default level: what is gone is the last moment, a clean prefix is left, and it is said."""
    kill_again_and_again(environment, "durable_when_alone", 20 if environment.long else 1)


def test_level_of_the_cluster(environment):
    """What the cluster is configured with is the level of whoever says nothing, and of whoever says DEFAULT."""
    cluster = environment.cluster("data", "--durability", "always")
    session = Session(cluster.sockets()[0], "session")

    def levels(statement):
        for part in statement.split("; "):
            answer = session.execute(part)
            assert answer.error is None, (part, answer)
        return session.execute("SELECT @@skarv_durability, @@GLOBAL.skarv_durability").rows[0]

    configured = ["always", "always"]
    assert levels("DO 1") == configured
    assert levels("SET @before = @@skarv_durability; SET skarv_durability = 'memory'") == ["memory", "always"]
    assert levels("SET skarv_durability = @before") == configured
    assert levels("SET skarv_durability = 'memory'; SET skarv_durability = DEFAULT") == configured
    assert levels("SET GLOBAL skarv_durability = 'memory'") == ["always", "memory"]
    assert levels("SET skarv_durability = DEFAULT") == ["memory", "memory"]
    assert levels("SET GLOBAL skarv_durability = DEFAULT; SET skarv_durability = DEFAULT") == configured


def test_down_loses_nothing(environment):
    """Stopped as planned, in the middle of writes: every acknowledged row is there again, whatever the level."""
    cluster = environment.cluster("data")
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.a (id BIGINT PRIMARY KEY, n INT); "
                   "CREATE TABLE d.b (id BIGINT PRIMARY KEY, n INT)")
    first = {number: 0 for number in range(SESSIONS)}
    for _ in range(3):
        paths = cluster.sockets()
        writers = [Writer(number, first[number], paths[number % len(paths)], "memory") for number in first]
        time.sleep(0.7)
        down = cluster.down()
        assert down.returncode == 0, down
        for writer in writers:
            writer.join(limit(30))
        info = restart_info(cluster, up(cluster))
        assert (info["NOTHING_LOST"], info["LOST_TRANSACTIONS"]) == ("YES", "0"), info
        assert cluster.sql(2, "SELECT * FROM skarv.lost_transactions") == []
        left = rows_of(cluster, "a")
        assert left == rows_of(cluster, "b"), "half a transaction is there"
        for writer in writers:
            own = [row for id, row in left if id // 1_000_000 == writer.number]
            assert own == list(range(len(own))), writer.number
            told = writer.first + len(writer.acknowledged)
            assert told <= len(own), f"{told - len(own)} acknowledged rows of writer {writer.number} are gone"
            first[writer.number] = len(own)


def test_one_after_the_other(environment):
    """Rule R4: one data node dies, writes go on at the survivor alone, and that dies too, at once: nothing that the survivor acknowledged
    is missing."""
    cluster = environment.cluster("data", "--no-restart")
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)")
    cluster.sql(2, "INSERT INTO d.t VALUES (1)")
    for id in (3, 2):
        cluster.note_pids()
        os.kill(cluster.node(id)["pid"], signal.SIGKILL)
        if id == 3:
            # Acknowledged by the survivor, a moment before its end.
            wait_for("the survivor serves", lambda: try_sql(cluster, 2, "INSERT INTO d.t VALUES (2)"))
            for number in range(3, 13):
                cluster.sql(2, f"INSERT INTO d.t VALUES ({number})")
    cluster.down()
    cluster.up()
    found = sorted(int(row[0]) for row in cluster.sql(3, "SELECT id FROM d.t"))
    assert found == list(range(1, 13)), found
    wait_for("both have it", lambda: cluster.desc("d.t"))


class Counter(threading.Thread):
    """Counts its row up, again and again, and notes when each was acknowledged."""

    def __init__(self, path, id):
        super().__init__(daemon=True)
        self.path, self.id = path, id
        self.acknowledged = []
        # The first error, and when it was told.
        self.refused = None
        self.start()

    def run(self):
        try:
            session = Session(self.path, f"counter {self.id}")
            while self.refused is None:
                answer = session.execute(f"UPDATE d.t SET n = n + 1 WHERE id = {self.id}", seconds=limit(60))
                if answer.error is None:
                    self.acknowledged.append(time.monotonic())
                else:
                    self.refused = (answer.error, time.monotonic())
        except (OSError, AssertionError):
            # Its node has been killed, or it is not answered.
            return


def test_a_node_group_is_away(environment):
    """Rule R4: the nodes of one node group end, one after the other: all nodes begin again with the last global checkpoint then, so nobody hears
    before one has it that something is committed, whatever group has its rows. Who writes is told half a minute later that it cannot be."""
    cluster = environment.cluster("data", "--data-nodes", "4", "--no-restart")
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, n INT); CREATE TABLE d.u LIKE d.t")
    cluster.sql(2, "INSERT INTO d.t VALUES " + ", ".join(f"({id}, 0)" for id in range(16)))
    truncating, killer = (Session(cluster.node(3)["socket"]) for _ in range(2))
    [[truncating_id]] = truncating.query("SELECT CONNECTION_ID()")
    counters = [Counter(cluster.node(2 + id % 2)["socket"], id) for id in range(16)]
    time.sleep(1)
    cluster.note_pids()
    for id in (4, 5):
        os.kill(cluster.node(id)["pid"], signal.SIGKILL)
        killed_at = time.monotonic()
        if id == 4:
            # Its partner has its rows, and all sessions continue, except those with a statement under way at its death.
            goes_on = lambda counter: counter.acknowledged and counter.acknowledged[-1] > killed_at + 1
            wait_for("all count", lambda: all(counter.refused or goes_on(counter) for counter in counters))
            left = [counter for counter in counters if not counter.refused]
            assert len(left) >= 8, [counter.refused for counter in counters]
    # What waits for the disks need not wait for ever. Before it is known the process may not quite have ended.
    wait_for("its death is known", lambda: "node 5 is dead" in logs_of(cluster))
    truncating.send("TRUNCATE d.u")
    assert truncating.is_waiting(2), truncating.answer(1)
    killer.query(f"KILL QUERY {truncating_id}")
    truncated = truncating.answer(limit(2))
    assert truncated is not None and truncated.error == 1317, truncated
    wait_for("all are told", lambda: all(counter.refused for counter in left))
    for counter in left:
        error, told_at = counter.refused
        assert error in (ROLLED_BACK, 1297, 50807), error
        assert error == ROLLED_BACK or 4 < told_at - killed_at, (error, told_at - killed_at)
        assert counter.acknowledged[-1] < killed_at + KNOWN_SECONDS, counter.acknowledged[-1] - killed_at
    assert "no global checkpoint has been done for 5 seconds: it waits for " in logs_of(cluster)
    refused = cluster.sql(3, "INSERT INTO d.t VALUES (100, 0)", expect_error=True)
    assert "ERROR 1297" in refused and "no global checkpoint" in refused, refused
    kill_those_left(cluster)
    cluster.up()
    for id, n in cluster.sql(4, "SELECT id, n FROM d.t"):
        counted = len(counters[int(id)].acknowledged)
        assert counted <= int(n) <= counted + 1, f"row {id}: {counted} times acknowledged, {n} left"
    cluster.sql(3, "UPDATE d.t SET n = 0")


def kill_those_left(cluster):
    pids = cluster.running()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    wait_for("all are gone", lambda: not any(is_ours(pid, cluster.dir) for pid in pids))


def try_sql(cluster, node, statement):
    """False if the node does not do it now."""
    command = ["mariadb", "--no-defaults", "--user=root", f"--socket={cluster.node(node)['socket']}", "-e", statement]
    return subprocess.run(command, capture_output=True, text=True, timeout=limit(60)).returncode == 0


def test_a_lost_disk_is_said(environment):
    """Nobody has the rows any more: the cluster does not start with less than it had, and says what is missing; --initial begins anew."""
    cluster = environment.cluster("data")
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1)")
    assert cluster.down().returncode == 0
    for id in (2, 3):
        directory = os.path.join(cluster.dir, f"node{id}.rows")
        os.rename(directory, directory + ".away")
    refused = environment.run("up", "--detach", "--dir", cluster.dir, "--port", 0, "--timeout", 8)
    assert refused.returncode == 1, refused
    why = "the cluster cannot start again yet: the disk of node 2, 3 holds nothing of the rows that the last members of group 0 had"
    assert why in refused.stderr, refused
    for id in (2, 3):
        directory = os.path.join(cluster.dir, f"node{id}.rows")
        subprocess.run(["rm", "-r", directory], check=True)
        os.rename(directory + ".away", directory)
    cluster.up()
    assert cluster.sql(3, "SELECT * FROM d.t") == [["1"]]
    assert cluster.down().returncode == 0
    cluster.up("--initial")
    assert ["d"] not in cluster.sql(2, "SHOW DATABASES")


def test_one_disk_is_enough(environment):
    """One of two data nodes has lost its rows: the other one's disk is enough, and fills it."""
    cluster = environment.cluster("data")
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1), (2), (3)")
    assert cluster.down().returncode == 0
    subprocess.run(["rm", "-r", os.path.join(cluster.dir, "node3.rows")], check=True)
    cluster.up()
    assert cluster.sql(3, "SELECT COUNT(*) FROM d.t") == [["3"]]
    cluster.desc("d.t")


def test_who_does_not_come_is_not_waited_for(environment):
    """One node hangs while the cluster starts again: the other one has all rows and serves, and the supervisor does not stop it when its
    time is over. The one that hung is filled when it goes on. (If it was to load its rows with the other that begins again without it.)"""
    cluster = environment.cluster("data")
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1), (2), (3)")
    assert cluster.down().returncode == 0
    starting = environment.start("up", "--detach", "--dir", cluster.dir, "--port", 0, "--timeout", 40)
    hangs = wait_for("node 3 is there", lambda: node_pid(cluster, 3))
    os.kill(hangs, signal.SIGSTOP)
    try:
        assert starting.wait(limit(60)) == 0, starting.stdout.read()
        said = starting.stdout.read()
        assert "SQL works on every node but node 3, which is looked after" in said, said
        cluster.sql(2, "INSERT INTO d.t VALUES (4)")
    finally:
        os.kill(hangs, signal.SIGCONT)
    wait_for("node 3 serves", lambda: try_sql(cluster, 3, "SELECT 1"))
    assert cluster.sql(3, "SELECT COUNT(*) FROM d.t") == [["4"]]
    cluster.desc("d.t")


def node_pid(cluster, id):
    """Of a cluster that starts; none before its process is there."""
    try:
        pid = cluster.node(id)["pid"]
    except (OSError, ValueError):
        return None
    return pid if pid and is_ours(pid, cluster.dir) else None


def test_moved_and_dropped(environment):
    """Rows are copied into another table, which is acknowledged, and the first one is emptied or dropped: that is durable at once, and the
    copy is not later. Killed right behind it the cluster has the rows in one of them."""
    cluster = environment.cluster("data")
    expected = [[str(id)] for id in range(1, 101)]
    values = ", ".join(f"({id})" for id in range(1, 101))
    cluster.sql(2, f"CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES {values}; CREATE TABLE d.u LIKE d.t; "
                   "CREATE DATABASE x; CREATE TABLE x.v LIKE d.t; CREATE TABLE x.n (n INT PRIMARY KEY)")
    for number, (source, target, end) in enumerate([("d.t", "d.u", "TRUNCATE d.t"), ("d.u", "d.t", "DROP TABLE d.u"), ("d.t", "x.v", "DROP DATABASE d")]):
        time.sleep(0.6)
        # A checkpoint begins behind that; the next one is half a second later.
        cluster.sql(2, f"INSERT INTO x.n VALUES ({number}); DO SLEEP(0.1); INSERT INTO {target} SELECT * FROM {source}; {end}")
        kill_all(cluster)
        cluster.up()
        assert cluster.sql(3, f"SELECT id FROM {target} ORDER BY id") == expected, end


def test_lossy(environment):
    """The last node that had the rows loses its disk: with --lossy, and not without it, the cluster begins with what the other one had
    when it died, whole transactions and all that a global checkpoint had, and says that it has lost the rest. Then it goes on as ever."""
    cluster = environment.cluster("data", "--no-restart")
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.a (id BIGINT PRIMARY KEY, n INT, UNIQUE KEY (n, id)); "
                   "CREATE TABLE d.b (id BIGINT PRIMARY KEY, n INT)")
    paths = cluster.sockets()
    writers = [Writer(number, 0, paths[number % len(paths)], "always") for number in range(SESSIONS)]
    time.sleep(WRITTEN_SECONDS)
    cluster.note_pids()
    os.kill(cluster.node(3)["pid"], signal.SIGKILL)
    killed_at = time.monotonic()
    wait_for("the survivor writes alone", lambda: any(writer.acknowledged and writer.acknowledged[-1][1] > killed_at + 1 for writer in writers))
    kill_those_left(cluster)
    for writer in writers:
        writer.join(limit(30))
    subprocess.run(["rm", "-r", os.path.join(cluster.dir, "node2.rows")], check=True)

    refused = environment.run("up", "--detach", "--dir", cluster.dir, "--port", 0, "--timeout", 12)
    assert refused.returncode == 1, refused
    said = logs_of(cluster)
    assert "or start the voters with --lossy to begin with what node 3 has up to" in said, said[-2000:]

    took = up(cluster, "--lossy")
    left = rows_of(cluster, "a")
    assert left == rows_of(cluster, "b"), "half a transaction is there"
    check_lossy(writers, left, killed_at)
    info = restart_info(cluster, took)
    assert (info["LOSSY"], info["NOTHING_LOST"], info["NODE_ID"]) == ("YES", "NO", "3"), info
    assert "the cluster starts again, as --lossy allows" in logs_of(cluster)
    # The other node has been filled, and both serve.
    for table in ("d.a", "d.b"):
        cluster.desc(table)
    cluster.sql(2, "INSERT INTO d.a VALUES (9000001, -1); INSERT INTO d.b VALUES (9000001, -1)")
    assert cluster.down().returncode == 0
    info = restart_info(cluster, up(cluster))
    assert (info["LOSSY"], info["NOTHING_LOST"]) == ("NO", "YES"), info
    expected = sorted(left + [(9000001, -1)])
    assert rows_of(cluster, "a") == expected and rows_of(cluster, "b") == expected


def check_lossy(writers, left, killed_at):
    """Of each writer the first rows, without a gap: all that was on both disks by a checkpoint that was over for some time when the node
    died, and nothing that was begun after its death."""
    lost = 0
    for writer in writers:
        own = [row for id, row in left if id // 1_000_000 == writer.number]
        assert own == list(range(len(own))), (writer.number, own[:5], len(own))
        there, gone = writer.acknowledged[:len(own)], writer.acknowledged[len(own):]
        lost += len(gone)
        check_window(writer, gone, killed_at)
        for _, at in there:
            assert at < killed_at + 0.5, f"what was acknowledged {at - killed_at:.1f} s after its death is there"
    assert 0 < lost, "the survivor wrote alone"


def logs_of(cluster):
    """All nodes': any voter may lead."""
    return "".join(open(os.path.join(cluster.dir, f"node{id}.log")).read() for id in (1, 2, 3))


def test_who_comes_later_is_filled(environment):
    """The cluster starts again without one of its nodes, which comes when that is done: it hears of the restart, and is filled."""
    cluster = ByHand(environment)
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1), (2), (3)")
    time.sleep(1)  # A global checkpoint is made twice a second.
    for id in cluster.processes:
        cluster.kill(id)
    for id in (1, 2):
        cluster.processes[id] = cluster.start(id)
    for id in (1, 2):
        cluster.wait_ready(id)
    assert cluster.sql(2, "SELECT COUNT(*) FROM d.t").split() == ["3"]
    cluster.restart(3)
    assert cluster.sql(3, "INSERT INTO d.t VALUES (4); SELECT COUNT(*) FROM d.t").split() == ["4"]
    cluster.check_equal("d.t")
