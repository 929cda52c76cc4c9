# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What a carrier says to peers on the wire of TCP, and how it takes what they say."""
import errno
import fcntl
import os
import socket
import struct
import subprocess

from rds_tests.calls import can_bind
from rds_tests.common import INFO_RETRANS, info, octets, rds, refuses, until
from rds_tests.peers import Peer

LOW = OURS = HIGH = None # addresses of a test of its own, which the runner sets: a carrier keeps the numbers of a connection


def test_wire():
    """Both roles: numbers, the map first, pings, and messages for ports that no socket has."""
    for where in LOW, HIGH:
        s, p = rds(OURS, 4000), Peer(where)
        s.sendto(b"first", (where, 7))
        if where == LOW: # it is called, and has to connect itself
            called, _ = p.listener.accept()
            assert called.recv(1) == b""
        p.begin()
        h = p.take()
        assert h["seq"] == 1 and h["data"] == b"first" and (h["sport"], h["dport"], h["flags"]) == (4000, 7, 0), h
        p.send_map()
        p.send(1, 1, 0, ext=b"\5\0\x08")
        h = p.take()
        assert (h["seq"], h["sport"], h["dport"], h["len"]) == (2, 0, 1, 0) and h["ext"][:4] == b"\5\0\1\0", h
        p.send(2, 9, 0, b"a ping")
        assert p.take()["dport"] == 9
        p.send(3, 0, 0)
        p.send(4, 7, 4999, b"no such port")
        p.send(9, 7, 4000, b"numbers may skip")
        assert s.recvfrom(100) == (b"numbers may skip", (where, 7))
        p.close()
        s.close()
        until("the port is free", lambda: can_bind(4000))


def test_again():
    """A connection that is reset: all that was not acknowledged comes again, in order and marked."""
    s, p = rds(OURS, 4000), Peer(HIGH)
    s.sendto(b"0", (HIGH, 7))
    p.begin()
    assert p.take()["data"] == b"0"
    p.tcp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    for i in range(1, 3):
        s.sendto(octets(i, 100000), (HIGH, 7))
    p.exactly(1000)
    p.reset()
    p.begin()
    first = p.take()
    assert first["seq"] == 2 and first["data"] == octets(1, 100000), first["seq"]
    second = p.take()
    assert second["seq"] == 3 and second["data"] == octets(2, 100000) and not second["flags"] & ~4
    s.sendto(b"new", (HIGH, 7))
    h = p.take()
    assert (h["seq"], h["flags"], h["data"]) == (4, 0, b"new")
    p.close()


def test_relied_on():
    """A peer with a larger address does not connect by itself: this end does so again, though it has nothing to send."""
    s, p = rds(OURS, 4000), Peer(HIGH)
    s.sendto(b"x", (HIGH, 7))
    p.begin()
    p.take()
    until("nothing waits", lambda: not [m for m in info(s, INFO_RETRANS, 26) if m[16:20] == socket.inet_aton(HIGH)])
    p.reset()
    p.begin()
    p.send(1, 7, 4000, b"late")
    assert s.recv(10) == b"late"
    p.close()


def test_marked():
    """What TCP had taken whole, but not acknowledged, is marked; a receiver drops what it has."""
    s, p = rds(OURS, 4000), Peer(LOW)
    p.connect()
    p.send(1, 7, 4000, b"one")
    p.send(2, 7, 4000, b"two")
    assert s.recv(10) == b"one" and s.recv(10) == b"two"
    p.reset()
    p.connect()
    p.send_map()
    p.send(1, 7, 4000, b"one", 4)
    p.send(2, 7, 4000, b"two", 4)
    p.send(3, 7, 4000, b"three", 4)
    assert s.recv(10) == b"three"
    # A peer that has begun anew: unmarked numbers are taken, and marked ones behind another generation.
    p.send(1, 7, 4000, b"again one")
    assert s.recv(10) == b"again one"
    p.send(10, 7, 4000, b"ten")
    assert s.recv(10) == b"ten"
    for generation, number in (b"\6\0\0\0\1", 11), (b"\6\0\0\0\2", 5):
        p.reset()
        p.connect()
        p.send_map(ext=generation)
        p.send(number, 7, 4000, b"generation", 4)
        assert s.recv(20) == b"generation"
    p.close()


