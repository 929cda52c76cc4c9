# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""RDS over RDMA between two hosts: the choice of the transport; reads, writes, atomics, and what is refused."""
import ctypes
import errno
import mmap
import os
import socket
import struct
import subprocess
import sys
import tempfile

from rds_tests.common import CONNECTED, GET_MR, INFO_CONNECTIONS, INFO_IB, LIMIT, RECVERR, SOL_RDS, TRANSPORT, info, octets, rds, refuses
from rds_tests.hosts import END, FAR, far_end, far_host, v4_gid


def test_rdma():
    """A far host: RDMA comes first where the address has an adapter; a peer with TCP alone is reached, too; so is a choice."""
    holder, far = far_host(66)
    sizes = [0, 1, 4095, 4096, 4097, 8192, 100000] + [i * 53 % 9000 for i in range(200)]
    with tempfile.TemporaryDirectory() as run:
        for port, (there, theirs, ours, name) in enumerate((("10.66.0.2", -1, -1, b"infiniband"), ("10.66.0.2", 0, 0, b"infiniband"),
                                                            ("10.66.0.3", 2, 2, b"tcp")), 5000):
            peer = subprocess.Popen(far + [sys.executable, "-c", FAR, there, str(len(sizes)), str(theirs)],
                                    stdout=subprocess.PIPE, env=dict(os.environ, DAPPLE_RUNTIME_DIR=run))
            assert peer.stdout.readline() == b"ready\n"
            s = rds()
            if ours >= 0:
                s.setsockopt(SOL_RDS, TRANSPORT, ours)
            s.bind(("10.66.0.1", port))
            assert s.getsockopt(SOL_RDS, TRANSPORT) == (2 if ours == 2 else 0)
            for i, n in enumerate(sizes):
                s.sendto(octets(i, n), (there, 4000))
                if i >= 8:
                    assert s.recvfrom(200000) == (octets(i - 8, sizes[i - 8]), (there, 4000)), i
            for i in range(len(sizes) - 8, len(sizes)):
                assert s.recvfrom(200000) == (octets(i, sizes[i]), (there, 4000)), i
            assert not peer.wait(LIMIT)
            up = [c[24:40].rstrip(b"\0") for c in info(s, INFO_CONNECTIONS, 42) if c[20:24] == socket.inet_aton(there) and c[40] & CONNECTED]
            assert up == [name], up
            # Addresses, identifiers of the ports, work requests, regions.
            found = [c for c in info(s, INFO_IB, 68) if c[4:8] == socket.inet_aton(there)]
            assert len(found) == (name == b"infiniband"), found
            for c in found:
                assert c[:4] == socket.inet_aton("10.66.0.1") and c[8:40] == v4_gid("10.66.0.1") + v4_gid(there)
                assert struct.unpack("=5I", c[40:60]) == (128, 256, 1, 8192, 257)
    holder.communicate()


def test_operations():
    """RDMA operations between two hosts: as the ends do them with a kernel, in both roles; and the rest."""
    holder, far = far_host(67)
    with tempfile.TemporaryDirectory() as run:
        for near, there in (("own", "use"), ("use", "own")):
            pair = {near: ["10.67.0.1"], there: ["10.67.0.2"]}
            pair["use"].append(pair["own"][0])
            words = {who: [who, *pair[who], "14"] for who in pair}
            if near == "use":
                end = far_end(far, run, *words["own"])
                subprocess.run([sys.executable, END, *words["use"]], check=True)
            else:
                end = subprocess.Popen([sys.executable, END, *words["own"]], stdout=subprocess.PIPE)
                assert end.stdout.readline() == b"ready\n"
                subprocess.run(far + [sys.executable, END, *words["use"]], check=True, env=dict(os.environ, DAPPLE_RUNTIME_DIR=run))
            assert not end.wait(LIMIT)
        end = far_end(far, run, "lend", "10.67.0.2")
        operate("10.67.0.1", ("10.67.0.2", 4000))
        assert not end.wait(LIMIT)
    holder.communicate()


