# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Owners of connections, and standbys, that are killed: another process takes over."""
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

from rds_tests.carriers import carrier_pid, carriers, is_held, kill_at, killed_owner, killed_standby, waiting_octets
from rds_tests.common import (
    CONNECTED, INFO_CONNECTIONS, INFO_COUNTERS, INFO_RETRANS, INFO_SEND, LIMIT, SOL_RDS, STRACE, TIOCOUTQ, TRANSPORT, info, octets, rds,
    refuses, until)
from rds_tests.hosts import END, FAR, Pair, far_end, far_host
from rds_tests.peers import MAP_LEN, Peer

LOW = OURS = HIGH = None # addresses of a test of its own, which the runner sets: a carrier keeps the numbers of a connection


def kill_owners(net, over, kills, count=3000, ports=4, calls=None, standbys=False):
    """Owners of the connections of two hosts are killed again and again, under traffic of several processes of each; or first their standbys."""
    p = Pair(net)
    near, theirs = dict(os.environ, RDS_OVER=over), dict(os.environ, RDS_OVER=over, DAPPLE_RUNTIME_DIR=p.run)
    drain = subprocess.Popen(p.far + [sys.executable, END, "drain", p.there, str(ports)], stdout=subprocess.PIPE, env=theirs)
    echo = subprocess.Popen(p.far + [sys.executable, "-c", FAR.replace("4000", "3900"), p.there, str(count), over], stdout=subprocess.PIPE, env=theirs)
    assert drain.stdout.readline() == b"ready\n" and echo.stdout.readline() == b"ready\n"
    flood = subprocess.Popen([sys.executable, END, "flood", p.here, p.there, str(count * 4), str(ports), "16"], env=near)
    s = rds()
    s.setsockopt(SOL_RDS, TRANSPORT, int(over))
    s.bind((p.here, 3900))
    owners, made, depth = {"self": carrier_pid(), p.holder.pid: carrier_pid(p.holder.pid)}, 0, 8
    killed, gaps = None, []
    for i in range(count + depth):
        if i < count:
            s.sendto(octets(i, i * 53 % 9000 if i % 100 else 100000), (p.there, 3900))
        if i >= depth:
            j = i - depth
            got = s.recvfrom(200000)
            if killed and i > killed[1] + depth: # a message that was sent later
                gaps.append(time.monotonic() - killed[0])
                killed = None
            assert got == (octets(j, j * 53 % 9000 if j % 100 else 100000), (p.there, 3900)), (j, len(got[0]), got[1])
        if i % (count // kills) == count // kills // 2:
            of = list(owners)[made % 2]
            if standbys:
                killed_standby(of)
            killed = time.monotonic(), i
            owners[of] = killed_owner(of, owners[of], calls[made] if calls else 0)
            made += 1
    assert not echo.wait(LIMIT) and not flood.wait(3 * LIMIT) and not drain.wait(LIMIT)
    assert len(carriers()) == 1 and made >= kills, made
    gaps.sort()
    print(f"over {'TCP' if over == '2' else 'RDMA'}, {made} owners killed: messages go on after {gaps[0]:.2f} to {gaps[-1]:.2f} s", flush=True)
    # Neither host waits until packets have been sent often enough: that takes 5 s. A busy machine may be late once.
    assert calls or gaps[len(gaps) // 2] < 3, gaps
    p.close()


def test_owner_dies():
    """The owner of the connections is killed under traffic: another process takes over, and the messages of programs arrive once, in order."""
    kill_owners(72, "0", 10)
    kill_owners(73, "2", 10)


def test_standby_dies():
    """The same, and each owner has lost its standby before: the one that takes over is a new program."""
    kill_owners(84, "0", 6, standbys=True)
    kill_owners(85, "2", 6, standbys=True)


QUIET = r"""
import socket, sys
s = socket.socket(21, socket.SOCK_SEQPACKET)
s.setsockopt(276, 8, 0)
s.bind((sys.argv[1], 4000))
print("ready", flush=True)
data, who = s.recvfrom(100)
print(data.decode(), flush=True)
sys.stdin.readline()
s.sendto(b"an answer", who)
"""


def test_quiet_owner_dies():
    """The next owner connects over RDMA at once, though it has nothing to send and nothing has come: the peer would notice by its next message, seconds later."""
    holder, far = far_host(95)
    here, there = "10.95.0.1", "10.95.0.2"
    with tempfile.TemporaryDirectory() as run:
        end = subprocess.Popen(far + [sys.executable, "-c", QUIET, there], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=dict(os.environ, DAPPLE_RUNTIME_DIR=run))
        assert end.stdout.readline() == b"ready\n"
        s = rds()
        s.setsockopt(SOL_RDS, TRANSPORT, 0)
        s.bind((here, 4000))
        s.sendto(b"a message", (there, 4000))
        assert end.stdout.readline() == b"a message\n"
        until("the message is not acknowledged", # the carrier may have messages of tests before
              lambda: not any(m[16:20] == socket.inet_aton(there) for kind in (INFO_SEND, INFO_RETRANS) for m in info(s, kind, 26)))
        killed_owner("self", carrier_pid())
        until("the next owner does not connect", lambda: any(c[20:24] == socket.inet_aton(there) and c[40] & CONNECTED for c in info(s, INFO_CONNECTIONS, 42)))
        end.stdin.write(b"\n")
        end.stdin.flush()
        assert s.recvfrom(100) == (b"an answer", (there, 4000)) and not end.wait(LIMIT)
    holder.communicate()


def test_local_owner_dies():
    """The owner is killed at its n-th call, while messages go from socket to socket of this host: each arrives once."""
    if not STRACE:
        print("there is no strace: owners are killed at no chosen call")
        return
    s, t, count = rds(OURS, 4000), rds(OURS, 4001), 0
    for n in range(1, 13):
        owner = carrier_pid()
        tracer = kill_at(owner, n)
        until("strace does not attach", lambda: owner not in carriers() or "\nTracerPid:\t0\n" not in open(f"/proc/{owner}/status").read())
        while carrier_pid() == owner: # each message has calls of its own
            s.sendto(octets(count, 100), (OURS, 4001))
            assert t.recv(1000) == octets(count, 100), (n, count)
            count += 1
        tracer.wait()
        s.sendto(b"last", (OURS, 4001))
        assert t.recv(1000) == b"last", n


def test_operations_end():
    """
    The owner is killed while RDMA operations are under way, wait for others, or have ended and are not yet known to the program: each has one
    status, those that were not begun are done by the next owner, and a read that has succeeded has its octets.
    """
    sys.path.insert(0, os.path.dirname(END))
    import rds_end as e
    holder, far = far_host(86)
    there, n, each = ("10.86.0.2", 4000), 200, 100
    with tempfile.TemporaryDirectory() as run:
        end = far_end(far, run, "lend", there[0])
        s, m = e.over_rdma("10.86.0.1", 4001), e.Memory()
        s.settimeout(LIMIT)

        def region():
            s.sendto(b"map %d 0 65536 1" % e.GET_MR, there)
            data, _, cookie = e.take(s, 1 << 20)
            assert data == b"region" and cookie
            return cookie

        def read(first, count):
            """Silent reads: nothing goes with them but their status."""
            for token in range(first, first + count):
                m.put(token * each, bytes(each))
                vector, control = e.args(cookie, token, each, [(m.at + token * each, each)], e.NOTIFY | e.SILENT, token)
                s.sendmsg([b""], [control], 0, there)

        def ends(tokens):
            """Exactly one of each. Returns those that have succeeded."""
            got = dict(e.status(s) for _ in tokens)
            assert sorted(got) == sorted(tokens), sorted(set(tokens) - set(got))
            for token in (t for t in got if got[t] == e.SUCCESS):
                assert m.get(token * each, each) == theirs[token:token + each], token
            assert set(got.values()) <= {e.SUCCESS, e.DROPPED, e.REMOTE_ERROR}, got
            return [t for t in got if got[t] == e.SUCCESS]

        def counter(name):
            return next(struct.unpack("=Q", c[32:40])[0] for c in info(s, INFO_COUNTERS, 40) if c[:32].rstrip(b"\0") == name)

        def stopped(call, *words):
            """What is posted does not end: the peer's carrier is stopped meanwhile."""
            far_carrier = carrier_pid(holder.pid)
            os.kill(far_carrier, signal.SIGSTOP)
            read(1000, n)
            until("the records are not taken", lambda: not struct.unpack("=i", fcntl.ioctl(s, TIOCOUTQ, bytes(4)))[0])
            call(*words)
            return far_carrier

        theirs = e.BLOB[:65536]
        cookie = region()
        m.put(0, theirs)
        vector, control = e.args(cookie, 0, 65536, [(m.at, 65536)], e.WRITE | e.NOTIFY | e.SILENT, 1)
        s.sendmsg([b""], [control], 0, there)
        assert e.status(s) == (1, e.SUCCESS)
        for i in range(3):
            before = counter(b"recv_rdma_bytes")
            read(0, n)
            until("the reads do not end", lambda: counter(b"recv_rdma_bytes") == before + n * each)
            far_carrier = stopped(killed_owner, "self", carrier_pid())
            os.kill(far_carrier, signal.SIGCONT)
            assert ends(range(n)) == list(range(n)), "what had ended"
            done = ends(range(1000, 1000 + n))
            print(f"round {i}: {len(done)} of {n} were done by the next owner", flush=True)
            assert 0 < len(done) < n
        # The owner at the other end, with which the region ends.
        far_carrier = stopped(lambda: None)
        killed_owner(holder.pid, far_carrier)
        ends(range(1000, 1000 + n))
        cookie = region()
        read(0, n)
        ends(range(n))
        s.sendto(b"end", there)
        assert not end.wait(LIMIT)
    holder.communicate()


def test_accept_dies():
    """
    The owner is killed between accept() and the standby's word of it, over TCP: what the peer sends is not lost with that connection, though the
    kernel has acknowledged it. And over RDMA, with the first packets of its answer to the request.
    """
    if not STRACE:
        print("there is no strace: the owner is killed at no chosen call")
        return
    accept_dies(89, "2", "accept4", lambda far: waiting_octets(far) > MAP_LEN)
    accept_dies(94, "0", "sendmsg,sendmmsg,sendto", lambda far: True)


def accept_dies(net, over, calls, has_come):
    holder, far = far_host(net)
    here, there = f"10.{net}.0.1", f"10.{net}.0.2"
    with tempfile.TemporaryDirectory() as run:
        env = dict(os.environ, DAPPLE_RUNTIME_DIR=run)
        echo = subprocess.Popen(far + [sys.executable, "-c", FAR, there, "10", over], stdout=subprocess.PIPE, env=env)
        assert echo.stdout.readline() == b"ready\n"
        owner = carrier_pid(holder.pid)
        tracer = subprocess.Popen([STRACE, "-qq", "-f", "-o", "/dev/null", "-p", str(owner), "-e", f"trace={calls}",
                                   "-e", f"inject={calls}:delay_exit={LIMIT * 1000000}"])
        until("strace does not attach", lambda: "\nTracerPid:\t0\n" not in open(f"/proc/{owner}/status").read())
        s = rds()
        s.setsockopt(SOL_RDS, TRANSPORT, int(over))
        s.bind((here, 4000))
        for i in range(10):
            s.sendto(octets(i, 1000 * i), (there, 4000))
        until("the connection is not accepted", lambda: is_held(owner) and has_come(holder.pid))
        os.kill(owner, signal.SIGKILL)
        tracer.kill() # or the owner waits for it on its way out
        for i in range(10):
            assert s.recv(20000) == octets(i, 1000 * i)
        assert not echo.wait(LIMIT)
        tracer.wait()
    holder.communicate()


def long_owners():
    """The same for minutes; and at each of the first calls that an owner makes, so that each step that a call ends is cut behind."""
    for net, over in ((74, "0"), (75, "2")):
        kill_owners(net, over, 100, 20000)
    for net, over in ((87, "0"), (88, "2")):
        kill_owners(net, over, 40, 8000, standbys=True)
    if not STRACE:
        print("there is no strace: owners are killed at no chosen call")
        return
    for i in range(4):
        for over in "02":
            kill_owners(76 + 2 * i + (over == "2"), over, 20, 4000, calls=range(1 + 20 * i, 21 + 20 * i))


def test_killed_carrier():
    """A carrier of which owner and standby are killed: its sockets say so, and new ones get a new carrier."""
    def kill_both():
        both = carriers() + carriers(name="rds-standby") + carriers(name="exe")
        for sig in signal.SIGSTOP, signal.SIGKILL: # or the owner makes a new standby
            for pid in both:
                os.kill(pid, sig)

    for end in (kill_both, lambda: os.kill(carrier_pid(), signal.SIGTERM)):
        s = rds(OURS, 4000)
        end()
        assert select.select([s], [], [], LIMIT)[0]
        refuses(errno.ECONNRESET, s.recv, 10)
        until("a process is left", lambda: not carriers() and not carriers(name="rds-standby") and not carriers(name="exe"))
    t = rds(OURS, 4000)
    t.sendto(b"new", (OURS, 4000))
    assert t.recv(10) == b"new"
    # What was congested for the dead one is not so for the next.
    p = Peer(LOW)
    p.begin()
    p.send_map([7])
    p.send(1, 7, 4000, b"the map has come")
    assert t.recv(100) == b"the map has come"
    t.setblocking(False)
    refuses(errno.ENOBUFS, t.sendto, b"x", (LOW, 7))
    # The owner alone: what is congested stays so.
    killed_owner("self", carrier_pid())
    refuses(errno.ENOBUFS, t.sendto, b"x", (LOW, 7))
    kill_both()
    assert select.select([t], [], [], LIMIT)[0]
    p.close()
    u = rds(OURS, 4000)
    u.setblocking(False)
    u.sendto(b"x", (LOW, 7))
