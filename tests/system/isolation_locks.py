"""Locks as a user sees them: waits and their ends, hot rows, savepoints, and who is freed when a session ends or is
killed; the locking reads of statements that keep what they read.
"""

import statistics
import time

from cluster import limit, wait_for
from isolation import cluster_with
from isolation_client import ANSWER_TIMEOUT, drive
from isolation_script import BLOCKS_S, LEVELS, connect, keys_by_node

# From the end of a session or statement to the answer of a waiter for its lock on another node; the median of some.
FREED_S_MAX = 0.1
FREED_S_WORST = 2.0

CITIES = 4079
READ_COMMITTED = next(level for level in LEVELS if level.name == "READ COMMITTED")
REPEATABLE_READ = next(level for level in LEVELS if level.name == "REPEATABLE READ")
SERIALIZABLE = next(level for level in LEVELS if level.name == "SERIALIZABLE")
S_LOCKS = ("FROM performance_schema.data_locks WHERE OBJECT_SCHEMA = 'd' AND OBJECT_NAME = 'city' "
           "AND LOCK_TYPE = 'RECORD' AND LOCK_MODE = 'S,REC_NOT_GAP'")


def timed(session, statement):
    """The answer and the seconds it took."""
    answer = session.execute(statement)
    return answer, answer.at - session.sent_at


def cluster_with_rows(environment):
    """A cluster with table t, and its keys: ten rows of a shard with its primary on node 2, ten of one on node 3."""
    cluster, admin = cluster_with(environment, "t")
    here, there = keys_by_node(cluster, admin, "t", 10)
    admin.query("INSERT INTO t VALUES " + ", ".join(f"({key}, 0)" for key in here + there))
    return cluster, admin, here, there


def test_lock_wait_timeout(environment):
    """Error 1205 ends the statement alone: the transaction stays open, with its locks and what it wrote."""
    cluster, admin, here, there = cluster_with_rows(environment)
    for level in (READ_COMMITTED, REPEATABLE_READ):
        for wanted in (here[0], there[0]):
            admin.query("UPDATE t SET value = 0")
            holder = connect(cluster, 2, "holder", level=level)
            waiter = connect(cluster, 3, "waiter", level=level)
            holder.query("BEGIN")
            holder.query(f"UPDATE t SET value = 1 WHERE id = {wanted}")
            waiter.query("SET SESSION innodb_lock_wait_timeout = 1")
            waiter.query("BEGIN")
            waiter.query(f"UPDATE t SET value = 2 WHERE id = {here[1]}")
            # The rows before the one that cannot be had are undone, those of earlier statements are not.
            answer, seconds = timed(waiter, f"UPDATE t SET value = 3 WHERE id IN ({here[2]}, {there[2]}, {wanted})")
            assert answer.error == 1205 and 0.9 < seconds < limit(5), f"{answer} after {seconds} s"
            rows = waiter.query("SELECT id, value FROM t "
                                f"WHERE id IN ({here[1]}, {here[2]}, {there[2]}, {wanted}) AND value > 0")
            assert rows == [[str(here[1]), "2"]], rows
            admin.query("SET SESSION innodb_lock_wait_timeout = 1")
            admin.expect_error(f"UPDATE t SET value = 4 WHERE id = {here[1]}", 1205)
            waiter.query(f"UPDATE t SET value = 5 WHERE id = {there[1]}")
            waiter.query("COMMIT")
            holder.query("COMMIT")
            rows = admin.query("SELECT id, value FROM t WHERE value > 0")
            expected = [[str(here[1]), "2"], [str(there[1]), "5"], [str(wanted), "1"]]
            assert sorted(rows) == sorted(expected), f"{rows}, not {expected}"
            holder.close()
            waiter.close()
    print("       error 1205 leaves the transaction open, at both levels, with rows of both nodes", flush=True)


def test_warnings_behind_a_wait(environment):
    """A statement that waits for a row tells the warnings of the rows before it, too."""
    cluster, admin, here, _ = cluster_with_rows(environment)
    admin.query("CREATE TABLE short (id INT PRIMARY KEY, text VARCHAR(3))")
    admin.query("INSERT INTO short VALUES " + ", ".join(f"({key}, 'abc')" for key in here))
    holder, waiter = connect(cluster, 2, "holder"), connect(cluster, 3, "waiter")
    waiter.query("SET SESSION sql_mode = ''")
    holder.query("BEGIN")
    holder.query(f"SELECT * FROM short WHERE id = {here[-1]} FOR UPDATE")
    waiter.send(f"UPDATE short SET text = CONCAT(LEFT(text, 2), 'xyz') WHERE id IN ({', '.join(map(str, here))})")
    assert waiter.answer(BLOCKS_S) is None, "it does not wait"
    holder.query("COMMIT")
    assert waiter.answer(ANSWER_TIMEOUT).error is None
    warnings = waiter.query("SHOW WARNINGS")
    assert [code for _, code, _ in warnings] == ["1265"] * len(here), warnings
    assert admin.query("SELECT DISTINCT text FROM short") == [["abx"]]