def test_before_reset():
    """Messages that came before a reset are given to the program, also when this end is just sending."""
    s, p = rds(OURS, 4000), Peer(LOW)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    n = 0
    for turn in range(20):
        p.connect()
        for _ in range(50):
            n += 1
            p.send(n, 7, 4000, octets(n, 700))
        s.sendto(octets(turn, 5000), (LOW, 7))
        until("TCP has all octets", lambda: not unsent(p.tcp))
        p.reset()
        for i in range(n - 49, n + 1):
            assert s.recv(1000) == octets(i, 700), i
    p.close()


def unsent(tcp):
    return struct.unpack("i", fcntl.ioctl(tcp, 0x5411, bytes(4)))[0]


def test_one_connection():
    """Several processes send to one peer: one connection, each message once and in its sender's order."""
    p = Peer(HIGH)
    rounds, children = 200, []
    for port in 4001, 4002, 4003:
        pid = os.fork()
        if not pid:
            s = rds(OURS, port)
            for i in range(rounds):
                s.sendto(octets(port * 1000 + i, i * 13 % 3000), (HIGH, 7))
            while s.recv(10) != b"end":
                pass
            os._exit(0)
        children.append(pid)
    p.begin()
    seen, number = {4001: 0, 4002: 0, 4003: 0}, 0
    while min(seen.values()) < rounds:
        h = p.take()
        number += 1
        assert h["seq"] == number
        i = seen[h["sport"]]
        assert h["data"] == octets(h["sport"] * 1000 + i, i * 13 % 3000)
        seen[h["sport"]] += 1
    p.listener.setblocking(False)
    refuses(errno.EAGAIN, p.listener.accept)
    for i, port in enumerate(seen):
        p.send(i + 1, 7, port, b"end")
    for pid in children:
        assert os.waitpid(pid, 0)[1] == 0
    p.close()


def test_outlives():
    """What a program has sent goes out though the program has gone; the peer was not there yet."""
    if not os.fork():
        rds(OURS, 4000).sendto(b"last words", (HIGH, 7))
        os._exit(0)
    assert not os.wait()[1]
    p = Peer(HIGH)
    p.begin()
    assert p.take()["data"] == b"last words"
    p.close()


def test_rules():
    """Peers that break a rule lose their connection; others go on."""
    s, good, p = rds(OURS, 4000), Peer(LOW[:-1] + "2"), Peer(LOW)
    good.connect()
    for h in ({"length": (1 << 20) + 1}, {"length": 0xffffffff}, {"flags": 1, "data": bytes(8191)},
              {"flags": 1, "length": 0}, {"flags": 0xff, "data": bytes(100)}):
        p.connect()
        p.send(1, 7, 4000, h.get("data", b""), h.get("flags", 0), h.get("length"))
        assert p.ended()
    p.connect()
    p.send(2, 7, 4000, b"an unknown extension", ext=b"\x63\1\2\3\5\0\1")
    p.send(3, 7, 4000, b"bits that mean nothing", 0xf8)
    assert s.recv(100) == b"an unknown extension" and s.recv(100) == b"bits that mean nothing"
    good.send(1, 7, 4000, b"goes on")
    assert s.recv(100) == b"goes on"
    said = subprocess.run([os.environ["RDS_DAPPLE"], "why"], capture_output=True, text=True).stdout
    assert "longer than 1 MiB" in said and "congestion map has not 8192 octets" in said, said
    # Half a header is no message, and a larger address that connects is sent away.
    p.reset()
    p.connect()
    p.tcp.sendall(bytes(20))
    p.reset()
    q = Peer(HIGH)
    try:
        q.connect()
        assert q.ended()
    except ConnectionResetError:
        pass
    q.begin()
    for x in good, p, q:
        x.close()
