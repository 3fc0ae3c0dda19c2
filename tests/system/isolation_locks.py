"""Locks as a user sees them: waits and their ends, hot rows, savepoints, and who is freed when a session ends or is
killed; the locking reads of statements that write, watched in performance_schema.data_locks.
"""

import statistics
import time

from cluster import wait_for
from isolation import cluster_with
from isolation_client import ANSWER_TIMEOUT, drive
from isolation_script import BLOCKS_S, LEVELS, connect, is_skipped, keys_by_node

# From the end of a session or statement to the answer of who waited for its lock on another node; the middle of some.
FREED_S_MAX = 0.1
FREED_S_WORST = 2.0

CITIES = 4079
READ_COMMITTED = next(level for level in LEVELS if level.name == "READ COMMITTED")
REPEATABLE_READ = next(level for level in LEVELS if level.name == "REPEATABLE READ")
S_LOCKS = ("FROM performance_schema.data_locks WHERE OBJECT_SCHEMA = 'd' AND OBJECT_NAME = 'city' "
           "AND LOCK_TYPE = 'RECORD' AND LOCK_MODE LIKE 'S%'")


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
            assert answer.error == 1205 and 0.9 < seconds < 5, f"{answer} after {seconds} s"
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


def test_nowait_skip_locked(environment):
    """NOWAIT gives 3572 at once and leaves the transaction open; SKIP LOCKED leaves out what others have locked."""
    if is_skipped("NOWAIT and SKIP LOCKED", "NOWAIT", "SKIP LOCKED"):
        return
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
                assert answer.error == 3572 and seconds < 2, f"{answer} after {seconds} s"
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
    seconds = 60 if environment.full else 5
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
    if is_skipped("savepoints", "SAVEPOINT"):
        return
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


def freed(what, seconds):
    middle = statistics.median(seconds)
    print(f"       {what} frees locks after {1000 * middle:.1f} ms (worst {1000 * max(seconds):.1f})", flush=True)
    assert middle <= FREED_S_MAX and max(seconds) <= FREED_S_WORST, f"{what}: {seconds}"


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
        for turn in range(20 if environment.full else 6):
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
        freed(f"a connection closed {'by COM_QUIT' if polite else 'without a word'}", seconds)
    # All that holders did is undone.
    assert {int(value) % 10 for [value] in admin.query("SELECT value FROM t")} == {0}


