"""Starting and stopping: what `up`, `down` and `server` do, say and leave behind."""

import json
import os
import pathlib
import re
import signal
import socket
import stat
import time
from concurrent.futures import ThreadPoolExecutor

from cluster import ByHand, Cluster, arguments_of, free_ports, is_ours, limit, wait_for
from isolation_client import Session


def test_up_down_up(environment):
    """A cluster starts, answers on every port and socket, stops, and starts again with what it had."""
    cluster = Cluster(environment, "data")
    first = cluster.up("--memory", "128M")
    assert "warning" not in first.stderr, first.stderr
    assert re.search(r"^ready\b", first.stdout, re.MULTILINE), first.stdout
    status = cluster.status()
    assert status["state"] == "ready" and status["dir"] == os.path.realpath(cluster.dir), status
    assert [node["id"] for node in status["nodes"]] == [1, 2, 3]
    assert [sorted(node["roles"]) for node in status["nodes"]] == [["voter"]] + [["data", "sql", "voter"]] * 2
    assert [node["group"] for node in status["nodes"]] == [None, 0, 0]
    for node in status["nodes"]:
        arguments = arguments_of(node["pid"])
        assert arguments[1:2] == ["server"] and str(node["id"]) in arguments, arguments
        assert stat.S_ISSOCK(os.stat(node["management_socket"]).st_mode)
        assert os.path.isdir(node["state_dir"]) and os.path.exists(node["log"])
        if "sql" in node["roles"]:
            assert node["socket"] == os.path.join(status["dir"], f"node{node['id']}.sock")
            assert str(node["port"]) in first.stdout and node["socket"] in first.stdout
            for tcp in (False, True):
                assert cluster.sql(node["id"], "SELECT 1", tcp=tcp) == [["1"]]
        else:
            assert node["port"] is None and node["socket"] is None
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1)")
    assert cluster.sql(3, "SELECT * FROM d.t") == [["1"]]

    down = cluster.down()
    assert down.returncode == 0 and "stopped" in down.stdout, down
    assert cluster.running() == []
    stopped = cluster.status()
    assert stopped["state"] == "stopped" and stopped["supervisor_pid"] is None
    assert all(node["pid"] is None for node in stopped["nodes"]), stopped
    for node in status["nodes"]:
        if node["port"]:
            assert socket.socket().connect_ex(("127.0.0.1", node["port"])) != 0
    again = cluster.down()
    assert again.returncode == 0 and "not running" in again.stdout, again
    assert cluster.mgm("SHOW").stdout.count("down") == 3

    second = cluster.up()
    assert "starts again with the rows that it had" in second.stdout and second.stderr == "", second
    assert cluster.sql(2, "SELECT * FROM d.t") == [["1"]]
    cluster.sql(3, "INSERT INTO d.t VALUES (2)")
    with open(os.path.join(cluster.dir, "config.json")) as file:
        assert json.load(file)["memory"] == "128M", "the directory keeps its configuration"


def test_foreground(environment):
    """In the foreground it says when it is ready, and ends cleanly on SIGTERM and on SIGINT."""
    for index, sent in enumerate([signal.SIGTERM, signal.SIGINT]):
        dir = environment.path(f"data{index}")
        process = environment.start("up", "--dir", dir, "--port", 0, "--data-nodes", 1, "--memory", "256M", "--timeout", 120)
        said = []
        for line in process.stdout:
            said.append(line)
            if "--socket" in line:
                break
        assert any(line.startswith("ready") for line in said), said
        with open(os.path.join(dir, "cluster.json")) as file:
            status = json.load(file)
        assert status["supervisor_pid"] == process.pid
        assert [node["roles"] for node in status["nodes"]] == [["voter"], ["data", "sql"]], "one voter for two nodes"
        process.send_signal(sent)
        rest = process.stdout.read()
        assert process.wait(limit(60)) == 0, rest
        assert "the cluster is stopped" in rest, rest
        assert not any(is_ours(node["pid"], dir) for node in status["nodes"])


