"""A MySQL client that does not wait: statements are sent, answers are taken when they have come.

The command line client cannot show that a statement blocks, and one thread a session would measure Python's scheduling.
Here one thread holds all sessions: `Session` is one connection, `drive` lets many of them work through scripts of their
own. Unix sockets, the text protocol and a root without a password are all it knows.
"""

import select
import selectors
import socket
import time

# PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, PLUGIN_AUTH, DEPRECATE_EOF: an answer ends with one kind of packet.
CAPABILITIES = 0x0000_0200 | 0x0000_2000 | 0x0000_8000 | 0x0008_0000 | 0x0100_0000
UTF8MB4 = 45
PACKET_SIZE_MAX = 1 << 24
# Far above the time that a healthy server needs on a busy machine, far below the patience of a person.
ANSWER_TIMEOUT = 60


class Answer:
    """What a statement came to: an error's number, or rows and the number of rows it changed."""

    def __init__(self, rows=None, changed=0, error=None, message=""):
        self.rows, self.changed, self.error, self.message = rows, changed, error, message
        self.at = time.monotonic()

    def __str__(self):
        if self.error is not None:
            return f"error {self.error} ({self.message})"
        return f"{self.changed} changed" if self.rows is None else f"rows {self.rows[:20]}"


class Session:
    """One connection. At most one statement is under way."""

    def __init__(self, path, name=""):
        self.name = name
        self.statement = None
        self.sent_at = 0.0
        self.is_closed = False
        self.received = bytearray()
        self.column_count = None
        self.columns_seen = 0
        self.rows = []
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(ANSWER_TIMEOUT)
        try:
            self.socket.connect(path)
            self.log_in()
        except BaseException:
            self.socket.close()
            raise

    def log_in(self):
        greeting = self.wait_for_packet()
        assert greeting[0] == 10, f"the server's greeting: {greeting!r}"
        login = (CAPABILITIES.to_bytes(4, "little") + PACKET_SIZE_MAX.to_bytes(4, "little") + bytes([UTF8MB4])
                 + bytes(23) + b"root\0" + b"\0" + b"mysql_native_password\0")
        self.socket.sendall(len(login).to_bytes(3, "little") + b"\x01" + login)
        number = 3
        while (packet := self.wait_for_packet())[0] != 0:
            assert packet[0] in (0x01, 0xFE), f"login refused: {packet!r}"
            if packet[0] == 0xFE:
                # The server requests another method: the empty password is an empty packet in each.
                self.socket.sendall(b"\0\0\0" + bytes([number]))
                number += 2

    def wait_for_packet(self):
        while (packet := self.packet()) is None:
            part = self.socket.recv(1 << 16)
            assert part, "the server closed the connection"
            self.received += part
        return packet

    def packet(self):
        """The next packet that has come whole, else None."""
        if len(self.received) < 4:
            return None
        end = 4 + int.from_bytes(self.received[:3], "little")
        if len(self.received) < end:
            return None
        packet = bytes(self.received[4:end])
        del self.received[:end]
        return packet

    def fileno(self):
        return self.socket.fileno()

    def send(self, statement):
        assert self.statement is None, f"{self.name}: {self.statement} is still under way, before {statement}"
        self.statement, self.column_count, self.columns_seen, self.rows = statement, None, 0, []
        query = statement.encode()
        self.sent_at = time.monotonic()
        self.socket.sendall((len(query) + 1).to_bytes(3, "little") + b"\0\x03" + query)

    def on_readable(self):
        """Takes what has come; the Answer when it is whole, else None. A closed connection is error 2013."""
        try:
            part = self.socket.recv(1 << 18)
        except OSError:
            part = b""
        if not part:
            self.statement, self.is_closed = None, True
            return Answer(error=2013, message="the server closed the connection")
        self.received += part
        return self.take()

    def take(self):
        while (packet := self.packet()) is not None:
            answer = self.on_packet(packet)
            if answer is not None:
                self.statement = None
                return answer
        return None

    def on_packet(self, packet):
        if packet[0] == 0xFF:
            return Answer(error=int.from_bytes(packet[1:3], "little"), message=packet[9:].decode(errors="replace"))
        if self.column_count is None:
            if packet[0] == 0:
                return Answer(changed=number_at(packet, 1)[0])
            self.column_count = number_at(packet, 0)[0]
        elif self.columns_seen < self.column_count:
            self.columns_seen += 1
        elif packet[0] == 0xFE:
            return Answer(rows=self.rows)
        else:
            self.rows.append(row_of(packet, self.column_count))
        return None

    def answer(self, seconds):
        """The answer of the statement under way; None when it does not come in time."""
        deadline = time.monotonic() + seconds
        while True:
            if not select.select([self], [], [], max(deadline - time.monotonic(), 0))[0]:
                return None
            answer = self.on_readable()
            if answer is not None:
                return answer

    def execute(self, statement, seconds=ANSWER_TIMEOUT):
        """Whatever the statement comes to."""
        self.send(statement)
        answer = self.answer(seconds)
        assert answer is not None, f"{self.name}: no answer within {seconds} s: {statement[:200]}"
        return answer

    def query(self, statement, seconds=ANSWER_TIMEOUT):
        """The rows of a statement that must go well."""
        answer = self.execute(statement, seconds)
        assert answer.error is None, f"{self.name}: {statement[:200]}: {answer}"
        return answer.rows

    def expect_error(self, statement, number, seconds=ANSWER_TIMEOUT):
        answer = self.execute(statement, seconds)
        assert answer.error == number, f"{self.name}: {statement[:200]}: expected error {number}, got {answer}"

    def is_waiting(self, seconds):
        """Has the statement under way no answer for so long?"""
        return not select.select([self], [], [], seconds)[0]

    def close(self):
        self.is_closed = True
        self.socket.close()


def number_at(packet, offset):
    """A length-encoded number and where it ends; None for NULL."""
    first = packet[offset]
    if first < 0xFB:
        return first, offset + 1
    if first == 0xFB:
        return None, offset + 1
    size = {0xFC: 2, 0xFD: 3, 0xFE: 8}[first]
    return int.from_bytes(packet[offset + 1:offset + 1 + size], "little"), offset + 1 + size


def row_of(packet, column_count):
    row, offset = [], 0
    for _ in range(column_count):
        length, offset = number_at(packet, offset)
        if length is None:
            row.append(None)
        else:
            row.append(packet[offset:offset + length].decode(errors="replace"))
            offset += length
    return row


def drive(scripts, seconds):
    """Lets sessions work at the same time: `scripts` are pairs of a session and a generator, which yields statements
    and is given their answers. Ends when all generators have; says which statement has no answer after `seconds`."""
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        for session, script in scripts:
            statement = next(script, None)
            if statement is not None:
                session.send(statement)
                selector.register(session, selectors.EVENT_READ, script)
        while selector.get_map():
            events = selector.select(max(deadline - time.monotonic(), 0))
            if not events and time.monotonic() >= deadline:
                waiting = [f"{key.fileobj.name}: {key.fileobj.statement}" for key in selector.get_map().values()]
                raise AssertionError(f"no answer within {seconds} s: {waiting[:40]}")
            for key, _ in events:
                answer = key.fileobj.on_readable()
                if answer is None:
                    continue
                try:
                    key.fileobj.send(key.data.send(answer))
                except StopIteration:
                    selector.unregister(key.fileobj)
