# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Sockets of AF_RDS, options and waiting, for the tests of RDS."""
import ctypes
import errno
import hashlib
import os
import select
import shutil
import socket
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
RUNNER = os.path.join(HERE, "..", "rds") # tests/interop/rds

SOL_RDS, CANCEL, GET_MR, RECVERR, MONITOR, TRANSPORT = 276, 1, 2, 5, 6, 8
CMSG_ARGS, CMSG_UPDATE = 1, 5
INFO_COUNTERS, INFO_CONNECTIONS, INFO_SEND, INFO_RETRANS, INFO_SOCKETS, INFO_IB = 10000, 10001, 10003, 10004, 10006, 10008
CONNECTED = 4 # RDS_INFO_CONNECTION_FLAG_CONNECTED
PR_SET_CHILD_SUBREAPER = 36
LIMIT = 60
TIOCOUTQ = 0x5411
STRACE = shutil.which("strace")


def rds(addr=None, port=0):
    s = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET, 0)
    s.settimeout(LIMIT)
    if addr:
        s.bind((addr, port))
    return s


def refuses(number, call, *args):
    try:
        call(*args)
    except OSError as e:
        assert e.errno == number, (errno.errorcode[e.errno], errno.errorcode[number])
        return
    raise AssertionError(f"{call} was not refused with {errno.errorcode[number]}")


def until(what, condition):
    """Waits for something that no descriptor tells."""
    for _ in range(LIMIT * 50):
        if condition():
            return
        select.select([], [], [], 0.02)
    raise AssertionError(what)


def octets(i, n):
    return (hashlib.sha256(str(i).encode()).digest() * (n // 32 + 1))[:n]


def address(host, port):
    return struct.pack("=HH4s8x", socket.AF_INET, socket.htons(port), socket.inet_aton(host))


def info(s, option, each):
    size, raw = call_info(s, option)
    assert size == each, size
    return [raw[i:i + each] for i in range(0, len(raw), each)]


def call_info(s, option):
    c = ctypes.CDLL(None, use_errno=True)
    n = ctypes.c_uint(0)
    assert c.getsockopt(s.fileno(), SOL_RDS, option, None, ctypes.byref(n)) == -1 or not n.value
    buf = ctypes.create_string_buffer(n.value + 4096)
    n = ctypes.c_uint(len(buf))
    return c.getsockopt(s.fileno(), SOL_RDS, option, buf, ctypes.byref(n)), buf.raw[:n.value]
