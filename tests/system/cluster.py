"""What every system test works with: a temporary place, clusters in it, and clients for them."""

import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time

# Generous: a slow answer on a busy machine is no failure, a missing one is.
COMMAND_TIMEOUT = 180
# The limit of a wait that only ends a hang, in seconds: ten times what a healthy cluster needs on an idle machine.
HANG = 120
# In the default tier a node is declared dead after four of these without a sign of it, two seconds. The long tier has the defaults of the
# program, with which a machine that is busy with other work lets live nodes be excluded: a second in a box, 0.4 seconds otherwise.
PATIENT_HEARTBEAT_MS = 500
# Where figures of the long tier are appended, one a line: name, value, unit, bar, verdict, separated by tabs.
FIGURES = "SKARV_TEST_FIGURES"

# True in the long tier, which has the machine to itself: its limits are bars. Set by run.py before a test begins.
is_long = False


def limit(seconds):
    """The limit of a wait whose length is a promise. The long tier holds the cluster to it. The default tier, whose machine may be busy
    with other work, waits ten times as long, so that only a hang fails."""
    return seconds if is_long else 10 * seconds


def bar_text(unit, most, least):
    return " and ".join(f"{sign} {bar:g} {unit}" for sign, bar in (("at most", most), ("at least", least)) if bar is not None)


def keep_figure(name, value, unit, most=None, least=None):
    """Prints a figure and its bar, and appends them to the table of the run, if there is one. Returns whether the bar is met."""
    is_met = (most is None or value <= most) and (least is None or least <= value)
    verdict, bar = "ok" if is_met else "FAILED", bar_text(unit, most, least)
    print(f"       {name}: {value:.4g} {unit}, bar {bar}: {verdict}", flush=True)
    if FIGURES in os.environ:
        with open(os.environ[FIGURES], "a") as file:
            file.write(f"{name}\t{value:.4g} {unit}\t{bar}\t{verdict}\n")
    return is_met


