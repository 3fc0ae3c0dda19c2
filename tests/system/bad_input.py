"""Whoever is at the wrong door, or at the right one with the wrong papers: refused, and both sides say why."""

import concurrent.futures
import json
import os
import re
import selectors
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time

from cluster import free_ports, limit, wait_for
from links import CLUSTER, PROTOCOL_VERSION, Machines, Wire, hello, tls_client

OTHER_CLUSTER = "00000000000000cd"
# Seconds after which a silent or incomplete stranger is dropped; and the longest answer to other clients meanwhile.
STRANGER_MAX, ANSWER_MAX = 3.0, 2.0
# What is refused is refused by then, with its reason in the logs.
REFUSED_AFTER = 5
HELLO_SIZE = len(hello((2, 0)))
NODE_PORT = "not the MySQL port"


class Trio(Machines):
    """Three nodes with keys and a table; whatever they say is read, so that none waits for its reader."""

    def __init__(self, environment, name="trio", keyed=True):
        super().__init__(environment, name)
        self.write_config(2, self.ports)
        self.rows, self.place = 0, {}
        self.keys = self.make_keys() if keyed else None
        for id in (1, 2, 3) if keyed else ():
            self.give_keys(self.keys, id)

    def start(self, *ids):
        super().start(*ids)
        for id in ids:
            read(self.processes[id])

    def up(self):
        """Starts those that do not run yet. The cluster serves."""
        self.start(*(id for id in (1, 2, 3) if id not in self.processes))
        for id in (1, 2, 3):
            wait_for(f"node {id} is ready", lambda: f"node {id} is ready" in self.log(id), 20)
        self.ask(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)")
        self.check_serves()

    def ask(self, id, statement, seconds=5):
        """As `sql`, but an answer that does not come is missed soon."""
        dir = self.place.get(id, self.dir(id))
        client = ["mariadb", "--no-defaults", "--user=root", f"--socket={dir}/mysql.sock", "-NB"]
        try:
            answer = subprocess.run(client, input=statement, capture_output=True, text=True, timeout=limit(seconds))
        except subprocess.TimeoutExpired:
            raise AssertionError(f"node {id} does not answer within {limit(seconds)} s: {statement}") from None
        assert answer.returncode == 0, f"node {id}: {statement}: {answer.stderr}"
        return answer.stdout

    def check_serves(self):
        """A write through either node, and both show all that was ever acknowledged."""
        for id in (2, 3):
            self.ask(id, f"INSERT INTO d.t VALUES ({self.rows})")
            self.rows += 1
        for id in (2, 3):
            assert self.ask(id, "SELECT COUNT(*), MAX(id) FROM d.t") == f"{self.rows}\t{self.rows - 1}\n"
        ended = {id: process.poll() for id, process in self.processes.items() if process.poll() is not None}
        assert not ended, f"nodes that have ended, by exit code: {ended}"

    def said_since(self, id, size, text, seconds=REFUSED_AFTER):
        """Waits until the log says it, from there on; the text is a regular expression."""
        wait_for(f"node {id} says: {text}", lambda: re.search(text, self.log(id)[size:]), seconds)

    def boot(self, id):
        return int(re.findall(rf"node {id} starts: .* incarnation ([0-9a-f]+)", self.log(id))[-1], 16)

    def as_node(self, of):
        return tls_client(f"{self.keys}/node{of}-link-cert.pem", f"{self.keys}/node{of}-link-key.pem")

    def say(self, data, context=None, port=None):
        """What is answered to this at a port for nodes, and after how many seconds the connection is closed."""
        begun = time.monotonic()
        with socket.create_connection(("127.0.0.1", port or self.ports[3]), limit(5)) as plain:
            plain.settimeout(limit(STRANGER_MAX) + 2)
            stream = context.wrap_socket(plain) if context else plain
            answer = b""
            try:
                stream.sendall(data)
                while more := stream.recv(4096):
                    answer += more
            except ConnectionError:
                # Closed while it still had something to say.
                pass
            return answer, time.monotonic() - begun

    def check_equal(self, table):
        described = self.environment.run("desc", "--dir", self.dir(3), table, timeout=limit(20))
        assert described.returncode == 0 and described.stdout.splitlines()[-1].startswith("replicas agree"), described

    def other(self, id, name, takes="link", **changed):
        """A second process that is this node too, by a configuration that only says otherwise where it listens. It has a directory
        of its own, with a copy of the first one's keys, and of its control file if it takes that."""
        dir = self.environment.path(self.name, name)
        os.makedirs(dir, exist_ok=True)
        for file in os.listdir(self.dir(id)):
            if file.endswith(".pem") or takes in file:
                shutil.copy(os.path.join(self.dir(id), file), dir)
        with open(self.config(id)) as file:
            config = json.load(file)
        next(node for node in config["nodes"] if node["id"] == id).update(changed)
        path = f"{dir}.json"
        with open(path, "w") as file:
            json.dump(config, file)
        process = self.environment.start("server", "--config", path, "--node", id, "--dir", dir)
        return process, read(process), os.path.join(dir, f"node{id}.log")