def test_ports_taken(environment):
    """A taken port is named, nothing is left running, and the directory can be used with other ports."""
    first = free_ports(2)
    for taken in (first, first + 1):
        with socket.socket() as held:
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            held.bind(("127.0.0.1", taken))
            held.listen()
            cluster = Cluster(environment, f"data{taken}")
            result = environment.run("up", "--detach", "--dir", cluster.dir, "--port", first, "--memory", "256M")
            assert result.returncode == 1 and str(taken) in result.stderr and "taken" in result.stderr, result
            cluster.note_pids()
            assert cluster.running() == []
            assert cluster.status()["state"] == "stopped"
        cluster.up("--port", first)
        assert [node["port"] for node in cluster.sql_nodes()] == [first, first + 1]
        assert cluster.down().returncode == 0


def test_refusals(environment):
    """What cannot be is refused before anything is started, with a reason."""
    dir = environment.path("data")
    for arguments, code, reason in [
        (["up", "--dir", dir, "--data-nodes", 3], 1, "multiple of --replicas"),
        (["up", "--dir", dir, "--memory", "900T"], 1, "not enough memory"),
        (["up", "--dir", dir, "--memory", "1M"], 1, "at least"),
        (["up", "--dir", dir, "--memory", "lots"], 2, "lots"),
        (["up", "--dir", dir, "--replicas", 5], 2, "replicas"),
        (["up", "--dir", dir, "--port", 65535], 1, "65535"),
        (["up", "--dir", dir, "--nonsense"], 2, "nonsense"),
        (["up", "--dir", environment.path("x" * 100)], 1, "shorter path"),
        (["up", "--dir", "/proc/nothing"], 1, "/proc/nothing"),
        (["down", "--dir", environment.path("none")], 1, "--dir"),
        (["down", "--dir", dir], 1, "no cluster"),
        (["mgm", "--dir", environment.path("none"), "-e", "SHOW"], 2, "no cluster"),
        (["desc", "--dir", environment.path("none"), "a.b"], 2, "no cluster"),
        (["server", "--dir", environment.path("none"), "--node", 2], 1, "config.json"),
        (["nonsense"], 2, "nonsense"),
        ([], 2, "Usage"),
    ]:
        result = environment.run(*arguments)
        assert result.returncode == code and reason in result.stderr, (arguments, result)
    assert "cluster.json" not in os.listdir(dir)
    version = environment.run("--version")
    assert version.returncode == 0 and re.fullmatch(r"skarv \d+\.\d+\.\d+\n", version.stdout), version
    for command in ["up", "down", "server", "mgm", "desc"]:
        help = environment.run(command, "--help")
        assert help.returncode == 0 and "--dir" in help.stdout, help


def test_directory_in_use(environment):
    """A directory has one cluster at a time, and its shape stays."""
    cluster = environment.cluster("data", "--data-nodes", 1)
    result = environment.run("up", "--dir", cluster.dir, "--port", 0)
    assert result.returncode == 1 and str(cluster.status()["supervisor_pid"]) in result.stderr, result
    assert "skarv down" in result.stderr, result
    assert cluster.sql(2, "SELECT 1") == [["1"]]
    result = environment.run("server", "--dir", cluster.dir, "--node", 2)
    assert result.returncode == 1 and str(cluster.node(2)["pid"]) in result.stderr, result
    assert cluster.down().returncode == 0
    result = environment.run("up", "--dir", cluster.dir, "--data-nodes", 2)
    assert result.returncode == 1 and "was made with 1" in result.stderr, result


