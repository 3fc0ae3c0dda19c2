"""A node is frozen (SIGSTOP), and goes on later: the others find out, and it answers nothing that is old by then."""

import os
import re
import selectors
import signal
import statistics
import subprocess
import sys
import threading
import time

from cluster import limit
from isolation_client import Session
from rejoin import Load
from takeover import CUT_OFF, ROWS_PER_SESSION, SESSIONS

# The longest statement of a client of a live node, in seconds, where no supervisor reports the failure.
WAIT_MAX = 2.0
# By then a node that does nothing is excluded: 0.4 s of silence, the end of its lease, an election if it led the voters.
EXCLUDED_AFTER = 1.6
PROBES = 8
# A worker that acknowledges nothing for twenty heartbeats, five seconds in a box, and then its node's lease.
HUNG_WAIT_MAX = 8.0
# A process with so little time that its requests take a hundred times as long, in seconds; and by when it is excluded: five
# seconds until most probes say so, fifty heartbeats, and the end of its lease, and once more as long where chance has it.
STOPPED, RUNS = 0.6, 0.005
SLOW_MAX = 40.0
BUSY_SESSIONS, BUSY_ROWS = 800, 100_000
# Stops one thread, not its process, until that ends: PTRACE_SEIZE, PTRACE_INTERRUPT, waitpid with __WALL.
HANG = """
import ctypes, os, sys
libc, thread = ctypes.CDLL(None, use_errno=True), int(sys.argv[1])
for request in (0x4206, 0x4207):
    if libc.ptrace(request, thread, None, None) != 0:
        sys.exit(f"ptrace: {os.strerror(ctypes.get_errno())}")
print("hangs", flush=True)
while not os.WIFEXITED(status := os.waitpid(thread, 0x40000000)[1]) and not os.WIFSIGNALED(status):
    pass
"""


def make(environment, name, *arguments):
    cluster = environment.cluster(name, *arguments)
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v INT NOT NULL)")
    cluster.sql(2, "CREATE TABLE d.filler (id INT PRIMARY KEY); CREATE TABLE d.probe (id INT PRIMARY KEY, v INT NOT NULL)")
    values = ", ".join(f"({id}, 0)" for id in range(SESSIONS * ROWS_PER_SESSION))
    cluster.sql(2, f"INSERT INTO d.t VALUES {values}; INSERT INTO d.probe VALUES (1, 0), (2, 0)")
    return cluster


def run_for(load, seconds):
    until = time.monotonic() + seconds
    load.run(lambda: time.monotonic() > until)


class Probes:
    """Connections to the frozen node that have asked it something when it goes on."""

    def __init__(self, load, victim):
        self.readers = [Session(load.paths[victim], f"probe {number}") for number in range(PROBES)]
        self.writer = Session(load.paths[victim], "writing probe")
        self.ask = lambda probe: probe.send("SELECT v FROM d.probe WHERE id = 1")

    def send(self):
        for probe in self.readers:
            self.ask(probe)
        self.writer.send("UPDATE d.probe SET v = v + 1 WHERE id = 2")

    def check(self, expected):
        """Every answer is the newest value, or that there is none; each asks again until its connection is closed. Whether the
        write was acknowledged."""
        seen = {"new": 0, "refused": 0}
        open_ones = list(self.readers)
        deadline = time.monotonic() + limit(10)
        while open_ones:
            assert time.monotonic() < deadline, f"{len(open_ones)} connections to an excluded node are still served: {seen}"
            for probe in list(open_ones):
                answer = probe.answer(limit(10))
                assert answer is not None, f"{probe.name}: no answer"
                if answer.error == 2013:
                    open_ones.remove(probe)
                    continue
                if answer.error is None:
                    assert answer.rows == [[expected]], f"{probe.name}: a stale read: {answer}, and it is {expected}"
                    seen["new"] += 1
                else:
                    assert answer.error == CUT_OFF, f"{probe.name}: {answer}"
                    seen["refused"] += 1
                try:
                    self.ask(probe)
                except OSError:
                    open_ones.remove(probe)
        answer = self.writer.answer(limit(10))
        assert answer is not None and answer.error in (None, 2013, CUT_OFF, 50807), f"{answer}"
        return answer.error