def read(process):
    """Reads all that a process says, as it says it."""
    said = []

    def run():
        try:
            said.extend(process.stdout)
        except ValueError:
            # It was closed, at the end of the test.
            pass
    threading.Thread(target=run, daemon=True).start()
    return said


def text_of(path):
    if not os.path.exists(path):
        return ""
    with open(path) as file:
        return file.read()


def elsewhere(ports, id):
    """Addresses that nobody else has."""
    changed = {"address": f"127.0.0.1:{ports}"}
    return changed if id == 1 else {**changed, "mysql": f"127.0.0.1:{ports + 1}"}


class Impostor:
    """Listens where a node should, with some node's keys: keeps the hello of who comes, and answers what it is told to."""

    def __init__(self, port, certificates, key, answer):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificates, key)
        self.answer, self.heard = answer, []
        self.listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                plain, _ = self.listener.accept()
            except OSError:
                return
            try:
                plain.settimeout(limit(5))
                with self.context.wrap_socket(plain, server_side=True) as stream:
                    self.heard.append(stream.recv(HELLO_SIZE))
                    stream.sendall(self.answer)
            except OSError:
                plain.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Whoever waits in accept is not woken by a mere close.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def real_hello(trio):
    """What the nodes of this configuration say first, as fields for `hello`: node 1 says it to whoever is in node 3's place."""
    with Impostor(trio.ports[3], f"{trio.keys}/node3-link-cert.pem", f"{trio.keys}/node3-link-key.pem", b"") as impostor:
        trio.start(1)
        wait_for("node 1 says hello", lambda: impostor.heard, 20)
    _, lineage, config = struct.unpack_from("<QBQ", impostor.heard[0], 15)
    return {"lineage": lineage, "config": config}


def refusal_text(answer):
    """The text of a refusal; a frame of its length, the magic, the version and the kind."""
    assert len(answer) > 15 and answer[4:12] == b"skarv-ln" and answer[14] == 2, f"no refusal: {answer[:80]}"
    return answer[15:].decode()


def test_strangers_at_the_node_port(environment):
    """Whoever comes to a node's port and is no node is told so at once, the node's log names him, and the cluster goes on."""
    trio = Trio(environment)
    trio.up()
    no_certificate = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    no_certificate.check_hostname, no_certificate.verify_mode = False, ssl.CERT_NONE
    login = bytes.fromhex("200000018da20a00") + bytes(28)
    for data, context, answered, logged in [
        (b"\xfe" * 64, None, "something that is not a Skarv node", "first bytes are fefe"),
        (b"\xff" * 200_000, None, "something that is not a Skarv node", "first bytes are ffff"),
        (b"GET /x HTTP/1.1\r\n\r\n", None, "an HTTP client", "an HTTP client"),
        (login, None, NODE_PORT, NODE_PORT),
        # Lengths that no reader should allocate.
        (struct.pack("<I", 0xffff_fff0) + b"skarv-ln" + bytes(50), None, "not a Skarv node", "first bytes are f0ffffff736b"),
        (struct.pack("<I", 0x7fff_fff1) + b"skarv-ln" + bytes(50), trio.as_node(2), "not a Skarv node",
         "first bytes are f1ffff7f736b"),
        (b"\x16\x03\x01\xff\xff" + bytes(200), None, None, "TLS between the nodes fails: received corrupt message"),
        (b"\x16\x03\x01\x00\x04\x02\x00\x00\x00", None, None, "TLS between the nodes fails: "),
    ]:
        size = len(trio.log(3))
        answer, took = trio.say(data, context)
        assert took < limit(ANSWER_MAX), f"{took:.1f} s: {data[:20]}"
        if answered is None:
            # TLS has alerts for it: fatal.
            assert answer[:1] == b"\x15" and answer[5] == 2, answer
        elif answer or len(data) < 1000:
            # Who has sent much more than was read may lose the answer with the connection.
            assert answered in refusal_text(answer), answer
        trio.said_since(3, size, re.escape(logged))
    size = len(trio.log(3))
    try:
        answer = trio.say(b"", no_certificate)
        raise AssertionError(f"no word of the missing certificate: {answer}")
    except ssl.SSLError as error:
        assert "CERTIFICATE_REQUIRED" in str(error), error
    trio.said_since(3, size, "TLS between the nodes fails: peer sent no certificates")
    trio.check_serves()
    trio.stop()