def test_nowait_skip_locked(environment):
    """NOWAIT gives 3572 at once and leaves the transaction open; SKIP LOCKED leaves out what others have locked."""
    cluster, admin, here, there = cluster_with_rows(environment)
    everything = sorted(here + there)
    for level in (READ_COMMITTED, REPEATABLE_READ):
        holder = connect(cluster, 2, "holder", level=level)
        other = connect(cluster, 3, "other", level=level)
        for strength, wanted in (("UPDATE", "UPDATE"), ("UPDATE", "SHARE"), ("SHARE", "UPDATE")):
            taken = [here[0], here[1], there[0]]
            holder.query("BEGIN")
            holder.query(f"SELECT * FROM t WHERE id IN ({', '.join(map(str, taken))}) FOR {strength}")
            other.query("BEGIN")
            other.query(f"UPDATE t SET value = value + 1 WHERE id = {there[5]}")
            for key in taken:
                answer, seconds = timed(other, f"SELECT * FROM t WHERE id = {key} FOR {wanted} NOWAIT")
                assert answer.error == 3572 and seconds < limit(2), f"{answer} after {seconds} s"
            free = [key for key in everything if key not in taken]
            rows = other.query(f"SELECT id FROM t FOR {wanted} SKIP LOCKED")
            assert sorted(int(id) for [id] in rows) == free, f"{rows}, not {free}"
            # Still the same transaction, whose row is locked for others.
            holder.expect_error(f"SELECT * FROM t WHERE id = {there[5]} FOR SHARE NOWAIT", 3572)
            other.query("ROLLBACK")
            assert holder.query(f"SELECT id FROM t WHERE id = {there[5]} FOR SHARE NOWAIT") == [[str(there[5])]]
            holder.query("COMMIT")
        # Share locks do not exclude one another.
        holder.query("BEGIN")
        holder.query("SELECT * FROM t FOR SHARE")
        assert len(other.query("SELECT * FROM t FOR SHARE NOWAIT")) == len(everything)
        assert len(other.query("SELECT * FROM t FOR SHARE SKIP LOCKED")) == len(everything)
        holder.query("COMMIT")
        # LIMIT locks the first rows of both shards together, and no others.
        for session, places in ((holder, [0]), (other, [1]), (holder, [0, 2, 3, 4]), (other, [1, 5, 6])):
            session.query("BEGIN")
            rows = session.query("SELECT id FROM t WHERE value = 0 ORDER BY id "
                                 f"LIMIT {len(places)} FOR UPDATE SKIP LOCKED")
            assert [int(id) for [id] in rows] == [everything[place] for place in places], f"{rows}, not {places}"
        locks = admin.query("SELECT COUNT(*) FROM performance_schema.data_locks WHERE LOCK_TYPE = 'RECORD'")
        assert locks == [["7"]], f"{locks} locks for the seven rows that were returned"
        holder.query("ROLLBACK")
        other.query("ROLLBACK")
        holder.close()
        other.close()
    share_jobs(cluster, admin)
    print("       NOWAIT gives 3572, SKIP LOCKED skips, at both levels, with rows of both nodes", flush=True)


def share_jobs(cluster, admin):
    """SKIP LOCKED as it is used: workers of both nodes take jobs from a table; each job is done once."""
    jobs = 300
    admin.query("CREATE TABLE jobs (id INT NOT NULL PRIMARY KEY, done INT NOT NULL)")
    admin.query("INSERT INTO jobs VALUES " + ", ".join(f"({id}, 0)" for id in range(jobs)))
    done = []

    def worker():
        idle = 0
        while idle < 3:
            yield "BEGIN"
            answer = yield "SELECT id FROM jobs WHERE done = 0 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"
            assert answer.error is None, answer
            for [id] in answer.rows:
                changed = yield f"UPDATE jobs SET done = done + 1 WHERE id = {id}"
                assert changed.error is None and changed.changed == 1, changed
                done.append(id)
            idle = 0 if answer.rows else idle + 1
            committed = yield "COMMIT"
            assert committed.error is None, committed
    sessions = [connect(cluster, 2 + number % 2, f"worker {number}", level=READ_COMMITTED) for number in range(8)]
    drive([(session, worker()) for session in sessions], 60)
    assert len(done) == jobs and len(set(done)) == jobs, f"{len(done)} jobs done, {len(set(done))} of {jobs} different"
    assert admin.query("SELECT COUNT(*), MIN(done), MAX(done) FROM jobs") == [[str(jobs), "1", "1"]]
    for session in sessions:
        session.close()


def test_hot_row(environment):
    """32 sessions of both nodes increment one row: its value is the number of acknowledged increments."""
    cluster, admin, here, there = cluster_with_rows(environment)
    seconds = 60 if environment.long else 5
    for key, where in ((here[0], "primary on node 2"), (there[0], "primary on node 3")):
        acknowledged = 0
        sessions = [connect(cluster, 2 + number % 2, f"session {number}") for number in range(32)]
        started = time.monotonic()

        def increments():
            nonlocal acknowledged
            while time.monotonic() < started + seconds / 2:
                answer = yield f"UPDATE t SET value = value + 1 WHERE id = {key}"
                assert answer.error is None and answer.changed == 1, answer
                acknowledged += 1
        drive([(session, increments()) for session in sessions], seconds + ANSWER_TIMEOUT)
        rate = acknowledged / (time.monotonic() - started)
        for session in sessions:
            session.close()
        print(f"       hot row, 32 sessions, {where}: {rate:.0f} commits/s", flush=True)
        assert acknowledged > 0
        for node in (2, 3):
            value = cluster.sql(node, f"SELECT value FROM d.t WHERE id = {key}")
            assert value == [[str(acknowledged)]], f"node {node} shows {value}, {acknowledged} were acknowledged"


