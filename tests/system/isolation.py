"""Isolation as a user sees it: the anomalies of the Hermitage list at every level, deadlocks, and money that stays.

The scripts are in isolation_cases.py, locks and their ends in isolation_locks.py; what it all means is told in
docs/isolation.md, whose table test_anomalies prints.
"""

import random
import select
import statistics
import time

from isolation_cases import CASES, Case
from isolation_client import ANSWER_TIMEOUT, drive
from isolation_script import (LEVELS, Placement, Steps, connect, keys_by_node, keys_by_shard,
                              run_case, run_script)

# From the closing statement to error 1213, the middle of several rounds.
DEADLOCK_S_MAX = 0.1
# No single one may take that long, however busy the machine is.
DEADLOCK_S_WORST = 2.0

ACCOUNTS = 64
BALANCE = 1000
TRANSFER_SESSIONS = 32
SEED = 20_261_122


def cluster_with(environment, *tables, workers=None):
    cluster = environment.cluster("data", *(["--workers", workers] if workers else []))
    admin = connect(cluster, 2, database="information_schema")
    admin.query("CREATE DATABASE d")
    admin.query("USE d")
    for table in tables:
        admin.query(f"CREATE TABLE {table} (id INT NOT NULL PRIMARY KEY, value INT NOT NULL)")
    return cluster, admin


def test_anomalies(environment):
    """The Hermitage anomalies at each level, rows in one shard and in two, sessions on one node and on two."""
    cluster, admin = cluster_with(environment, "t")
    here, there = keys_by_node(cluster, admin, "t", 4)
    # The same table with an index on what the predicates ask for.
    admin.query("CREATE DATABASE indexed")
    admin.query("CREATE TABLE indexed.t (id INT NOT NULL PRIMARY KEY, value INT NOT NULL, KEY by_value (value))")
    one, two = here, [here[0], there[0], here[1], there[1]]
    placements = [
        Placement("one shard", 1, one, (2, 2, 2), "d"),
        Placement("two shards", 2, two, (2, 2, 2), "d"),
        Placement("two nodes", 2, two, (2, 3, 2), "d"),
        Placement("two nodes, one shard", 1, one, (2, 3, 2), "d"),
        Placement("index, one shard", 1, one, (2, 2, 2), "indexed"),
        Placement("index, two nodes", 2, two, (2, 3, 2), "indexed"),
    ]
    if not environment.long:
        # Each kind of table, and rows of one node and of both.
        placements = [placements[0], placements[-1]]
    print(f"       keys of node 2: {here}, of node 3: {there}", flush=True)
    failures = []
    outcomes = {}
    for level in LEVELS:
        for placement in placements:
            passed = 0
            for case in CASES:
                mark = case.marks.split()[level.column]
                try:
                    run_case(case, level, placement, cluster)
                    passed += 1
                except AssertionError as error:
                    failures.append(f"{level.name}, {placement.name}, {case.name}: {error}")
                    mark = "FAILED"
                key = (level.name, case.name)
                outcomes[key] = mark if outcomes.get(key, mark) == mark else "FAILED"
            print(f"       {level.name:22} {placement.name:22} {passed} of {len(CASES)} as expected", flush=True)
    print_table(outcomes)
    assert not failures, f"{len(failures)} of the outcomes differ:\n" + "\n".join(failures)


def print_table(outcomes):
    """As in docs/isolation.md: x may happen, ok is prevented, - was not tried."""
    print("\n| Anomaly | " + " | ".join(level.name for level in LEVELS) + " |")
    print("|---|" + "---|" * len(LEVELS))
    for case in CASES:
        marks = [outcomes.get((level.name, case.name), "-") for level in LEVELS]
        print(f"| {case.name} | {' | '.join(marks)} |")
    print(flush=True)


def random_script(generator):
    """Two or three sessions that say reasonable things in a random order."""
    def statement():
        number, key = generator.randrange(1, 60), "{" + generator.choice("abcd") + "}"
        predicate = generator.choice([f"id = {key}", f"id = {key}", "id in ({a}, {b}, {c})", f"value >= {number}",
                                      f"value = {10 * generator.randrange(1, 4)}", "value % 3 = 0"])
        return generator.choice([f"select * from t where {predicate}", f"select * from t where {predicate}",
                                 f"select * from t where {predicate} for update", "select * from t",
                                 f"update t set value = value + {number} where {predicate}",
                                 f"delete from t where {predicate}",
                                 f"insert into t (id, value) values ({key}, {number})"])
    sessions = [1, 2, 3][:generator.choice([2, 3, 3])] * generator.choice([2, 3])
    generator.shuffle(sessions)
    return "\n".join(f"{number} {statement()}" for number in sessions)