def test_hellos_of_others(environment):
    """A peer with the right keys and another version, cluster, configuration or place is refused; both sides hear why."""
    trio = Trio(environment)
    real = real_hello(trio)
    # The same authority, for another cluster.
    with open(trio.config(1)) as file:
        config = json.load(file)
    foreign = environment.path(trio.name, "foreign.json")
    with open(foreign, "w") as file:
        json.dump({**config, "cluster_id": OTHER_CLUSTER}, file)
    others = environment.path(trio.name, "others")
    shutil.copytree(trio.keys, others)
    made = environment.run("keys", "--config", foreign, "--dir", others)
    assert made.returncode == 0 and "link-ca" not in made.stdout.split("give each")[0], made
    stranger = tls_client(f"{others}/node2-link-cert.pem", f"{others}/node2-link-key.pem")
    trio.up()
    for changed, context, reason in [
        ({"version": PROTOCOL_VERSION + 1}, 2, f"it speaks version {PROTOCOL_VERSION + 1} of the node protocol, this node version "
                                               f"{PROTOCOL_VERSION}: run the same release on all nodes"),
        ({"version": 0}, 2, f"it speaks version 0 of the node protocol, this node version {PROTOCOL_VERSION}"),
        ({"cluster": int(OTHER_CLUSTER, 16)}, 2, f"node 2 belongs to cluster {OTHER_CLUSTER}, this node to {CLUSTER}"),
        ({"config": real["config"] + 1}, 2, "node 2 was started with another configuration of the cluster"),
        # Another lineage is no reason: a node that was away in a cluster restart hears of it over such a link.
        ({"lineage": real["lineage"] + 7}, 2, "node 2 runs already as another process"),
        ({"receiver": (1, 0)}, 2, "node 2 wants to talk to 1/0, this is 3/0"),
        ({"receiver": (3, 9)}, 2, "node 3 has no worker 9"),
        ({"sender": (2, 9)}, 2, "2/9 is not a worker of another node of this cluster"),
        ({"sender": (9, 0)}, 2, f"the certificate is not one of node9.{CLUSTER}.skarv"),
        ({"sender": (3, 0)}, 3, "3/0 is not a worker of another node of this cluster"),
        ({}, stranger, f"the certificate is not one of node2.{CLUSTER}.skarv"),
    ]:
        size = len(trio.log(3))
        context = trio.as_node(context) if isinstance(context, int) else context
        answer, took = trio.say(hello(**{"sender": (2, 0), **real, **changed}), context)
        assert reason in refusal_text(answer) and took < limit(ANSWER_MAX), (changed, answer, took)
        trio.said_since(3, size, f"refused: {re.escape(reason)}")
    # More than a hello, a refusal instead of one, and an unknown kind of message.
    kind = hello((2, 0), **real)
    for data, reason in [(kind + b"frames", "it goes on before its hello was answered"),
                         (kind[:14] + b"\x02" + kind[15:], "it begins with a refusal"),
                         (kind[:14] + b"\x09" + kind[15:], "its first message is of the unknown kind 9")]:
        size = len(trio.log(3))
        assert reason in refusal_text(trio.say(data, trio.as_node(2))[0])
        trio.said_since(3, size, f"refused: {reason}")
    trio.check_serves()
    trio.stop()


