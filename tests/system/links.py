"""Links between nodes over TCP: keys, what is refused for want of them, and what somebody on the wire sees."""

import json
import os
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import threading

from cluster import free_ports, limit, patient, wait_for

CLUSTER = "00000000000000ab"
PROTOCOL_VERSION = 4
MARKER = "a-row-that-is-nobody-elses-business"


class Wire:
    """A proxy in front of a node's port, which keeps what every connection through it sent."""

    def __init__(self, port, target):
        self.target, self.sent, self.closed = target, [], False
        self.listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.target), limit(5))
            except OSError:
                # The node is not there yet.
                near.close()
                continue
            kept = bytearray()
            self.sent.append(kept)
            threading.Thread(target=self.pump, args=(near, far, kept), daemon=True).start()
            threading.Thread(target=self.pump, args=(far, near, bytearray()), daemon=True).start()

    def pump(self, source, target, kept):
        try:
            while data := source.recv(1 << 16):
                kept += data
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()


class Machines:
    """Three nodes as if on three machines: each has a directory and a configuration file of its own."""

    def __init__(self, environment, name):
        self.environment, self.name, self.processes = environment, name, {}
        first = free_ports(6)
        self.ports = {id: first + id - 1 for id in (1, 2, 3)}
        self.proxy_port = first + 3
        self.mysql = {2: first + 4, 3: first + 5}
        os.makedirs(environment.path(name))
        for id in (1, 2, 3):
            # What node 2 says to node 3 goes over the wire.
            proxied = {3: self.proxy_port} if id == 2 else {}
            self.write_config(id, {**self.ports, **proxied})

    def dir(self, id):
        return self.environment.path(self.name, f"n{id}")

    def config(self, id):
        return self.environment.path(self.name, f"n{id}.json")

    def write_config(self, id, ports):
        nodes = [{"id": 1, "roles": ["voter"], "address": f"127.0.0.1:{ports[1]}"}]
        nodes += [{"id": other, "roles": ["voter", "data", "sql"], "address": f"127.0.0.1:{ports[other]}",
                   "mysql": f"127.0.0.1:{self.mysql[other]}", "socket": "mysql.sock"} for other in (2, 3)]
        with open(self.config(id), "w") as file:
            json.dump({"cluster_id": CLUSTER, "replicas": 2, "memory": "64M", **patient(), "nodes": nodes}, file)

    def make_keys(self, name="keys"):
        """The keys of a cluster, in a directory of their own."""
        dir = self.environment.path(self.name, name)
        made = self.environment.run("keys", "--config", self.config(1), "--dir", dir)
        assert made.returncode == 0 and made.stdout.count("made ") == 8, made
        again = self.environment.run("keys", "--config", self.config(1), "--dir", dir)
        assert again.returncode == 0 and "nothing is missing" in again.stdout, again
        return dir

    def give_keys(self, keys, id, of=None):
        """What a node needs of them, and no more."""
        os.makedirs(self.dir(id), exist_ok=True)
        shutil.copy(f"{keys}/link-ca-cert.pem", self.dir(id))
        for kind in ("cert", "key"):
            shutil.copy(f"{keys}/node{of or id}-link-{kind}.pem", f"{self.dir(id)}/node{id}-link-{kind}.pem")

    def start(self, *ids):
        for id in ids:
            self.processes[id] = self.environment.start("server", "--config", self.config(id), "--node", id,
                                                        "--dir", self.dir(id))

    def wait_ready(self):
        for process in self.processes.values():
            for line in process.stdout:
                if "is ready" in line:
                    break
            else:
                raise AssertionError(f"a node ended: {process.wait(10)}")

    def sql(self, id, statement):
        client = ["mariadb", "--no-defaults", "--user=root", f"--socket={self.dir(id)}/mysql.sock", "-NB"]
        return subprocess.run(client, input=statement, capture_output=True, text=True, timeout=limit(60), check=True).stdout

    def log(self, id):
        path = f"{self.dir(id)}/node{id}.log"
        return open(path).read() if os.path.exists(path) else ""

    def wait_for_log(self, id, text):
        wait_for(f"node {id} says: {text}", lambda: text in self.log(id), 20)

    def stop(self):
        for process in self.processes.values():
            process.send_signal(signal.SIGTERM)
        for process in self.processes.values():
            process.wait(limit(60))
        self.processes = {}


def serve(machines):
    """A cluster over the wire works; what went over it from node 2 to node 3."""
    wire = Wire(machines.proxy_port, machines.ports[3])
    try:
        machines.start(1, 2, 3)
        machines.wait_ready()
        machines.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, s LONGTEXT)")
        machines.sql(2, "INSERT INTO d.t VALUES " + ", ".join(f"({id}, '{MARKER}')" for id in range(2000)))
        # More than a link takes at once.
        machines.sql(2, "INSERT INTO d.t VALUES (9000, REPEAT('x', 12000000)), (9001, REPEAT('y', 12000000))")
        for id in (2, 3):
            counted = machines.sql(id, "SELECT COUNT(*), SUM(LENGTH(s)) FROM d.t")
            assert counted == f"2002\t{24_000_000 + 2000 * len(MARKER)}\n", counted
        return list(map(bytes, wire.sent))
    finally:
        wire.close()