def test_savepoints(environment):
    """SAVEPOINT, ROLLBACK TO, RELEASE: what is undone, what is kept, which names are known; over both nodes' rows."""
    cluster, admin, here, there = cluster_with_rows(environment)
    a, b, c = here[0], there[0], here[1]
    session = connect(cluster, 2, "session")

    def values():
        return " ".join(session.query(f"SELECT value FROM t WHERE id = {key}")[0][0] for key in (a, b, c))

    def change(value, key):
        session.query(f"UPDATE t SET value = {value} WHERE id = {key}")
    session.query("BEGIN")
    change(1, a)
    session.query("SAVEPOINT one")
    change(2, a)
    change(2, b)
    session.query("SAVEPOINT two")
    change(3, a)
    session.query("INSERT INTO t VALUES (100000, 1)")
    session.query(f"DELETE FROM t WHERE id = {c}")
    session.query("ROLLBACK TO SAVEPOINT two")
    assert values() == "2 2 0", values()
    assert session.query("SELECT * FROM t WHERE id = 100000") == []
    # It can be rolled back to again; a name in use moves; what came after is gone.
    change(4, c)
    session.query("ROLLBACK TO two")
    assert values() == "2 2 0", values()
    session.query("ROLLBACK TO one")
    assert values() == "1 0 0", values()
    session.expect_error("ROLLBACK TO two", 1305)
    change(5, b)
    session.query("SAVEPOINT ONE")
    change(6, b)
    session.query("ROLLBACK TO one")
    assert values() == "1 5 0", values()
    session.query("RELEASE SAVEPOINT one")
    session.expect_error("ROLLBACK TO one", 1305)
    session.expect_error("RELEASE SAVEPOINT one", 1305)
    # A failed statement is undone alone, whatever savepoints there are.
    session.query("SAVEPOINT three")
    change(7, c)
    session.expect_error(f"INSERT INTO t VALUES (100001, 1), ({a}, 1)", 1062)
    assert values() == "1 5 7", values()
    session.query("ROLLBACK TO three")
    session.query("COMMIT")
    session.expect_error("ROLLBACK TO three", 1305)
    for node in (2, 3):
        rows = cluster.sql(node, "SELECT id, value FROM d.t WHERE value > 0")
        assert sorted(rows) == sorted([[str(a), "1"], [str(b), "5"]]), f"node {node}: {rows}"
    cluster.desc("d.t")
    print("       savepoints: as documented", flush=True)


def freed(environment, what, seconds):
    middle = statistics.median(seconds)
    print(f"       {what} frees locks after {1000 * middle:.1f} ms (worst {1000 * max(seconds):.1f})", flush=True)
    environment.figure(f"median until {what} has freed its locks", middle, "s", most=FREED_S_MAX)
    environment.figure(f"longest until {what} has freed its locks", max(seconds), "s", most=FREED_S_WORST)


def waits(session, statement):
    session.send(statement)
    if not session.is_waiting(BLOCKS_S):
        raise AssertionError(f"{session.name} does not wait: {statement}: {session.answer(ANSWER_TIMEOUT)}")


def goes_on(session, since):
    """Seconds until a waiting statement goes well."""
    answer = session.answer(ANSWER_TIMEOUT)
    assert answer is not None, f"{session.name} still waits: {session.statement}"
    assert answer.error is None and answer.changed == 1, f"{session.name}: {answer}"
    return answer.at - since