def test_answers_of_others(environment):
    """Somebody of another version, cluster or place where a peer should be: the node that connects says so."""
    trio = Trio(environment)
    real = real_hello(trio)
    own = (f"{trio.keys}/node3-link-cert.pem", f"{trio.keys}/node3-link-key.pem")
    others = (f"{trio.keys}/node2-link-cert.pem", f"{trio.keys}/node2-link-key.pem")

    def answer(**changed):
        return hello(**{"sender": (3, 0), "receiver": (1, 0), **real, **changed})

    for keys, data, reason in [
        (own, answer(version=7), f"it speaks version 7 of the node protocol, this node version {PROTOCOL_VERSION}"),
        (own, answer(cluster=int(OTHER_CLUSTER, 16)), f"node 3 belongs to cluster {OTHER_CLUSTER}, this node to {CLUSTER}"),
        (others, b"", f'certificate not valid for name "node3.{CLUSTER}.skarv"'),
    ]:
        size = len(trio.log(1))
        with Impostor(trio.ports[3], *keys, data):
            trio.said_since(1, size, rf"link 1/0 - 3/0 \(.*\) refused: .*{re.escape(reason)}")
    trio.up()
    trio.stop()


def test_configurations_differ(environment):
    """A node started from another cluster's file, or from one of another shape, is refused by the others; both say why."""
    trio = Trio(environment, keyed=False)
    with open(trio.config(2)) as file:
        right = json.load(file)
    wider = json.loads(json.dumps(right))
    wider["nodes"][2]["workers"] = 2
    trio.start(1, 3)
    for config, here, there in [
        ({**right, "cluster_id": OTHER_CLUSTER}, f"node 2 belongs to cluster {OTHER_CLUSTER}, this node to {CLUSTER}",
         f"node 1 belongs to cluster {CLUSTER}, this node to {OTHER_CLUSTER}"),
        (wider, "node 2 was started with another configuration of the cluster",
         "node 1 was started with another configuration of the cluster"),
    ]:
        with open(trio.config(2), "w") as file:
            json.dump(config, file)
        sizes = {id: len(trio.log(id)) for id in (1, 2, 3)}
        trio.start(2)
        # Node 2 connects to node 3, and node 1 to node 2.
        trio.said_since(3, sizes[3], f"refused: {here}")
        trio.said_since(2, sizes[2], f"refused: the peer says: {here}")
        trio.said_since(2, sizes[2], f"refused: {there}")
        trio.said_since(1, sizes[1], f"refused: the peer says: {there}")
        process = trio.processes.pop(2)
        process.kill()
        process.wait()
    with open(trio.config(2), "w") as file:
        json.dump(right, file)
    trio.up()
    trio.stop()


class Silence:
    """Connections that say nothing. Those that were kept for a while are opened again at once, the others later."""

    def __init__(self, port, count):
        self.port, self.count, self.stopped, self.longest = port, count, threading.Event(), 0.0
        self.thread = threading.Thread(target=self.run)

    def run(self):
        selector, later = selectors.DefaultSelector(), [0.0] * self.count
        while not self.stopped.is_set():
            now = time.monotonic()
            for _ in [at for at in later if at <= now]:
                stream = socket.socket()
                stream.setblocking(False)
                stream.connect_ex(("127.0.0.1", self.port))
                selector.register(stream, selectors.EVENT_READ, now)
            later = [at for at in later if at > now]
            for key, _ in selector.select(0.1):
                try:
                    if key.fileobj.recv(4096):
                        continue
                except OSError:
                    pass
                kept = time.monotonic() - key.data
                self.longest = max(self.longest, kept)
                later.append(0.0 if kept > 0.5 else time.monotonic() + 0.5)
                selector.unregister(key.fileobj)
                key.fileobj.close()
        for key in list(selector.get_map().values()):
            self.longest = max(self.longest, time.monotonic() - key.data)
            key.fileobj.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()


