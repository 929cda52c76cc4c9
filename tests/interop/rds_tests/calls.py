# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Calls, readiness, options and information of AF_RDS sockets, within one host."""
import ctypes
import errno
import os
import select
import socket
import struct
import subprocess
import sys

from rds_tests.common import (
    CANCEL, GET_MR, INFO_CONNECTIONS, INFO_COUNTERS, INFO_SOCKETS, LIMIT, RECVERR, SOL_RDS, TRANSPORT, address, call_info, info, octets, rds,
    refuses, until)
from rds_tests.peers import Peer

LOW = OURS = HIGH = None # addresses of a test of its own, which the runner sets: a carrier keeps the numbers of a connection


def test_names():
    s = rds()
    assert s.family == 21 and s.getsockopt(socket.SOL_SOCKET, socket.SO_DOMAIN) == 21
    assert s.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) == socket.SOCK_SEQPACKET
    refuses(errno.ENOTCONN, s.getpeername)
    refuses(errno.ENOTCONN, s.sendto, b"x", (OURS, 4000))
    for bad in "0.0.0.0", "255.255.255.255", "224.0.0.1":
        refuses(errno.EINVAL, s.bind, (bad, 4000))
    refuses(errno.EADDRNOTAVAIL, s.bind, ("192.0.2.1", 4000))
    s.bind((OURS, 4000))
    assert s.getsockname() == (OURS, 4000)
    refuses(errno.EINVAL, s.bind, (OURS, 4001))
    refuses(errno.EADDRINUSE, rds().bind, (OURS, 4000))
    other = rds(OURS)
    assert other.getsockname()[1] > 1
    refuses(errno.ENOTCONN, s.send, b"x")
    refuses(errno.EDESTADDRREQ, s.connect, ("0.0.0.0", 1))
    s.connect(other.getsockname())
    assert s.getpeername() == other.getsockname()
    s.send(b"by connect")
    assert other.recvfrom(100) == (b"by connect", (OURS, 4000))
    refuses(errno.ESOCKTNOSUPPORT, socket.socket, 21, socket.SOCK_DGRAM)
    refuses(errno.EOPNOTSUPP, s.listen, 1)
    refuses(errno.EOPNOTSUPP, s.shutdown, socket.SHUT_WR)
    refuses(errno.EINVAL, s.sendto, b"x", ("224.0.0.1", 1))
    s.close()
    until("the port of a closed socket is free", lambda: can_bind(4000))


def can_bind(port):
    s = rds()
    try:
        s.bind((OURS, port))
        return True
    except OSError:
        return False
    finally:
        s.close()


def test_ipv6():
    """Python has addresses of IPv4 alone for this family."""
    run = subprocess.run([sys.executable, "-c", IPV6], capture_output=True, text=True)
    assert run.stdout == "ok\n", run


IPV6 = r"""
import ctypes, socket, struct
c = ctypes.CDLL(None, use_errno=True)
def at(port): return struct.pack("=HHI16sI", 10, socket.htons(port), 0, socket.inet_pton(10, "::1"), 0)
def make(port):
    fd = c.socket(21, 5, 0)
    assert fd >= 0 and not c.bind(fd, at(port), 28), ctypes.get_errno()
    return fd
a, b = make(4000), make(4001)
assert c.sendto(a, b"six", 3, 0, at(4001), 28) == 3, ctypes.get_errno()
buf, name, n = ctypes.create_string_buffer(10), ctypes.create_string_buffer(28), ctypes.c_uint(28)
assert c.recvfrom(b, buf, 10, 0, name, ctypes.byref(n)) == 3 and buf.raw[:3] == b"six"
assert name.raw == at(4000) and n.value == 28
v4 = struct.pack("=HH4s8x", 2, socket.htons(4001), socket.inet_aton("127.0.0.1"))
assert c.sendto(a, b"x", 1, 0, v4, 16) == -1 and ctypes.get_errno() == 95
print("ok")
"""


