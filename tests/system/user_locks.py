"""GET_LOCK() over all nodes: one session of the cluster holds a lock, until it releases it, ends, is killed, or its node dies."""

import os
import signal

from cluster import wait_for
from isolation_client import ANSWER_TIMEOUT
from isolation_script import connect

NODES = (2, 3)


def value(session, expression):
    [[answer]] = session.query(f"SELECT {expression}")
    return answer


def begins_to_wait(session, name):
    session.send(f"SELECT GET_LOCK('{name}', -1)")
    assert session.is_waiting(0.3), f"{session.name} does not wait for {name}"


def gets_it(session):
    answer = session.answer(ANSWER_TIMEOUT)
    assert answer is not None and answer.rows == [["1"]], f"{session.name}: {answer}"


def test_ends_of_sessions(environment):
    """A lock is free when its session releases it, ends, is killed, changes its user, or its node dies."""
    cluster = environment.cluster("data", "--no-restart")
    connect(cluster, 2, database="information_schema").query("CREATE DATABASE d")
    admin = {node: connect(cluster, node, f"admin of node {node}") for node in NODES}
    for turn, end in enumerate(("release", "quit", "break", "kill", "kill the waiter")):
        here = NODES[turn % 2]
        there = 5 - here
        holder, waiter = connect(cluster, here, "holder"), connect(cluster, there, "waiter")
        assert value(holder, "GET_LOCK('ends', 0)") == "1"
        id = value(holder, "CONNECTION_ID()")
        assert value(waiter, "GET_LOCK('ENDS', 0)") == "0"
        assert value(waiter, "IS_USED_LOCK('ends')") == id, end
        waiter_id = value(waiter, "CONNECTION_ID()")
        begins_to_wait(waiter, "ends")
        if end == "release":
            assert value(holder, "RELEASE_LOCK('ends')") == "1"
        elif end == "quit":
            holder.close()
        elif end == "break":
            holder.send("SELECT SLEEP(1000)")
            holder.socket.close()
        elif end == "kill":
            admin[here].query(f"KILL CONNECTION {id}")
        else:
            admin[there].query(f"KILL QUERY {waiter_id}")
            answer = waiter.answer(ANSWER_TIMEOUT)
            assert answer is not None and answer.error == 1317, f"KILL QUERY of a waiter: {answer}"
            begins_to_wait(waiter, "ends")
            assert value(holder, "RELEASE_ALL_LOCKS()") == "1"
        gets_it(waiter)
        waiter.close()
        wait_for("the lock of a closed session is free", lambda: value(admin[2], "IS_FREE_LOCK('ends')") == "1")
    # Its own node's death frees a lock; that of another node, which may lead its row, does not.
    holders = {node: connect(cluster, node, f"holder on node {node}") for node in NODES}
    for node, holder in holders.items():
        for number in range(20):
            assert value(holder, f"GET_LOCK('of node {node}, {number}', 0)") == "1"
    begins_to_wait(admin[3], "of node 2, 0")
    os.kill(cluster.node(2)["pid"], signal.SIGKILL)
    gets_it(admin[3])
    for number in range(20):
        assert value(admin[3], f"GET_LOCK('of node 2, {number}', 0)") == "1"
        assert value(admin[3], f"GET_LOCK('of node 3, {number}', 0)") == "0"
    assert value(holders[3], "RELEASE_ALL_LOCKS()") == "20"
    assert value(admin[3], "RELEASE_ALL_LOCKS()") == "21"