def test_silent_strangers(environment):
    """Who says nothing at a node's port, or half of it, or a byte at a time, is sent away soon, and told why."""
    trio = Trio(environment)
    trio.up()
    size = len(trio.log(3))
    nothing, half = "it says nothing, or does not finish its TLS handshake", "its hello does not arrive"
    cases = [(b"", None, nothing), (hello((2, 0))[:30], None, half), (hello((2, 0))[:30], trio.as_node(2), half),
             # There is no answer in the middle of a handshake.
             (b"\x16\x03\x01\x02\x00\x01\x00", None, None)]

    def drip():
        begun = time.monotonic()
        with socket.create_connection(("127.0.0.1", trio.ports[3]), limit(5)) as dripping:
            try:
                for byte in hello((2, 0)):
                    dripping.sendall(bytes([byte]))
                    time.sleep(0.1)
            except ConnectionError:
                pass
        return time.monotonic() - begun
    with concurrent.futures.ThreadPoolExecutor(len(cases) + 1) as threads:
        dripping = threads.submit(drip)
        answers = list(threads.map(lambda case: trio.say(*case[:2]), cases))
    assert dripping.result() < limit(STRANGER_MAX), "it is listened to for as long as it says something"
    for (data, _, reason), (answer, took) in zip(cases, answers):
        assert took < limit(STRANGER_MAX), f"{took:.1f} s: {data}"
        if not data:
            # It may be a MySQL client, and gets the error of that protocol.
            assert NODE_PORT.encode() in answer, answer
        else:
            assert reason is None or reason in refusal_text(answer), answer
        trio.said_since(3, size, f"refused: {reason or nothing}")
    trio.check_serves()
    trio.stop()


def test_silent_crowd(environment):
    """Hundreds of silent connections at a node's port do not keep out a node that comes back."""
    trio = Trio(environment)
    trio.up()
    with Silence(trio.ports[3], 260) as silence:
        time.sleep(1)
        size = len(trio.log(3))
        process = trio.processes.pop(1)
        process.kill()
        process.wait()
        trio.start(1)
        wait_for("node 1 starts again", lambda: trio.log(1).count("node 1 starts: ") == 2, 10)
        trio.said_since(3, size, f"link 3/0 - 1/0 up .incarnation {trio.boot(1):016x}")
        trio.check_serves()
    assert silence.longest < limit(STRANGER_MAX), f"one was kept for {silence.longest:.1f} s"
    trio.stop()


def test_mysql_client_at_the_node_port(environment):
    """A MySQL client at a node's port reads that it is not the MySQL port, soon; the node's log says who came."""
    trio = Trio(environment)
    trio.up()
    size = len(trio.log(3))
    begun = time.monotonic()
    command = ["mariadb", "--no-defaults", "--user=root", "--host=127.0.0.1", f"--port={trio.ports[3]}", "-e", "SELECT 1"]
    client = subprocess.run(command, capture_output=True, text=True, timeout=limit(20))
    assert client.returncode == 1 and time.monotonic() - begun < limit(STRANGER_MAX), client
    trio.said_since(3, size, "refused: .*MySQL port")
    trio.check_serves()
    # As every driver reads it: an error instead of a greeting.
    answer, _ = trio.say(b"")
    length = int.from_bytes(answer[:3], "little")
    assert length == len(answer) - 4 and answer[4] == 0xff, f"no error of MySQL's protocol: {answer}"
    assert NODE_PORT.encode() in answer, answer
    assert NODE_PORT in client.stderr, client
    trio.stop()


def test_node_at_a_mysql_port(environment):
    """A node whose configuration names another one's MySQL port says so, with keys and without; with the right port it is let in."""
    for keyed in (True, False):
        trio = Trio(environment, f"trio-{keyed}", keyed)
        trio.up()
        # By another address than node 3 itself has for that port: its own twice is not a configuration.
        wire = Wire(trio.proxy_port, trio.mysql[3])
        for ports in ({**trio.ports, 3: trio.proxy_port}, trio.ports):
            process = trio.processes.pop(2)
            process.kill()
            process.wait()
            size = len(trio.log(2))
            trio.write_config(2, ports)
            trio.start(2)
            if ports is not trio.ports:
                address = f"127.0.0.1:{trio.proxy_port}"
                trio.said_since(2, size, rf"link 2/0 - 3/0 \({address}\) refused: .*a MySQL server .*check the addresses")
        trio.said_since(2, size, "node 2 is ready", 20)
        trio.check_serves()
        wire.close()
        trio.stop()