def test_messages():
    s, t = rds(OURS, 4000), rds(OURS, 4001)
    for n in 0, 1, 32767, 32768, 32769, 100000:
        t.sendto(octets(n, n), (OURS, 4000))
        assert s.recvfrom(200000) == (octets(n, n), (OURS, 4001))
    refuses(errno.EMSGSIZE, t.sendto, bytes(106497), (OURS, 4000))
    t.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    limit = t.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 2
    refuses(errno.EMSGSIZE, t.sendto, bytes(limit + 1), (OURS, 4000))
    refuses(errno.EMSGSIZE, t.sendto, bytes((1 << 20) + 1), (OURS, 4000))
    # Parts of a vector, and of a message.
    data = octets(1, 70000)
    t.sendmsg([data[:10], b"", data[10:33000], data[33000:]], [], 0, (OURS, 4000))
    parts = [bytearray(5), bytearray(40000), bytearray(50000)]
    n, _, flags, who = s.recvmsg_into(parts)
    assert n == 70000 and b"".join(parts)[:n] == data and not flags and who == (OURS, 4001)
    for size in 10, 40000:
        t.sendto(data, (OURS, 4000))
        assert s.recv(size, socket.MSG_PEEK) == data[:size]
        got, _, flags, _ = s.recvmsg(size)
        assert got == data[:size] and flags == socket.MSG_TRUNC
    t.sendto(data, (OURS, 4000))
    assert s.recv_into(bytearray(10), 10, socket.MSG_TRUNC) == 70000
    # Calls of files.
    t.connect((OURS, 4000))
    assert os.write(t.fileno(), b"by write") == 8 and select.select([s], [], [], LIMIT)[0]
    assert os.read(s.fileno(), 100) == b"by write"
    assert os.writev(t.fileno(), [b"a", b"b"]) == 2 and s.recv(10) == b"ab"
    many(s, t)
    refuses(errno.EOPNOTSUPP, t.send, b"x", socket.MSG_OOB)
    # RDMA operations have no transport here; what is no good without one is refused first, as in Linux.
    word = (ctypes.c_uint64 * 2)()
    piece = (ctypes.c_uint64 * 2)(ctypes.addressof(word), 8)
    for kind, body in ((1, struct.pack("=7Q", 1, 0, 8, ctypes.addressof(piece), 1, 0, 0)), (3, struct.pack("=4Q", ctypes.addressof(word), 8, 0, 0)),
                       (6, struct.pack("=9Q", 1, ctypes.addressof(word), *[0] * 7))):
        refuses(errno.EOPNOTSUPP, t.sendmsg, [b"x"], [(SOL_RDS, kind, body)])
        refuses(errno.EINVAL, t.sendmsg, [b"x"], [(SOL_RDS, kind, body[:24])])
    refuses(errno.EINVAL, t.sendmsg, [b"x"], [(SOL_RDS, 2, bytes(8))])
    refuses(errno.EINVAL, t.sendmsg, [b"x"], [(SOL_RDS, 99, b"")])


def many(s, t):
    """recvmmsg(): a limit of time ends it after the message at which it is over."""
    class Vector(ctypes.Structure):
        _fields_ = [("at", ctypes.c_char_p), ("len", ctypes.c_size_t)]

    class Message(ctypes.Structure):
        _fields_ = [("name", ctypes.c_void_p), ("namelen", ctypes.c_uint), ("iov", ctypes.POINTER(Vector)), ("iovlen", ctypes.c_size_t),
                    ("control", ctypes.c_void_p), ("controllen", ctypes.c_size_t), ("flags", ctypes.c_long), ("len", ctypes.c_uint)]

    class Limit(ctypes.Structure):
        _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]

    libc, buf = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(10)
    vector = Vector(ctypes.cast(buf, ctypes.c_char_p), 10)
    messages = (Message * 3)(*[Message(iov=ctypes.pointer(vector), iovlen=1) for _ in range(3)])

    def take(nr, s_limit, ns):
        limit = Limit(s_limit, ns)
        return libc.recvmmsg(s.fileno(), messages, nr, 0, ctypes.byref(limit)), limit

    s.setblocking(True)
    for i in range(4):
        t.sendto(b"%d" % i, (OURS, 4000))
    got, limit = take(3, 0, 1)
    assert got == 1 and buf.value == b"0" and (limit.s, limit.ns) == (0, 0), got
    got, limit = take(3, LIMIT, 0)
    assert got == 3 and buf.value == b"3" and LIMIT - 30 < limit.s < LIMIT, (got, buf.value, limit.s)
    assert take(3, 0, -1)[0] == -1 and ctypes.get_errno() == errno.EINVAL
    s.settimeout(LIMIT)