def test_disconnect(environment):
    """A connection that ends, with a word or without, frees its locks for those who wait on the other node."""
    cluster, admin, here, there = cluster_with_rows(environment)
    for polite in (False, True):
        seconds = []
        for turn in range(20 if environment.long else 3):
            key = (here, there)[turn % 2][0]
            holder = connect(cluster, 2 + turn // 2 % 2, "holder")
            waiter = connect(cluster, 3 - turn // 2 % 2, "waiter")
            holder.query("BEGIN")
            holder.query(f"UPDATE t SET value = value + 1 WHERE id IN ({here[0]}, {there[0]})")
            waits(waiter, f"UPDATE t SET value = value + 10 WHERE id = {key}")
            since = time.monotonic()
            if polite:
                holder.socket.sendall(b"\x01\0\0\0\x01")
            holder.close()
            seconds.append(goes_on(waiter, since))
            waiter.close()
        freed(environment, f"a connection closed {'by COM_QUIT' if polite else 'without a word'}", seconds)
    # All that holders did is undone.
    assert {int(value) % 10 for [value] in admin.query("SELECT value FROM t")} == {0}


def test_kill(environment):
    """KILL CONNECTION rolls back and frees; KILL QUERY ends the statement, and frees when it is its own transaction."""
    cluster, admin, here, there = cluster_with_rows(environment)
    killers = {node: connect(cluster, node, f"killer on node {node}") for node in (2, 3)}
    rounds = 20 if environment.long else 3
    by_connection, by_query, to_victim = [], [], []
    for turn in range(rounds):
        key = (here, there)[turn % 2][0]
        node = 2 + turn // 2 % 2
        holder, waiter = connect(cluster, node, "holder"), connect(cluster, 5 - node, "waiter")
        [[id]] = holder.query("SELECT CONNECTION_ID()")
        holder.query("BEGIN")
        holder.query(f"UPDATE t SET value = value + 1 WHERE id IN ({here[0]}, {there[0]})")
        waits(waiter, f"UPDATE t SET value = value + 10 WHERE id = {key}")
        since = time.monotonic()
        killers[node].query(f"KILL CONNECTION {id}")
        by_connection.append(goes_on(waiter, since))
        try:
            answer = holder.execute("SELECT 1")
        except OSError:
            answer = None
        assert answer is None or answer.error in (2013, 1053, 1317, 4031), f"a killed connection answers: {answer}"
        holder.close()
        waiter.close()
    freed(environment, "KILL CONNECTION", by_connection)
    assert {int(value) % 10 for [value] in admin.query("SELECT value FROM t")} == {0}
    for turn in range(rounds):
        # The victim has the first row and waits for the second; the waiter for the first continues.
        rows = sorted((here, there)[turn % 2][:2])
        node = 2 + turn // 2 % 2
        holder, victim = connect(cluster, 2, "holder"), connect(cluster, node, "victim")
        waiter = connect(cluster, 5 - node, "waiter")
        [[id]] = victim.query("SELECT CONNECTION_ID()")
        holder.query("BEGIN")
        holder.query(f"UPDATE t SET value = value + 1 WHERE id = {rows[1]}")
        waits(victim, f"UPDATE t SET value = value + 1 WHERE id IN ({rows[0]}, {rows[1]})")
        waits(waiter, f"UPDATE t SET value = value + 10 WHERE id = {rows[0]}")
        since = time.monotonic()
        killers[node].query(f"KILL QUERY {id}")
        answer = victim.answer(ANSWER_TIMEOUT)
        assert answer is not None and answer.error == 1317, f"the victim of KILL QUERY: {answer}"
        to_victim.append(answer.at - since)
        by_query.append(goes_on(waiter, since))
        # The victim's connection lives, and is in no transaction.
        assert victim.query("SELECT 1") == [["1"]]
        holder.query("ROLLBACK")
        # In a transaction KILL QUERY ends the statement, and no more.
        victim.query("BEGIN")
        victim.query(f"UPDATE t SET value = value + 100 WHERE id = {rows[0]}")
        holder.query("BEGIN")
        holder.query(f"UPDATE t SET value = value + 1 WHERE id = {rows[1]}")
        waits(victim, f"UPDATE t SET value = value + 1 WHERE id = {rows[1]}")
        killers[node].query(f"KILL QUERY {id}")
        answer = victim.answer(ANSWER_TIMEOUT)
        assert answer is not None and answer.error == 1317, f"the victim of KILL QUERY in a transaction: {answer}"
        waits(waiter, f"UPDATE t SET value = value + 10 WHERE id = {rows[0]}")
        victim.query("COMMIT")
        goes_on(waiter, since)
        holder.query("ROLLBACK")
        for session in (holder, victim, waiter):
            session.close()
    freed(environment, "KILL QUERY of an autocommit statement", by_query)
    print(f"       KILL QUERY answers its victim after {1000 * statistics.median(to_victim):.1f} ms", flush=True)
    values = [int(value) for [value] in admin.query("SELECT value FROM t")]
    assert {value % 10 for value in values} == {0}, values
    assert sum(value // 100 for value in values) >= rounds, f"{values}: COMMIT after KILL QUERY wrote less"


def thread_of(session):
    [[id]] = session.query("SELECT PS_CURRENT_THREAD_ID()")
    return id


def test_seeing_locks(environment):
    """Locks, waits, transactions and sessions of both nodes, seen from either."""
    cluster, admin, here, there = cluster_with_rows(environment)
    watchers = [connect(cluster, node, f"watcher of node {node}") for node in (2, 3)]
    holder, waiter = connect(cluster, 2, "holder"), connect(cluster, 3, "waiter")
    holding, waiting = thread_of(holder), thread_of(waiter)
    assert len({holding, waiting, *map(thread_of, watchers)}) == 4, "a thread of one node is one of the other, too"
    holder.query("BEGIN")
    holder.query(f"UPDATE t SET value = 1 WHERE id IN ({here[0]}, {there[0]})")
    holder.query(f"SELECT * FROM t WHERE id = {there[1]} FOR SHARE")
    waiter.query("BEGIN")
    update = f"UPDATE t SET value = 2 WHERE id = {there[0]}"
    waits(waiter, update)
    expected = sorted([
        [holding, "TABLE", "IX", "GRANTED", None], [waiting, "TABLE", "IX", "GRANTED", None],
        [holding, "RECORD", "X,REC_NOT_GAP", "GRANTED", str(here[0])],
        [holding, "RECORD", "X,REC_NOT_GAP", "GRANTED", str(there[0])],
        [holding, "RECORD", "S,REC_NOT_GAP", "GRANTED", str(there[1])],
        [waiting, "RECORD", "X,REC_NOT_GAP", "WAITING", str(there[0])]], key=str)
    for watcher in watchers:
        rows = watcher.query("SELECT THREAD_ID, LOCK_TYPE, LOCK_MODE, LOCK_STATUS, LOCK_DATA "
                             "FROM performance_schema.data_locks WHERE OBJECT_SCHEMA = 'd' AND OBJECT_NAME = 't'")
        assert sorted(rows, key=str) == expected, f"{watcher.name}: {rows}"
        [[requesting, asked, blocking, held]] = watcher.query(
            "SELECT REQUESTING_THREAD_ID, REQUESTING_ENGINE_LOCK_ID, BLOCKING_THREAD_ID, BLOCKING_ENGINE_LOCK_ID "
            "FROM performance_schema.data_lock_waits")
        assert (requesting, blocking) == (waiting, holding), f"{watcher.name}: {requesting} waits for {blocking}"
        for id, status in ((asked, "WAITING"), (held, "GRANTED")):
            rows = watcher.query("SELECT LOCK_STATUS, LOCK_DATA FROM performance_schema.data_locks "
                                 f"WHERE ENGINE_LOCK_ID = '{id}'")
            assert rows == [[status, str(there[0])]], f"{watcher.name}: {id} is {rows}"
        rows = watcher.query("SELECT trx_mysql_thread_id, trx_state, trx_rows_locked, trx_rows_modified, trx_query "
                             "FROM information_schema.INNODB_TRX ORDER BY trx_state DESC")
        assert rows == [[holding, "RUNNING", "3", "2", None], [waiting, "LOCK WAIT", "0", "0", update]], rows
        states = {id: (state, info) for id, state, info in watcher.query(
            "SELECT ID, STATE, INFO FROM information_schema.PROCESSLIST")}
        assert states[holding] == ("", None), states
        assert states[waiting] == ("waiting for row lock", update), states
        assert {holding, waiting} < {row[0] for row in watcher.query("SHOW PROCESSLIST")}
    holder.query("COMMIT")
    assert waiter.answer(ANSWER_TIMEOUT).changed == 1
    waiter.query("ROLLBACK")
    for watcher in watchers:
        assert watcher.query("SELECT COUNT(*) FROM performance_schema.data_locks") == [["0"]]
    print("       locks, waits, transactions and sessions of both nodes are seen from either", flush=True)


def test_many_locks(environment):
    """More locks than one piece of a report has are all counted, and looking at them makes nobody wait long."""
    cluster, admin = cluster_with(environment)
    create_city(cluster, admin)
    reader, watcher = connect(cluster, 2, "reader"), connect(cluster, 3, "watcher")
    reader.query("BEGIN")
    reader.query("SELECT * FROM city FOR SHARE")
    answer, seconds = timed(watcher, f"SELECT COUNT(*) {S_LOCKS}")
    assert answer.rows == [[str(CITIES)]], answer
    assert watcher.query("SHOW WARNINGS") == []
    print(f"       {CITIES} S locks of both nodes are counted in {1000 * seconds:.0f} ms", flush=True)
    reader.query("COMMIT")
    expect_locks_gone("the statement", watcher)
    if not environment.long:
        return
    # Of more than 100,000 locks of a node the rest is counted, and said to be missing.
    while int(admin.query("SELECT COUNT(*) FROM city")[0][0]) < 260_000:
        admin.query("INSERT INTO city (Name) SELECT Name FROM city LIMIT 40000", 60)
    [[rows]] = admin.query("SELECT COUNT(*) FROM city")
    reader.query("BEGIN")
    reader.query("SELECT COUNT(*) FROM city FOR SHARE", 60)
    answer = watcher.execute(f"SELECT COUNT(*) {S_LOCKS}", 120)
    seconds = answer.at - watcher.sent_at
    told = int(answer.rows[0][0])
    [[level, code, message]] = watcher.query("SHOW WARNINGS")
    assert (level, code) == ("Warning", "1105") and int(message.split()[0]) + told == int(rows), f"{told}: {message}"
    assert 200_000 <= told < 210_000, told
    print(f"       of {rows} S locks {told} are told in {1000 * seconds:.0f} ms: {message}", flush=True)
    reader.query("COMMIT")


def test_deadlock_record(environment):
    """The last deadlocks, within a shard and over both nodes: who, with which statement, for which row, and the victim."""
    cluster, admin, here, there = cluster_with_rows(environment)
    watchers = [connect(cluster, node, f"watcher of node {node}") for node in (2, 3)]
    for count, (first, second) in enumerate(((there[0], there[1]), (here[0], there[0])), 1):
        older, younger = connect(cluster, 2, "older"), connect(cluster, 3, "younger")
        older.query("BEGIN")
        older.query(f"UPDATE t SET value = 1 WHERE id = {first}")
        younger.query("BEGIN")
        younger.query(f"UPDATE t SET value = 2 WHERE id = {second}")
        statements = {older: f"UPDATE t SET value = 3 WHERE id = {second}",
                      younger: f"UPDATE t SET value = 4 WHERE id = {first}"}
        waits(older, statements[older])
        younger.send(statements[younger])
        answers = {session: session.answer(ANSWER_TIMEOUT) for session in statements}
        assert sorted(str(answer.error) for answer in answers.values()) == ["1213", "None"], answers
        # Either victim is right: the clocks of two nodes order the ages.
        expected = sorted([[thread_of(session), statements[session], "YES" if answers[session].error else "NO",
                            "t", "PRIMARY", "X,REC_NOT_GAP", str(key)]
                           for session, key in ((older, second), (younger, first))])
        for watcher in watchers:
            def newest():
                return sorted(watcher.query(
                    "SELECT THREAD_ID, QUERY, IS_VICTIM, OBJECT_NAME, INDEX_NAME, LOCK_MODE, LOCK_DATA "
                    "FROM performance_schema.skarv_deadlocks ORDER BY DETECTED DESC LIMIT 2"), key=str)
            wait_for("the deadlock is on record", lambda: newest() == expected, 5)
            assert watcher.query("SELECT COUNT(DISTINCT DEADLOCK_ID) FROM performance_schema.skarv_deadlocks") == [
                [str(count)]]
            for engine in ("SKARV", "INNODB"):
                [[kind, name, status]] = watcher.query(f"SHOW ENGINE {engine} STATUS")
                for part in ("LATEST DETECTED DEADLOCK", *statements.values(), "*** WE ROLL BACK TRANSACTION",
                             "index PRIMARY of table `d`.`t` lock_mode X,REC_NOT_GAP", "Oldest snapshot", "node 3: state"):
                    assert part in status, f"{part} is not in {status}"
        for session in statements:
            session.query("ROLLBACK")
            session.close()
    print("       deadlocks within a shard and over both nodes are on record, seen from either", flush=True)


def create_city(cluster, admin):
    """A table of 4,079 rows, as MySQL's sample database has one."""
    admin.query("CREATE TABLE city (ID INT NOT NULL AUTO_INCREMENT PRIMARY KEY, Name CHAR(35) NOT NULL DEFAULT '', "
                "CountryCode CHAR(3) NOT NULL DEFAULT '', District CHAR(20) NOT NULL DEFAULT '', "
                "Population INT NOT NULL DEFAULT 0, KEY CountryCode (CountryCode))")
    for first in range(1, CITIES + 1, 500):
        rows = [f"({id}, 'City {id}', 'C{chr(65 + id % 26)}Y', 'District {id % 90}', {1000 + id * 37 % 900_000})"
                for id in range(first, min(first + 500, CITIES + 1))]
        admin.query("INSERT INTO city VALUES " + ", ".join(rows))
    assert admin.query("SELECT COUNT(*) FROM city") == [[str(CITIES)]]


def left_out(session):
    """How many rows of city SKIP LOCKED leaves out."""
    return CITIES - len(session.query("SELECT ID FROM city FOR UPDATE SKIP LOCKED"))


def s_locks(session):
    """The S locks of others on city as data_locks counts them, while they grow: no fewer than rows that are left out."""
    locked = left_out(session)
    [[count]] = session.query(f"SELECT COUNT(*) {S_LOCKS}")
    # The reader has gone on in between.
    assert int(count) >= locked, f"{count} S locks in data_locks, but {locked} rows that are locked"
    return int(count)


def no_s_locks(session):
    """No S lock of others on city: none in data_locks and no row left out. They may be going just now, so that the two
    are not compared: who holds many gives them up in steps, the last a moment after its COMMIT is answered."""
    return session.query(f"SELECT COUNT(*) {S_LOCKS}") == [["0"]] and left_out(session) == 0


def expect_locks_gone(what, watcher):
    wait_for(f"the locks of {what} are gone", lambda: no_s_locks(watcher), 5)


def watchers_of(cluster):
    watchers = [connect(cluster, node, f"watcher of node {node}") for node in (2, 3)]
    for watcher in watchers:
        watcher.query("SET SESSION innodb_lock_wait_timeout = 2")
    return watchers


def update_city(watcher, key):
    return timed(watcher, f"UPDATE city SET Population = Population + 1 WHERE ID = {key}")


def watch_s_locks_grow(what, watchers):
    """While a statement sleeps over each row: its S locks grow, whichever node looks, and who writes a row that has been
    read waits in vain; nobody else waits for the sleeper."""
    counts = []
    deadline = time.monotonic() + limit(15)
    while (len(set(counts)) < 5 or counts[-1] == 0) and time.monotonic() < deadline:
        time.sleep(0.2)
        counts.append(s_locks(watchers[len(counts) % 2]))
    print(f"       {what}: S locks seen: {counts}", flush=True)
    assert counts == sorted(counts) and len(set(counts)) >= 5, f"{what}: S locks do not grow: {counts}"
    assert counts[-1] < CITIES // 2, f"{what}: rows are locked long before they are read: {counts}"
    for watcher in watchers:
        # Rows are read in the order of the primary key.
        answer, seconds = update_city(watcher, 1)
        assert answer.error == 1205 and 1.9 < seconds < limit(6), f"{what}: {answer} after {seconds} s"
        answer, seconds = update_city(watcher, CITIES)
        assert answer.changed == 1 and seconds < limit(1.5), f"{what}: a row not read yet: {answer} after {seconds} s"
        assert watcher.query("SHOW TABLES LIKE 'copy'") == [], f"{what}: the table is seen before it has its rows"


def watch_no_s_locks(what, reader, watchers):
    """While a statement sleeps over each row at READ COMMITTED: no S lock, no wait."""
    for turn in range(8):
        time.sleep(0.2)
        assert no_s_locks(watchers[turn % 2]), f"{what}: S locks"
        answer, seconds = update_city(watchers[turn % 2], 1 + turn * 500)
        assert answer.changed == 1 and seconds < limit(1.5), f"{what}: {answer} after {seconds} s"
    assert reader.is_waiting(0), f"{what} has ended: {reader.answer(1)}"
    print(f"       {what}: no S lock, no wait", flush=True)


def kill_query(killer, id, victim):
    """KILL QUERY of a statement that sleeps; the seconds until it has ended."""
    since = time.monotonic()
    killer.query(f"KILL QUERY {id}")
    answer = victim.answer(ANSWER_TIMEOUT)
    assert answer is not None and answer.error == 1317, f"{victim.name}, killed: {answer}"
    return answer.at - since


def test_aggregates_of_keys(environment):
    """What is counted by its keys is locked like what is counted by a scan, where the statement locks."""
    cluster, admin, here, there = cluster_with_rows(environment)
    admin.query("CREATE TABLE counts (count INT)")
    waiter = connect(cluster, 3, "waiter")
    waiter.query("SET SESSION innodb_lock_wait_timeout = 1")
    count = f"SELECT COUNT(*) FROM t WHERE id IN ({here[0]}, {there[0]})"
    for level, statement, locks in (
        (REPEATABLE_READ, f"INSERT INTO counts {count}", True),
        (READ_COMMITTED, f"INSERT INTO counts {count}", False),
        (REPEATABLE_READ, f"SET @v = ({count})", True),
        (READ_COMMITTED, f"SET @v = ({count})", False),
        (SERIALIZABLE, count, True),
        (REPEATABLE_READ, count, False),
    ):
        reader = connect(cluster, 2, "reader", level=level)
        reader.query("BEGIN")
        reader.query(statement)
        for key in (here[0], there[0]):
            answer = waiter.execute(f"UPDATE t SET value = value + 1 WHERE id = {key}")
            assert answer.error == 1205 if locks else answer.changed == 1, f"{statement} at {level.name}: {answer}"
        assert waiter.execute(f"UPDATE t SET value = value + 1 WHERE id = {here[1]}").changed == 1
        reader.close()
    print("       aggregates of rows found by keys: locked as by scans", flush=True)


def test_kill_sleep(environment):
    """KILL QUERY ends SLEEP() at once, not when it looks around next."""
    cluster, _ = cluster_with(environment)
    seconds = []
    for turn in range(20 if environment.long else 8):
        node = 2 + turn % 2
        victim, killer = connect(cluster, node, "victim"), connect(cluster, node, "killer")
        [[id]] = victim.query("SELECT CONNECTION_ID()")
        victim.send("SELECT SLEEP(30)")
        # Not in step with anything the server does regularly.
        assert victim.is_waiting(0.03 + 0.041 * turn), "SLEEP(30) has ended"
        seconds.append(kill_query(killer, id, victim))
        victim.close()
        killer.close()
    middle = statistics.median(seconds)
    print(f"       KILL QUERY ends SLEEP(30) after {1000 * middle:.1f} ms (worst {1000 * max(seconds):.1f})", flush=True)
    environment.figure("median until KILL QUERY has ended SLEEP(30)", middle, "s", most=FREED_S_MAX / 2)


def test_city_create_select(environment):
    """CREATE TABLE ... SELECT locks what it reads, row by row, from REPEATABLE READ on; nothing at READ COMMITTED."""
    cluster, admin = cluster_with(environment)
    create_city(cluster, admin)
    watchers = watchers_of(cluster)
    statement = "CREATE TABLE copy SELECT * FROM city WHERE SLEEP(0.01) = 0"
    killed = []
    for level in (REPEATABLE_READ, SERIALIZABLE, READ_COMMITTED):
        what = f"city, CREATE TABLE ... SELECT at {level.name}"
        reader = connect(cluster, 2, "reader", level=level)
        [[id]] = reader.query("SELECT CONNECTION_ID()")
        reader.send(statement)
        if level is READ_COMMITTED:
            watch_no_s_locks(what, reader, watchers)
        else:
            watch_s_locks_grow(what, watchers)
        if environment.long:
            answer = reader.answer(300)
            assert answer is not None and answer.changed == CITIES, f"{what}: {answer}"
            for watcher in watchers:
                assert watcher.query("SELECT COUNT(*) FROM copy") == [[str(CITIES)]]
            admin.query("DROP TABLE copy")
            reader.send(statement)
            assert reader.is_waiting(0.3), f"{what} has ended: {reader.answer(1)}"
        killed.append(kill_query(watchers[0], id, reader))
        for watcher in watchers:
            assert watcher.query("SHOW TABLES LIKE 'copy'") == [], f"{what}: a killed one leaves its table"
            expect_locks_gone(f"a killed {what}", watcher)
            assert update_city(watcher, 1)[0].changed == 1
        # The whole of a small one.
        reader.query("CREATE TABLE copy SELECT * FROM city WHERE ID <= 50 AND SLEEP(0.001) = 0")
        for watcher in watchers:
            assert watcher.query("SELECT COUNT(*), MIN(ID), MAX(ID) FROM copy") == [["50", "1", "50"]]
            expect_locks_gone("the statement", watcher)
        reader.query("DROP TABLE copy")
        reader.close()
    freed(environment, "KILL QUERY of a CREATE TABLE ... SELECT that sleeps", killed)


def test_create_select_fails(environment):
    """A CREATE TABLE ... SELECT that fails leaves neither table nor rows nor locks; one whose source is altered ends."""
    cluster, admin = cluster_with(environment)
    create_city(cluster, admin)
    watchers = watchers_of(cluster)

    def check(what):
        for watcher in watchers:
            tables = watcher.query("SHOW TABLES")
            assert tables == [["city"]], f"{what} leaves {tables}"
            expect_locks_gone(what, watcher)

    # A lock it cannot have in time.
    holder = connect(cluster, 3, "holder")
    holder.query("BEGIN")
    holder.query("UPDATE city SET Name = 'held' WHERE ID = 4000")
    reader = connect(cluster, 2, "reader")
    reader.query("SET SESSION innodb_lock_wait_timeout = 1")
    reader.expect_error("CREATE TABLE copy SELECT * FROM city", 1205)
    holder.query("ROLLBACK")
    check("error 1205")
    # A taken key, behind thousands of rows.
    reader.expect_error("CREATE TABLE copy (PRIMARY KEY (Twice)) SELECT IF(ID = 4000, 1, ID) AS Twice FROM city", 1062)
    check("error 1062")
    # A connection that ends, and one that is killed.
    for end in ("closed", "killed"):
        reader = connect(cluster, 2, "reader")
        [[id]] = reader.query("SELECT CONNECTION_ID()")
        reader.send("CREATE TABLE copy SELECT * FROM city WHERE SLEEP(0.01) = 0")
        wait_for("rows are locked", lambda: s_locks(watchers[0]) > 0, 10)
        if end == "killed":
            watchers[0].query(f"KILL CONNECTION {id}")
        reader.close()
        check(f"a connection that was {end}")
    # Somebody takes the name meanwhile.
    reader = connect(cluster, 2, "reader")
    reader.send("CREATE TABLE copy SELECT * FROM city WHERE ID <= 100 AND SLEEP(0.01) = 0")
    watchers[1].query("CREATE TABLE copy (id INT PRIMARY KEY)")
    answer = reader.answer(ANSWER_TIMEOUT)
    assert answer is not None and answer.error == 1050, f"the name is taken: {answer}"
    assert watchers[0].query("SELECT COUNT(*) FROM copy") == [["0"]]
    admin.query("DROP TABLE copy")
    check("error 1050")
    # The source is altered meanwhile: that waits for its reader, and not the reader for that.
    reader.send("CREATE TABLE copy SELECT * FROM city WHERE ID <= 100 AND SLEEP(0.01) = 0")
    wait_for("rows are locked", lambda: s_locks(watchers[0]) > 0, 10)
    watchers[1].send("ALTER TABLE city ADD KEY by_name (Name)")
    answer = reader.answer(ANSWER_TIMEOUT)
    assert answer is not None and answer.changed == 100, f"the source is altered: {answer}"
    answer = watchers[1].answer(ANSWER_TIMEOUT)
    assert answer is not None and answer.error is None, f"ALTER TABLE of the source: {answer}"
    assert watchers[1].query("SELECT COUNT(*) FROM copy") == [["100"]]
    print("       CREATE TABLE ... SELECT that fails leaves nothing: errors 1205, 1062, 1050, disconnect, KILL", flush=True)


def test_city_set_variable(environment):
    """SET @v = (SELECT COUNT(*) ...) locks what it reads, from REPEATABLE READ on, until COMMIT; nothing at READ
    COMMITTED; SELECT ... INTO @v is a plain SELECT."""
    cluster, admin = cluster_with(environment)
    create_city(cluster, admin)
    watchers = watchers_of(cluster)
    killed = []
    for level in (REPEATABLE_READ, SERIALIZABLE, READ_COMMITTED):
        what = f"city, SET @v = (SELECT COUNT(*) ...) at {level.name}"
        reader = connect(cluster, 2, "reader", level=level)
        [[id]] = reader.query("SELECT CONNECTION_ID()")
        reader.query("BEGIN")
        reader.query("SET @v = (SELECT COUNT(*) FROM city)")
        assert reader.query("SELECT @v") == [[str(CITIES)]]
        count = s_locks(watchers[1])
        answer, seconds = update_city(watchers[1], 2000)
        print(f"       {what}: {count} S locks, an UPDATE: {answer}", flush=True)
        if level is READ_COMMITTED:
            assert count == 0, f"{what}: {count} S locks"
            assert answer.changed == 1 and seconds < limit(1.5), f"{what}: {answer} after {seconds} s"
        else:
            assert count == CITIES, f"{what}: {count} S locks"
            assert answer.error == 1205 and 1.9 < seconds < limit(6), f"{what}: {answer} after {seconds} s"
        reader.query("COMMIT")
        expect_locks_gone(what, watchers[1])
        # At SERIALIZABLE every SELECT in a transaction locks.
        if level is not SERIALIZABLE:
            reader.query("BEGIN")
            reader.query("SELECT COUNT(*) INTO @v FROM city")
            assert no_s_locks(watchers[1]), f"SELECT ... INTO @v locks at {level.name}"
            assert update_city(watchers[1], 2000)[0].changed == 1
            reader.query("COMMIT")
        # Outside of a transaction it is one: its locks grow as it reads, and go with it.
        reader.query("SET @v = 'before'")
        reader.send("SET @v = (SELECT COUNT(*) FROM city WHERE SLEEP(0.01) = 0)")
        if level is READ_COMMITTED:
            watch_no_s_locks(what, reader, watchers)
        else:
            watch_s_locks_grow(what, watchers)
        killed.append(kill_query(watchers[0], id, reader))
        assert reader.query("SELECT @v") == [["before"]]
        for watcher in watchers:
            expect_locks_gone(f"a killed {what}", watcher)
        reader.close()
    freed(environment, "KILL QUERY of a SET @v = (SELECT ...) that sleeps", killed)