def freeze(load, victim, seconds):
    """The longest wait of a client of another node, in seconds."""
    load.victims = {victim}
    pid = load.cluster.node(victim)["pid"]
    is_data = victim in load.paths
    probes = Probes(load, victim) if is_data else None
    for worker in load.workers:
        worker.longest, worker.may_be_cut_off = 0.0, worker.node == victim
    load.died_at = load.felt_at = time.monotonic()
    os.kill(pid, signal.SIGSTOP)
    try:
        run_for(load, EXCLUDED_AFTER)
        if is_data:
            partner = 5 - victim
            load.cluster.sql(partner, "UPDATE d.probe SET v = v + 1 WHERE id = 1")
            value = load.cluster.sql(partner, "SELECT v FROM d.probe WHERE id = 1")[0][0]
            probes.send()
        run_for(load, seconds - EXCLUDED_AFTER)
    finally:
        os.kill(pid, signal.SIGCONT)
    longest = max(worker.longest for worker in load.workers if worker.node != victim)
    load.felt_at = time.monotonic()
    if is_data:
        written = probes.check(value)
        load.wait_back(victim)
        rows = load.cluster.sql(partner, "SELECT v FROM d.probe WHERE id = 2")
        # Alone it can acknowledge nothing; and an unacknowledged write was not done, because the others had continued.
        assert written != None and rows == [["0"]], (written, rows)
    else:
        run_for(load, 0.5)
        load.victims = set()
    return longest


def test_nodes(environment):
    """The sequencer, the other data node and the voter that leads are frozen for five seconds under load."""
    durations = [5, 20, 5, 5, 5] if environment.long else [3]
    waits = {}
    for number, seconds in enumerate(durations):
        cluster = make(environment, f"data-{number}")
        load = Load(cluster)
        run_for(load, 0.5)
        for victim, name in ((1, "voter"), (2, "sequencer"), (3, "data node")):
            waits.setdefault(name, []).append(freeze(load, victim, seconds))
            load.check()
        load.close()
        down = cluster.down()
        assert down.returncode == 0 and cluster.running() == [], down
    for name, seconds in waits.items():
        print(f"       {name} frozen for {', '.join(map(str, durations))} s: longest wait of a client of a living node: median "
              f"{1000 * statistics.median(seconds):.0f} ms, worst {1000 * max(seconds):.0f} ms", flush=True)
        environment.figure(f"longest wait while the {name} is frozen", max(seconds), "s", most=WAIT_MAX)


def thread_of(pid, name):
    tasks = f"/proc/{pid}/task"
    names = {open(f"{tasks}/{task}/comm").read().strip(): int(task) for task in os.listdir(tasks)}
    return names[name]


def test_one_worker(environment):
    """One worker of a node hangs, and the node says that it lives: it is excluded, comes back, and nothing acknowledged is lost."""
    cluster = make(environment, "hung", "--workers", "2")
    load = Load(cluster)
    run_for(load, 0.5)
    longest = []
    for victim in (3, 2):
        load.victims = {victim}
        thread = thread_of(cluster.node(victim)["pid"], f"node{victim}-worker1")
        for worker in load.workers:
            worker.longest = 0.0
        hang = subprocess.Popen([sys.executable, "-c", HANG, str(thread)], stdout=subprocess.PIPE, text=True)
        assert hang.stdout.readline() == "hangs\n"
        load.died_at = time.monotonic()
        # Sessions that wait for it get an error when it is excluded, not before.
        load.felt_at = load.died_at + HUNG_WAIT_MAX
        load.wait_back(victim)
        assert hang.wait(limit(10)) == 0
        longest.append(max(worker.longest for worker in load.workers if worker.node != victim))
        # Whoever leads the control plane says so.
        said = "".join(open(os.path.join(cluster.dir, f"node{node}.log")).read() for node in (1, 2, 3))
        assert f"node {victim} is excluded: it hangs" in said, said[-2000:]
        load.check()
        run_for(load, 2)
    load.close()
    print(f"       a worker hangs: longest wait of a client of a living node: {', '.join(f'{1000 * wait:.0f}' for wait in longest)} ms")
    environment.figure("longest wait while a worker hangs", max(longest), "s", most=HUNG_WAIT_MAX)


def waits(pid):
    """How often the workers of a node have done all that there was to do, and waited for more."""
    count = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm") as comm, open(f"/proc/{pid}/task/{task}/status") as status:
            if "worker" in comm.read():
                count += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)$", status.read(), re.MULTILINE)[1])
    return count


