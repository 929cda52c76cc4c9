# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The n-th call by which a carrier gets memory, objects or descriptors fails: as it begins, and as a standby takes over."""
import contextlib
import ctypes
import errno
import fcntl
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

from rds_tests import peers
from rds_tests.carriers import carrier_pid, carriers, end_carriers, killed_standby, sockets
from rds_tests.common import (
    GET_MR, INFO_CONNECTIONS, INFO_RETRANS, INFO_SEND, INFO_SOCKETS, LIMIT, PR_SET_CHILD_SUBREAPER, RUNNER, SOL_RDS, TIOCOUTQ, TRANSPORT,
    call_info, info, octets, rds, until)
from rds_tests.hosts import END, far_end, far_host

ECHO = r"""
import socket, sys
s = socket.socket(21, socket.SOCK_SEQPACKET)
s.setsockopt(276, 8, int(sys.argv[2]))
s.bind((sys.argv[1], 4100))
print("ready", flush=True)
while True:
    data, who = s.recvfrom(200000)
    s.sendto(data, who)
"""


SIZES = 0, 1, 47, 4048, 4096, 4097, 8192, 32768, 32769, 100000
FAILED = 10000 # more calls than a life has
MANY, SKIP = "ibv_post_recv", 37 # 256 for each connection: of these one in so many fails


def long_failures():
    """
    The n-th call by which the carrier gets memory, objects or descriptors fails, or it and those behind it, for n = 1, 2, ...: as it begins, and as
    a standby takes over. Calls of programs say so and can be made again, or nothing is to be seen; messages arrive once and in order; nothing is left.
    """
    for net, near, over in (91, 1, "0"), (92, 1, "2"), (93, 9, "2"): # over TCP the smaller address connects
        holder, far = far_host(net)
        subprocess.run(["ip", "addr", "add", f"10.{net}.0.9/24", "dev", f"near{net}"], check=True)
        with tempfile.TemporaryDirectory() as run, tempfile.TemporaryDirectory() as own:
            ends = [subprocess.Popen(far + [sys.executable, "-c", ECHO, f"10.{net}.0.2", over], stdout=subprocess.PIPE,
                                     env=dict(os.environ, DAPPLE_RUNTIME_DIR=run))]
            assert ends[0].stdout.readline() == b"ready\n"
            if over == "0":
                ends.append(far_end(far, run, "lend", f"10.{net}.0.2"))
            with_failing_carrier(own, "inside-failures", f"10.{net}.0.{near}", f"10.{net}.0.2", over)
            for e in ends:
                e.kill()
                e.wait()
        holder.communicate()


def with_failing_carrier(own, *words):
    """Runs this script once more, with a carrier whose calls can be made to fail (tests/ulp/rds_carrier.c)."""
    os.symlink(os.environ["RDS_FAILING"], f"{own}/dapple-rds")
    os.symlink(os.environ["RDS_PRELOAD"], f"{own}/librds-preload.so")
    subprocess.run([sys.executable, RUNNER, *words], env=dict(os.environ, LD_PRELOAD=f"{own}/librds-preload.so", RDS_NTH=f"{own}/nth"), check=True)


