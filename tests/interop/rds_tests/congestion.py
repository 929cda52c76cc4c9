# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Congestion of ports, both ways; buffers; messages that are cancelled."""
import errno
import select
import socket
import struct
import threading

from rds_tests.common import CANCEL, CMSG_UPDATE, INFO_SEND, LIMIT, MONITOR, SOL_RDS, address, info, octets, rds, refuses, until
from rds_tests.peers import Peer, is_set

LOW = OURS = HIGH = None # addresses of a test of its own, which the runner sets: a carrier keeps the numbers of a connection


def test_congested_here():
    """A program that does not read: its port is congested in the map, until it reads; nothing is lost."""
    s, p = rds(OURS, 4000), Peer(LOW)
    p.begin()
    n, h = 0, None
    while not h or not is_set(h, 4000):
        n += 1
        p.send(n, 7, 4000, octets(n, 20000))
        h = p.take() if select.select([p.tcp], [], [], 0.02)[0] else h
        assert n < 200
    assert not is_set(h, 4001)
    # The peer may go on for a while, and then has to wait; memory is bounded.
    p.tcp.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    p.tcp.settimeout(0.5)
    try:
        while n < 3000:
            n += 1
            p.send(n, 7, 4000, octets(n, 20000))
        raise AssertionError("the carrier takes any number of messages")
    except TimeoutError:
        pass
    p.tcp.settimeout(LIMIT)
    for i in range(1, n - 5):
        if i < n - 100 or select.select([s], [], [], 5)[0]:
            assert s.recv(20000) == octets(i, 20000), i
    while is_set(h, 4000):
        h = p.take()
    p.close()


def test_congested_there():
    s, p = rds(OURS, 4000), Peer(LOW)
    p.begin()
    p.send_map([7])
    p.send(1, 7, 4000, b"the map has come")
    assert s.recv(100) == b"the map has come"
    s.sendto(b"free", (LOW, 8))
    assert p.take()["dport"] == 8
    s.setblocking(False)
    refuses(errno.ENOBUFS, s.sendto, b"x", (LOW, 7))
    # Without RDS_CONG_MONITOR the socket becomes readable, and there is nothing to read.
    p.send_map()
    assert select.select([s], [], [], LIMIT)[0]
    refuses(errno.EAGAIN, s.recv, 10)
    s.sendto(b"now", (LOW, 7))
    assert p.take()["data"] == b"now"
    # With it, a message says which ports.
    s.setsockopt(SOL_RDS, MONITOR, 1)
    p.send_map([7, 100])
    p.send(2, 7, 4000, b"the map has come")
    select.select([s], [], [], LIMIT)
    assert s.recv(100) == b"the map has come"
    refuses(errno.ENOBUFS, s.sendto, b"x", (LOW, 100))
    p.send_map([7])
    select.select([s], [], [], LIMIT)
    data, control, _, _ = s.recvmsg(100, 100)
    assert not data and control == [(SOL_RDS, CMSG_UPDATE, struct.pack("=Q", 1 << 100 % 64))], control
    # A program that waits goes on with the news.
    s.settimeout(None)
    t = threading.Thread(target=s.sendto, args=(b"waited", (LOW, 7)))
    t.start()
    p.tcp.settimeout(0.2)
    try:
        p.take()
        raise AssertionError("the port was congested")
    except TimeoutError:
        p.tcp.settimeout(LIMIT)
    p.send_map()
    assert p.take()["data"] == b"waited"
    t.join()
    p.close()


def test_send_buffer():
    """A peer that does not read: the program is told to wait, and goes on when the peer reads."""
    s, p = rds(OURS, 4000), Peer(LOW)
    p.begin()
    s.setblocking(False)
    n = 0
    try:
        while n < 10000:
            s.sendto(octets(n, 30000), (LOW, 7))
            n += 1
        raise AssertionError("the carrier takes any number of messages")
    except BlockingIOError:
        pass
    assert not select.select([], [s], [], 0)[1]
    for i in range(n):
        assert p.take()["data"] == octets(i, 30000)
    assert select.select([], [s], [], LIMIT)[1]
    p.close()


def test_cancel():
    """Messages that wait for a peer are dropped, those for another port or of another socket are not."""
    s, t = rds(OURS, 4000), rds(OURS, 4001)
    for i in range(3):
        for port in 7, 8:
            s.sendto(b"s%d" % port, (HIGH, port))
        t.sendto(b"t7", (HIGH, 7))
    waiting = lambda: sum(m[16:20] == socket.inet_aton(HIGH) for m in info(s, INFO_SEND, 26))
    until("nine messages wait", lambda: waiting() == 9)
    s.setsockopt(SOL_RDS, CANCEL, address(HIGH, 7))
    assert waiting() == 6
    p = Peer(HIGH)
    p.begin()
    assert sorted(p.take()["data"] for _ in range(6)) == [b"s8"] * 3 + [b"t7"] * 3 # of two sockets: in any order
    p.close()