class Throttle(threading.Thread):
    """Stops a process most of the time, until it ends. Between that its workers get as far as to wait: where the machine is busy, or its
    cores are given to others, a node that has only been told to go on has said nothing yet, and would be silent and not slow."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.ends = pid, threading.Event()

    def run(self):
        try:
            while not self.ends.is_set():
                os.kill(self.pid, signal.SIGSTOP)
                self.ends.wait(STOPPED)
                before = waits(self.pid)
                os.kill(self.pid, signal.SIGCONT)
                self.ends.wait(RUNS)
                while waits(self.pid) == before and not self.ends.is_set():
                    self.ends.wait(RUNS)
        except (ProcessLookupError, FileNotFoundError):
            pass


def done_in(load, victim, seconds):
    """What the clients of other nodes get done a second."""
    count = lambda: sum(worker.count for worker in load.workers if worker.node != victim)
    before = count()
    run_for(load, seconds)
    return (count() - before) / seconds


def best_second(load, victim, seconds):
    """What they get done in the best of some seconds. In the others the machine may have given its cores to somebody else: a third of the
    rate was seen to go with a sixth of the time stolen, and came back with it."""
    return max(done_in(load, victim, 1) for _ in range(seconds))


def test_slow(environment):
    """A node that gets little time is waited for, then excluded; the others go on as before, and it comes back when it is well."""
    rates = []
    for victim in (3, 2) if environment.long else (3,):
        cluster = make(environment, f"slow-{victim}")
        load = Load(cluster)
        run_for(load, 0.5)
        quick = best_second(load, victim, 3)
        load.victims = {victim}
        throttle = Throttle(cluster.node(victim)["pid"])
        throttle.start()
        try:
            load.died_at = time.monotonic()
            load.felt_at = load.died_at + SLOW_MAX
            slow = done_in(load, victim, 3)
            load.wait_back(victim)
        finally:
            throttle.ends.set()
            throttle.join(limit(10))
        took = time.monotonic() - load.died_at
        said = "".join(open(os.path.join(cluster.dir, f"node{node}.log")).read() for node in (1, 2, 3))
        assert f"node {victim} is excluded: it is slow" in said, said[-2000:]
        load.check()
        run_for(load, 1)
        again = best_second(load, victim, 4)
        load.check()
        load.close()
        rates.append((quick, slow, again))
        print(f"       node {victim} gets {100 * RUNS / (STOPPED + RUNS):.1f} % of its time: others do {quick:.0f} a second before, "
              f"{slow:.0f} while they wait for it, {again:.0f} after; it was back after {took:.1f} s")
    for quick, slow, again in rates:
        environment.figure("rate beside a slow node, of that before", slow / quick, "times", most=0.25)
        environment.figure("rate when the slow node is excluded, of that before", again / quick, "times", least=0.5)


def test_busy(environment):
    """A node whose clients ask for more than it can do is neither silent nor slow: what keeps the cluster together has its turn. So with
    clients of one node, and of both."""
    cluster = environment.cluster("busy", "--workers", "2")
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, c VARCHAR(50))")
    for first in range(0, BUSY_ROWS, 2000):
        cluster.sql(2, "INSERT INTO d.t VALUES " + ", ".join(f"({id}, '{id}')" for id in range(first, first + 2000)))
    pids = [cluster.node(id)["pid"] for id in (1, 2, 3)]
    ask = lambda session: session.send("SELECT COUNT(*) FROM d.t WHERE c LIKE '%7'")
    count = 0
    for nodes in ((3,), (2, 3)):
        sessions = [Session(cluster.node(nodes[number % len(nodes)])["socket"], f"busy {number}") for number in range(BUSY_SESSIONS)]
        selector = selectors.DefaultSelector()
        for session in sessions:
            selector.register(session, selectors.EVENT_READ)
            ask(session)
        until = time.monotonic() + (60 if environment.long else 10)
        while time.monotonic() < until:
            for key, _ in selector.select(0.1):
                answer = key.fileobj.on_readable()
                if answer is not None:
                    assert answer.rows == [[str(BUSY_ROWS // 10)]], f"{key.fileobj.name}: {answer}"
                    count += 1
                    ask(key.fileobj)
        for session in sessions:
            session.close()
    assert count > 0 and pids == [cluster.node(id)["pid"] for id in (1, 2, 3)], "a node was restarted"
    said = "".join(open(os.path.join(cluster.dir, f"node{node}.log")).read() for node in (1, 2, 3))
    assert " is slow" not in said and "excluded" not in said, [line for line in said.splitlines() if "WARN" in line]
    print(f"       {BUSY_SESSIONS} sessions of one node, then of both, count {BUSY_ROWS} rows: {count} answers")


def test_for_a_moment(environment):
    """A pause below four heartbeats costs nobody anything but the pause."""
    cluster = make(environment, "data")
    load = Load(cluster)
    run_for(load, 0.3)
    pids = [cluster.node(id)["pid"] for id in (1, 2, 3)]
    for victim in (2, 3, 1, 2, 3):
        load.felt_at = float("-inf")
        os.kill(pids[victim - 1], signal.SIGSTOP)
        try:
            run_for(load, 0.2)
        finally:
            os.kill(pids[victim - 1], signal.SIGCONT)
        run_for(load, 0.3)
    load.check()
    assert sum(worker.rolled_back for worker in load.workers) == 0
    assert pids == [cluster.node(id)["pid"] for id in (1, 2, 3)], "a node was restarted"
    load.close()