def in_failures(here, there, over):
    """The program whose carrier fails."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    if over == "0":
        unwatched_standby()
    failed, kept, _ = life(here, there, over, "start", FAILED, 1, None)
    assert failed is None and kept > 2, (failed, kept)
    for when, lengths in ("start", (1, 3, 40)), ("takeover", (1, 40)):
        for length in lengths:
            each = max(1, length // 2) # those that fail overlap
            n, step, slow, names = 1, each, 0, {}
            while True:
                try:
                    failed, left, refused = life(here, there, over, when, n, length, kept)
                except BaseException:
                    print(f"{when}, {length} calls from call {n} on", *told_of_carrier(), sep="\n", flush=True)
                    raise
                if step > each and failed != MANY: # back to those that were left out
                    n, step, slow = n - step + 1, each, step
                    continue
                if failed is None:
                    break
                names[failed] = names.get(failed, 0) + 1
                assert left in (None, kept), f"{left} objects are there and not {kept}, after the failure of {failed} at {n}"
                slow = max(slow - 1, 0)
                step = SKIP if failed == MANY and not slow and names[MANY] > 2 and each == 1 else each
                n += step
            shown = ", ".join(f"{k} {v}" for k, v in sorted(names.items()))
            print(f"{here}, over {'TCP' if over == '2' else 'RDMA'}, {when}, {length} calls from the n-th on, n below {n}: {shown}", flush=True)
            assert len(names) > 1, names


def told_of_carrier():
    """What is known of a carrier behind a failure."""
    path = os.environ["RDS_NTH"] + ".failed"
    if os.path.exists(path):
        with open(path) as f:
            yield f.read()
    s = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET)
    for c in info(s, INFO_CONNECTIONS, 42):
        yield "connection " + repr(struct.unpack("=QQ4s4s16sB", c[:41]))
    for option in INFO_SEND, INFO_RETRANS:
        yield f"option {option}: {call_info(s, option)}"


def plan_failure(when, n, length):
    """For the next carrier to which the word applies; what is known of a carrier before is forgotten."""
    base = os.environ["RDS_NTH"]
    for name in base + ".failed", base + ".left":
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
    with open(base + ".new", "w") as f:
        f.write(f"{when} {n} {length}")
    os.rename(base + ".new", base)


def unwatched_standby():
    """An owner that has no memory to watch its standby tries again, and the standby does not become a second owner meanwhile."""
    plan_failure("renew", 1, 1)
    s = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET)
    until("nothing has failed", lambda: os.path.exists(os.environ["RDS_NTH"] + ".failed"))
    until("there is no standby", lambda: len(carriers(name="rds-standby")) == 1)
    owner, standby = carrier_pid(), carriers(name="rds-standby")[0]
    until("the standby is not watched", lambda: len(sockets(owner)) > 1 and sockets(owner) <= watched(owner))
    # one whose socket pair has ended does not wait any more before it has another name
    until("the standby is at work", lambda: open(f"/proc/{standby}/stat").read().rsplit(")", 1)[1].split()[0] == "S")
    assert carriers() == [owner] and carriers(name="rds-standby") == [standby], (carriers(), carriers(name="rds-standby"), owner, standby)
    killed_standby("self")
    s.close()
    end_carriers()


def watched(pid):
    """The names of what a process watches by epoll, as if all were sockets."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError), open(f"/proc/{pid}/fdinfo/{fd}") as f:
            found |= {f"socket:[{int(ino, 16)}]" for ino in re.findall(r"^tfd:.* ino:([0-9a-f]+)", f.read(), re.M)}
    return found


def long_backlog():
    """
    The n-th call by which a standby that takes over opens its listener fails: a connection that has not been accepted, and the message that
    TCP has acknowledged on it, are there for the next owner.
    """
    holder, _ = far_host(97)
    with tempfile.TemporaryDirectory() as own:
        with_failing_carrier(own, "inside-backlog", "10.97.0.1", "10.97.0.9")
    holder.communicate()


def in_backlog(low, here):
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    subprocess.run(["ip", "addr", "add", f"{here}/24", "dev", "near97"], check=True)
    peers.OURS = here
    names, n = [], 0
    while len(names) == n: # until no call fails
        n += 1
        names += unaccepted(peers.Peer(low), here, n)
    print(f"n below {n}:", *names, flush=True)
    assert "epoll_ctl" in names and "rdma_listen" in names, names


def unaccepted(p, here, n):
    """The life of a carrier. Returns the name of the call that has failed, or none."""
    s = rds(here, 4000)
    owner = carrier_pid()
    until("there is no standby", lambda: len(carriers(name="rds-standby")) == 1)
    os.kill(owner, signal.SIGSTOP)
    p.connect()
    p.send_map()
    p.send(1, 7, 4000, octets(n, 100))
    until("TCP does not acknowledge", lambda: not struct.unpack("=i", fcntl.ioctl(p.tcp, TIOCOUTQ, bytes(4)))[0])
    plan_failure("listener", n, 1)
    os.kill(owner, signal.SIGKILL)
    try:
        assert s.recvfrom(1000) == (octets(n, 100), (p.addr, 7))
    finally:
        path = os.environ["RDS_NTH"] + ".failed"
        failed = [open(path).read()] if os.path.exists(path) else []
        print(f"call {n}: {failed}", flush=True)
    s.close()
    p.close()
    end_carriers()
    return failed


life_ports = [5000]


