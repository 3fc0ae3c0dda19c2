"""Strangers at every door: bytes that make no sense must not harm those who talk sense."""

import os
import random
import socket
import subprocess

from cluster import limit
from isolation_client import Session

CONNECTIONS = 300
SEED = 20_261_121


def packets(generator):
    """Bytes for one connection: noise, a half-right login, or commands before a login."""
    noise = generator.randbytes(generator.choice([1, 4, 37, 300, 5000, 70_000]))
    form = generator.randrange(6)
    if form == 0:
        return noise
    if form == 1:
        # A packet with a right header around noise.
        return len(noise).to_bytes(3, "little") + b"\x01" + noise
    if form == 2:
        # It promises 16 MiB and sends little.
        return b"\xff\xff\xff\x01" + noise[:2000]
    login = bytes.fromhex("0da23e00") + (1 << 24).to_bytes(4, "little") + b"\x2d" + bytes(23) + b"root\0\0"
    if form == 3:
        login = login[:generator.randrange(1, len(login))]
        return len(login).to_bytes(3, "little") + b"\x01" + login
    if form == 4:
        # It asks for TLS and then does not speak it.
        request = bytes.fromhex("0dae3e00") + (1 << 24).to_bytes(4, "little") + b"\x2d" + bytes(23)
        return len(request).to_bytes(3, "little") + b"\x01" + request + noise
    damaged = bytearray(login)
    for _ in range(3):
        damaged[generator.randrange(len(damaged))] = generator.randrange(256)
    query = b"\x03SELECT 1"
    return (len(damaged).to_bytes(3, "little") + b"\x01" + bytes(damaged)
            + len(query).to_bytes(3, "little") + b"\x00" + query + noise)


def attack(family, address, generator, read_first):
    with socket.socket(family) as client:
        client.settimeout(5)
        client.connect(address)
        try:
            if read_first:
                client.recv(4096)
            client.sendall(packets(generator))
            client.shutdown(socket.SHUT_WR)
            while client.recv(65536):
                pass
        except OSError:
            # Being cut off is the right answer to most of this.
            pass


def test_random_packets(environment):
    """Noise on the MySQL ports and sockets, between the nodes and on the management sockets: all nodes stay up."""
    cluster = environment.cluster()
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1)")
    before = [node["pid"] for node in cluster.status()["nodes"]]
    generator = random.Random(SEED)
    doors = []
    for node in cluster.status()["nodes"]:
        host, port = node["address"].rsplit(":", 1)
        doors += [(socket.AF_INET, (host, int(port)), False), (socket.AF_UNIX, node["management_socket"], False)]
        if node["port"]:
            doors += [(socket.AF_INET, ("127.0.0.1", node["port"]), True), (socket.AF_UNIX, node["socket"], True)] * 2
    for _ in range(CONNECTIONS):
        family, address, greeted = generator.choice(doors)
        attack(family, address, generator, greeted and generator.random() < 0.8)
    assert [node["pid"] for node in cluster.status()["nodes"]] == before, "a node died"
    for node in (2, 3):
        cluster.sql(node, f"INSERT INTO d.t VALUES ({node})", tcp=True)
    assert cluster.sql(2, "SELECT COUNT(*) FROM d.t") == [["3"]]
    assert cluster.desc("d.t")["rows"] == 3
    assert cluster.mgm("SHOW").stdout.count("started") == 3


def test_idle_connections(environment):
    """Hundreds of connections that say nothing do not keep others out."""
    cluster = environment.cluster("data", "--data-nodes", 1)
    port = cluster.node(2)["port"]
    idle = []
    try:
        for _ in range(400):
            client = socket.create_connection(("127.0.0.1", port), timeout=10)
            idle.append(client)
        assert cluster.sql(2, "SELECT 1", tcp=True) == [["1"]]
    finally:
        for client in idle:
            client.close()
    assert cluster.sql(2, "SELECT 1", tcp=True) == [["1"]]