def test_random_serializable(environment):
    """Random scripts at SERIALIZABLE: for each there is a serial order that makes what was seen and what remains."""
    level = LEVELS[-1]
    cluster, admin = cluster_with(environment, "t")
    here, there = keys_by_node(cluster, admin, "t", 4)
    admin.query("CREATE DATABASE indexed")
    admin.query("CREATE TABLE indexed.t (id INT NOT NULL PRIMARY KEY, value INT NOT NULL, KEY by_value (value))")
    generator = random.Random(SEED)
    count = 1000 if environment.long else 60
    failures = []
    for turn in range(count):
        shards = generator.choice([1, 2, 2])
        keys = here if shards == 1 else [here[0], there[0], here[1], there[1]]
        placement = Placement("random", shards, keys, (2, 3, 2), generator.choice(["d", "indexed"]))
        script = random_script(generator)
        try:
            run_script(Case(f"random {turn}", "", "", ""), script, level, placement, cluster, Steps.run_freely)
        except AssertionError as error:
            failures.append(f"script {turn}, {placement}:\n{script}\n{error}")
    print(f"       {count} random scripts at SERIALIZABLE", flush=True)
    assert not failures, f"{len(failures)} of {count} scripts:\n" + "\n\n".join(failures[:5])


def test_deadlocks(environment):
    """Circles of two and three sessions, of one node and of two: one 1213 within 100 ms, the others commit."""
    cluster, admin = cluster_with(environment, "t", workers=2)
    nodes = keys_by_shard(cluster, admin, "t", 3)
    here, beside, there = nodes[2][0], nodes[2][1], nodes[3][0]
    placements = [("one shard", here), ("two shards of a node", [here[0], beside[0], here[1]]),
                  ("two shards of two nodes", [here[0], there[0], here[1]])]
    rounds = 25 if environment.long else 3
    for count in (2, 3):
        for nodes in ((2, 2, 2), (2, 3, 2)):
            for name, rows in placements:
                sessions = [connect(cluster, node, f"session {number}") for number, node in enumerate(nodes[:count])]
                seconds = [deadlock(admin, sessions, rows[:count], turn) for turn in range(rounds)]
                for session in sessions:
                    session.close()
                middle = statistics.median(seconds)
                where = "one node" if len(set(nodes[:count])) == 1 else "two nodes"
                what = f"{count} sessions of {where}, rows of {name}"
                print(f"       deadlock of {what}: 1213 after {1000 * middle:.1f} ms (worst {1000 * max(seconds):.1f})",
                      flush=True)
                environment.figure(f"median until 1213: {what}", middle, "s", most=DEADLOCK_S_MAX)
                environment.figure(f"longest until 1213: {what}", max(seconds), "s", most=DEADLOCK_S_WORST)


def deadlock(admin, sessions, rows, turn):
    """One circle: each session has its row and wants the next one's. Seconds from the closing statement to 1213."""
    admin.query("DELETE FROM t")
    admin.query("INSERT INTO t VALUES " + ", ".join(f"({row}, 0)" for row in rows))
    # Each round another session closes the circle.
    order = [(turn + step) % len(sessions) for step in range(len(sessions))]
    for number in order:
        sessions[number].query("BEGIN")
        sessions[number].query(f"UPDATE t SET value = value + 1 WHERE id = {rows[number]}")
    for number in order[:-1]:
        sessions[number].send(f"UPDATE t SET value = value + 1 WHERE id = {rows[(number + 1) % len(rows)]}")
        # In every other round all waits but the last one are old.
        assert turn % 2 == 0 or sessions[number].is_waiting(0.05), f"{sessions[number].name} does not wait"
    closing = sessions[order[-1]]
    closing.send(f"UPDATE t SET value = value + 1 WHERE id = {rows[(order[-1] + 1) % len(rows)]}")
    under_way, victims, committed = set(sessions), [], 0
    deadline = closing.sent_at + ANSWER_TIMEOUT
    while under_way:
        ready = select.select(list(under_way), [], [], max(deadline - time.monotonic(), 0))[0]
        statements = [session.statement for session in under_way]
        assert ready, f"no end within {ANSWER_TIMEOUT} s: {statements}; {len(victims)} victims"
        for session in ready:
            statement = session.statement
            answer = session.on_readable()
            if answer is None:
                continue
            if answer.error == 1213:
                victims.append(answer.at - closing.sent_at)
                under_way.discard(session)
            else:
                assert answer.error is None, f"{session.name}: {statement}: {answer}"
                if statement == "COMMIT":
                    committed += 1
                    under_way.discard(session)
                else:
                    assert answer.changed == 1, f"{session.name}: {statement}: {answer}"
                    session.send("COMMIT")
    assert len(victims) == 1 and committed == len(sessions) - 1, f"{len(victims)} victims, {committed} committed"
    # The victim is not in a transaction any more, and nothing of it is left.
    [[total]] = admin.query("SELECT SUM(value) FROM t")
    assert total == str(2 * committed), f"{committed} committed, and the sum is {total}"
    return victims[0]


