"""Backups of a cluster under load, brought back into clusters of other shapes, whole or in part, as of the backup or of a moment behind it."""

import glob
import json
import os
import shutil
import signal
import socket
import time

from cluster import limit, wait_for
from full import fill, log_of, small_device
from power import SESSIONS, Writer, kill_all, rows_of

TYPES = """
CREATE DATABASE kinds; USE kinds;
CREATE TABLE everything (
  id INT AUTO_INCREMENT PRIMARY KEY, tiny TINYINT UNSIGNED, big BIGINT, exact DECIMAL(30, 10), near DOUBLE, small FLOAT,
  day DATE, moment DATETIME(6), stamp TIMESTAMP(3) NULL, span TIME(2), word VARCHAR(60) COLLATE utf8mb4_0900_ai_ci,
  fixed CHAR(5), raw VARBINARY(40), long_text MEDIUMTEXT, long_raw LONGBLOB,
  UNIQUE KEY (word), KEY (day, tiny), UNIQUE KEY pair (big, exact));
INSERT INTO everything VALUES
  (NULL, 255, -9223372036854775808, -1234567890.0123456789, 1.7976931348623157e308, 1.5, '2024-02-29',
   '9999-12-31 23:59:59.999999', '2038-01-19 03:14:07.123', '-838:59:59', 'Straße 😀', 'ab', x'004100', REPEAT('long ', 100000),
   REPEAT(x'0001', 300000)),
  (7, 0, 0, 0, -0.0, 0, '1000-01-01', '1000-01-01 00:00:00', '1970-01-01 00:00:01', '00:00:00', '', '', '', '', ''),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE without_key (n INT, KEY (n));
INSERT INTO without_key VALUES (1), (1), (NULL);
CREATE TABLE two_columns (a VARCHAR(10), b INT, PRIMARY KEY (b, a));
INSERT INTO two_columns VALUES ('x', 2), ('x', 1), ('y', 1);
CREATE TABLE empty_one (id INT PRIMARY KEY);
CREATE VIEW seen (word, more) AS SELECT a, b + 1 FROM two_columns WHERE b < 2 WITH CHECK OPTION;
"""
# What each writer has written before a backup begins.
ROWS_LEAST = 20
KINDS = ["everything", "without_key", "two_columns", "empty_one", "seen"]


def contents(cluster, node):
    found = {}
    for table in KINDS:
        order = "1, 2" if table == "two_columns" else "1"
        found[table] = cluster.sql(node, f"SELECT * FROM kinds.{table} ORDER BY {order}; SHOW CREATE TABLE kinds.{table}")
    return found


def start_writers(cluster, first):
    paths = cluster.sockets()
    return [Writer(number, first[number], paths[number % len(paths)], "durable_when_alone") for number in first]


def revive(cluster, writers):
    """Those whose connections were lost go on where they were."""
    paths = cluster.sockets()
    for index, writer in enumerate(writers):
        if not writer.is_alive():
            number = writer.number
            writers[index] = Writer(number, count_of(cluster, number), paths[number % len(paths)], "durable_when_alone")


def count_of(cluster, number):
    first = number * 1_000_000
    return int(cluster.sql(2, f"SELECT COUNT(*) FROM d.a WHERE id BETWEEN {first} AND {first + 999_999}")[0][0])


def counts(writers):
    return {writer.number: writer.first + len(writer.acknowledged) for writer in writers}


def check_prefix(cluster, node, at_least, at_most):
    """Of each writer the first rows, without a gap, as many in both tables; at least those and at most so many."""
    left = [rows_of(cluster, table, node) for table in ("a", "b")]
    assert left[0] == left[1], "half a transaction is there"
    for number in at_least:
        own = [row for id, row in left[0] if id // 1_000_000 == number]
        assert own == list(range(len(own))), (number, own[:5], len(own))
        assert at_least[number] <= len(own) <= at_most[number], (number, at_least[number], len(own), at_most[number])
    return len(left[0])


def with_writers(environment, *arguments):
    cluster = environment.cluster("data", *arguments)
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.a (id BIGINT PRIMARY KEY, n INT, KEY (n)); "
                   "CREATE TABLE d.b (id BIGINT PRIMARY KEY, n INT)")
    return cluster, {number: 0 for number in range(SESSIONS)}


