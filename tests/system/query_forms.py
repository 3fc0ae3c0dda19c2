"""Every form of query over one, two and four node groups and at each isolation level: the recorded rows of MariaDB.

The statements and the recorded answers are those of tests/differential/statements. A session of each level executes them
in transactions of one statement, on a database of its own; the sessions work at the same time, on different nodes.
"""

import os
import sys

from isolation_client import Session, drive

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "differential", "statements"))
import written  # noqa: E402
from values import explanations  # noqa: E402

LEVELS = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]
# Skarv has no views yet.
LEFT_OUT = ["views"]
# Of each form one feature, for the default tier.
SAMPLE = ["changes_multi", "cte_recursive", "derived", "joins_outer", "rollup", "set_operations", "subquery_correlated",
          "windows_rank"]
STATEMENTS_LEAST = 4_000
# Up to eight nodes share the machine, and the exclusion of a node would fail a transaction: after eight seconds.
HEARTBEAT_MS = 2000
SECONDS = 1800
PROBLEMS_SHOWN = 20
# Settings of the sessions with which MariaDB was recorded.
SETTINGS = ["SET NAMES utf8mb4 COLLATE utf8mb4_general_ci", f"SET sql_mode = '{written.SQL_MODE}'", "SET time_zone = '+00:00'",
            *written.SETTINGS]


class Findings:
    """Counts of compared statements by level, and the differences that explained.txt does not explain."""

    def __init__(self):
        self.compared = dict.fromkeys(LEVELS, 0)
        self.problems = []
        self.explained = explanations(os.path.join(written.HERE, "explained.txt"))

    def compare(self, level, feature, statement, answer, expected):
        self.compared[level] += 1
        for difference in written.differences(f"{feature}: {statement}", statement, result_of(answer, expected), expected):
            if written.explanation(self.explained, difference) is None:
                self.problems.append(f"{level}: {difference[0]}")
                return


def result_of(answer, expected):
    """An answer in the form of written.py. The client keeps no names and types of columns: the recorded ones stand for them."""
    if answer.error is not None:
        return ("error", answer.error, answer.message)
    if answer.rows is None:
        return ("ok", answer.changed)
    names, types = expected[1:3] if expected[0] == "rows" else ([], [])
    widths = {len(row) for row in answer.rows}
    if widths - {len(names)}:
        names, types = [f"{width} columns" for width in widths], []
    return ("rows", names, types, [tuple(row) for row in answer.rows])


def as_decoded(result):
    """A recorded result whose texts are decoded as the client decodes them: a letter for each byte that is no UTF-8."""
    if result[0] != "rows":
        return result
    rows = [tuple(value and value.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for value in row)
            for row in result[3]]
    return (*result[:3], rows)


def load(database):
    """Makes the tables anew. Yields statements that must succeed."""
    yield f"DROP DATABASE IF EXISTS {database}"
    yield f"CREATE DATABASE {database} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
    yield f"USE {database}"
    yield from written.schema()
    yield "COMMIT"


def run_features(features, level, findings):
    """The script of a session for `drive`."""
    def must(statements):
        for statement in statements:
            answer = yield statement
            assert answer.error is None, f"{level}: {statement[:200]}: {answer}"

    yield from must([*SETTINGS, f"SET SESSION TRANSACTION ISOLATION LEVEL {level}", "SET autocommit = 0"])
    database = f"forms_{LEVELS.index(level)}"
    for feature in features:
        yield from must(load(database))
        recorded = iter(written.read_recorded(feature))
        for statement in written.statements(feature):
            if statement is written.RELOAD:
                yield from must(load(database))
                continue
            text, expected = next(recorded)
            assert text == statement.text, f"{feature}: not recorded, run statements.sh record: {statement.text}"
            answer = yield text
            findings.compare(level, feature, text, answer, as_decoded(expected))
            yield from must(["COMMIT"])


def test_shapes_and_levels(environment):
    """Joins, subqueries, CTEs, set operations, windows, ROLLUP, derived tables, changes of several tables: the recorded rows on 1, 2
    and 4 node groups, at each isolation level."""
    features = [feature for feature in written.features(None) if feature not in LEFT_OUT]
    shapes = [(2, 2), (4, 2), (8, 2)]
    if not environment.long:
        features = [feature for feature in features if feature in SAMPLE]
        shapes = [(2, 2), (2, 1), (4, 1)]
    failures = []
    for data_nodes, replicas in shapes:
        cluster = environment.cluster(f"groups{data_nodes // replicas}", "--data-nodes", data_nodes, "--replicas", replicas,
                                      "--workers", 1, "--memory", "128M", "--heartbeat-ms", HEARTBEAT_MS)
        findings, nodes = Findings(), cluster.sql_nodes()
        scripts = []
        for number, level in enumerate(LEVELS):
            session = Session(nodes[number % len(nodes)]["socket"], f"{level} at node {nodes[number % len(nodes)]['id']}")
            scripts.append((session, run_features(features, level, findings)))
        drive(scripts, SECONDS)
        for session, _ in scripts:
            session.close()
        what = f"{data_nodes // replicas} node groups of {replicas}"
        counts = ", ".join(f"{count} at {level}" for level, count in findings.compared.items())
        print(f"       {what}, {len(features)} features: {counts}; {len(findings.problems)} differ", flush=True)
        failures += [f"{what}, {problem}" for problem in findings.problems]
        if environment.long:
            assert STATEMENTS_LEAST < min(findings.compared.values()), findings.compared
        assert cluster.down().returncode == 0
    assert not failures, f"{len(failures)} statements:\n" + "\n".join(failure[:1500] for failure in failures[:PROBLEMS_SHOWN])