def test_node_at_the_management_socket(environment):
    """Somebody who speaks TLS, or as a node does, at the management socket is told that it is none of theirs, and closed."""
    trio = Trio(environment)
    trio.up()
    path = os.path.join(trio.dir(3), "node3.mgm.sock")
    # A client's first words in TLS have no end of line but by chance.
    secured = b"\x16\x03\x01\x00\x40" + b"\x01" * 64
    for data in (b"GET / HTTP/1.1\r\n\r\n", secured, hello((2, 0))):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(limit(STRANGER_MAX))
            client.connect(path)
            client.sendall(data)
            try:
                answer = client.recv(4096)
            except TimeoutError:
                raise AssertionError(f"no answer within {limit(STRANGER_MAX)} s to {data[:20]}") from None
            assert answer.startswith(b'{"error":') and b"JSON" in answer, answer
    assert trio.environment.run("mgm", "--dir", trio.dir(3), "-e", "SHOW").stdout.count("started") == 3
    trio.check_serves()
    trio.stop()


def test_hello_of_the_same_boot(environment):
    """A node's hello said once more by who has its keys breaks one connection for a moment, and nothing else."""
    trio = Trio(environment)
    real = real_hello(trio)
    trio.up()
    again = hello((2, 0), **real, boot=trio.boot(2))
    size = len(trio.log(2))
    with socket.create_connection(("127.0.0.1", trio.ports[3]), limit(5)) as plain, trio.as_node(2).wrap_socket(plain) as stream:
        stream.settimeout(limit(5))
        stream.sendall(again)
        answer = stream.recv(4096)
    assert answer[14] == 1, f"it cannot be told from node 2: {answer}"
    trio.said_since(2, size, f"link 2/0 - 3/0 up .incarnation {trio.boot(3):016x}")
    trio.check_serves()
    trio.stop()


def test_hello_of_a_boot_that_is_over(environment):
    """A hello from before a restart takes nobody's place: it is told that this boot is over, and the log says so."""
    trio = Trio(environment)
    real = real_hello(trio)
    trio.up()
    over = trio.boot(2)
    process = trio.processes.pop(2)
    process.kill()
    process.wait()
    trio.start(2)
    wait_for("node 2 is back", lambda: trio.log(2).count("node 2 is ready") == 2, 20)
    trio.check_serves()
    size = {id: len(trio.log(id)) for id in (2, 3)}
    answer, _ = trio.say(hello((2, 0), **real, boot=over), trio.as_node(2))
    trio.check_serves()
    assert "lost" not in trio.log(2)[size[2]:], trio.log(2)[size[2]:]
    trio.said_since(3, size[3], "node 2 .*over")
    # In words, or by the message that ends an excluded node.
    assert len(answer) > HELLO_SIZE or answer[14] == 2, answer
    trio.stop()


def test_hello_of_an_unknown_boot(environment):
    """A second boot of a node that runs and is heard is refused at its hello, by name, and not a statement is lost by it."""
    trio = Trio(environment)
    real = real_hello(trio)
    trio.up()
    size = {id: len(trio.log(id)) for id in (2, 3)}
    answer, _ = trio.say(hello((2, 0), **real, boot=4711), trio.as_node(2))
    trio.check_serves()
    assert "node 2" in refusal_text(answer), answer
    trio.said_since(3, size[3], "refused: .*node 2 .*(runs|process)")
    assert "lost" not in trio.log(2)[size[2]:], trio.log(2)[size[2]:]
    trio.stop()


def why_not(id):
    """What is said of the second of two processes that are one node."""
    return rf"node {id} .*(another process|another directory|runs already|runs as|taken to run)"


def check_twice(environment, id, asks, is_copy):
    """A second process with a node's number, configuration and keys, in another directory and at another address. A copy has
    the control file of the first, too."""
    trio = Trio(environment, f"twice{id}")
    trio.up()
    sizes = {other: len(trio.log(other)) for other in (1, 2, 3)}
    process, _, log = trio.other(id, "twin", "control" if is_copy else "link", **elsewhere(free_ports(2), id))
    wait_for("the second one starts", lambda: f"node {id} starts" in text_of(log), 10)
    time.sleep(1)
    trio.check_serves()
    # The first node stays; the refusing node and the refused one both log the refusal.
    wait_for(f"the second node {id} says why it is refused", lambda: re.search(why_not(id), text_of(log)), REFUSED_AFTER)
    for other in asks:
        trio.said_since(other, sizes[other], why_not(id))
    assert len(text_of(log).splitlines()) < 100, "its log is flooded"
    process.kill()
    process.wait()
    trio.check_serves()
    shown = environment.run("mgm", "--dir", trio.dir(3), "-e", "SHOW").stdout
    assert shown.count("started") == 3, shown
    trio.check_equal("d.t")
    trio.stop()