def backup(cluster, words=""):
    made = cluster.mgm(f"START BACKUP {words}", "--json")
    assert made.returncode == 0, made
    return json.loads(made.stdout)


def restore(cluster, directory, *flags, fails=False):
    result = cluster.environment.run("restore", "--dir", cluster.dir, directory, *flags)
    assert (result.returncode != 0) == fails, result
    return result.stderr if fails else result.stdout


def test_into_other_shapes(environment):
    """A backup under load comes back into a cluster of one node and into one of four: every kind of column, and of the writers exactly
    what was committed at one moment between the command's beginning and its end."""
    cluster, first = with_writers(environment, "--workers", 2)
    cluster.sql(2, TYPES)
    kinds = contents(cluster, 3)
    writers = start_writers(cluster, first)
    wait_for("all write", lambda: min(counts(writers).values()) > ROWS_LEAST)
    before = counts(writers)
    made = backup(cluster, "3")
    assert made["id"] == 3 and made["state"] == "done", made
    after = {number: count + 1 for number, count in counts(writers).items()}
    wait_for("the load goes on", lambda: all(counts(writers)[number] > before[number] for number in first))
    assert len({node["node"] for node in made["nodes"]}) == 2, "both nodes take their share"
    directory = os.path.join(cluster.dir, "backups", "BACKUP-3")
    for name, shape in (("one", ["--data-nodes", 1, "--workers", 1]), ("four", ["--data-nodes", 4, "--workers", 1])):
        other = environment.cluster(name, *shape)
        said = restore(other, directory)
        rows = check_prefix(other, 2, before, after)
        assert contents(other, max(node["id"] for node in other.sql_nodes())) == kinds
        # New AUTO_INCREMENT values continue behind the restored ones.
        assert other.sql(2, "INSERT INTO kinds.everything (word) VALUES ('next'); SELECT LAST_INSERT_ID() > 8") == [["1"]]
        assert "Duplicate entry" in other.sql(2, "INSERT INTO kinds.everything (word) VALUES ('STRASSE 😀')", expect_error=True)
        other.sql(2, "INSERT INTO kinds.without_key VALUES (2)")
        for table in ("d.a", "d.b", "kinds.everything"):
            other.desc(table)
        assert "there is a table" in restore(other, directory, fails=True)
        # Restored rows are as durable as rows that clients have written.
        other.note_pids()
        kill_all(other)
        other.up()
        assert check_prefix(other, 2, before, after) == rows
        print(f"    into {name}: {said.strip().splitlines()[-1]}", flush=True)
        other.destroy()
    cluster.destroy()


def test_of_two_node_groups(environment):
    """A backup under load of two node groups, over which many transactions go, in a cluster of one node: of each writer exactly what was
    committed at one moment."""
    cluster, first = with_writers(environment, "--data-nodes", 4, "--workers", 1)
    writers = start_writers(cluster, first)
    wait_for("all write", lambda: min(counts(writers).values()) > ROWS_LEAST)
    before = counts(writers)
    elsewhere = environment.path("elsewhere")
    made = backup(cluster, f"1 TO '{elsewhere}'")
    after = {number: count + 1 for number, count in counts(writers).items()}
    assert len({node["node"] for node in made["nodes"]}) == 2, "one of each group"
    wait_for("the load goes on", lambda: all(counts(writers)[number] > before[number] for number in first))
    cluster.destroy()
    other = environment.cluster("one", "--data-nodes", 1, "--workers", 1)
    restore(other, os.path.join(elsewhere, "BACKUP-1"))
    print(f"    {check_prefix(other, 2, before, after)} rows", flush=True)