def test_shapes(environment):
    """One to four data nodes, one to three replicas: rows written through one node are read through all."""
    for data_nodes, replicas, voters in [(1, 1, 1), (2, 1, 3), (3, 3, 3), (4, 2, 5)]:
        cluster = environment.cluster(f"d{data_nodes}{replicas}", "--data-nodes", data_nodes, "--replicas", replicas,
                                      "--workers", 1, "--memory", "64M")
        nodes = cluster.status()["nodes"]
        assert sum("voter" in node["roles"] for node in nodes) == voters
        values = ",".join(f"({number},{number * number})" for number in range(500))
        cluster.sql(2, f"CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v INT); INSERT INTO d.t VALUES {values}")
        for node in cluster.sql_nodes():
            assert cluster.sql(node["id"], "SELECT COUNT(*), SUM(v) FROM d.t") == [["500", "41541750"]]
            assert cluster.sql(node["id"], "SELECT v FROM d.t WHERE id = 77") == [["5929"]]
        answer = cluster.desc("d.t")
        assert answer["rows"] == 500
        assert len({partition["shard"] for partition in answer["partitions"]}) == data_nodes
        assert cluster.down().returncode == 0


def test_two_at_once(environment):
    """Two clusters on one machine do not see each other."""
    one = environment.cluster("one", "--data-nodes", 1)
    two = environment.cluster("two", "--data-nodes", 1)
    one.sql(2, "CREATE DATABASE only_in_one")
    assert ["only_in_one"] not in two.sql(2, "SHOW DATABASES")
    assert one.status()["cluster_id"] != two.status()["cluster_id"]


def test_voter_dies(environment):
    """A voter that is killed is started again, and votes; rows can be read and written all the while, also after."""
    cluster = environment.cluster()
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)")
    before = cluster.node(1)
    os.kill(before["pid"], signal.SIGKILL)
    cluster.sql(2, "INSERT INTO d.t VALUES (1)")
    assert cluster.sql(3, "SELECT * FROM d.t") == [["1"]]
    after = wait_for("node 1 is started again", lambda: (node := cluster.node(1))["restarts"] > 0 and node["pid"] and node)
    cluster.note_pids()
    assert after["pid"] != before["pid"]
    cluster.sql(3, "INSERT INTO d.t VALUES (2)")
    assert cluster.sql(2, "SELECT COUNT(*) FROM d.t") == [["2"]]
    wait_for("node 1 is back", lambda: re.match(r"id=1 +started ", cluster.mgm("SHOW").stdout))
    cluster.sql(3, "CREATE TABLE d.u (id INT PRIMARY KEY)")
    assert cluster.down().returncode == 0
    assert cluster.running() == []


def test_data_node_dies(environment):
    """A data node that is killed is reported, not hidden; with --no-restart it stays down."""
    cluster = environment.cluster("data", "--no-restart")
    killed = cluster.node(3)["pid"]
    os.kill(killed, signal.SIGKILL)
    wait_for("the supervisor notices", lambda: cluster.node(3)["pid"] is None)
    log = pathlib.Path(cluster.dir, "supervisor.log")
    # The status has it before the words have.
    said = wait_for("the supervisor says what comes of it", lambda: "takes over" in (text := log.read_text()) and text)
    assert f"node 3 (process {killed}) ended, killed by signal 9" in said, said
    assert "node 2 takes over its rows" in said and f"skarv server --dir {cluster.dir} --node 3" in said, said
    shown = cluster.mgm("SHOW").stdout.splitlines()
    assert re.match(r"id=3 +down ", shown[2]), shown
    assert re.match(r"id=2 +started ", shown[1]), shown
    down = cluster.down()
    assert down.returncode == 0 and cluster.running() == [], down


def kill_supervisor(cluster):
    supervisor = cluster.status()["supervisor_pid"]
    os.kill(supervisor, signal.SIGKILL)
    wait_for("the supervisor is gone", lambda: not arguments_of(supervisor)[0:1] or arguments_of(supervisor) == [""])