def operate(here, there):
    sys.path.insert(0, os.path.dirname(END))
    import rds_end as e
    s, m = e.over_rdma(here, 4001), e.Memory()
    s.settimeout(LIMIT)

    def ask(words):
        s.sendto(words.encode(), there)
        return e.take(s, 1 << 20)

    def region(words):
        data, _, cookie = ask(words)
        assert data == b"region" and cookie
        return cookie

    def operation(cookie, at, n, flags, data=b"x", remote=0, token=1):
        vector, control = e.args(cookie, remote, n, [(m.at + at, n)], flags, token)
        s.sendmsg([data], [control], 0, there)

    # Memory of the heap, which the rest of the heap shares its pages with; by RDS_GET_MR, and given back.
    cookie = region("heap %d 1000 100 1" % e.GET_MR)
    m.put(5, b"w" * 100)
    operation(cookie, 5, 100, e.WRITE | e.NOTIFY | e.SILENT, b"")
    assert e.status(s) == (1, e.SUCCESS)
    assert ask("heap-show 999 102")[0] == b"\0" + b"w" * 100 + b"\0"
    assert ask("free")[0] == b"freed" and ask("heap-show 1000 100")[0] == b"w" * 100
    # What has been given back is refused: with RDS_RECVERR alone as a message that is dropped.
    s.setsockopt(SOL_RDS, RECVERR, 1)
    operation(cookie, 5, 100, e.WRITE, token=7)
    assert e.status(s) == (7, e.DROPPED)
    operation(cookie, 5, 100, e.WRITE | e.NOTIFY, token=8)
    assert e.status(s) == (8, e.REMOTE_ERROR)
    s.setsockopt(SOL_RDS, RECVERR, 0)
    # Beyond the end, and before the begin; the peer's octets stay as they are.
    cookie = region("map %d 4090 10 1" % e.FOR_DEST)
    for remote, n in (1, 10), (-1 % 2**64, 5), (10, 1):
        operation(cookie, 0, n, e.WRITE | e.NOTIFY, remote=remote, token=9)
        assert e.status(s) == (9, e.REMOTE_ERROR)
    assert ask("show 4080 30")[0] == bytes(30)
    # Atomics, also beside an operation of the same message. Nobody but the receiver's program sees what they bring.
    cookie = region("map %d 8192 16 1" % e.GET_MR)

    def atomic(kind, values, at=0, token=2):
        body = struct.pack("=QQQ", cookie, m.at + 4096, at) + struct.pack("=4Q", *values) + struct.pack("=QQ", e.NOTIFY, token)
        s.sendmsg([b"x"], [(SOL_RDS, kind, body)], 0, there)
        assert e.status(s) == (token, e.SUCCESS)
        return struct.unpack("=Q", m.get(4096, 8))[0]

    assert atomic(e.FADD, (5, 0, 0, 0)) == 0 and atomic(e.FADD, (2**64 - 1, 0, 0, 0)) == 5
    assert atomic(e.CSWP, (3, 99, 0, 0)) == 4 and atomic(e.CSWP, (4, 99, 0, 0)) == 4 and atomic(e.MASKED_FADD, (1, 0, 0, 0)) == 99
    assert ask("show 8192 16")[0] == struct.pack("=QQ", 100, 0)
    vector, control = e.args(cookie, 8, 8, [(m.at, 8)], e.WRITE | e.NOTIFY, 3)
    m.put(0, b"together")
    both = struct.pack("=QQQ", cookie, m.at + 4096, 0) + struct.pack("=4QQQ", 1, 0, 0, 0, e.NOTIFY, 4)
    s.sendmsg([b"x"], [control, (SOL_RDS, e.FADD, both)], 0, there)
    assert {e.status(s), e.status(s)} == {(3, e.SUCCESS), (4, e.SUCCESS)}
    assert ask("show 8192 16")[0] == struct.pack("=Q", 101) + b"together"
    # A child of the region's program.
    assert ask("fork 8192 16")[0] == b"forked" and ask("show 8192 16")[0] == struct.pack("=Q", 101) + b"together"
    refusals(e, s, m, there, cookie)
    s.sendto(b"end", there)