def test_parts_of_it(environment):
    """A database or a table alone, encrypted with a password or a key; and what is wrong with a backup is said."""
    cluster, _ = with_writers(environment, "--data-nodes", 1)
    cluster.sql(2, TYPES)
    kinds = contents(cluster, 2)
    cluster.sql(2, "INSERT INTO d.a VALUES (1, 1); INSERT INTO d.b VALUES (1, 1); CREATE DATABASE bare")
    password, key, wrong = (environment.path(name) for name in ("password", "key", "wrong"))
    for path, text in ((password, "correct horse\nof last year\n"), (key, "0123456789abcdef" * 4), (wrong, "battery staple")):
        with open(path, "w") as file:
            file.write(text)
    elsewhere = environment.path("else where")
    backup(cluster, f"1 TO '{elsewhere}' ENCRYPT PASSWORD='correct horse'")
    backup(cluster, f"2 TO '{elsewhere}' ENCRYPT KEYFILE '{key}' WAIT COMPLETED")
    plain = backup(cluster)
    assert plain["id"] == 3, "ids go on"
    locked, keyed = (os.path.join(elsewhere, f"BACKUP-{id}") for id in (1, 2))
    own = plain["nodes"][0]["dir"]
    for directory in (locked, keyed):
        for name in os.listdir(directory):
            with open(os.path.join(directory, name), "rb") as file:
                assert b"without_key" not in file.read(), "nothing is to be read in it"
    cluster.sql(2, "DROP DATABASE kinds; DROP TABLE d.a")
    assert "encrypted with a password" in restore(cluster, locked, fails=True)
    assert "another password" in restore(cluster, locked, "--password-file", wrong, fails=True)
    assert "encrypted with a key" in restore(cluster, keyed, fails=True)
    assert "there was no table `d`.`none` then" in restore(cluster, own, "--table", "d.none", fails=True)
    assert "there is a table `d`.`b` already" in restore(cluster, own, "--database", "d", fails=True)
    restore(cluster, locked, "--password-file", password, "--table", "d.a")
    assert cluster.sql(2, "SELECT * FROM d.a") == [["1", "1"]]
    assert "is not encrypted" in restore(cluster, own, "--password-file", password, "--table", "d.a", fails=True)
    said = restore(cluster, keyed, "--key-file", key, "--database", "kinds")
    assert "4 tables" in said and " 9 rows" in said, "entries of unique keys are no rows"
    assert contents(cluster, 2) == kinds
    cluster.sql(2, "DROP DATABASE bare")
    assert "0 tables" in restore(cluster, own, "--database", "bare")
    assert "bare" in str(cluster.sql(2, "SHOW DATABASES"))
    # Ids are not used twice, and the earlier backup stays.
    again = cluster.mgm(f"START BACKUP 1 TO '{elsewhere}'")
    assert again.returncode != 0 and "there is a backup in" in again.stderr, again
    assert os.listdir(locked), "it stays"
    assert "id=" not in (status := cluster.mgm("BACKUP STATUS").stdout) and status.count("done") == 3, status
    # What is damaged is not served.
    path, *others = sorted(os.path.join(own, name) for name in os.listdir(own))
    assert others, "a file for each worker"
    whole = open(path, "rb").read()
    cluster.sql(2, "DROP DATABASE d; DROP DATABASE kinds")
    for damage, said in ((whole[:len(whole) // 2] + bytes([whole[len(whole) // 2] ^ 4]) + whole[len(whole) // 2 + 1:], "is damaged"),
                         (whole[:-30], "its end is missing"), (b"", "shorter than its header"), (b"no backup" * 20, "no file of a backup")):
        with open(path, "wb") as file:
            file.write(damage)
        assert said in (why := restore(cluster, own, fails=True)), why
        assert not {"d", "kinds"} & {row[0] for row in cluster.sql(2, "SHOW DATABASES")}, "it begins when all was looked through"
    os.remove(path)
    assert f"{os.path.basename(path)} missing" in restore(cluster, own, fails=True)
    for other in others:
        os.remove(other)
    assert "there is no backup in" in restore(cluster, own, fails=True)


def fill_table(cluster, ids, row):
    """A row of d.t for each id, a thousand to a statement."""
    for begin in range(0, len(ids), 1_000):
        rows = ", ".join(map(row.format, ids[begin:begin + 1_000]))
        cluster.sql(2, f"INSERT INTO d.t VALUES {rows}")


def test_aborted(environment):
    """A backup that is aborted leaves nothing, and the next one is made."""
    cluster, _ = with_writers(environment, "--memory", "512M")
    cluster.sql(2, "CREATE TABLE d.t (id INT PRIMARY KEY, text TEXT)")
    fill_table(cluster, range(60_000), "({0}, REPEAT('{0} ', 300))")
    aborted = cluster.mgm("START BACKUP NOWAIT; ABORT BACKUP")
    assert aborted.returncode == 0, aborted
    wait_for("it is aborted", lambda: "aborted" in cluster.mgm("BACKUP STATUS").stdout)
    backups = os.path.join(cluster.dir, "backups")
    # Aborted early, it has not made the directory of backups either.
    left = glob.glob(os.path.join(backups, "*", "*"))
    assert not left, left
    assert cluster.mgm("ABORT BACKUP").returncode != 0
    made = backup(cluster)
    assert sum(node["bytes_read"] for node in made["nodes"]) > 60_000 * 1_000, made
    cluster.sql(2, "DROP TABLE d.t")
    restore(cluster, made["nodes"][0]["dir"], "--table", "d.t")
    assert cluster.sql(3, "SELECT COUNT(*), SUM(id), SUM(LENGTH(text)) FROM d.t WHERE text = REPEAT(CONCAT(id, ' '), 300)")[0][:2] == [
        "60000", str(sum(range(60_000)))]


def ask(cluster, node, command):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(cluster.node(node)["management_socket"])
        connection.sendall(json.dumps({"command": command}).encode() + b"\n")
        with connection.makefile() as answer:
            return json.loads(answer.readline())


def tables_of(cluster, node, database):
    return {table["table"] for table in ask(cluster, node, "tables")["tables"] if table["database"] == database}


def test_unfinished(environment):
    """Nobody sees a table before all its rows are there. A restore that fails, is interrupted or aborted, or whose node dies, leaves none."""
    cluster, _ = with_writers(environment, "--memory", "512M")
    cluster.sql(2, "DROP DATABASE d; CREATE DATABASE d; CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, n INT, text TEXT, UNIQUE KEY (n))")
    fill_table(cluster, range(1, 60_001), "({0}, {0}, REPEAT('{0} ', 300))")
    elsewhere = environment.path("all of it")
    backup(cluster, f"7 TO '{elsewhere}'")
    directory = os.path.join(elsewhere, "BACKUP-7")
    cluster.sql(2, "DROP TABLE d.t")

    def begin():
        restoring = environment.start("restore", "--dir", cluster.dir, directory)
        wait_for("it writes rows", lambda: ask(cluster, 2, "restore_status").get("rows", 0) > 0)
        assert any(name.startswith("#sql-2-") for name in tables_of(cluster, 2, "d"))
        assert cluster.sql(3, "SHOW TABLES FROM d") == []
        return restoring

    def fails(restoring, code, *words):
        said = restoring.communicate(timeout=limit(60))[0]
        assert restoring.returncode == code and all(word in said for word in words), (restoring.returncode, said)

    restoring = begin()
    cluster.sql(3, "CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1)")
    fails(restoring, 1, "there is a table `d`.`t` already")
    assert cluster.sql(2, "SELECT * FROM d.t; DROP TABLE d.t") == [["1"]]
    assert tables_of(cluster, 2, "d") == set()

    restoring = begin()
    os.kill(restoring.pid, signal.SIGINT)
    fails(restoring, 130, "it was aborted")
    assert tables_of(cluster, 2, "d") == set()

    restoring = begin()
    assert cluster.mgm("ABORT RESTORE").returncode == 0
    fails(restoring, 1, "it was aborted")
    assert tables_of(cluster, 2, "d") == set()
    assert "restores nothing" in cluster.mgm("ABORT RESTORE").stderr

    restoring = begin()
    os.kill(cluster.node(2)["pid"], signal.SIGKILL)
    restoring.communicate(timeout=limit(90))
    assert restoring.returncode != 0
    wait_for("what its node has left goes", lambda: tables_of(cluster, 3, "d") == set(), 60)
    wait_for("it has come back", lambda: all("started" in line for line in cluster.mgm("SHOW").stdout.splitlines()), 60)

    said = restore(cluster, directory)
    assert "1 tables" in said and " 60000 rows" in said.splitlines()[-1], said
    assert cluster.sql(3, "SELECT COUNT(*), SUM(n) FROM d.t") == [["60000", str(sum(range(60_001)))]]
    assert cluster.sql(2, "INSERT INTO d.t (n) VALUES (0); SELECT LAST_INSERT_ID() > 60000") == [["1"]]
    assert "Duplicate entry" in cluster.sql(2, "INSERT INTO d.t (n) VALUES (7)", expect_error=True)


def test_holes_of_the_archive(environment):
    """While nothing is committed a node that has come back counts again; a moment of when the archive's disk was full is refused, and those
    around it come back; what was taken away is missed, and begun anew."""
    archive = environment.path("archive")
    cluster = environment.new_cluster("data")
    with small_device(cluster, archive, 32 << 20):
        cluster.up("--archive", archive, "--workers", "2")
        cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); CREATE TABLE d.large (id INT PRIMARY KEY, v LONGTEXT)")
        directory = os.path.join(environment.path("backups"), "BACKUP-1")
        backup(cluster, f"1 TO '{os.path.dirname(directory)}'")
        other = environment.cluster("other", "--data-nodes", 1)

        def write(id):
            cluster.sql(2, f"INSERT INTO d.t VALUES ({id})")

        def as_of(moment):
            restore(other, directory, "--archive", archive, "--until", moment)
            return [int(id) for id, in other.sql(2, "SELECT id FROM d.t ORDER BY id; DROP DATABASE d")]

        def ids():
            """A while after what was written last."""
            time.sleep(2)
            moment = time.time()
            wait_for("the archive reaches it", lambda: "there was no table" in restore_or_say(other, directory, archive, moment))
            return as_of(f"@{moment:.6f}")

        write(1)
        os.kill(cluster.node(3)["pid"], signal.SIGKILL)
        write(2)
        wait_for("it has come back", lambda: all("started" in line for line in cluster.mgm("SHOW").stdout.splitlines()), 60)
        time.sleep(8)
        assert ids() == [1, 2], "nothing is committed meanwhile"

        fill(os.path.join(archive, "filled"))
        full = time.time()
        write(3)
        # More than the rest of a page takes.
        rows = ", ".join(f"({id}, '{os.urandom(8_000).hex()}')" for id in range(40))
        cluster.sql(2, f"INSERT INTO d.large VALUES {rows}")
        time.sleep(14)
        assert "does not go on" in log_of(cluster, 2)
        assert not [name for name in os.listdir(archive) if os.path.getsize(os.path.join(archive, name)) == 0], "each try left a file"
        os.remove(os.path.join(archive, "filled"))
        time.sleep(8)
        write(4)
        assert ids() == [1, 2, 3, 4]
        hole = restore(other, directory, "--archive", archive, "--until", utc(full + 12), fails=True)
        assert "the archive has nothing between" in hole, hole
        before, behind = hole.split("between ")[1].split(": give")[0].split(" and ")
        assert as_of(before) in ([1, 2], [1, 2, 3])
        assert as_of(behind) in ([1, 2, 3], [1, 2, 3, 4])

        for name in os.listdir(archive):
            path = os.path.join(archive, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        write(5)
        wait_for("it is missed", lambda: all("the archive of part 1 has gone: its disk is not mounted" in log_of(cluster, id) for id in (2, 3)))
        assert not [name for name in os.listdir(archive) if name.endswith(".archive")], "nobody is to take it for the one that was there"
        for path in glob.glob(os.path.join(cluster.dir, "node*.rows", "archive-*")):
            os.remove(path)
        wait_for("it is begun anew", lambda: sum(name.endswith(".archive") for name in os.listdir(archive)) >= 4)
        assert "tries again" in log_of(cluster, 3)
        backup(cluster, f"2 TO '{os.path.dirname(directory)}'")
        directory = os.path.join(os.path.dirname(directory), "BACKUP-2")
        write(6)
        assert ids() == [1, 2, 3, 4, 5, 6]

        # One of the disks is put back to an earlier state.
        cluster.mgm("3 STOP")
        rows = os.path.join(cluster.dir, "node3.rows")
        shutil.copytree(rows, rows + ".before")
        cluster.mgm("3 START")
        wait_for("it has come back", lambda: all("started" in line for line in cluster.mgm("SHOW").stdout.splitlines()), 60)
        write(7)
        assert ids()[-1] == 7
        cluster.mgm("3 STOP")
        shutil.rmtree(rows)
        os.rename(rows + ".before", rows)
        # First without the archive: when that is there again the node's log has grown past its end, and is another one all the same.
        away = os.path.join(archive, "away")
        os.mkdir(away)
        for path in glob.glob(os.path.join(archive, "node-3.*.archive")):
            os.rename(path, os.path.join(away, os.path.basename(path)))
        missed = log_of(cluster, 3).count("has gone: its disk is not mounted")
        cluster.mgm("3 START")
        wait_for("it is missed", lambda: log_of(cluster, 3).count("has gone: its disk is not mounted") > missed, 30)
        wait_for("it has come back", lambda: all("started" in line for line in cluster.mgm("SHOW").stdout.splitlines()), 60)
        for id in range(100, 200):
            write(id)
        cluster.mgm("3 STOP")
        for name in os.listdir(away):
            os.rename(os.path.join(away, name), os.path.join(archive, name))
        assert "has been put back to an earlier state" not in log_of(cluster, 3)
        cluster.mgm("3 START")
        wait_for("that is said", lambda: "has been put back to an earlier state" in log_of(cluster, 3), 30)
        other.destroy()


def utc(moment):
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(moment)) + f".{int(moment % 1 * 1e6):06}"


def test_to_a_moment(environment):
    """With the archive of the logs any moment behind a backup comes back, though nodes have died and come back, and the whole cluster
    has lost its power, meanwhile: as of before a DROP TABLE, into the cluster itself and into another one."""
    archive = environment.path("archive")
    cluster, first = with_writers(environment, "--archive", archive)
    writers = start_writers(cluster, first)
    time.sleep(1)
    made = backup(cluster)
    directory = made["nodes"][0]["dir"]
    moments = []

    def note():
        """At this moment so much was acknowledged a while ago, and no more than so much can have been committed."""
        time.sleep(1.5)
        at_least = counts(writers)
        time.sleep(1.5)
        moment = time.time()
        moments.append((moment, at_least, {number: count + 1 for number, count in counts(writers).items()}))

    note()
    for id in (3, 2):
        cluster.note_pids()
        os.kill(cluster.node(id)["pid"], signal.SIGKILL)
        wait_for("it has come back", lambda: all("started" in line for line in cluster.mgm("SHOW").stdout.splitlines()), 60)
        revive(cluster, writers)
        note()
    kill_all(cluster)
    for writer in writers:
        writer.join(limit(30))
    cluster.up()
    revive(cluster, writers)
    note()
    cluster.sql(2, "DROP TABLE d.a; DROP TABLE d.b")
    for writer in writers:
        writer.join(limit(30))
    cluster.sql(2, "CREATE TABLE d.other (id INT PRIMARY KEY)")
    last = moments[-1][0]
    wait_for("the archive has gone on", lambda: "there was no table" in restore_or_say(cluster, directory, archive, time.time() - 3), 60)
    said = restore(cluster, directory, "--archive", archive, "--until", utc(last), "--table", "d.a", "--table", "d.b")
    check_prefix(cluster, 3, *moments[-1][1:])
    print(f"    into itself: {said.strip().splitlines()[-1]}", flush=True)
    other = environment.cluster("other", "--data-nodes", 1)
    for moment, at_least, at_most in moments:
        restore(other, directory, "--archive", archive, "--until", f"@{moment:.6f}")
        rows = check_prefix(other, 2, at_least, at_most)
        print(f"    as of {utc(moment)}: {rows} rows", flush=True)
        other.sql(2, "DROP DATABASE d")
    assert "earlier backup" in restore(other, directory, "--archive", archive, "--until", "2020-01-01 00:00:00", fails=True)
    assert "the archive ends at" in restore(other, directory, "--archive", archive, "--until", "2100-01-01 00:00:00", fails=True)
    assert "is no moment" in restore(other, directory, "--archive", archive, "--until", "yesterday", fails=True)
    elsewhere = environment.path("empty")
    os.mkdir(elsewhere)
    assert "does not go on" in restore(other, directory, "--archive", elsewhere, "--until", utc(last), fails=True)


def restore_or_say(cluster, directory, archive, moment):
    return restore(cluster, directory, "--archive", archive, "--until", f"@{moment:.6f}", "--table", "d.none", fails=True)