def test_bank(environment):
    """Transfers by 32 sessions over both nodes at each level: SELECT SUM(balance) by others never differs."""
    seconds = 60 if environment.long else 2
    cluster, admin = cluster_with(environment)
    for level in LEVELS:
        bank_level(cluster, admin, level, seconds)
        admin.query("DROP TABLE accounts")


def bank_level(cluster, admin, level, seconds):
    admin.query("CREATE TABLE accounts (id INT NOT NULL PRIMARY KEY, balance BIGINT NOT NULL)")
    admin.query("INSERT INTO accounts VALUES " + ", ".join(f"({id}, {BALANCE})" for id in range(ACCOUNTS)))
    total = ACCOUNTS * BALANCE
    counts = {"committed": 0, "rolled back": 0, "deadlocks": 0, "sums": 0}
    until = time.monotonic() + seconds

    def transfers(generator):
        while time.monotonic() < until:
            source, target = generator.sample(range(ACCOUNTS), 2)
            amount = generator.randrange(1, 50)
            succeeded = yield from transfer(source, target, amount, generator.random() < 0.1)
            counts[succeeded] += 1

    def transfer(source, target, amount, gives_up):
        answer = yield "BEGIN"
        assert answer.error is None, answer
        if level.sql == "SERIALIZABLE" or level.strict:
            # What has been read is still so when it is written, or the transaction fails: so clients may do the sum.
            values = []
            for account in (source, target):
                answer = yield f"SELECT balance FROM accounts WHERE id = {account}"
                if answer.error == 1213:
                    return "deadlocks"
                assert answer.error is None, answer
                values.append(int(answer.rows[0][0]))
            changes = [str(values[0] - amount), str(values[1] + amount)]
        else:
            changes = [f"balance - {amount}", f"balance + {amount}"]
        for account, change in zip((source, target), changes):
            answer = yield f"UPDATE accounts SET balance = {change} WHERE id = {account}"
            if answer.error == 1213:
                return "deadlocks"
            assert answer.error is None and answer.changed == 1, answer
        answer = yield "ROLLBACK" if gives_up else "COMMIT"
        assert answer.error is None, answer
        return "rolled back" if gives_up else "committed"

    def sums(name):
        while time.monotonic() < until:
            answer = yield "SELECT SUM(balance), COUNT(*) FROM accounts"
            assert answer.rows == [[str(total), str(ACCOUNTS)]], f"{name}, {level.name}: {answer}, not {total}"
            counts["sums"] += 1

    scripts = []
    for number in range(TRANSFER_SESSIONS):
        session = connect(cluster, 2 + number % 2, f"transfers {number}", level=level)
        scripts.append((session, transfers(random.Random(SEED + number))))
    for number in range(4):
        session = connect(cluster, 2 + number % 2, f"sums {number}", level=level)
        scripts.append((session, sums(session.name)))
    drive(scripts, seconds + 3 * ANSWER_TIMEOUT)
    for session, _ in scripts:
        session.close()
    for node in (2, 3):
        assert cluster.sql(node, "SELECT SUM(balance) FROM d.accounts") == [[str(total)]]
    cluster.desc("d.accounts")
    figures = ", ".join(f"{count} {what}" for what, count in counts.items())
    print(f"       bank at {level.name}, {seconds} s: {figures}", flush=True)
    assert counts["committed"] > 0 and counts["sums"] > 0, counts