def test_readiness():
    s, t = rds(OURS, 4000), rds(OURS, 4001)
    s.setblocking(False)
    refuses(errno.EAGAIN, s.recv, 10)
    assert select.select([s], [s], [], 0)[:2] == ([], [s])
    e = select.epoll()
    e.register(s, select.EPOLLIN)
    t.sendto(b"x", (OURS, 4000))
    assert e.poll(LIMIT) == [(s.fileno(), select.EPOLLIN)]
    # A child has the socket, and so has a program that is executed with it.
    if not os.fork():
        os._exit(0 if s.recv(10) == b"x" else 1)
    assert not os.wait()[1]
    d = os.dup(s.fileno())
    t.sendto(b"y", (OURS, 4000))
    run = subprocess.run([sys.executable, "-c", "import os,sys; sys.stdout.buffer.write(os.read(int(sys.argv[1]), 9))", str(d)],
                         pass_fds=[d], capture_output=True, check=True)
    assert run.stdout == b"y"
    s.settimeout(0.05)
    try:
        s.recv(10)
        raise AssertionError("nothing was sent")
    except TimeoutError:
        pass


def test_options():
    s = rds()
    assert s.getsockopt(SOL_RDS, RECVERR) == 0
    s.setsockopt(SOL_RDS, RECVERR, 1)
    assert s.getsockopt(SOL_RDS, RECVERR) == 1
    assert s.getsockopt(SOL_RDS, TRANSPORT) == -1
    refuses(errno.ENOPROTOOPT, s.setsockopt, SOL_RDS, TRANSPORT, 1)
    refuses(errno.EINVAL, s.setsockopt, SOL_RDS, TRANSPORT, 3)
    s.setsockopt(SOL_RDS, TRANSPORT, 2)
    refuses(errno.EOPNOTSUPP, s.setsockopt, SOL_RDS, TRANSPORT, 2)
    refuses(errno.ENOTCONN, s.setsockopt, SOL_RDS, CANCEL, address(OURS, 1))
    refuses(errno.ENOTCONN, s.setsockopt, SOL_RDS, GET_MR, bytes(32))
    s.bind((OURS, 4000))
    assert s.getsockopt(SOL_RDS, TRANSPORT) == 2
    refuses(errno.EOPNOTSUPP, s.setsockopt, SOL_RDS, GET_MR, bytes(32))
    refuses(errno.ENOPROTOOPT, s.setsockopt, SOL_RDS, 77, 1)
    refuses(errno.ENOPROTOOPT, s.getsockopt, SOL_RDS, 77)
    refuses(errno.ENOPROTOOPT, s.getsockopt, socket.IPPROTO_TCP, 1)


def test_ping():
    s = rds(OURS, 4000)
    s.sendto(b"is it there", (OURS, 0))
    assert s.recvfrom(10) == (b"", (OURS, 0))
    s.sendto(b"nobody", (OURS, 4999))
    s.sendto(b"", (OURS, 0))
    assert s.recvfrom(10) == (b"", (OURS, 0))


def test_info():
    s, p = rds(OURS, 4000), Peer(LOW)
    p.begin()
    p.send(41, 7, 4000, b"x")
    assert s.recv(10) == b"x"
    counters = {c[:32].rstrip(b"\0"): struct.unpack("=Q", c[32:])[0] for c in info(s, INFO_COUNTERS, 40)}
    assert counters[b"recv_queued"] >= 1 and counters[b"send_queued"] >= 0
    found = [c for c in info(s, INFO_CONNECTIONS, 42) if c[16:24] == socket.inet_aton(OURS) + socket.inet_aton(LOW)]
    assert len(found) == 1 and found[0][24:27] == b"tcp" and found[0][40] == 4
    assert struct.unpack("=Q", found[0][8:16])[0] == 42
    socks = [c for c in info(s, INFO_SOCKETS, 28) if c[4:8] == socket.inet_aton(OURS)]
    assert len(socks) == 1 and socks[0][12:14] == struct.pack(">H", 4000)
    assert call_info(s, 10005)[0] == 26 and call_info(s, 10002)[0] == -1
    p.close()