def test_definition_too_large(environment):
    """A definition of more than a mebibyte is refused, and is in nobody's way."""
    cluster = environment.cluster("data", "--workers", "1")
    session, other = (Session(cluster.sockets()[0], name) for name in ("large", "other"))
    assert session.execute("CREATE DATABASE d").error is None
    comment = "x" * 1_000
    columns = ", ".join(f"c{number} INT COMMENT '{comment}'" for number in range(1_100))
    refused = session.execute(f"CREATE TABLE d.large (id INT PRIMARY KEY, {columns})")
    assert refused.error == 1297 and "bytes of a definition" in refused.message, refused
    assert other.execute("CREATE TABLE d.t (id INT PRIMARY KEY)").error is None
    assert [row[0] for row in other.execute("SHOW TABLES FROM d").rows] == ["t"]


def test_long_rows(environment):
    """Statements about many rows of dozens of megabytes, from both nodes: a constant goes with them once, and rows that are too many for
    one message, or for one piece of work, are read and written one after the other. No frame is refused as too long, which would come
    again as long as the nodes live, and no node is silent for so long that the others exclude it."""
    cluster = environment.cluster("data", "--workers", "1", "--memory", "2500M")
    megabytes, count = 60, 8

    def run(node, statements):
        command = ["mariadb", "--no-defaults", "--user=root", f"--socket={cluster.node(node)['socket']}", "--batch",
                   "--skip-column-names", "--max-allowed-packet=1G"]
        return subprocess.run(command, input=statements, capture_output=True, text=True, timeout=limit(120))

    def sql(node, statements):
        result = run(node, statements)
        assert result.returncode == 0, f"{statements[:200]}: {result.stderr[-300:]}"
        return [line.split("\t") for line in result.stdout.splitlines()]

    sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, n INT, c LONGTEXT); "
           f"INSERT INTO d.t VALUES {','.join(f'({id}, 0, NULL)' for id in range(count))}")
    # In the filter, too, and for several rows at once.
    long = "x" * (megabytes << 20)
    every = ", ".join(map(str, range(count)))
    assert sql(3, f"DELETE FROM d.t WHERE id IN ({every}) AND c = '{long}'; SELECT ROW_COUNT()") == [["0"]]
    assert sql(2, f"UPDATE d.t SET c = '{long}' WHERE id IN (0, 1, 2, 3); SELECT ROW_COUNT()") == [["4"]]
    assert sql(3, f"UPDATE d.t SET c = '{long}' WHERE id > 3; SELECT ROW_COUNT()") == [[str(count - 4)]]
    wanted = [[str(id), str(len(long))] for id in range(count)]
    for node in (2, 3):
        for rows in (f"WHERE id IN ({every})", f"WHERE id IN ({every}) FOR UPDATE", "WHERE n >= 0", "FOR UPDATE"):
            assert sorted(sql(node, f"SELECT id, LENGTH(c) FROM d.t {rows}")) == wanted, (node, rows)
        assert sql(node, "SELECT LENGTH(c), COUNT(*) FROM d.t GROUP BY c") == [[str(len(long)), str(count)]]
        assert sorted(sql(node, "SELECT id, LENGTH(MAX(c)) FROM d.t WHERE id < 4 GROUP BY id")) == wanted[:4]
        # What a statement keeps for its groups is bounded: 256 MiB.
        refused = run(node, "SELECT id, LENGTH(MAX(c)) FROM d.t GROUP BY id")
        assert refused.returncode != 0 and "ERROR 1038" in refused.stderr, refused
        assert sql(node, f"UPDATE d.t SET n = n + 1 WHERE id IN ({every}) AND c = '{long}'; SELECT ROW_COUNT()") == [[str(count)]]
        more = f"INSERT INTO d.t (id, n) VALUES {', '.join(f'({id}, 1)' for id in range(count))} ON DUPLICATE KEY UPDATE n = d.t.n + 1"
        sql(node, f"{more}; BEGIN; UPDATE d.t SET n = n + 1; ROLLBACK")
    assert sql(2, "SELECT n, COUNT(*) FROM d.t GROUP BY n") == [["4", str(count)]]
    assert sql(3, f"DELETE FROM d.t WHERE id IN ({every}) AND c = '{long}'; SELECT ROW_COUNT()") == [[str(count)]]
    for id in (2, 3):
        with open(os.path.join(cluster.dir, f"node{id}.log")) as file:
            said = file.read()
        assert "announces" not in said and said.count(" up (incarnation") == 2, said
