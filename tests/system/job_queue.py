"""A job queue: sessions of both data nodes take the first free job with SELECT ... FOR UPDATE SKIP LOCKED.

`Log` records when each statement that takes a job was sent and answered. From the log the test computes for which time
each job was certainly free, and finds an answer that passed over a free job, or denied that there was one.
"""

import itertools
import random
from collections import Counter, namedtuple

from isolation import cluster_with
from isolation_client import drive
from isolation_script import LEVELS, connect

TAKE = "SELECT id FROM jobs WHERE state = 0 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"
ROWS_PER_INSERT = 1000
# A session gives a job back with this probability: the job is free again.
GIVES_BACK = 0.02
SEED = 20_261_201
SECONDS = 600

# A way to find free jobs: the keys of the table.
Keys = namedtuple("Keys", "name sql")
KEYS = [Keys("a key on (state, id)", "PRIMARY KEY (id), KEY by_state (state, id)"), Keys("the primary key only", "PRIMARY KEY (id)")]
# A statement that takes a job: ticks of a counter when it was sent and when it was answered, and its job (None: no row).
Take = namedtuple("Take", "session sent answered job")


class Log:
    """What sessions did with jobs, in the order of one clock that counts events of this process."""

    def __init__(self):
        self.clock = itertools.count(1)
        self.takes = []
        # (job, tick when it was free again) of each ROLLBACK.
        self.given_back = []
        # The jobs of acknowledged commits, by how the session finished them.
        self.finished = {"updated": [], "deleted": []}

    def count(self):
        return sum(map(len, self.finished.values()))

    def free_spells(self, jobs):
        """For each job (tick from which it is free, tick until which it is free): `until` is when the statement that
        took it next was sent, and None if there was none. A job may be free for longer, never for less."""
        starts = {job: [0] for job in jobs}
        for job, tick in self.given_back:
            starts[job].append(tick)
        sent = {job: [] for job in jobs}
        for take in sorted(self.takes, key=lambda take: take.answered):
            if take.job is not None:
                sent[take.job].append(take.sent)
        for job in jobs:
            for start, until in itertools.zip_longest(starts[job], sent[job]):
                yield job, start, until

    def check(self, jobs):
        """Every job is finished once, and no answer leaves out a job that was free from its request to its answer."""
        counts = Counter(itertools.chain(*self.finished.values()))
        twice = [job for job, count in counts.items() if count > 1]
        never = [job for job in jobs if job not in counts]
        assert not twice and not never, f"jobs taken twice: {twice[:20]}; jobs never taken: {never[:20]}"
        first_spells, later_spells = {}, []
        for job, start, until in self.free_spells(jobs):
            assert start is not None and until is not None, f"job {job}: a take without a free spell, or the reverse"
            if start == 0:
                first_spells[job] = until
            else:
                later_spells.append((job, start, until))
        # For a job the latest end of the first spells of the jobs before it.
        ends, latest = {}, 0
        for job in sorted(jobs):
            ends[job] = latest
            latest = max(latest, first_spells[job])
        passed_over, denied = [], []
        for take in self.takes:
            end = latest if take.job is None else ends[take.job]
            is_wrong = take.answered < end or any(
                start < take.sent and take.answered < until and (take.job is None or job < take.job)
                for job, start, until in later_spells)
            if is_wrong:
                (denied if take.job is None else passed_over).append(take)
        assert not denied, f"{len(denied)} answers without a row while jobs were free: {denied[:5]}"
        assert not passed_over, f"{len(passed_over)} answers passed over free jobs: {passed_over[:5]}"


class Worker:
    """A session that takes jobs."""

    def __init__(self, session, log, generator):
        self.session, self.log, self.generator = session, log, generator
        [[self.thread]] = session.query("SELECT CONNECTION_ID()")
        # The job that the session holds, and how it ends: a key of Log.finished.
        self.job = self.how = None
        self.is_done = False

    def take(self):
        """Begins a transaction and takes a job, which `self.job` is then; without one the session is done."""
        answer = yield "BEGIN"
        assert answer.error is None, answer
        sent = next(self.log.clock)
        answer = yield TAKE
        assert answer.error is None and len(answer.rows) <= 1, f"{self.session.name}: {TAKE}: {answer}"
        self.job = int(answer.rows[0][0]) if answer.rows else None
        self.log.takes.append(Take(self.session.name, sent, next(self.log.clock), self.job))
        if self.job is None:
            answer = yield "COMMIT"
            assert answer.error is None, answer
            self.is_done = True

    def change(self):
        """Updates or deletes the job that the session holds."""
        self.how = self.generator.choice(["updated", "deleted"])
        statement = (f"UPDATE jobs SET state = 1, worker = '{self.session.name}' WHERE id = {self.job}"
                     if self.how == "updated" else f"DELETE FROM jobs WHERE id = {self.job}")
        answer = yield statement
        assert answer.error is None and answer.changed == 1, f"{self.session.name}: {statement}: {answer}"

    def end(self):
        """Commits, or gives the job back."""
        is_given_back = self.generator.random() < GIVES_BACK
        answer = yield "ROLLBACK" if is_given_back else "COMMIT"
        assert answer.error is None, f"{self.session.name}: {answer}"
        if is_given_back:
            self.log.given_back.append((self.job, next(self.log.clock)))
        else:
            self.log.finished[self.how].append(self.job)
        self.job = None

    def work(self, until):
        """Takes and finishes jobs until `until` of them are finished by all sessions, and then holds the next one."""
        while True:
            yield from self.take()
            if self.is_done or until <= self.log.count():
                return
            yield from self.change()
            yield from self.end()