def test_data_node_twice(environment):
    """Two processes are data node 2: the second is refused, both sides say why, no statement waits and no row is lost."""
    check_twice(environment, 2, asks=[3], is_copy=False)


def test_voter_twice(environment):
    """Two processes are voter 1, the second from a copy of its directory: that one is refused, and both sides say why."""
    check_twice(environment, 1, asks=[2, 3], is_copy=True)


def test_data_node_twice_at_once(environment):
    """Two processes are data node 2 from the beginning: one is let in, the other refused, and both sides say why."""
    trio = Trio(environment)
    twin, _, log = trio.other(2, "twin", **elsewhere(free_ports(2), 2))
    trio.start(1, 2, 3)
    logs = {trio.dir(2): lambda: trio.log(2), os.path.dirname(log): lambda: text_of(log)}
    ready = wait_for("one of the two is ready", lambda: [dir for dir in logs if "node 2 is ready" in logs[dir]()], 20)
    assert len(ready) == 1, ready
    loser = next(dir for dir in logs if dir != ready[0])
    trio.place[2] = ready[0]
    wait_for("node 3 is ready", lambda: "node 3 is ready" in trio.log(3), 20)
    trio.ask(3, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)")
    trio.check_serves()
    wait_for("the other one says why it is refused", lambda: re.search(why_not(2), logs[loser]()), REFUSED_AFTER)
    trio.said_since(3, 0, why_not(2))
    process = twin if loser == os.path.dirname(log) else trio.processes.pop(2)
    process.kill()
    process.wait()
    trio.check_serves()
    trio.check_equal("d.t")
    trio.stop()


def test_last_node_twice(environment):
    """Two processes are node 3, to which all others connect: nobody comes to the second, and it says what that means."""
    trio = Trio(environment)
    trio.up()
    _, _, log = trio.other(3, "twin", **elsewhere(free_ports(2), 3))
    wait_for("the second one starts", lambda: "node 3 starts" in text_of(log), 10)
    trio.check_serves()
    why = rf"{why_not(3)}|no(body| node) .*connect"
    wait_for("the second node 3 says what is wrong", lambda: re.search(why, text_of(log)), REFUSED_AFTER)
    trio.check_serves()
    trio.stop()


def test_one_address_twice(environment):
    """The same node started again from the same file in another directory: it names the port and the process that has it."""
    trio = Trio(environment)
    trio.up()
    for id in (1, 2, 3):
        pid = trio.processes[id].pid
        process, said, log = trio.other(id, f"twin{id}")
        assert process.wait(20) == 75, process
        reason = rf"port {trio.ports[id]} \(address 127.0.0.1:{trio.ports[id]}\) is taken by .*\(process {pid}\): stop it"
        wait_for(f"it says why: {said}", lambda: re.search(reason, "".join(said)), 5)
        assert re.search(f"not started: {reason}", text_of(log)), text_of(log)
    trio.check_serves()
    trio.stop()


def test_one_directory_twice(environment):
    """A second process on the directory of a running node, or cluster, names both; the first goes on."""
    trio = Trio(environment)
    trio.up()
    for id in (1, 2, 3):
        for initial in ([], ["--initial"]):
            again = environment.run("server", "--config", trio.config(id), "--node", id, "--dir", trio.dir(id), *initial)
            reason = f"node {id} in {trio.dir(id)} is running already as process {trio.processes[id].pid}: stop it first"
            assert again.returncode == 1 and reason in again.stderr, again
    trio.check_serves()
    trio.stop()
    cluster = environment.cluster("box", "--data-nodes", 1)
    pid = cluster.status()["supervisor_pid"]
    for detach in ([], ["--detach"]):
        again = environment.run("up", *detach, "--dir", cluster.dir, "--port", 0)
        reason = f"{os.path.realpath(cluster.dir)} is in use by a running cluster (process {pid})"
        assert again.returncode == 1 and reason in again.stderr, again
    cluster.sql(2, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1)")
    assert cluster.sql(2, "SELECT * FROM d.t") == [["1"]] and cluster.status()["supervisor_pid"] == pid


