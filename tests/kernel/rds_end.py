#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""One end of RDS, by AF_RDS sockets: the kernel's in a guest, Dapple's under `dapple run --rds`.

rds_end.py echo ADDRESS COUNT           sends back what comes to port 4000, and compares it
rds_end.py call ADDRESS PEER COUNT      sends, and compares what comes back; 16 messages under way
rds_end.py ping ADDRESS PEER            asks port 0
rds_end.py slow ADDRESS PEER FILE       sends until the port of `read` is congested, then makes the file, and goes on
rds_end.py read ADDRESS FILE            reads once the file is there, and compares
"""
import errno
import hashlib
import os
import select
import socket
import sys

PORT, DEPTH, SLOW = 4000, 16, 400
BIG = 0, 1, 47, 4096, 8192, 70000, 100000


def make(address, port):
    s = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET)
    s.bind((address, port))
    return s


def message(i):
    n = BIG[i // 50 % len(BIG)] if i % 50 == 0 else i * 37 % 2000
    return (hashlib.sha256(str(i).encode()).digest() * (n // 32 + 1))[:n]


def check(i, got):
    assert got == message(i), f"message {i}: {len(got)} octets, {len(message(i))} were sent"


def echo(address, count):
    s = make(address, PORT)
    print("ready", flush=True)
    for i in range(int(count)):
        data, who = s.recvfrom(1 << 20)
        check(i, data)
        s.sendto(data, who)
    assert s.recvfrom(10)[0] == b"end" # the caller has all of them


def call(address, peer, count):
    s, count = make(address, PORT + 1), int(count)
    for i in range(count + DEPTH):
        if i < count:
            s.sendto(message(i), (peer, PORT))
        if i >= DEPTH:
            check(i - DEPTH, s.recv(1 << 20))
    s.sendto(b"end", (peer, PORT))
    s.sendto(b"", (peer, 0)) # the answer comes behind: the other end has it
    assert s.recvfrom(10) == (b"", (peer, 0))
    print(f"{count} messages", flush=True)


def ping(address, peer):
    s = make(address, 0)
    for _ in range(10):
        s.sendto(b"", (peer, 0))
        assert s.recvfrom(10) == (b"", (peer, 0))


def slow(address, peer, go):
    s, n, refused = make(address, PORT + 1), 0, False
    s.setblocking(False)
    while n < SLOW:
        try:
            s.sendto(message(n) + bytes(5000), (peer, PORT))
            n += 1
            continue
        except OSError as e:
            if e.errno not in (errno.EAGAIN, errno.ENOBUFS):
                raise
            if e.errno == errno.ENOBUFS and not refused:
                refused = True
                open(go, "x").close()
        select.select([s], [], [], 0.2)
        refuses_to_read(s)
    assert refused, "the port was never congested"
    s.setblocking(True)
    assert s.recv(100) == b"all"


def refuses_to_read(s):
    """News of congestion are nothing to read."""
    try:
        raise AssertionError(s.recv(1))
    except BlockingIOError:
        pass


def read(address, go):
    s = make(address, PORT)
    print("ready", flush=True)
    while not os.path.exists(go):
        select.select([], [], [], 0.05)
    for i in range(SLOW):
        data, who = s.recvfrom(1 << 20)
        assert data == message(i) + bytes(5000), i
    s.sendto(b"all", who)
    s.sendto(b"", (who[0], 0))
    assert s.recvfrom(10)[1] == (who[0], 0)


globals()[sys.argv[1]](*sys.argv[2:])
print("ok", flush=True)
