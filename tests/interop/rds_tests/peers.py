# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Peers of RDS over TCP, written out here, octet by octet; they break the protocol, too."""
import socket
import struct

from rds_tests.common import LIMIT

LOW = OURS = HIGH = None # addresses of a test of its own, which the runner sets: a carrier keeps the numbers of a connection
PORT = 16385
MAP_LEN = 8192
HEADER = struct.Struct(">QQIHHBBHHH16s")


class Peer:
    """A TCP end at an address of its own. One with a smaller address connects, one with a larger address listens."""

    def __init__(self, addr):
        self.addr = addr
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((addr, PORT))
        self.listener.listen(8)
        self.listener.settimeout(LIMIT)
        self.tcp = None

    def connect(self):
        self.tcp = socket.create_connection((OURS, PORT), LIMIT, (self.addr, 0))

    def accept(self):
        self.tcp, who = self.listener.accept()
        self.tcp.settimeout(LIMIT)
        assert who[0] == OURS

    def begin(self):
        """A connection that stands, whose first message is a congestion map."""
        self.connect() if self.addr == LOW else self.accept()
        h = self.take()
        assert h["flags"] == 1 and h["len"] == MAP_LEN and h["seq"] == 0 and not h["sport"] and not h["dport"], h
        return h

    def exactly(self, n):
        got = b""
        while len(got) < n:
            more = self.tcp.recv(n - len(got))
            assert more, "the end"
            got += more
        return got

    def take(self):
        seq, ack, n, sport, dport, flags, credit, r1, r2, check, ext = HEADER.unpack(self.exactly(48))
        assert not ack and not credit and not r1 and not r2 and not check
        return {"seq": seq, "len": n, "sport": sport, "dport": dport, "flags": flags, "ext": ext, "data": self.exactly(n)}

    def send(self, seq, sport, dport, data=b"", flags=0, length=None, ext=b""):
        self.tcp.sendall(HEADER.pack(seq, 0, len(data) if length is None else length, sport, dport, flags, 0, 0, 0, 0,
                                     ext.ljust(16, b"\0")) + data)

    def send_map(self, ports=(), ext=b""):
        bits = bytearray(MAP_LEN)
        for p in ports:
            bits[p // 8] |= 1 << p % 8
        self.send(0, 0, 0, bytes(bits), 1, ext=ext)

    def reset(self):
        """Ends the connection; what has not been read is thrown away."""
        self.tcp.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.tcp.close()

    def ended(self):
        """True once the other end has closed the connection."""
        try:
            while self.tcp.recv(65536):
                pass
        except ConnectionResetError:
            pass
        return True

    def close(self):
        if self.tcp:
            self.tcp.close()
        self.listener.close()


def is_set(h, port):
    return h["data"][port // 8] >> port % 8 & 1