def test_first_of_a_directory_is_told(environment):
    """What was refused on the directory of a running node, or cluster, is in that one's log, too."""
    cluster = environment.cluster("box", "--data-nodes", 1)
    pids = []
    for arguments in (["server", "--node", 2], ["up", "--port", 0]):
        process = environment.start(*arguments, "--dir", cluster.dir)
        read(process)
        assert process.wait(20) == 1
        pids.append(process.pid)
    assert cluster.sql(2, "SELECT 1") == [["1"]]
    for name, pid in zip(("node2.log", "supervisor.log"), pids):
        said = text_of(os.path.join(cluster.dir, name))
        assert f"process {pid}" in said and "refused" in said, f"{name} does not say that process {pid} was refused"


def test_log_that_nobody_reads(environment):
    """A node whose standard error leads to somebody who does not read goes on, however much strangers make it say."""
    trio = Trio(environment)
    trio.start(1, 2)
    Machines.start(trio, 3)
    trio.up()
    said = len(trio.log(3))
    for number in range(5000):
        try:
            trio.say(struct.pack("<QQ", 0xffff_ffff_ffff_ffff, number))
        except TimeoutError:
            raise AssertionError(f"node 3 stands still after {len(trio.log(3)) - said} bytes of its log") from None
        if number % 50 == 49 and len(trio.log(3)) > said + 80_000:
            break
    # More than a pipe holds (64 KiB).
    assert len(trio.log(3)) > said + 80_000, "strangers do not make it say enough"
    trio.check_serves()
    trio.stop()


def dated(trio, id, begins, ends):
    """Gives a node a certificate with these dates, signed by the cluster's authority as it signs those of nodes."""
    dir = trio.environment.path(trio.name, "authority")
    shutil.rmtree(dir, ignore_errors=True)
    os.makedirs(dir)
    name = f"node{id}.{CLUSTER}.skarv"
    with open(f"{dir}/config", "w") as file:
        file.write(f"[ca]\ndefault_ca=own\n[own]\ndatabase={dir}/index\nnew_certs_dir={dir}\nserial={dir}/serial\n"
                   f"default_md=sha256\npolicy=any\nx509_extensions=node\n[any]\ncommonName=supplied\n"
                   f"[node]\nsubjectAltName=DNS:{name}\nextendedKeyUsage=serverAuth,clientAuth\nkeyUsage=digitalSignature\n"
                   f"[req]\ndistinguished_name=empty\n[empty]\n")
    open(f"{dir}/index", "w").close()
    with open(f"{dir}/serial", "w") as file:
        file.write("01\n")
    key = f"{trio.keys}/node{id}-link-key.pem"
    for command in (["req", "-new", "-config", f"{dir}/config", "-key", key, "-subj", f"/CN={name}",
                     "-out", f"{dir}/request.pem"],
                    ["ca", "-batch", "-notext", "-config", f"{dir}/config", "-cert", f"{trio.keys}/link-ca-cert.pem",
                     "-keyfile", f"{trio.keys}/link-ca-key.pem", "-startdate", begins, "-enddate", ends,
                     "-in", f"{dir}/request.pem", "-out", f"{trio.dir(id)}/node{id}-link-cert.pem"]):
        made = subprocess.run(["openssl", *command], capture_output=True, text=True, timeout=60)
        assert made.returncode == 0, made


def check_dates(environment, begins, ends, theirs, own):
    trio = Trio(environment)
    trio.start(1, 3)
    dated(trio, 2, begins, ends)
    trio.start(2)
    for id in (1, 3):
        trio.said_since(id, 0, f"TLS between the nodes fails: invalid peer certificate: {theirs}")
    trio.said_since(2, 0, own)
    # Every attempt comes to the same line, which is why it is not said again and again.
    time.sleep(2.5)
    for id in (1, 3):
        said = re.findall("TLS between the nodes fails: .*", trio.log(id))
        assert len(said) == 1, said
    process = trio.processes.pop(2)
    process.kill()
    process.wait()
    # One that is valid now is as good as those that `skarv keys` makes.
    dated(trio, 2, "20200101000000Z", "20990101000000Z")
    trio.up()
    trio.stop()


def test_certificate_that_is_over(environment):
    """A node whose certificate has expired is refused by the others; both sides name that, and with a valid one it is let in."""
    check_dates(environment, "20200101000000Z", "20200201000000Z", "certificate expired", "[Ee]xpired")


def test_certificate_that_is_not_yet(environment):
    """The same of one that is not valid yet."""
    check_dates(environment, "20900101000000Z", "20990101000000Z", "certificate not valid yet", "not valid yet")