def refusals(e, s, m, there, cookie):
    """What Linux says to operations that are no good."""
    def send(number, *controls, data=b"x", to=there, by=s):
        refuses(number, by.sendmsg, [data], [(SOL_RDS, kind, body) for kind, body in controls], 0, to)

    vector, (_, _, good) = e.args(cookie, 0, 8, [(m.at, 8)], e.WRITE)
    atomic = struct.pack("=QQQ4QQQ", cookie, m.at, 0, 1, 0, 0, 0, 0, 0)
    dest = struct.pack("=Q", cookie)
    send(errno.EINVAL, (e.ARGS, good[:-1]))
    send(errno.EINVAL, (e.ARGS, good), (e.ARGS, good))
    send(errno.EINVAL, (e.FADD, atomic), (e.CSWP, atomic))
    send(errno.EINVAL, (e.ARGS, good), (e.DEST, dest))
    send(errno.EINVAL, (e.DEST, dest)) # a region of another socket
    send(errno.EINVAL, (e.STATUS, dest))
    send(errno.EFAULT, (e.FADD, atomic[:8] + struct.pack("=Q", m.at + 4) + atomic[16:]))
    send(errno.EOPNOTSUPP, (e.MASKED_FADD, atomic[:32] + struct.pack("=Q", 8) + atomic[40:]))
    for pieces, remote, number in (([], 8, errno.EINVAL), ([(m.at, 9)], 8, errno.EINVAL), ([(m.at, 0)], 8, errno.EINVAL),
                                   ([(m.at, 1)] * 1025, 2000, errno.EMSGSIZE), ([(4096, 8)], 8, errno.EFAULT),
                                   ([(m.at, 8)], (1 << 20) + 1, errno.EMSGSIZE)):
        for flags in 0, e.WRITE:
            vector, control = e.args(cookie, 0, remote, pieces, flags)
            send(number, control[1:])
    # Regions: not bound, no adapter of its own, no memory, too much.
    def get(number, by, at, n, length=None):
        refuses(number, by.setsockopt, SOL_RDS, GET_MR, struct.pack("=QQQQ", at, n, 0, 0)[:length])

    tcp = rds()
    get(errno.ENOTCONN, tcp, m.at, 8)
    tcp.setsockopt(SOL_RDS, TRANSPORT, 2)
    tcp.bind((s.getsockname()[0], 4002))
    get(errno.EOPNOTSUPP, tcp, m.at, 8)
    vector, (_, kind, body) = e.args(cookie, 0, 8, [(m.at, 8)], e.WRITE)
    send(errno.EOPNOTSUPP, (kind, body), by=tcp)
    send(errno.EOPNOTSUPP, (e.MAP, struct.pack("=QQQQ", m.at, 8, 0, 0)), by=tcp)
    send(errno.EOPNOTSUPP, (kind, body), to=tcp.getsockname()) # loop-back has none, as in Linux
    get(errno.EINVAL, s, m.at, 0)
    get(errno.EINVAL, s, m.at, 8, 31)
    get(errno.EINVAL, s, 2**64 - 8, 16)
    get(errno.EMSGSIZE, s, m.at, (1 << 20) + 4097)
    get(errno.EFAULT, s, 4096, 8)
    shared = mmap.mmap(-1, 4096)
    get(errno.EOPNOTSUPP, s, ctypes.addressof(ctypes.c_char.from_buffer(shared)), 8)
    refuses(errno.EINVAL, s.setsockopt, SOL_RDS, e.FREE_MR, struct.pack("=QQ", cookie ^ 1, 0))
    s.setsockopt(SOL_RDS, e.FREE_MR, struct.pack("=QQ", 0, 0))