def test_kill(environment):
    """KILL CONNECTION rolls back and frees; KILL QUERY ends the statement, and frees when it is its own transaction."""
    cluster, admin, here, there = cluster_with_rows(environment)
    killers = {node: connect(cluster, node, f"killer on node {node}") for node in (2, 3)}
    rounds = 20 if environment.full else 6
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
    freed("KILL CONNECTION", by_connection)
    assert {int(value) % 10 for [value] in admin.query("SELECT value FROM t")} == {0}
    for turn in range(rounds):
        # The victim has the first row and waits for the second; who waits for the first goes on.
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
    freed("KILL QUERY of an autocommit statement", by_query)
    print(f"       KILL QUERY answers its victim after {1000 * statistics.median(to_victim):.1f} ms", flush=True)
    values = [int(value) for [value] in admin.query("SELECT value FROM t")]
    assert {value % 10 for value in values} == {0}, values
    assert sum(value // 100 for value in values) >= rounds, f"{values}: COMMIT after KILL QUERY wrote less"


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


def s_locks(session):
    [[count]] = session.query(f"SELECT COUNT(*) {S_LOCKS}")
    return int(count)


def test_city_create_select(environment):
    """CREATE TABLE ... SELECT locks what it reads, row by row, at REPEATABLE READ; nothing at READ COMMITTED."""
    if is_skipped("city, CREATE TABLE ... SELECT", "CREATE TABLE ... SELECT",
                  "performance_schema.data_locks"):
        return
    cluster, admin = cluster_with(environment)
    create_city(cluster, admin)
    watchers = [connect(cluster, node, f"watcher of node {node}") for node in (2, 3)]
    for watcher in watchers:
        watcher.query("SET SESSION innodb_lock_wait_timeout = 2")
    statement = "CREATE TABLE copy SELECT * FROM city WHERE SLEEP(0.01) = 0"

    # At REPEATABLE READ: its S locks grow, on whichever node one looks, and who writes such a row waits in vain.
    reader = connect(cluster, 2, "reader", level=REPEATABLE_READ)
    [[id]] = reader.query("SELECT CONNECTION_ID()")
    reader.send(statement)
    counts = []
    deadline = time.monotonic() + 15
    while len(set(counts)) < 5 and time.monotonic() < deadline:
        time.sleep(0.2)
        counts.append(s_locks(watchers[len(counts) % 2]))
    print(f"       city at REPEATABLE READ: S locks seen: {counts}", flush=True)
    assert counts == sorted(counts) and len(set(counts)) >= 5 and counts[0] < CITIES, f"S locks do not grow: {counts}"
    [[locked]] = watchers[1].query(f"SELECT LOCK_DATA {S_LOCKS} AND INDEX_NAME = 'PRIMARY' AND LOCK_STATUS = 'GRANTED' "
                                   "AND LOCK_DATA <> 'supremum pseudo-record' LIMIT 1")
    for watcher in watchers:
        answer, seconds = timed(watcher, f"UPDATE city SET Population = Population + 1 WHERE ID = {locked}")
        assert answer.error == 1205 and 1.9 < seconds < 6, f"city {locked}: {answer} after {seconds} s"
    if environment.full:
        answer = reader.answer(300)
        assert answer is not None and answer.error is None, f"{statement}: {answer}"
        assert watchers[1].query("SELECT COUNT(*) FROM copy") == [[str(CITIES)]]
        watchers[0].query("DROP TABLE copy")
    else:
        watchers[0].query(f"KILL QUERY {id}")
        answer = reader.answer(ANSWER_TIMEOUT)
        assert answer is not None and answer.error == 1317, f"{statement}, killed: {answer}"
        assert watchers[1].query("SHOW TABLES LIKE 'copy'") == [], "a killed CREATE TABLE ... SELECT leaves its table"
    wait_for("the S locks are gone", lambda: s_locks(watchers[1]) == 0, 5)
    answer = watchers[1].execute(f"UPDATE city SET Population = Population + 1 WHERE ID = {locked}")
    assert answer.changed == 1, answer

    # At READ COMMITTED: none of it.
    reader = connect(cluster, 2, "reader", level=READ_COMMITTED)
    [[id]] = reader.query("SELECT CONNECTION_ID()")
    reader.send(statement)
    for turn in range(8):
        time.sleep(0.2)
        assert s_locks(watchers[turn % 2]) == 0, "S locks at READ COMMITTED"
        key = locked if turn == 0 else 1 + turn * 500
        answer, seconds = timed(watchers[turn % 2], f"UPDATE city SET Population = Population + 1 WHERE ID = {key}")
        assert answer.changed == 1 and seconds < 1.5, f"{answer} after {seconds} s"
    assert reader.is_waiting(0), f"{statement} has ended: {reader.answer(1)}"
    watchers[0].query(f"KILL QUERY {id}")
    answer = reader.answer(ANSWER_TIMEOUT)
    assert answer is not None and answer.error == 1317, f"{statement}, killed: {answer}"
    print("       city at READ COMMITTED: no S lock, no wait", flush=True)


def test_city_set_variable(environment):
    """SET @v = (SELECT COUNT(*) ...) locks what it reads at REPEATABLE READ until COMMIT; nothing at READ COMMITTED."""
    if is_skipped("city, SET @v = (SELECT COUNT(*) ...)", "SET @variable = (SELECT ...)",
                  "performance_schema.data_locks"):
        return
    cluster, admin = cluster_with(environment)
    create_city(cluster, admin)
    watcher = connect(cluster, 3, "watcher")
    watcher.query("SET SESSION innodb_lock_wait_timeout = 2")
    update = "UPDATE city SET Population = Population + 1 WHERE ID = 2000"
    for level, locks in ((REPEATABLE_READ, True), (READ_COMMITTED, False)):
        reader = connect(cluster, 2, "reader", level=level)
        reader.query("BEGIN")
        reader.query("SET @v = (SELECT COUNT(*) FROM city)")
        assert reader.query("SELECT @v") == [[str(CITIES)]]
        count = s_locks(watcher)
        answer, seconds = timed(watcher, update)
        print(f"       SET @v = (SELECT COUNT(*) FROM city) at {level.name}: {count} S locks, an UPDATE: {answer}",
              flush=True)
        if locks:
            assert count >= CITIES, f"{count} S locks at {level.name}"
            assert answer.error == 1205 and 1.9 < seconds < 6, f"{answer} after {seconds} s"
        else:
            assert count == 0, f"{count} S locks at {level.name}"
            assert answer.changed == 1 and seconds < 1.5, f"{answer} after {seconds} s"
        # A plain SELECT into a variable is a plain SELECT: no locks at either level.
        reader.query("COMMIT")
        assert s_locks(watcher) == 0
        reader.query("BEGIN")
        reader.query("SELECT COUNT(*) INTO @v FROM city")
        assert s_locks(watcher) == 0, f"SELECT ... INTO @v locks at {level.name}"
        assert watcher.execute(update).changed == 1
        reader.query("COMMIT")
        reader.close()
