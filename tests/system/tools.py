"""The tools of a running cluster: mgm and desc."""

import json
import re
import threading


def test_show(environment):
    """SHOW has a line a node, with one leader and one sequencer; every node is started."""
    cluster = environment.cluster()
    result = cluster.mgm("SHOW")
    assert result.returncode == 0 and result.stderr == "", result
    lines = result.stdout.splitlines()
    assert len(lines) == 3, lines
    for id, line in enumerate(lines, 1):
        assert re.match(rf"id={id} +started +", line), line
    assert "voter" in lines[0] and "data,sql,voter" in lines[1]
    assert sum(" *" in line for line in lines) == 1, lines
    assert sum("sequencer" in line for line in lines) == 1, lines
    for node in cluster.sql_nodes():
        assert f"port={node['port']} " in lines[node["id"] - 1] and "group=0" in lines[node["id"] - 1]
    answer = json.loads(cluster.mgm("show", "--json").stdout)
    assert [(node["node"], node["state"]) for node in answer["nodes"]] == [(1, "started"), (2, "started"), (3, "started")]


def test_commands(environment):
    """The other commands, their errors and exit codes, and commands from the input."""
    cluster = environment.cluster("data", "--memory", "100M")
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1),(2),(3)")
    lines = cluster.mgm("ALL STATUS").stdout.splitlines()
    assert len(lines) == 3 and all(re.match(r"id=\d +started +uptime=\d+s leads=\d+ transactions_open=\d+ ", line) for line in lines), lines
    assert cluster.mgm("2 STATUS").stdout.startswith("id=2 started data,sql,voter\n")
    memory = json.loads(cluster.mgm("ALL REPORT MEMORY", "--json").stdout)["nodes"]
    by_node = {entry["node"]: entry for entry in memory}
    for id in (2, 3):
        assert by_node[id]["limit_bytes"] == 100 << 20 and 0 < by_node[id]["used_bytes"] < 100 << 20
        rows = {table["name"]: table["rows"] for table in by_node[id]["tables"]}
        assert rows["d.t"] == 3, rows
    assert "d.t" in cluster.mgm("3 REPORT MEMORY").stdout
    assert "ALL STATUS" in cluster.mgm("HELP").stdout
    for command, reason in [("SHOE", "unknown command"), ("ALL STOP", "not in this release"), ("9 STATUS", "no node 9"),
                            ("", "no command")]:
        result = cluster.mgm(command)
        assert result.returncode == 1 and reason in result.stderr, result
    both = cluster.mgm("SHOW; HELP;")
    assert both.returncode == 0 and "id=3" in both.stdout and "QUIT" in both.stdout
    typed = environment.run("mgm", "--dir", cluster.dir, input="show\nnonsense\n\n2 status\nquit\nshow\n")
    assert typed.returncode == 0 and typed.stdout.count("id=1") == 1 and "unknown command" in typed.stderr, typed


def test_desc(environment):
    """desc tells columns, indexes and replicas; after writes through both nodes at once the replicas agree."""
    cluster = environment.cluster("data", "--workers", 2)
    cluster.sql(2, """CREATE DATABASE d;
        CREATE TABLE d.t (id BIGINT NOT NULL PRIMARY KEY, v VARCHAR(40), n INT NOT NULL DEFAULT 7, KEY by_n (n))""")

    def write(node, first):
        statements = ["USE d"]
        for number in range(first, 4000, 2):
            statements.append(f"INSERT INTO t VALUES ({number}, 'row {number}', {number % 13})")
            if number % 5 == 0:
                statements.append(f"UPDATE t SET n = n + 1 WHERE id = {number // 2}")
            if number % 11 == 0:
                statements.append(f"DELETE FROM t WHERE id = {number}")
        cluster.sql(node, ";\n".join(statements))
    writers = [threading.Thread(target=write, args=(node, node % 2)) for node in (2, 3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    expected = sum(1 for number in range(4000) if number % 11 != 0)
    for node in (2, 3):
        assert cluster.sql(node, "SELECT COUNT(*) FROM d.t") == [[str(expected)]]
    answer = cluster.desc("d.t")
    assert answer["rows"] == expected, answer
    assert [column["name"] for column in answer["columns"]] == ["id", "v", "n"]
    assert {index["name"] for index in answer["indexes"]} >= {"PRIMARY", "by_n"}
    text = environment.run("desc", "--dir", cluster.dir, "d.t")
    assert text.returncode == 0 and text.stdout.splitlines()[-1].startswith("replicas agree"), text
    for table, reason in [("d.none", "none"), ("none.t", "none"), ("t", "DB.TABLE")]:
        result = environment.run("desc", "--dir", cluster.dir, table)
        assert result.returncode == 2 and reason in result.stderr, result