class Environment:
    """The place of one test. Everything started through it ends with it."""

    def __init__(self, root, binary, long, keep):
        self.root, self.binary, self.long, self.keep = root, binary, long, keep
        self.missed = []
        # Short, because the path of a unix socket has 107 bytes.
        self.dir = tempfile.mkdtemp(prefix="skarv-")
        self.clusters = []
        self.processes = []

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def figure(self, name, value, unit, most=None, least=None):
        """A value that a clock has measured, and its bar. The default tier prints it; the long tier also judges it, when the test ends."""
        if not self.long:
            print(f"       {name}: {value:.4g} {unit} (the long tier asks for {bar_text(unit, most, least)})", flush=True)
        elif not keep_figure(name, value, unit, most, least):
            self.missed.append(f"{name}: {value:.4g} {unit}, bar {bar_text(unit, most, least)}")

    def run(self, *arguments, input=None, timeout=COMMAND_TIMEOUT):
        """Runs skarv; the result has returncode, stdout and stderr."""
        return subprocess.run([self.binary, *map(str, arguments)], input=input, capture_output=True, text=True,
                              timeout=timeout, stdin=None if input is not None else subprocess.DEVNULL)

    def start(self, *arguments):
        """Starts skarv and returns at once; what it says is read from .stdout."""
        process = subprocess.Popen([self.binary, *map(str, arguments)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   start_new_session=True)
        self.processes.append(process)
        return process

    def cluster(self, name="data", *arguments):
        """A cluster in a directory of this place, started and ready."""
        cluster = self.new_cluster(name)
        cluster.up(*arguments)
        return cluster

    def new_cluster(self, name):
        """One that is not started yet."""
        return Cluster(self, name)

    def show_logs(self):
        """The ends of all logs below this test's directory, those of nodes that were started by hand, too."""
        for path in sorted(pathlib.Path(self.dir).rglob("*.log")):
            lines = path.read_text(errors="replace").splitlines()[-15:]
            print(f"--- the end of {path.relative_to(self.dir)}")
            print("\n".join(f"    {line[:400]}" for line in lines), flush=True)

    def close(self, failed):
        for cluster in self.clusters:
            cluster.destroy()
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stdout.close()
        if failed and self.keep:
            print(f"kept {self.dir}")
        else:
            shutil.rmtree(self.dir, ignore_errors=True)


class Cluster:
    """A cluster started by `skarv up --detach` on free ports."""

    def __init__(self, environment, name):
        self.environment = environment
        self.dir = environment.path(name)
        self.pids_seen = set()
        environment.clusters.append(self)

    def up(self, *arguments):
        """Starts it; flags given here come last, so they win over the defaults."""
        flags = ["--dir", self.dir, "--timeout", 120]
        if "--memory" not in arguments and not os.path.exists(os.path.join(self.dir, "config.json")):
            # Whatever the machine has: many clusters run beside each other. A cluster that is started again keeps its memory.
            flags += ["--memory", "256M"]
        if not is_long and "--heartbeat-ms" not in arguments:
            flags += ["--heartbeat-ms", PATIENT_HEARTBEAT_MS]
        if "--port" not in arguments:
            flags += ["--port", 0]
        result = self.environment.run("up", "--detach", *flags, *arguments)
        assert result.returncode == 0, f"up failed: {result.stdout}{result.stderr}"
        self.note_pids()
        return result

    def down(self):
        return self.environment.run("down", "--dir", self.dir)

    def status(self):
        with open(os.path.join(self.dir, "cluster.json")) as file:
            return json.load(file)

    def note_pids(self):
        status = self.status()
        self.pids_seen.update(filter(None, [status["supervisor_pid"], *(node["pid"] for node in status["nodes"])]))

    def node(self, id):
        return next(node for node in self.status()["nodes"] if node["id"] == id)

    def sql_nodes(self):
        return [node for node in self.status()["nodes"] if "sql" in node["roles"]]

    def sockets(self):
        return [node["socket"] for node in self.sql_nodes()]

    def sql(self, node, statements, tcp=False, expect_error=False, timeout=COMMAND_TIMEOUT):
        """Runs SQL with the mariadb client; rows as lists of texts, or the error's text."""
        node = self.node(node)
        where = ["--protocol=tcp", "--host=127.0.0.1", f"--port={node['port']}"] if tcp else [f"--socket={node['socket']}"]
        command = ["mariadb", "--no-defaults", "--user=root", *where, "--batch", "--skip-column-names"]
        result = subprocess.run(command, input=statements, capture_output=True, text=True, timeout=timeout)
        if expect_error:
            assert result.returncode != 0, f"no error from: {statements[:200]}"
            return result.stderr
        assert result.returncode == 0, f"node {node['id']}: {statements[:300]}: {result.stderr}"
        return [line.split("\t") for line in result.stdout.splitlines()]

    def desc(self, table):
        """What `skarv desc` says of a table whose replicas agree."""
        result = self.environment.run("desc", "--dir", self.dir, table, "--json")
        assert result.returncode == 0, f"desc {table}: exit code {result.returncode}: {result.stdout}{result.stderr}"
        answer = json.loads(result.stdout)
        shards = {}
        for partition in answer["partitions"]:
            shards.setdefault(partition["shard"], []).append(partition)
        replicas = self.status()["replicas"]
        for shard, partitions in shards.items():
            assert len(partitions) == replicas, f"{table}, shard {shard}: {partitions}"
            assert len({(partition["rows"], partition["checksum"]) for partition in partitions}) == 1, partitions
            assert [partition["role"] for partition in partitions].count("primary") == 1, partitions
        assert shards, answer
        return answer

    def mgm(self, command, *flags):
        return self.environment.run("mgm", "--dir", self.dir, "-e", command, *flags)

    def running(self):
        """The processes of this cluster that run now."""
        return [pid for pid in self.pids_seen if is_ours(pid, self.dir)]

    def destroy(self):
        """Ends it without asking much; for the end of a test, passed or not."""
        if os.path.exists(os.path.join(self.dir, "cluster.json")):
            self.note_pids()
            self.down()
        for pid in self.running():
            os.kill(pid, signal.SIGKILL)


def arguments_of(pid):
    """The arguments of a running process; none for one that has ended."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return [part.decode(errors="replace") for part in file.read().split(b"\0")]
    except (FileNotFoundError, ProcessLookupError):
        return []


def is_ours(pid, dir):
    """Is it a process of the cluster in this directory, that runs or is ending? A process that is killed loses its arguments with its
    memory, and only then its files, and the locks with them."""
    arguments = arguments_of(pid)
    return dir in arguments if any(arguments) else is_ending(pid)


def is_ending(pid):
    """Has a process without arguments something left that it could hold?"""
    try:
        with open(f"/proc/{pid}/stat") as file:
            state = file.read().rsplit(")", 1)[1].split()[0]
        return state not in "ZX" or len(os.listdir(f"/proc/{pid}/task")) > 1
    except OSError:
        return False


def wait_for(what, condition, seconds=None):
    """Waits until a condition holds; as `limit` of so many seconds, if its time is a promise. The error names what did not happen."""
    seconds = HANG if seconds is None else limit(seconds)
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)


# Where the next free ports are looked for, by process: another that was forked from this one looks elsewhere.
next_ports = {}


def free_ports(count):
    """So many neighbouring free ports, below those the system gives to outgoing connections; never the same again, also if nobody
    listens there yet."""
    for _ in range(10_000):
        first = next_ports.get(os.getpid(), 32_000)
        if first + count > 32_000:
            first = random.SystemRandom().randrange(12_000, 31_000)
        next_ports[os.getpid()] = first + count
        sockets = []
        try:
            for port in range(first, first + count):
                held = socket.socket()
                sockets.append(held)
                held.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
        finally:
            for held in sockets:
                held.close()
    raise AssertionError("no free ports")


def patient():
    """The entry of a configuration that makes its cluster patient, in the default tier."""
    return {} if is_long else {"heartbeat_ms": PATIENT_HEARTBEAT_MS}


class ByHand:
    """Two data nodes and a voter, each started by hand from one configuration file, in a directory of its own."""

    def __init__(self, environment, **config):
        self.environment = environment
        first = free_ports(5)
        nodes = [{"id": 1, "roles": ["voter"], "address": f"127.0.0.1:{first}"}]
        for id in (2, 3):
            nodes.append({"id": id, "roles": ["voter", "data", "sql"], "workers": 2, "address": f"127.0.0.1:{first + id - 1}",
                          "mysql": f"127.0.0.1:{first + id + 1}", "socket": "mysql.sock"})
        self.config = environment.path("cluster.config")
        with open(self.config, "w") as file:
            json.dump({"cluster_id": "00000000000000aa", "replicas": 2, "memory": "64M", **patient(), **config, "nodes": nodes}, file)
        self.processes = {id: self.start(id) for id in (1, 2, 3)}
        for id in self.processes:
            self.wait_ready(id)

    def dir(self, id):
        return self.environment.path(f"n{id}")

    def start(self, id):
        return self.environment.start("server", "--config", self.config, "--node", id, "--dir", self.dir(id))

    def wait_ready(self, id):
        process = self.processes[id]
        said = []
        for line in process.stdout:
            said.append(line)
            if "is ready" in line:
                return
        raise AssertionError(f"node {id} ended: {process.wait(HANG)}: {said}")

    def kill(self, id):
        self.processes[id].kill()
        self.processes[id].wait()

    def restart(self, id):
        self.processes[id] = self.start(id)
        self.wait_ready(id)

    def sql(self, id, statement):
        client = ["mariadb", "--no-defaults", "--user=root", f"--socket={os.path.join(self.dir(id), 'mysql.sock')}", "-NB"]
        return subprocess.run(client, input=statement, capture_output=True, text=True, timeout=COMMAND_TIMEOUT, check=True).stdout

    def check_equal(self, table):
        described = self.environment.run("desc", "--dir", self.dir(3), table)
        assert described.returncode == 0 and described.stdout.splitlines()[-1].startswith("replicas agree"), described
