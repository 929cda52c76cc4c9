# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Connections that end again and again, packets and calls of the system that fail: each message arrives once, in order."""
import os
import re
import select
import struct
import subprocess
import sys
import tempfile

from rds_tests.carriers import carrier_pid
from rds_tests.common import INFO_COUNTERS, LIMIT, SOL_RDS, STRACE, TRANSPORT, info, octets, rds, until
from rds_tests.hosts import END, FAR, Pair, far_host

MILLION = int(os.environ.get("RDS_MESSAGES", 1000000))
SHAPES = (1, 1), (1, 64), (2, 8), (3, 256), (4, 64), (8, 16), (8, 128), (5, 3) # ports, messages under way to each


def long_million():
    """10^6 messages over RDMA and over TCP, each once, in order and octet for octet, while the connection is cut."""
    holder, far = far_host(68)
    with tempfile.TemporaryDirectory() as run:
        for i, (ports, depth) in enumerate(SHAPES):
            there, cuts = ("10.68.0.2", cut_rdma) if i % 2 else ("10.68.0.3", cut_tcp)
            count = MILLION // (len(SHAPES) - 1 if depth > 1 else 32)
            env = dict(os.environ, DAPPLE_RUNTIME_DIR=run, RDS_OVER="0" if i % 2 else "2")
            end = subprocess.Popen(far + [sys.executable, END, "drain", there, str(ports)], stdout=subprocess.PIPE, env=env)
            assert end.stdout.readline() == b"ready\n"
            words = [sys.executable, END, "flood", "10.68.0.1", there, str(count), str(ports), str(depth)]
            made = cuts(words, dict(os.environ, RDS_OVER=env["RDS_OVER"]), far)
            assert not end.wait(LIMIT)
            print(f"{ports} ports, {depth} under way to each, to {there}: {count} messages, {made} cuts", flush=True)
            assert made, "no connection was cut"
    holder.communicate()


def resets():
    """Connections of this user's carrier that have ended, by its own counter."""
    s = rds()
    return next(struct.unpack("=Q", c[32:])[0] for c in info(s, INFO_COUNTERS, 40) if c[:32].rstrip(b"\0") == b"conn_reset")


# At the host of the far end: for each line that it is given, a segment with RST that the near end's TCP must take, which the
# kernel of that end does not know of. Its sequence number is what the near end acknowledged last.
RESETTER = """
import socket, struct, sys
here, there = sys.argv[1:3]
sniff = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
raw.bind((here, 0))
ends = socket.inet_aton(here) + socket.inet_aton(there)
print("ready", flush=True)
for line in sys.stdin:
    sniff.setblocking(False)
    try:
        while sniff.recv(65536):
            pass
    except BlockingIOError:
        pass
    sniff.settimeout(1)
    found = False
    try:
        while not found:
            p = sniff.recv(65536)
            tcp = p[(p[0] & 15) * 4:]
            found = p[9] == 6 and p[12:20] == ends[4:] + ends[:4] and 16385 in struct.unpack(">HH", tcp[:4]) and tcp[13] & 16
    except TimeoutError:
        continue
    segment = tcp[2:4] + tcp[:2] + tcp[8:12] + bytes(4) + bytes((0x50, 4)) + bytes(6)
    words = struct.unpack(">16H", ends + struct.pack(">HH", 6, 20) + segment)
    total = sum(words)
    total = (total & 0xffff) + (total >> 16)
    total = (total & 0xffff) + (total >> 16)
    raw.sendto(segment[:16] + struct.pack(">H", ~total & 0xffff) + bytes(2), (there, 0))
"""


def cut_rdma(words, env, far):
    """The carrier's adapter refuses a packet now and then, which ends the connection."""
    keeper = rds()
    keeper.setsockopt(SOL_RDS, TRANSPORT, 0)
    keeper.bind(("10.68.0.1", 3000)) # the carrier has opened its adapter
    before = resets()
    fault = [os.environ["RDS_DAPPLE"], "fault", "--pid", str(carrier_pid())]
    end = subprocess.Popen(words, env=env)
    subprocess.run(fault + ["nak=request op=send every=200"], check=True, stdout=subprocess.DEVNULL)
    assert not end.wait()
    subprocess.run(fault + ["--off"], check=True, stdout=subprocess.DEVNULL)
    return resets() - before