def test_supervisor_dies(environment):
    """Without its supervisor a cluster works on; `up` refuses its directory, and `down` stops its nodes as planned: nothing is lost."""
    cluster = environment.cluster("data")
    kill_supervisor(cluster)
    assert cluster.sql(2, "SELECT 1") == [["1"]]
    result = environment.run("up", "--dir", cluster.dir, "--port", 0)
    assert result.returncode == 1 and "still run" in result.stderr, result
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)")
    for id in range(3):
        # Told at a level that does not wait for the disks, a moment before.
        cluster.sql(2, f"INSERT INTO d.t VALUES ({id})")
        down = cluster.down()
        assert down.returncode == 0 and cluster.running() == [], down
        cluster.up()
        assert cluster.sql(2, "SELECT COUNT(*) FROM d.t") == [[str(id + 1)]]
        assert cluster.sql(2, "SELECT NOTHING_LOST FROM skarv.restart_info LIMIT 1") == [["YES"]]
        kill_supervisor(cluster)


def start_by_hand(environment, cluster, node, is_ready=True):
    """A node of a box that was killed, as an operator starts it again."""
    process = environment.start("server", "--dir", cluster.dir, "--node", node)
    if is_ready:
        for line in process.stdout:
            if "is ready" in line:
                break
        else:
            raise AssertionError(f"node {node} ended: {process.wait(10)}")
    cluster.pids_seen.add(process.pid)
    return process


def test_down_finds_all(environment):
    """`down` ends all nodes of its directory, whatever started them, and names them: a node that was started by hand, with the supervisor and
    without, one that is frozen, one that has just begun; several `down`s at once, and a file that names a process of somebody else."""
    cluster = environment.cluster("data", "--no-restart")
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)")
    starts = (("ready", True), ("ready", False), ("frozen", True), ("frozen", False), ("begins", True), ("begins", False))
    for round, (state, has_supervisor) in enumerate(starts):
        supervisor = cluster.status()["supervisor_pid"]
        os.kill(cluster.node(2)["pid"], signal.SIGKILL)
        wait_for("the supervisor notices", lambda: cluster.node(2)["pid"] is None)
        process = start_by_hand(environment, cluster, 2, is_ready=state != "begins")
        if state == "ready":
            cluster.sql(3, f"INSERT INTO d.t VALUES ({round})")
        twice = environment.start("server", "--dir", cluster.dir, "--node", 2)
        if not has_supervisor:
            kill_supervisor(cluster)
        if state == "frozen":
            os.kill(process.pid, signal.SIGSTOP)
        with ThreadPoolExecutor(3) as threads:
            downs = [threads.submit(cluster.down) for _ in range(3)]
            results = [down.result() for down in downs]
        said = "".join(result.stdout for result in results)
        # A node that begins has not rested, and a frozen one is excluded: then it is said what may be lost.
        assert state != "ready" or all(result.returncode == 0 for result in results), results
        if all(result.returncode == 0 for result in results):
            # Of two processes that begin, either may be the one that runs.
            of_node_2 = [process.pid] + ([twice.pid] if state == "begins" else [])
            assert any(f"node 2 (process {pid}" in said for pid in of_node_2), said
            assert "node 3 (process" in said and "node 1 (process" in said, said
            assert said.count("stopped the cluster") == 1 and (f"supervisor (process {supervisor})" in said) == has_supervisor, said
        assert cluster.running() == [], (state, has_supervisor, results)
        assert process.wait(10) is not None and twice.wait(10) is not None
        # The number of a node may be another process's by then.
        path = os.path.join(cluster.dir, "cluster.json")
        status = cluster.status()
        status["supervisor_pid"] = os.getpid()
        status["nodes"][1]["pid"] = os.getpid()
        with open(path, "w") as file:
            json.dump(status, file)
        again = cluster.down()
        assert again.returncode == 0 and "not running" in again.stdout, again
        cluster.up("--no-restart")
        assert cluster.sql(2, "SELECT COUNT(*) FROM d.t") == [[str(min(round + 1, 2))]]