def life(here, there, over, when, n, length, kept):
    """
    One carrier, from its begin to its end. Returns the call that has failed, or None; what the carrier has at last, None: it was not the one in which calls
    fail; how many calls of the program failed. kept: what a carrier has in which none fails.
    """
    base, refused = os.environ["RDS_NTH"], 0

    def retried(call, *words):
        nonlocal refused
        for _ in range(60):
            try:
                return call(*words)
            except OSError as e:
                assert e.errno in (errno.ENOMEM, errno.ENOBUFS), (call, e)
                refused += 1
        raise AssertionError(f"{call} fails again and again")

    def make():
        s = retried(socket.socket, socket.AF_RDS, socket.SOCK_SEQPACKET)
        s.settimeout(LIMIT)
        retried(s.setsockopt, SOL_RDS, TRANSPORT, int(over))
        # what was on its way to a life before comes to a port that none has
        life_ports[0] += 1
        retried(s.bind, (here, life_ports[0]))
        return s

    if when == "start":
        plan_failure(when, n, length)
    s, t, last_one = make(), make(), make() # a carrier without sockets ends
    assert when != "start" or not os.path.exists(base), "a carrier was there before"
    for i in range(len(SIZES) + 4):
        if i < len(SIZES):
            s.sendto(octets(i, SIZES[i]), (there, 4100))
        if when == "takeover" and i == 4:
            plan_failure(when, n, length)
            os.kill(carrier_pid(), signal.SIGKILL)
        if i >= 4:
            assert s.recvfrom(200000) == (octets(i - 4, SIZES[i - 4]), (there, 4100)), i - 4
    t.sendto(b"", (there, 0)) # a ping
    assert t.recvfrom(10) == (b"", (there, 0))
    assert len(retried(shown_sockets, s)) == 3 * 28
    if over == "0":
        operate_again(s, (there, 4000), retried)
    s.sendto(b"to itself", t.getsockname())
    assert t.recvfrom(10) == (b"to itself", s.getsockname())
    for x in s, t:
        x.close()
    owner, end = carrier_pid(), time.monotonic() + 10
    left = None
    while when == "start" and owner == carrier_pid(): # as long as something is on its way to its end
        os.kill(owner, signal.SIGUSR2)
        until("the carrier does not answer", lambda: os.path.exists(base + ".left") or owner not in carriers())
        if not os.path.exists(base + ".left"):
            break
        with open(base + ".left") as f:
            word = f.read()
        os.unlink(base + ".left")
        last, left = left, None if word == "none" else int(word)
        if left is None or left == last and (left == kept or time.monotonic() > end or kept is None and time.monotonic() > end - 8):
            break
        select.select([], [], [], 0.02)
    failed = open(base + ".failed").read() if os.path.exists(base + ".failed") else None
    last_one.close()
    end_carriers()
    return failed, left, refused


def shown_sockets(s):
    size, raw = call_info(s, INFO_SOCKETS)
    if size < 0:
        raise OSError(ctypes.get_errno(), "RDS_INFO_SOCKETS")
    return raw


def operate_again(s, there, retried):
    """RDMA operations, each until it succeeds: one that was under way as its connection ended is dropped, and the program is told so."""
    sys.path.insert(0, os.path.dirname(END))
    import rds_end as e
    m, got = e.Memory(200000), ctypes.c_uint64()
    retried(s.setsockopt, SOL_RDS, GET_MR, struct.pack("=QQQQ", m.at + 5, 5000, ctypes.addressof(got), 0))
    retried(s.setsockopt, SOL_RDS, e.FREE_MR, struct.pack("=QQ", got.value, 0))
    s.sendto(b"map %d 0 65536 1" % GET_MR, there)
    data, _, cookie = e.take(s, 1 << 20)
    assert data == b"region" and cookie

    def done(make):
        for token in range(60):
            s.sendmsg([b""], [make(token)], 0, there)
            got = e.status(s)
            assert got in ((token, e.SUCCESS), (token, e.DROPPED)), got
            if got[1] == e.SUCCESS:
                return
        raise AssertionError("an operation is dropped again and again")

    def operation(at, n, flags):
        vectors = [] # they have to stay until they are sent

        def make(token):
            vectors.append(e.args(cookie, 0, n, [(m.at + at, n)], flags | e.NOTIFY | e.SILENT, token))
            return vectors[-1][1]
        done(make)

    m.put(0, e.BLOB[:65536])
    operation(0, 65536, e.WRITE)
    operation(100000, 65536, 0)
    assert m.get(100000, 65536) == e.BLOB[:65536]
    done(lambda token: (SOL_RDS, e.FADD, struct.pack("=QQQ", cookie, m.at + 4096, 0) + struct.pack("=4Q", 0, 0, 0, 0) +
                        struct.pack("=QQ", e.NOTIFY | e.SILENT, token)))
    assert m.get(4096, 8) == e.BLOB[:8]
    s.sendto(b"free", there)
    assert s.recv(100) == b"freed"