def cut_tcp(words, env, far):
    """The TCP connection is reset now and then, by a segment that the far host's kernel has not sent."""
    keeper, before = rds(), resets()
    resetter = subprocess.Popen(far + [sys.executable, "-c", RESETTER, words[4], words[3]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert resetter.stdout.readline() == b"ready\n"
    end = subprocess.Popen(words, env=env)
    while end.poll() is None:
        resetter.stdin.write(b"\n")
        resetter.stdin.flush()
        select.select([], [], [], 0.3)
    assert not end.wait()
    resetter.stdin.close()
    assert not resetter.wait(LIMIT)
    return resets() - before


CALLS = "create_cq", "create_qp", "reg_mr", "modify_qp"
PACKETS = "nak=request op=send", "overrun op=send", "corrupt op=send"


def test_short_connections():
    """
    Each connection ends at the n-th packet of the wire that one end takes, again and again: messages make progress all the same. A map
    is ten such packets.
    """
    p, count, depth = Pair(70), 600, 100
    for port, (ends, every) in enumerate((((0,), 40), ((1,), 40), ((0, 1), 40), ((0, 1), 20)), 5000):
        env = dict(os.environ, DAPPLE_RUNTIME_DIR=p.run)
        far = subprocess.Popen(p.far + [sys.executable, "-c", FAR, p.there, str(count), "0"], stdout=subprocess.PIPE, env=env)
        assert far.stdout.readline() == b"ready\n"
        s, before = rds(), resets()
        s.setsockopt(SOL_RDS, TRANSPORT, 0)
        s.bind((p.here, port))
        for end in ends:
            p.fault(end, f"nak=request op=send every={every}")
        for i in range(count + depth):
            if i < count:
                s.sendto(octets(i, i % 700), (p.there, 4000))
            if i >= depth:
                assert s.recvfrom(2000) == (octets(i - depth, (i - depth) % 700), (p.there, 4000)), i - depth
        assert not far.wait(LIMIT)
        for end in ends:
            p.fault(end, "--off")
        print(f"ends {ends}, every {every} packets: {resets() - before} connections ended", flush=True)
        assert resets() - before > count // every // 2, "no connection has ended"
    p.close()


def long_faults():
    """The n-th call or packet of a carrier's adapter fails, for n = 1, 2, ..., at either end: messages arrive all the same."""
    p = Pair(69)
    p.flood()
    for end, (pid, _) in enumerate(p.ends):
        for act in [f"fail={c}:ENOMEM" for c in CALLS] + list(PACKETS):
            # A call is made for each connection: cuts bring further ones.
            cuts, times = ("nak=request op=send p=0.03 seed=7; ", (1, 2)) if act[:4] == "fail" else ("", (1, 2, 13))
            lost, acted = resets(), 0
            for n in times:
                p.fault(end, f"{cuts}{act} nth={n}")
                for _ in range(20):
                    p.flood()
                    shown = p.fault(end, "--show")
                    if int(re.search(re.escape(act) + r" nth=\d+: (\d+) of", shown)[1]):
                        acted += 1
                        break
                assert os.path.exists(f"/proc/{pid}"), "the carrier has gone"
            p.fault(end, "--off")
            print(f"{act}: acted {acted} times, {resets() - lost} connections lost", flush=True)
            assert acted == len(times), act
    p.close()


# Calls of the system that a carrier makes for memory, descriptors and messages, and failures that they may have and that say nothing of the peer.
SYSTEM = [("sendmsg", "ENOBUFS"), ("recvmsg", "ENOMEM"), ("memfd_create", "EMFILE"), ("mmap", "ENOMEM"), ("socket", "EMFILE"),
          ("accept4", "EMFILE"), ("epoll_wait", "EINTR"), ("connect", "EADDRNOTAVAIL")]


def long_system():
    """The n-th call of the system that a carrier makes fails, for each kind of call, at either end, over RDMA and TCP: messages arrive all the same."""
    if not STRACE:
        print("skipped: no strace")
        sys.exit(77)
    for net, over in ((89, "0"), (90, "2")):
        p = Pair(net)
        p.flood(over=over)
        for end, (pid, _) in enumerate(p.ends):
            for call, error in SYSTEM:
                failed = 0
                for n in (1, 2, 3, 13):
                    with tempfile.NamedTemporaryFile("r") as log:
                        trace = subprocess.Popen([STRACE, "-qq", "-f", "-o", log.name, "-p", str(pid), "-e", f"trace={call}",
                                                  "-e", f"inject={call}:error={error}:when={n}"], stderr=subprocess.PIPE)
                        until("strace does not trace", lambda: open(f"/proc/{pid}/status").read().split("TracerPid:\t")[1].split()[0] != "0")
                        p.keeper.sendto(b"", (p.there, 0)) # a ping: it is answered
                        p.flood(count=60, over=over)
                        assert p.keeper.recv(10) == b"" and os.path.exists(f"/proc/{pid}"), (call, n)
                        trace.terminate()
                        trace.communicate()
                        failed += "INJECTED" in log.read()
                print(f"over {'TCP' if over == '2' else 'RDMA'}, end {end}: {call} failed {failed} times ({error})", flush=True)
        p.close()