def expect_one_lock_each(workers, watcher, when):
    """Each worker that holds a job has one row lock, of this job; nothing else is locked."""
    expected = {worker.thread: str(worker.job) for worker in workers if worker.job is not None}
    rows = watcher.query("SELECT THREAD_ID, INDEX_NAME, LOCK_MODE, LOCK_STATUS, LOCK_DATA FROM performance_schema.data_locks "
                         "WHERE OBJECT_SCHEMA = 'd' AND OBJECT_NAME = 'jobs' AND LOCK_TYPE = 'RECORD'")
    locks = {}
    for thread, *lock in rows:
        locks.setdefault(thread, []).append(lock)
    wrong = {thread: found for thread, found in locks.items()
             if found != [["PRIMARY", "X,REC_NOT_GAP", "GRANTED", expected.get(thread)]]}
    missing = expected.keys() - locks.keys()
    assert not wrong and not missing, (f"{when}: {len(rows)} row locks of {len(expected)} sessions that hold a job; "
                                       f"for instance {dict(itertools.islice(wrong.items(), 3))}; without a lock: {missing}")
    return len(rows)


def create_jobs(admin, keys, jobs):
    admin.query("DROP TABLE IF EXISTS jobs")
    admin.query(f"CREATE TABLE jobs (id INT NOT NULL, state INT NOT NULL, worker VARCHAR(40), {keys.sql})")
    for first in range(0, len(jobs), ROWS_PER_INSERT):
        rows = ", ".join(f"({id}, 0)" for id in jobs[first:first + ROWS_PER_INSERT])
        admin.query(f"INSERT INTO jobs (id, state) VALUES {rows}")


def run_queue(cluster, admin, keys, level, job_count, session_count):
    jobs = range(1, job_count + 1)
    create_jobs(admin, keys, jobs)
    for row in admin.query(f"EXPLAIN {TAKE}"):
        print(f"       {keys.name}: EXPLAIN: {' | '.join(map(str, row))}", flush=True)
    log, workers = Log(), []
    for number in range(session_count):
        session = connect(cluster, 2 + number % 2, f"worker {number}", level=level)
        workers.append(Worker(session, log, random.Random(SEED + number)))
    watchers = [connect(cluster, node, f"watcher of node {node}", "information_schema") for node in (2, 3)]
    checks = 0
    # At each of these numbers of finished jobs all sessions hold a job, before and after its change.
    for until in (0, job_count // 2, job_count - 2 * session_count, job_count):
        drive([(worker.session, worker.work(until)) for worker in workers if not worker.is_done], SECONDS)
        if until == job_count:
            break
        for watcher in watchers:
            expect_one_lock_each(workers, watcher, f"{keys.name}, {level.name}, {until} jobs are finished")
        held = [worker for worker in workers if worker.job is not None]
        if until == 0:
            assert len(held) == session_count, f"{len(held)} of {session_count} sessions hold a job"
        for worker in held:
            drive([(worker.session, worker.change())], SECONDS)
        for watcher in watchers:
            checks += expect_one_lock_each(workers, watcher, f"{keys.name}, {level.name}, changed after {until} jobs")
        drive([(worker.session, worker.end()) for worker in held], SECONDS)
    empty = sum(take.job is None for take in log.takes)
    print(f"       {keys.name}, {level.name}: {session_count} sessions took {len(log.takes) - empty} jobs, gave back "
          f"{len(log.given_back)}, {empty} answers without a row, {checks} row locks of held jobs", flush=True)
    assert all(worker.is_done for worker in workers) and empty == session_count
    log.check(jobs)
    for node, watcher in zip((2, 3), watchers):
        found = [int(id) for [id] in watcher.query("SELECT id FROM d.jobs WHERE state = 1 ORDER BY id")]
        assert found == sorted(log.finished["updated"]), f"node {node} shows other jobs than sessions have updated"
        assert watcher.query("SELECT COUNT(*) FROM d.jobs") == [[str(len(found))]]
    for session in [*(worker.session for worker in workers), *watchers]:
        session.close()
    cluster.desc("d.jobs")


def test_taken_once(environment):
    """Sessions of both nodes take jobs with FOR UPDATE SKIP LOCKED: each job once, the first free one, one row lock a session."""
    cluster, admin = cluster_with(environment)
    job_count, session_count = (10_000, 64) if environment.long else (1_000, 16)
    names = ("REPEATABLE READ", "READ COMMITTED") if environment.long else ("REPEATABLE READ",)
    for level in (level for level in LEVELS if level.name in names):
        for keys in KEYS:
            run_queue(cluster, admin, keys, level, job_count, session_count)
