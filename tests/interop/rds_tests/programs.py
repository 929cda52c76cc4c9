# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The n-th call that the library makes within a call of the program on an RDS socket fails, or it and 2 or 39 behind it: the program's call works, or
says that memory or descriptors are short and can be made again; no message is lost or doubled, no descriptor is left."""
import ctypes
import errno
import os
import resource
import select
import socket
import struct
import subprocess
import sys
import tempfile

from rds_tests.carriers import carrier_pid, end_carriers
from rds_tests.common import GET_MR, LIMIT, RECVERR, RUNNER, SOL_RDS, TRANSPORT, octets, rds, refuses, until
from rds_tests.failures import shown_sockets
from rds_tests.hosts import END, far_end, far_host

SHORT = errno.ENOMEM,
SIZES = 100, 100000 # of a message in its record, and of one with a file of its own
ports = [5000]
numbers = [0]


def long_program_failures():
    """The program runs with the library whose calls fail (tests/ulp/rds_preload_nth.c)."""
    holder, far = far_host(96)
    with tempfile.TemporaryDirectory() as run, tempfile.TemporaryDirectory() as own:
        end = far_end(far, run, "lend", "10.96.0.2")
        os.symlink(os.environ["RDS_CARRIER"], f"{own}/dapple-rds")
        os.symlink(os.environ["RDS_PRELOAD_FAILING"], f"{own}/librds-preload.so")
        subprocess.run([sys.executable, RUNNER, "inside-program", "10.96.0.1", "10.96.0.2"], check=True,
                       env=dict(os.environ, LD_PRELOAD=f"{own}/librds-preload.so"))
        assert not end.wait(LIMIT)
    holder.communicate()


def open_files(pid="self"):
    return len(os.listdir(f"/proc/{pid}/fd"))


def arm(n, length):
    ctypes.CDLL(None).rds_nth_arm(ctypes.c_ulong(n), ctypes.c_ulong(length))


def disarm():
    """The name of the call that has failed, or None."""
    end = ctypes.CDLL(None).rds_nth_disarm
    end.restype = ctypes.c_char_p
    return end()


def each(what, make, call, check, allowed=SHORT, refused=lambda *words: None):
    """
    call(), for each n. make() gives its words before; refused() gets them behind a call that has failed with one failure alone; check() gets what
    call() has returned at last, and them.
    """
    names = {}
    for length in 1, 3, 40:
        n, name = 0, "none yet"
        while name is not None:
            n += 1
            before, error = open_files(), None
            words = make()
            arm(n, length)
            try:
                got = call(*words)
            except OSError as e:
                error = e
            name = disarm()
            at = f"{what}, {length} calls from the {n}. on: {name} fails, {error}"
            assert error is None or name and error.errno in allowed, at
            try:
                if error is not None:
                    if length == 1:
                        refused(*words)
                    got = call(*words)
                check(got, *words)
            except BaseException:
                print(at, flush=True)
                raise
            assert open_files() == before, f"{at}: {open_files()} files are open, {before} before"
            names[name] = names.get(name, 0) + (name is not None)
    del names[None]
    print(f"{what}:", ", ".join(f"{k.decode()} {v}" for k, v in sorted(names.items())), flush=True)
    assert names, what


def in_program(here, there):
    each("the first socket", end_carriers_first, new_socket, lambda got: got.close(), SHORT + (errno.EMFILE,))
    s, t = bound(here), bound(here)
    owner, before = carrier_pid(), open_files(carrier_pid())
    children(s, t)
    each("another socket", lambda: (), new_socket, lambda got: got.close(), SHORT + (errno.EMFILE,))
    names(here, there)
    options(s)
    messages(s, t)
    used_up(s, t)
    regions(s)
    operations(s, (there, 4000))
    for x in s, t:
        x.recv(1, socket.MSG_DONTWAIT) if select.select([x], [], [], 0)[0] else None
    until("the carrier has files open", lambda: open_files(owner) <= before + 16) # of its adapter, and of the connection
    s.sendto(b"end", (there, 4000))
    until("the end has not come", lambda: not waiting(s))


def end_carriers_first():
    end_carriers()
    return ()


def new_socket():
    return socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET)


def bound(here):
    s = rds()
    s.setsockopt(SOL_RDS, TRANSPORT, 0)
    ports[0] += 1
    s.bind((here, ports[0]))
    return s


def next_octets(n):
    numbers[0] += 1
    return octets(numbers[0], n)


def comes_alone(s, t, *data):
    """What has been sent from s to t comes, and nothing else before the mark."""
    s.sendto(b"mark", t.getsockname())
    for wanted in data + (b"mark",):
        got = t.recv(200000)
        assert got == wanted, (len(got), len(wanted))


# --- messages ---

def in_child(call):
    """Returns what a child exits with, which call() gives."""
    child = os.fork()
    if not child:
        code = 99
        try:
            code = call()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def children(s, t):
    """The first message that a process receives. This one has sent none and received none, so its children have none of what they share with the carrier."""
    def receive():
        arm(n, 1)
        try:
            got, error = t.recv(1000), None
        except OSError as e:
            error = e
        name = disarm()
        assert error is None or name and error.errno in SHORT, (n, name, error)
        assert (got if error is None else t.recv(1000)) == data, (n, name)
        return name is None

    def send():
        return s.sendto(data, t.getsockname()) != len(data)

    for n in range(1, 1000):
        data = next_octets(100)
        assert in_child(send) == 0
        code = in_child(receive)
        assert code in (0, 1), (n, code)
        if code:
            break
    print("the first message of a process, n below", n, flush=True)
    assert n > 4, n
    comes_alone(s, t)


def messages(s, t):
    for n in SIZES:
        each(f"a send of {n} octets", lambda n=n: (next_octets(n),), lambda data: s.sendto(data, t.getsockname()), lambda got, data: comes_alone(s, t, data))
        each(f"the receipt of {n} octets", lambda n=n: (arrived(s, t, n),), lambda data: t.recv(200000), lambda got, data: (same(got, data), comes_alone(s, t)))
        each(f"a look at {n} octets", lambda n=n: (arrived(s, t, n),), lambda data: t.recv(200000, socket.MSG_PEEK),
             lambda got, data: (same(got, data), comes_alone(s, t, data)))
    s.connect(t.getsockname())
    each("a send to the peer of connect()", lambda: (next_octets(100),), lambda data: s.send(data), lambda got, data: comes_alone(s, t, data))


def arrived(s, t, n):
    data = next_octets(n)
    s.sendto(data, t.getsockname())
    assert select.select([t], [], [], LIMIT)[0]
    return data


def same(got, data):
    assert got == data, (len(got), len(data))


def used_up(s, t):
    """Real descriptors, of which there is none any more: a message with a file of its own stays."""
    data, small = arrived(s, t, 100000), next_octets(100)
    limit, had = resource.getrlimit(resource.RLIMIT_NOFILE), []
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, limit[1]))
    try:
        while True:
            had.append(os.dup(0))
    except OSError as e:
        assert e.errno == errno.EMFILE
    for call in (lambda: t.recv(200000), lambda: t.recv(200000, socket.MSG_PEEK), lambda: s.sendto(data, t.getsockname()), lambda: shown_sockets(s),
                 lambda: s.getsockopt(SOL_RDS, RECVERR)):
        refuses(errno.ENOMEM, call)
    refuses(errno.EMFILE, new_socket)
    s.sendto(small, t.getsockname())
    for fd in had:
        os.close(fd)
    resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    comes_alone(s, t, data, small)


# --- names and options ---

def names(here, there):
    def unbound():
        ports[0] += 1
        return rds(), ports[0]

    def is_bound(got, s, port):
        assert s.getsockname() == (here, port)
        s.close()

    def is_connected(got, s):
        assert s.getpeername() == (there, 7)
        s.close()

    def connected():
        s = bound(here)
        s.connect((there, 7))
        return s,

    each("bind()", unbound, lambda s, port: s.bind((here, port)), is_bound)
    each("connect()", lambda: (bound(here),), lambda s: s.connect((there, 7)), is_connected)
    each("getpeername()", connected, lambda s: s.getpeername(), lambda got, s: (same(got, (there, 7)), s.close()))


def options(s):
    def changed():
        numbers[0] += 1
        return numbers[0] % 2,

    size = s.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    each("RDS_RECVERR", changed, lambda to: s.setsockopt(SOL_RDS, RECVERR, to), lambda got, to: same(s.getsockopt(SOL_RDS, RECVERR), to))
    each("the value of RDS_RECVERR", lambda: (), lambda: s.getsockopt(SOL_RDS, RECVERR), lambda got: None)
    each("SO_SNDBUF", lambda: (), lambda: s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size // 2),
         lambda got: same(s.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF), size))
    each("RDS_INFO_SOCKETS", lambda: (), lambda: shown_sockets(s), lambda got: same(len(got) % 28, 0))
    s.setsockopt(SOL_RDS, RECVERR, 0)


# --- memory and operations ---

def rds_end():
    sys.path.insert(0, os.path.dirname(END))
    import rds_end as e
    return e


def is_private(m):
    with open("/proc/self/maps") as f:
        for line in f:
            low, high = (int(x, 16) for x in line.split()[0].split("-"))
            assert not (low < m.at + 20000 and high > m.at and "dapple-rds" in line), line


def regions(s):
    e = rds_end()
    m, got = e.Memory(20000), ctypes.c_uint64()
    m.put(0, octets(1, 20000))

    def share():
        got.value = 0
        s.setsockopt(SOL_RDS, GET_MR, struct.pack("=QQQQ", m.at + 5, 9000, ctypes.addressof(got), 0))

    def give_back():
        s.setsockopt(SOL_RDS, e.FREE_MR, struct.pack("=QQ", got.value, 0))

    def is_shared(*_):
        assert got.value and m.get(0, 20000) == octets(1, 20000)
        give_back()
        assert m.get(0, 20000) == octets(1, 20000)
        is_private(m)

    share() # the file of shared pages stays open
    give_back()
    each("RDS_GET_MR", lambda: (), share, is_shared, refused=lambda: is_private(m))
    each("RDS_FREE_MR", lambda: (share(),), lambda _: give_back(), lambda *_: same(m.get(0, 20000), octets(1, 20000)))


def operations(s, there):
    e = rds_end()
    m, n = e.Memory(200000), 65536
    s.sendto(b"map %d 0 %d 1" % (GET_MR, n), there)
    data, _, cookie = e.take(s, 1 << 20)
    assert data == b"region" and cookie
    m.put(0, e.BLOB[:n])

    def asked(flags, at):
        numbers[0] += 1
        if at:
            m.put(at, bytes(n))
        return numbers[0], e.args(cookie, 0, n, [(m.at + at, n)], flags | e.NOTIFY | e.SILENT, numbers[0])

    def send(token, control):
        return s.sendmsg([b""], [control[1]], 0, there)

    def add():
        numbers[0] += 1
        return numbers[0], (None, (SOL_RDS, e.FADD, struct.pack("=QQQ", cookie, m.at + 4096, 0) + struct.pack("=4Q", 0, 0, 0, 0) +
                                   struct.pack("=QQ", e.NOTIFY | e.SILENT, numbers[0])))

    def is_read(status, token):
        assert status == (token, e.SUCCESS), (status, token)
        assert m.get(100000, n) == e.BLOB[:n]

    def has_read():
        token, control = asked(0, 100000)
        send(token, control)
        assert select.select([s], [], [], LIMIT)[0]
        return token,

    each("an RDMA write", lambda: asked(e.WRITE, 0), send, lambda got, token, control: same(e.status(s), (token, e.SUCCESS)))
    each("an RDMA read", lambda: asked(0, 100000), send, lambda got, token, control: is_read(e.status(s), token))
    each("an atomic", add, send, lambda got, token, control: same(e.status(s), (token, e.SUCCESS)))
    each("the end of an RDMA read", has_read, lambda token: e.status(s), is_read)
    s.sendto(b"free", there)
    assert s.recv(100) == b"freed"


def waiting(s):
    """Octets of messages that the carrier has not taken from the program."""
    import fcntl
    return struct.unpack("=i", fcntl.ioctl(s, 0x5411, bytes(4)))[0]