def test_keys(environment):
    """With keys nothing of a row can be read on the wire, and what went over it says nothing to a node a second time."""
    plain = Machines(environment, "plain")
    sent = serve(plain)
    assert any(MARKER.encode() in bytes for bytes in sent), "the proxy sees nothing at all"
    assert "neither encrypted nor authenticated" in plain.log(2)
    plain.stop()
    machines = Machines(environment, "keys")
    keys = machines.make_keys()
    for id in (1, 2, 3):
        machines.give_keys(keys, id)
    sent = serve(machines)
    assert sum(map(len, sent)) > 1_000_000 and not any(MARKER.encode() in bytes for bytes in sent)
    assert "neither encrypted" not in machines.log(2)
    # A whole connection of node 2 once more.
    for bytes in sent:
        with socket.create_connection(("127.0.0.1", machines.ports[3]), limit(5)) as again:
            again.settimeout(limit(10))
            try:
                again.sendall(bytes[:100_000])
                while again.recv(4096):
                    pass
            except ConnectionError:
                pass
    machines.wait_for_log(3, "refused: TLS between the nodes fails")
    for id in (2, 3):
        assert machines.sql(id, "SELECT COUNT(*) FROM d.t") == "2002\n"
    machines.stop()


def test_strangers_without_keys(environment):
    """Nodes without keys, or with those of another authority or another node, are refused; both sides say why."""
    machines = Machines(environment, "mixed")
    keys, others = machines.make_keys(), machines.make_keys("others")
    machines.write_config(2, machines.ports)
    # A pair that is another node's does not start.
    machines.give_keys(keys, 3, of=2)
    machines.start(3)
    said = machines.processes[3].communicate(timeout=limit(60))[0]
    assert machines.processes[3].returncode == 1 and f"not one of node3.{CLUSTER}" in said, said
    machines.give_keys(keys, 3)
    machines.give_keys(others, 2)
    machines.start(1, 2, 3)
    # Node 1 has none and connects to both; node 2 has those of others and connects to node 3.
    for id in (2, 3):
        machines.wait_for_log(id, "node 1 has no keys and this node has")
    machines.wait_for_log(1, "node 1 has no keys and this node has")
    for id in (2, 3):
        machines.wait_for_log(id, "TLS between the nodes fails: ")
    assert "invalid peer certificate" in machines.log(2) + machines.log(3)
    machines.stop()
    # The other way round: the listening node has none.
    for id in (1, 2, 3):
        shutil.rmtree(machines.dir(id))
    for id in (1, 2):
        machines.give_keys(keys, id)
    machines.start(1, 2, 3)
    machines.wait_for_log(3, "a TLS client, or a node that has keys where this one has none")
    machines.wait_for_log(2, "TLS between the nodes fails: the peer has no keys and says: ")
    machines.stop()
    # With the right ones all of them find each other.
    machines.give_keys(keys, 3)
    machines.start(1, 2, 3)
    machines.wait_ready()
    assert machines.sql(3, "SELECT 1") == "1\n"
    machines.stop()


def hello(sender, version=PROTOCOL_VERSION, cluster=int(CLUSTER, 16), lineage=1, config=0, receiver=(3, 0), boot=99):
    """What a node says first; of another configuration than any, unless it is given. A lineage below 128 has one byte."""
    body = struct.pack("<QBQHHHHQ", cluster, lineage, config, *sender, *receiver, boot)
    return struct.pack("<I", 11 + len(body)) + b"skarv-ln" + struct.pack("<HB", version, 1) + body


def tls_client(certificates, key):
    """Somebody with these keys. One that is told of the authority would send its certificate too."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(certificates, key)
    return context


def test_one_node_as_another(environment):
    """Who has the keys of one node cannot speak as another; who has none of the cluster's does not get that far."""
    machines = Machines(environment, "posing")
    keys = machines.make_keys()
    machines.give_keys(keys, 3)
    machines.start(3)
    machines.wait_for_log(3, "node 3 starts")

    def said_to(sender, of):
        context = tls_client(f"{keys}/node{of}-link-cert.pem", f"{keys}/node{of}-link-key.pem")
        with socket.create_connection(("127.0.0.1", machines.ports[3]), limit(5)) as plain:
            with context.wrap_socket(plain) as secured:
                secured.settimeout(limit(20))
                secured.sendall(hello((sender, 0)))
                return secured.recv(4096)

    assert b"another configuration" in said_to(1, of=1)
    assert f"not one of node2.{CLUSTER}".encode() in said_to(2, of=1)
    # Strangers with a chain of their own are not followed along it.
    made = environment.path("stranger")
    for name in ("one", "two"):
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "9",
                   "-subj", f"/CN={name}", "-keyout", f"{made}-{name}.key", "-out", f"{made}-{name}.pem"]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    with open(f"{made}.pem", "w") as chain:
        for name in ("one", "two"):
            chain.write(open(f"{made}-{name}.pem").read())
    context = tls_client(f"{made}.pem", f"{made}-one.key")
    with socket.create_connection(("127.0.0.1", machines.ports[3]), limit(5)) as plain:
        try:
            with context.wrap_socket(plain) as secured:
                secured.settimeout(limit(20))
                assert secured.recv(4096) == b""
        except (ssl.SSLError, ConnectionError):
            pass
    machines.wait_for_log(3, "UnknownIssuer")


def test_box_has_keys(environment):
    """A cluster of `skarv up` has keys, and its node ports refuse who has none."""
    cluster = environment.cluster()
    assert os.path.exists(f"{cluster.dir}/link-ca-cert.pem")
    address = json.load(open(f"{cluster.dir}/config.json"))["nodes"][1]["address"]
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), limit(5)) as stranger:
        stranger.settimeout(limit(20))
        stranger.sendall(b"\x16\x03\x01\x02\x00" + bytes(512))
        assert b"skarv-ln" not in stranger.recv(4096)
    wait_for("node 2 says who came", lambda: "TLS between the nodes fails" in open(f"{cluster.dir}/node2.log").read(), 20)
    assert cluster.sql(2, "SELECT 1") == [["1"]]