def write_until(sockets, stop):
    """Inserts into d.t through all of these sockets, an id each, until the connections close; `stop` is called after a second. How many
    were acknowledged."""
    acknowledged = [0] * len(sockets)

    def write(number):
        session = Session(sockets[number])
        try:
            while (answer := session.execute("INSERT INTO d.t VALUES (NULL)")).error is None:
                acknowledged[number] += answer.changed
            # Closed, shutting down, or in between.
            assert answer.error in (1053, 2013, 3169), answer
        except ConnectionError:
            pass
        finally:
            session.close()

    with ThreadPoolExecutor(len(sockets)) as threads:
        writers = [threads.submit(write, number) for number in range(len(sockets))]
        time.sleep(1)
        stop()
        for writer in writers:
            writer.result()
    assert all(acknowledged), acknowledged
    return sum(acknowledged)


def test_signalled_at_once(environment):
    """A machine that is shut down signals all of its processes: what was acknowledged a moment before is there, at a level that does not
    wait for the disks."""
    cluster = environment.cluster("data")
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY)")
    written = 0
    for has_supervisor in (True, False):
        if not has_supervisor:
            kill_supervisor(cluster)
        cluster.note_pids()
        running = cluster.running()
        written += write_until(cluster.sockets(), lambda: [os.kill(pid, signal.SIGTERM) for pid in running])
        wait_for("all have ended", lambda: cluster.running() == [], 15)
        cluster.up()
        assert cluster.sql(2, "SELECT COUNT(*) FROM d.t") == [[str(written)]], has_supervisor
        assert cluster.sql(2, "SELECT NOTHING_LOST FROM skarv.restart_info LIMIT 1") == [["YES"]], has_supervisor


def test_rows_without_configuration(environment):
    """`up` in a directory whose config.json is gone removes nothing."""
    cluster = environment.cluster("data")
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1)")
    assert cluster.down().returncode == 0
    path = os.path.join(cluster.dir, "config.json")
    os.rename(path, path + ".away")
    refused = environment.run("up", "--dir", cluster.dir, "--port", 0)
    assert refused.returncode == 1 and "node2.rows" in refused.stderr and "--initial" in refused.stderr, refused
    os.rename(path + ".away", path)
    cluster.up()
    assert cluster.sql(2, "SELECT COUNT(*) FROM d.t") == [["1"]]


def test_control_files_gone(environment):
    """Voters that have lost their control files do not begin anew on disks that are full."""
    cluster = environment.cluster("data", "--data-nodes", 1)
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1)")
    assert cluster.down().returncode == 0
    path = os.path.join(cluster.dir, "node1.control")
    os.rename(path, path + ".away")
    refused = environment.run("up", "--detach", "--dir", cluster.dir, "--port", 0, "--timeout", 8)
    assert refused.returncode != 0, refused
    with open(os.path.join(cluster.dir, "node1.log")) as file:
        assert "has rows of a cluster on its disk, of which no voter knows" in file.read()
    os.replace(path + ".away", path)
    cluster.up()
    assert cluster.sql(2, "SELECT COUNT(*) FROM d.t") == [["1"]]


def test_server_by_hand(environment):
    """Nodes with a configuration file of their own, each in a directory of its own, make a cluster."""
    nodes = ByHand(environment)
    nodes.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1),(2),(3)")
    assert nodes.sql(3, "SELECT COUNT(*) FROM d.t") == "3\n"
    shown = environment.run("mgm", "--dir", nodes.dir(2), "-e", "SHOW")
    assert len(re.findall(r"^id=\d +started", shown.stdout, re.MULTILINE)) == 3, shown
    nodes.check_equal("d.t")
    for process in nodes.processes.values():
        process.send_signal(signal.SIGTERM)
    for process in nodes.processes.values():
        assert process.wait(limit(60)) == 0
