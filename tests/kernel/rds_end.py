#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""One end of RDS, by AF_RDS sockets: the kernel's in a guest, Dapple's under `dapple run --rds`.

rds_end.py echo ADDRESS COUNT           sends back what comes to port 4000, and compares it
rds_end.py call ADDRESS PEER COUNT      sends, and compares what comes back; 16 messages under way
rds_end.py ping ADDRESS PEER            asks port 0
rds_end.py slow ADDRESS PEER FILE       sends until the port of `read` is congested, then makes the file, and goes on
rds_end.py read ADDRESS FILE            reads once the file is there, and compares
rds_end.py own ADDRESS COUNT            has memory that `use` reads and writes by RDMA, and compares what was written
rds_end.py use ADDRESS PEER COUNT       reads and writes it; a key that is wrong is refused, and the connection is made again
rds_end.py drain ADDRESS PORTS          reads what `flood` sends to so many ports, and compares
rds_end.py flood ADDRESS PEER COUNT PORTS DEPTH
                                        COUNT messages to the ports in turn, at most DEPTH under way to each
rds_end.py lend ADDRESS                 has memory as messages ask for it, for the rest of the operations
"""
import ctypes
import errno
import hashlib
import mmap
import os
import select
import socket
import struct
import sys

PORT, DEPTH, SLOW = 4000, 16, 400
BIG = 0, 1, 47, 4096, 8192, 70000, 100000
SOL_RDS, TRANSPORT = 276, 8


def make(address, port):
    s = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET)
    if "RDS_OVER" in os.environ: # a transport
        s.setsockopt(SOL_RDS, TRANSPORT, int(os.environ["RDS_OVER"]))
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


# --- many messages ---

BLOB = b"".join(hashlib.sha256(struct.pack("=I", i)).digest() for i in range(4096))


def numbered(port, i):
    """A message that names itself; now and then one of several fragments."""
    at, n = (i * 37 + port * 1001) % 65536, i * 53 % 900 if i % 500 else 60000
    return struct.pack("=IQ", port, i) + BLOB[at:at + n]


def ready_of(socks, limit=300):
    """The numbers of those that can be read."""
    poll = select.poll()
    for s in socks:
        poll.register(s, select.POLLIN)
    got = {fd for fd, _ in poll.poll(limit * 1000)}
    assert got, "nothing comes"
    return [i for i, s in enumerate(socks) if s.fileno() in got]


def until_empty(s):
    """What waits for a socket that does not block."""
    while True:
        try:
            yield s.recvfrom(1 << 20)
        except BlockingIOError:
            return


def send_all(s, data, to):
    """A send that waits for its port and its buffer."""
    s.setblocking(True)
    s.sendto(data, to)
    s.setblocking(False)


def drain(address, ports):
    socks = [make(address, PORT + p) for p in range(int(ports))]
    seen, open_ports = [0] * len(socks), set(range(len(socks)))
    for s in socks:
        s.setblocking(False)
    print("ready", flush=True)
    while open_ports:
        for p in ready_of(socks):
            before, who = seen[p], None
            for data, who in until_empty(socks[p]):
                if data == b"end":
                    open_ports.discard(p)
                    continue
                assert data == numbered(p, seen[p]), f"port {p}, message {seen[p]}: {data[:12]!r} {len(data)}"
                seen[p] += 1
            if seen[p] != before:
                send_all(socks[p], struct.pack("=Q", seen[p]), who)
    for p, s in enumerate(socks):
        send_all(s, b"end", (who[0], PORT + 1000 + p))
        send_all(s, b"", (who[0], 0)) # the answer comes behind
    for s in socks:
        s.setblocking(True)
        assert s.recvfrom(10) == (b"", (who[0], 0))
    print(sum(seen), "messages", flush=True)


def flood(address, peer, count, ports, depth):
    count, ports, depth = int(count), int(ports), int(depth)
    socks = [make(address, PORT + 1000 + p) for p in range(ports)]
    share = [count // ports + (p < count % ports) for p in range(ports)]
    sent, acked = [0] * ports, [0] * ports
    for s in socks:
        s.setblocking(False)
    while acked != share:
        for p in range(ports):
            while sent[p] < share[p] and sent[p] - acked[p] < depth:
                try:
                    socks[p].sendto(numbered(p, sent[p]), (peer, PORT + p))
                except OSError as e:
                    if e.errno not in (errno.EAGAIN, errno.ENOBUFS):
                        raise
                    break
                sent[p] += 1
        for p in ready_of(socks):
            for data, who in until_empty(socks[p]):
                n = struct.unpack("=Q", data)[0]
                assert who == (peer, PORT + p) and acked[p] < n <= sent[p], (p, acked[p], n, sent[p])
                acked[p] = n
    for p, s in enumerate(socks):
        send_all(s, b"end", (peer, PORT + p))
    for s in socks:
        s.setblocking(True)
        assert s.recv(10) == b"end"


# --- RDMA operations ---

GET_MR, FREE_MR, RECVERR, FOR_DEST = 2, 3, 5, 7
ARGS, DEST, MAP, STATUS, FADD, CSWP, MASKED_FADD = 1, 2, 3, 4, 6, 7, 8
WRITE, FENCE, INVALIDATE, USE_ONCE, NOTIFY, SILENT = 1, 2, 4, 8, 32, 64
SUCCESS, REMOTE_ERROR, CANCELED, DROPPED = range(4)
SIZES = 1, 47, 4096, 4097, 70000, 262144, 1 << 20


class Memory:
    """Private pages; a region of them begins at an odd place, with octets around it that nobody may change."""

    def __init__(self, n=(1 << 20) + 8192):
        self.pages = mmap.mmap(-1, n, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.at = ctypes.addressof(ctypes.c_char.from_buffer(self.pages))

    def put(self, at, data):
        self.pages[at:at + len(data)] = data

    def get(self, at, n):
        return self.pages[at:at + n]


def octets(i, n):
    return (hashlib.sha256(b"rdma%d" % i).digest() * (n // 32 + 1))[:n]


def args(cookie, remote, n, pieces, flags, token=0):
    """A control message of an operation; the list of pieces has to stay until it is sent."""
    vector = (ctypes.c_uint64 * (2 * len(pieces)))(*[v for p in pieces for v in p])
    return vector, (SOL_RDS, ARGS, struct.pack("=QQQQQQQ", cookie, remote, n, ctypes.addressof(vector), len(pieces), flags, token))


def take(s, size=100):
    """A message, its source, the cookie that came with it."""
    data, control, flags, who = s.recvmsg(size, 200)
    assert not flags & socket.MSG_CTRUNC
    for level, kind, value in control:
        assert level == SOL_RDS and kind == DEST, control
        return data, who, struct.unpack("=Q", value)[0]
    return data, who, None


def status(s):
    """The news of an operation: its token and status."""
    data, control, _, _ = s.recvmsg(100, 200)
    assert not data and len(control) == 1 and control[0][:2] == (SOL_RDS, STATUS), (data, control)
    return struct.unpack("=Qi", control[0][2][:12])


def retry(call, *words):
    """The kernel maps memory on a connection that stands."""
    while True:
        try:
            return call(*words)
        except OSError as e:
            if e.errno not in (errno.EAGAIN, errno.ENODEV):
                raise
            select.select([], [], [], 0.05)


def over_rdma(address, port):
    s = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET)
    s.setsockopt(SOL_RDS, TRANSPORT, 0)
    s.bind((address, port))
    return s


def own(address, count):
    s, m, at = over_rdma(address, PORT), Memory(), 4096 - 5
    print("ready", flush=True)
    data, who, _ = take(s)
    assert data == b"begin"
    for i in range(int(count)):
        n = SIZES[i % len(SIZES)]
        m.put(at - 1, b"<" + octets(i, n) + b">")
        for what in b"read", b"wrote":
            region = struct.pack("=QQQQ", m.at + at, n, 0, USE_ONCE | WRITE | INVALIDATE)
            retry(s.sendmsg, [b"region"], [(SOL_RDS, MAP, region)], 0, who)
            assert take(s)[0] == what
        assert m.get(at - 1, n + 2) == b"<" + octets(~i, n) + b">", f"what was written in round {i}, {n} octets"
    assert take(s)[0] == b"end"
    s.sendto(b"end", who)
    s.sendto(b"", (who[0], 0))
    assert s.recvfrom(10)[1] == (who[0], 0)


def use(address, peer, count):
    s, m, there = over_rdma(address, PORT + 1), Memory(), (peer, PORT)
    s.sendto(b"begin", there)
    for i in range(int(count)):
        n = SIZES[i % len(SIZES)]
        half = n // 2
        pieces = [(m.at + 3, n)] if not half else [(m.at + 3, half), (m.at + 4099 + half, n - half)]
        where = [(p[0] - m.at, p[1]) for p in pieces]
        data, _, cookie = take(s)
        assert data == b"region" and cookie
        vector, control = args(cookie, 0, n, pieces, NOTIFY | FENCE, i)
        s.sendmsg([b"read"], [control], 0, there)
        got = status(s)
        assert got == (i, SUCCESS), got
        assert b"".join(m.get(*w) for w in where) == octets(i, n), f"what was read in round {i}, {n} octets"
        data, _, cookie = take(s)
        assert data == b"region" and cookie
        done = 0
        for w in where:
            m.put(w[0], octets(~i, n)[done:done + w[1]])
            done += w[1]
        vector, control = args(cookie, 0, n, pieces, NOTIFY | WRITE, i + 1000)
        s.sendmsg([b"wrote"], [control], 0, there)
        got = status(s)
        assert got == (i + 1000, SUCCESS), got
    # A key that does not exist: the status says so, the message is dropped, all goes on. The kernel connects again when it has no region; of an
    # operation that takes several work requests it says that it was dropped.
    vector, control = args(cookie ^ 0x80, 0, 1, [(m.at, 1)], NOTIFY, 99)
    s.sendmsg([b"never"], [control], 0, there)
    got = status(s)
    assert got == (99, REMOTE_ERROR), got
    s.sendto(b"end", there)
    assert take(s)[0] == b"end"
    s.sendto(b"", (peer, 0))
    assert s.recvfrom(10) == (b"", (peer, 0))


def lend(address):
    """Does what the messages say: memory for `region`, its end, its octets. Between two ends of Dapple."""
    s, m, cookie = over_rdma(address, PORT), Memory(), None
    heap, libc = ctypes.create_string_buffer(5000), ctypes.CDLL(None)
    libc.mmap.argtypes, libc.mmap.restype = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long], ctypes.c_void_p
    print("ready", flush=True)
    while True:
        words, who, _ = take(s)
        what, *numbers = words.decode().split()
        numbers = [int(n) for n in numbers]
        if what == "end":
            return
        if what in ("map", "heap"): # option, offset, length, flags
            option, at, n, flags = numbers
            got, start = ctypes.c_uint64(), (m.at if what == "map" else ctypes.addressof(heap)) + at
            head = struct.pack("=HH4s120x", socket.AF_INET, 0, socket.inet_aton(who[0])) if option == FOR_DEST else b""
            s.setsockopt(SOL_RDS, option, head + struct.pack("=QQQQ", start, n, ctypes.addressof(got), flags))
            cookie = got.value
            s.sendmsg([b"region"], [(SOL_RDS, DEST, struct.pack("=Q", cookie))], 0, who)
        elif what == "free":
            s.setsockopt(SOL_RDS, FREE_MR, struct.pack("=QQ", cookie, 0))
            s.sendto(b"freed", who)
        elif what == "show": # offset, length
            s.sendto(m.get(*numbers), who)
        elif what == "heap-show":
            s.sendto(heap.raw[numbers[0]:sum(numbers)], who)
        elif what == "fork": # a child has the octets, and its own ones; memory in the place of a region that was unmapped is its own, too
            s.setsockopt(SOL_RDS, GET_MR, struct.pack("=QQQQ", ctypes.addressof(heap) + 7, 100, 0, 0))
            gone = Memory(8192)
            s.setsockopt(SOL_RDS, GET_MR, struct.pack("=QQQQ", gone.at, 8192, 0, 0))
            gone.put(0, b"gone")
            libc.mmap(gone.at, 8192, 3, 0x32, -1, 0)
            gone.put(0, b"new ")
            heap[3] = b"h"
            child = os.fork()
            if not child:
                was = m.get(*numbers)
                m.put(numbers[0], b"child")
                heap[0] = b"c"
                os._exit(0 if was and m.get(numbers[0], 5) == b"child" and gone.get(0, 4) == b"new " and heap[3] == b"h" else 1)
            assert not os.waitpid(child, 0)[1] and heap[0] == b"\0"
            s.sendto(b"forked", who)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
    print("ok", flush=True)
