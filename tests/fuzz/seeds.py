#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Writes the seeds of the stateful fuzz targets into tests/fuzz/corpus: one exchange as it should be for each
way through a room, from which the fuzzer makes those that should not be.

seeds.py [FOLDER]    FOLDER: of the corpus; default: the one beside this file

The operations and their arguments are those of fuzz_*.c. Inputs that tests/fuzz/run --keep adds have the names
that libFuzzer gives them, and stay.
"""
import os
import struct
import sys

corpus = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")


def write(target, name, *parts):
    folder = os.path.join(corpus, target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        for p in parts:
            f.write(bytes([p]) if isinstance(p, int) else bytes(p))


def enum(names):
    return {n: i for i, n in enumerate(names.replace("\n", " ").replace(" ", "").split(","))}


def le(fmt, *v):
    return struct.pack("<" + fmt, *v)


# --- netlink: answers as the kernel gives them ---

NEWLINK, NEWADDR, ERROR, DONE = 16, 20, 2, 3


def attr(kind, data):
    return le("HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def message(kind, body):
    return le("IHHII", 16 + len(body), kind, 2, 1, 0) + body + bytes(-len(body) % 4)


def link(index, name, flags, mac, mtu=1500):
    return message(NEWLINK, le("BBHiII", 0, 0, 1, index, flags, 0xffffffff) + attr(3, name + b"\0") +
                   attr(4, le("I", mtu)) + attr(1, mac) + attr(26, bytes(40)))


def addr(index, family, address, flags=0x80, local=True):
    body = le("BBBBI", family, 24, flags, 0, index) + attr(1, address)
    if local:
        body += attr(2, address)
    return message(NEWADDR, body + attr(3, b"eth0\0") + attr(8, le("I", flags)) + attr(6, bytes(16)))


def piece(data):
    return le("H", len(data)) + data


def netlink():
    done = message(DONE, le("i", 0))
    lo = link(1, b"lo", 0x10049, bytes(6), 65536)
    eth = link(2, b"eth0", 0x11043, bytes([2, 0, 0, 0, 0, 1]))
    write("netlink", "links", 0, piece(lo + eth), piece(link(3, b"a-name-of-15-ch", 0, bytes(20))), piece(done))
    write("netlink", "links-mend", 2, piece(lo + eth + done))
    write("netlink", "link-odd-end", 0, piece(lo + le("IHHII", 17, NEWLINK, 2, 1, 0) + b"x"), piece(done))
    v4 = addr(1, 2, bytes([127, 0, 0, 1]))
    v6 = addr(2, 10, bytes([0xfe, 0x80] + [0] * 13 + [1]), local=False)
    write("netlink", "addrs", 1, piece(v4 + v6 + addr(2, 10, bytes(16), 0x40) + addr(3, 17, bytes(4))), piece(done))
    write("netlink", "addr-peer", 1, piece(message(NEWADDR, le("BBBBI", 2, 32, 0, 0, 4) + attr(2, bytes(4)) +
                                                  attr(1, bytes(4)))), le("H", 0xffff), piece(done))
    write("netlink", "error", 0, piece(lo), piece(message(ERROR, le("i", -16) + bytes(16))))
    write("netlink", "error-zero", 0, piece(message(ERROR, le("i", 0) + bytes(16))))
    write("netlink", "error-short", 0, piece(le("IHHII", 16, ERROR, 0, 1, 0)))
    write("netlink", "cut", 0, le("H", 0xfffe))
    write("netlink", "end", 0, piece(b""))
    write("netlink", "many", 0, piece(eth * 40), piece(done))
    write("netlink", "drain", 4, le("H", 0xffff), le("H", 0xfffd), piece(eth), piece(v4))


# --- shm: both rings, and what goes through them ---

S = enum("""HELLO, READY, OPEN, EXPORT, ANY_MESSAGE, RECORD, RING_WORDS, CONSUMER_WORDS, PAGE_WORDS, TABLE_WORDS,
POLL, RECEIVE, SEND, DATAGRAMS, ACCESS, QUIESCE, TIME, DEATH, FORGET, SLEEP, REACH""")

REACH = bytes([S["REACH"], 0])
READY = bytes([S["READY"], 0, 0])
HELLO = bytes([S["HELLO"], 0, 0])
OPEN = bytes([S["OPEN"], 0])
BOTH = REACH + READY + HELLO + OPEN + REACH


def record(how, length, more=b""):
    return bytes([S["RECORD"], how, length]) + more


def poll(how, *messages):
    return bytes([S["POLL"], how]) + b"".join(bytes([m]) if isinstance(m, int) else m for m in messages)


def send(how, more=0):
    return bytes([S["SEND"], how, more]) if not how & 1 else bytes([S["SEND"], how])


def shm():
    write("shm", "both-rings", 0, BOTH)
    write("shm", "messages", 0, BOTH, record(0, 8), record(0, 100), poll(0, 0, 16, 1, 0, 0, 0), record(8, 8), poll(1, 1),
          record(8, 8), poll(1, 16, 1, 0, 0, 0))
    write("shm", "messages-life", 0, BOTH, S["PAGE_WORDS"], 8, le("I", 5), record(0, 30), poll(0, 1), S["PAGE_WORDS"],
          8 + 16, record(0, 30), poll(0, 1))
    write("shm", "no-number", 16, BOTH, record(0, 30), poll(0, 1), S["ACCESS"], 1)
    write("shm", "wrap", 0, BOTH, *[record(0, 253) + poll(0, 0) for _ in range(5)], record(4, 253), poll(0))
    write("shm", "datagrams", 4, BOTH, record(1, 100, le("H", 50)), S["RECEIVE"], 0, record(1, 249, le("H", 1000)),
          S["RECEIVE"], 0, record(1, 251, le("H", 9)), S["RECEIVE"], 0, S["DATAGRAMS"], 0, S["DATAGRAMS"], 8)
    write("shm", "datagrams-of-messages", 0, BOTH, record(1, 100, le("H", 50)), poll(1), poll(0), S["RECEIVE"], 1,
          le("H", 10), S["RECEIVE"], 0, S["DATAGRAMS"], 0, S["DATAGRAMS"], 1, le("I", 0x20055), S["DATAGRAMS"], 2,
          S["DATAGRAMS"], 4)
    write("shm", "sends", 0, BOTH, send(0, 10), send(2, 10), send(4, 3), send(6, 3), send(16, 2), send(8, 9), send(8 + 2, 9),
          send(32, 2), send(2, 0), send(1), send(3), send(1), send(3), S["TIME"], 2, send(1))
    write("shm", "full", 0, BOTH, *[send(3)] * 5, S["TIME"], 2, send(3), S["CONSUMER_WORDS"], 1, 3, le("Q", 262208), send(3),
          S["CONSUMER_WORDS"], 1, 3, le("Q", 1 << 40), send(3))
    write("shm", "gone", 0, BOTH, send(0, 5), S["CONSUMER_WORDS"], 6, send(0, 5), REACH, REACH)
    write("shm", "wakes", 0, BOTH, S["PAGE_WORDS"], 1, 1, send(0, 5), S["CONSUMER_WORDS"], 1, 4, send(0, 5), send(8, 5),
          send(32, 5), S["SLEEP"], 3, record(0, 8), S["SLEEP"], 1, S["SLEEP"], 0)
    write("shm", "bad-tail", 0, BOTH, S["RING_WORDS"], 1, 3, le("Q", 77), poll(0), poll(0), REACH)
    write("shm", "bad-length", 0, BOTH, record(0, 254), poll(1), poll(0), poll(0))
    write("shm", "wrap-of-nothing", 0, BOTH, record(0, 255), poll(0), poll(0))
    write("shm", "access", 0, BOTH, S["CONSUMER_WORDS"], 1, 4, S["ACCESS"], 1, S["ACCESS"], 1 + 4, S["ACCESS"], 1 + 16 + 32,
          S["ACCESS"], 1 + 2, le("Q", 8), S["ACCESS"], 1 + 16)
    write("shm", "access-number", 0, BOTH, S["CONSUMER_WORDS"], 1, 4, S["ACCESS"], 1 + 16 + 32, S["PAGE_WORDS"], 8,
          le("I", 5), S["ACCESS"], 1 + 16 + 32, S["PAGE_WORDS"], 8 + 16, S["ACCESS"], 1 + 16 + 32)
    write("shm", "access-gone", 0, BOTH, S["CONSUMER_WORDS"], 1, 4, S["CONSUMER_WORDS"], 6, S["ACCESS"], 1)
    write("shm", "attached", 0, BOTH, S["CONSUMER_WORDS"], 1, 4, *[bytes([S["EXPORT"], i, 0]) for i in range(1, 40)],
          S["ACCESS"], 8, le("I", 100), le("H", 100), 39, S["ACCESS"], 8, le("I", 8000), le("H", 1000), 39,
          S["ACCESS"], 8, le("I", 0), le("H", 1), 1, S["EXPORT"], 0, 0, S["EXPORT"], 3, 1, 2, S["EXPORT"], 3, 0x40, 1)
    write("shm", "exports", 0, BOTH, record(0, 30), poll(0, 32 + 64), record(0, 30), poll(0, 32 + 64), record(0, 30),
          poll(0, 32, 1))
    write("shm", "quiesce", 0, BOTH, S["QUIESCE"], 0, S["PAGE_WORDS"], 32, S["QUIESCE"], 100, S["PAGE_WORDS"], 32, S["QUIESCE"], 1,
          S["PAGE_WORDS"], 32, S["QUIESCE"], 252 + 2)
    write("shm", "quiesce-death", 0, BOTH, S["PAGE_WORDS"], 32, S["QUIESCE"], 254, S["DEATH"])
    write("shm", "death", 0, BOTH, record(0, 30), S["DEATH"], poll(0, 0), S["DEATH"], REACH, READY)
    write("shm", "no-answer", 0, REACH, S["TIME"], 2, REACH, S["TIME"], 3, REACH)
    write("shm", "refused", 0, REACH, S["READY"], 9, 0, REACH, S["TIME"], 3, REACH)
    write("shm", "forget", 0, BOTH, S["FORGET"], REACH)
    write("shm", "no-pidfd", 8, BOTH, S["DEATH"])
    write("shm", "no-direct", 2, BOTH, S["CONSUMER_WORDS"], 1, 4, S["ACCESS"], 1)
    write("shm", "one-way", 0, REACH, READY, REACH, S["TIME"], 2, REACH)
    write("shm", "other-address", 0, BOTH, S["REACH"], 1)
    write("shm", "late", 0, *[HELLO] * 6, S["TIME"], 4, HELLO)
    for bit in range(5):
        for odd in (0, 2, 3, 4, 5):
            write("shm", f"odd-ready-{bit}-{odd}", 0, REACH, S["READY"], 0, 1 << bit, odd, REACH)
            if bit < 3:
                write("shm", f"odd-open-{bit}-{odd}", 0, REACH, READY, HELLO, S["OPEN"], 1 << bit, odd, REACH)
    write("shm", "token", 0, REACH, S["READY"], 0, 0x40, 1, READY, HELLO, S["OPEN"], 0x40, 1, OPEN)
    write("shm", "fewer", 0, REACH, S["READY"], 0, 0x20, S["READY"], 0, 0x20)
    write("shm", "any", 0, BOTH, S["ANY_MESSAGE"], 5, 2, 40, bytes(40), 1, 2, S["ANY_MESSAGE"], 7, 0, 56, bytes(56),
          S["ANY_MESSAGE"], 200, 0, 0)
    write("shm", "table", 0, BOTH, S["CONSUMER_WORDS"], 1, 4, S["TABLE_WORDS"], le("H", 3), 1, bytes(72), S["TABLE_WORDS"],
          le("H", 3), 0, bytes(40), S["ACCESS"], 0)


# --- mailbox ---

M = enum("""MESSAGE, DATAGRAM_MESSAGE, GROUP_MESSAGE, RECORDS, ORDER, PROBE, UDP_DATAGRAM, RECEIVE, PASS_ON, CLAIM,
UNCLAIM, ENTRUST, DEAD, TIME, MEMBER, ADDRESS, JOIN, FULL, ERROR""")
RECEIVE = bytes([M["RECEIVE"]])


def dgram(how, n=24):
    return bytes([how, n]) + bytes(n)


def mailbox():
    head = bytes(16)
    write("mailbox", "forwarded", head, M["DATAGRAM_MESSAGE"], 0, dgram(1), M["DATAGRAM_MESSAGE"], 0, dgram(0), M["DATAGRAM_MESSAGE"],
          0, dgram(1 + 2), RECEIVE, RECEIVE)
    write("mailbox", "group", head, M["JOIN"], 1, M["GROUP_MESSAGE"], 0, dgram(0), RECEIVE, M["GROUP_MESSAGE"], 2 + 4, dgram(0),
          RECEIVE, M["JOIN"], 0, M["GROUP_MESSAGE"], 0, dgram(0), RECEIVE)
    write("mailbox", "service", head, M["CLAIM"], 0, 3, M["CLAIM"], 0, 3, M["CLAIM"], 1, 1, M["DATAGRAM_MESSAGE"], 3, dgram(0), RECEIVE,
          RECEIVE, M["PASS_ON"], 0, 3, M["PASS_ON"], 0, 4, M["UNCLAIM"], 3)
    write("mailbox", "pass-on", head, M["DATAGRAM_MESSAGE"], 0, dgram(0), RECEIVE, M["PASS_ON"], 0, 4)
    write("mailbox", "records", head, M["MEMBER"], 15, M["RECORDS"], 0, M["RECORDS"], 4, M["RECORDS"], 0, RECEIVE, M["DEAD"], 1, M["DEAD"], 0)
    write("mailbox", "odd-records", head, M["RECORDS"], 1, M["RECORDS"], 2, M["RECORDS"], 0x31, M["RECORDS"], 0x12, M["RECORDS"], 64,
          RECEIVE, RECEIVE)
    write("mailbox", "entrust", head, M["MEMBER"], 15, M["ORDER"], 1, 4, 0, bytes([0, 1, 2, 3]), RECEIVE, M["ENTRUST"], 1, M["TIME"], 0,
          RECEIVE, M["ENTRUST"], 0)
    write("mailbox", "order", head, M["MEMBER"], 15, M["ORDER"], 1, 4, 0, bytes([0, 1, 2, 3]), RECEIVE, M["ORDER"], 2 + 4, 0, 1,
          RECEIVE, M["ORDER"], 0, 0, 0, M["ORDER"], 4, 0, 1, RECEIVE, RECEIVE)
    write("mailbox", "left-first", head, M["ORDER"], 1, 2, 0, bytes([1, 0]), RECEIVE, M["ORDER"], 2 + 4, 0, 0, RECEIVE, RECEIVE)
    write("mailbox", "probe", head, M["MEMBER"], 15, M["PROBE"], 4, 0, 0, 0, M["PROBE"], 4 + 1, 1, 0, 0, M["PROBE"], 0, 1, 0, 0,
          M["PROBE"], 8, 1, 0, 0, RECEIVE, RECEIVE)
    write("mailbox", "search", head, M["MEMBER"], 3, M["UDP_DATAGRAM"], 0, dgram(1 + 2), *[RECEIVE] * 4, M["TIME"], 1, *[RECEIVE] * 2,
          M["TIME"], 1, RECEIVE, M["ORDER"], 4, 0, 1, RECEIVE, M["TIME"], 2)
    write("mailbox", "astray", head, M["MEMBER"], 15, M["UDP_DATAGRAM"], 1, dgram(1 + 2), M["UDP_DATAGRAM"], 1, dgram(1 + 4), RECEIVE,
          RECEIVE, M["MEMBER"], 0, M["UDP_DATAGRAM"], 1, dgram(1 + 2), RECEIVE, RECEIVE)
    write("mailbox", "mad", head, M["UDP_DATAGRAM"], 1, dgram(8 + 16, 200), M["UDP_DATAGRAM"], 0, dgram(8 + 16 + 32, 200),
          M["UDP_DATAGRAM"], 0, dgram(8, 200), RECEIVE, RECEIVE)
    write("mailbox", "full", head, M["MEMBER"], 15, M["FULL"], 200, 0, M["FULL"], 2, 0, M["TIME"], 0, RECEIVE, M["TIME"], 3, RECEIVE)
    write("mailbox", "full-service", head, M["CLAIM"], 0, 3, M["FULL"], 60, 128 + 3, M["TIME"], 3, RECEIVE)
    write("mailbox", "full-nobody", head, M["FULL"], 2, 1)
    write("mailbox", "addresses", head, M["ADDRESS"], 1, M["ADDRESS"], 1, M["CLAIM"], 1, 2, RECEIVE, M["ADDRESS"], 0, M["ADDRESS"], 1)
    write("mailbox", "leaves", head, M["MEMBER"], 15, M["ORDER"], 1, 4, 0, bytes([0, 1, 2, 3]), RECEIVE, M["UDP_DATAGRAM"], 0,
          dgram(8, 200))
    for t in range(12):
        write("mailbox", f"type-{t}", head, M["MESSAGE"], 0x20, t, 8, bytes(8), 2, 1, M["MESSAGE"], 1, t, 56, bytes(112), RECEIVE)
    write("mailbox", "no-magic", head, M["MESSAGE"], 2, 4, 0, bytes(8), M["MESSAGE"], 4, 4, 3, RECEIVE, M["ERROR"])
    write("mailbox", "descriptors", head, M["MESSAGE"], 0x70, 6, 0, 0, 1, 2, 3, 0, 1, 2, RECEIVE)
    hello = le("Q", 9) + bytes([0] * 10 + [0xff, 0xff, 127, 0, 0, 9]) + bytes(16) + le("QII", 0, 1, 0)
    write("mailbox", "hello", head, M["MESSAGE"], 0, 7, len(hello), hello, RECEIVE, RECEIVE)


# --- streams ---

T = enum("""ACCEPT, CONNECT, CONNECTED, LISTEN, USER, AGREE, HURRY, CALL, HELLO, HANG_UP, ANSWER, SQUAT, POSITIONS,
BYTES, END, ROOM, SEND, RESERVE, PAUSE, SHUTDOWN, CLOSE, POLL, PEEK, SLEEP, TIME, DEADLINE, READ, UNBIND, ADOPT,
FORGET_USER""")


def op(name, *args, s=0):
    return bytes([T[name] | s << 5]) + b"".join(bytes([a]) if isinstance(a, int) else a for a in args)


POLL = op("POLL", 2)
TAIL, HEAD, BASE, ASLEEP, OPENED = 1, 2, 4, 8, 16


def positions(how, *args, s=0):
    return op("POSITIONS", how, *args, s=s)


PASSIVE = op("LISTEN", 0) + op("ACCEPT") + op("USER", 1) + POLL + op("AGREE", 0) + op("CALL") + POLL + op("HELLO", 0) + POLL
PASSIVE_SHM = PASSIVE + positions(OPENED) + op("HANG_UP") + POLL
ACTIVE = op("CONNECT", 0) + op("CONNECTED") + op("USER", 1) + POLL + op("CONNECTED") + op("SQUAT") + op("AGREE", 1)
ACTIVE_SHM = ACTIVE + op("ANSWER", 0) + POLL


def news(n=3, s=0):
    return positions(TAIL, n << 2, s=s)


def streams():
    for name, start in (("passive", PASSIVE_SHM), ("active", ACTIVE_SHM)):
        write("streams", f"{name}-bytes", 0, start, news(), POLL, op("SEND", le("H", 1)), news(), op("BYTES", 0, 0), POLL,
              positions(TAIL, 1 + (63 << 2)), POLL, op("CLOSE", 0), POLL)
        write("streams", f"{name}-half", 0, start, op("USER", 2), news(60), POLL, POLL, op("USER", 0), news(), POLL, POLL)
        write("streams", f"{name}-stuck", 0, start, op("USER", 0), positions(TAIL, 2 + (1 << 2)), POLL, POLL)
        write("streams", f"{name}-bad-tail", 0, start, positions(TAIL, 3, le("Q", 1 << 40)), POLL, POLL)
        write("streams", f"{name}-base", 0, start, positions(TAIL | BASE, 9 << 2, 3, le("Q", (1 << 64) - 5)), POLL)
        write("streams", f"{name}-end", 0, start, news(), op("END", 0), POLL, POLL)
        write("streams", f"{name}-reset", 0, start, op("END", 1), op("SEND", le("H", 9)), POLL, POLL)
        write("streams", f"{name}-reset-paused", 0, start, op("PAUSE", 1), news(), *[op("SEND", le("H", 0xffff))] * 2,
              op("END", 1), POLL, op("PAUSE", 0), POLL)
        write("streams", f"{name}-full", 0, start, *[op("SEND", le("H", 0x7000))] * 3, op("RESERVE", le("H", 0xfff)), POLL,
              positions(HEAD | 32), POLL, op("RESERVE", le("H", 0xfff)), op("SEND", le("H", 5)))
        write("streams", f"{name}-sleep", 0, start, POLL, op("SLEEP", 0), *[op("PEEK", 255)] * 3, POLL, op("SLEEP", 3),
              POLL, news(), op("BYTES", 0, 0), POLL, op("DEADLINE"), op("SLEEP", 0), POLL, op("PEEK", 2))
        write("streams", f"{name}-wake", 0, start, positions(ASLEEP, 5), op("SEND", le("H", 5)), positions(ASLEEP, 11),
              op("ROOM", 1), op("SEND", le("H", 5)), op("ROOM", 0), news(), POLL)
        write("streams", f"{name}-inside", 0, start, op("USER", 1 + 8), news(), POLL, op("USER", 17), news(), POLL)
        write("streams", f"{name}-pause-inside", 0, start, op("USER", 4), news(), POLL, op("PAUSE", 0), POLL)
        write("streams", f"{name}-closes-at-end", 0, start, op("USER", 65), op("END", 0), POLL, POLL)
        write("streams", f"{name}-calls", 0, start, op("READ"), op("SHUTDOWN"), op("HURRY"), op("RESERVE", le("H", 9)),
              op("FORGET_USER"), news(), POLL, op("USER", 1), POLL, op("DEADLINE"))
        write("streams", f"{name}-quiet", 0, start, *[op("PEEK", 255)] * 6, POLL, op("SLEEP", 0), POLL, *[op("PEEK", 255)] * 6)
    write("streams", "passive-wire", 0, PASSIVE, op("HANG_UP"), POLL, op("BYTES", 3, 0), op("SEND", le("H", 2)), POLL)
    write("streams", "passive-first-byte", 0, PASSIVE, op("SEND", le("H", 2)), op("BYTES", 3, 0), POLL)
    write("streams", "passive-first-wake", 0, PASSIVE, positions(OPENED), op("BYTES", 1, 0), POLL)
    write("streams", "passive-end", 0, PASSIVE, op("END", 0), POLL)
    write("streams", "passive-sends-first", 0, op("LISTEN", 0), op("ACCEPT"), op("USER", 1), POLL, op("AGREE", 0), op("USER", 129),
          op("SEND", le("H", 2)), POLL, op("CLOSE", 1), POLL, op("UNBIND"), POLL)
    write("streams", "passive-any-address", 0, op("LISTEN", 1), op("ACCEPT"), op("USER", 1), POLL, op("AGREE", 0),
          op("CLOSE", 0), POLL, op("UNBIND"))
    write("streams", "passive-strangers", 0, op("LISTEN", 0), op("ACCEPT"), op("USER", 1), POLL, op("AGREE", 0),
          *[op("CALL", s=s) + POLL for s in range(4)], op("DEADLINE"), op("TIME", 1), POLL)
    for how in (1, 1 | 1 << 5, 1 | 2 << 5, 2, 4, 8, 16):
        more = bytes(40) if how == 4 else bytes([9])
        hello = op("HELLO", how, more)
        write("streams", f"passive-odd-{how}", 0, op("LISTEN", 0), op("ACCEPT"), op("USER", 1), POLL, op("AGREE", 0), op("CALL"), POLL,
              hello, POLL, POLL)
        write("streams", f"active-odd-{how}", 0, ACTIVE, op("ANSWER", how, more), POLL, op("SEND", le("H", 9)), POLL)
    write("streams", "active-no-answer", 0, ACTIVE, op("SEND", le("H", 9)), op("DEADLINE"), op("TIME", 1), POLL, POLL)
    write("streams", "active-hurry", 0, ACTIVE, op("HURRY"), op("SEND", le("H", 9)), op("ANSWER", 0), POLL)
    write("streams", "active-nobody", 0, op("CONNECT", 0), op("USER", 1), POLL, op("CONNECTED"), op("AGREE", 1), op("ROOM", 1),
          op("SEND", le("H", 9)), op("ROOM", 0))
    write("streams", "active-writable", 0, ACTIVE, op("ROOM", 1), op("ROOM", 0), op("USER", 33), op("ANSWER", 2), POLL, POLL)
    write("streams", "active-hangs-up", 0, ACTIVE, op("ANSWER", 8, 3), op("HANG_UP"), POLL)
    write("streams", "no-watch", 0, op("CONNECT", 0), op("USER", 1), POLL, op("CONNECTED"), op("SQUAT"), op("AGREE", 3),
          op("AGREE", 2), POLL)
    write("streams", "adopted", 0, op("ADOPT", 0), op("USER", 1), POLL, op("SQUAT"), op("AGREE", 1), op("ANSWER", 0), POLL, news(), POLL)
    write("streams", "adopt-none", 0, op("ADOPT", 1))
    write("streams", "both", 0, PASSIVE_SHM, op("CONNECT", 0, s=1), op("USER", 1, s=1), POLL, op("CONNECTED", s=1),
          op("SQUAT", s=1), op("AGREE", 1, s=1), op("ANSWER", 0, s=1), POLL, news(), news(s=1), POLL)
    write("streams", "wire", 0, op("CONNECT", 0), op("USER", 0), POLL, op("BYTES", 9, 0), op("PAUSE", 1), op("USER", 9),
          op("PAUSE", 0), op("BYTES", 9, 0), op("SHUTDOWN"), op("END", 1), POLL, op("READ"))
    write("streams", "leaves", 1, PASSIVE_SHM, ACTIVE_SHM)
    write("streams", "connect-bound", 0, op("LISTEN", 0), op("CONNECT", 1), op("USER", 1), POLL, op("LISTEN", 0))
    write("streams", "end-without-user", 0, op("CONNECT", 0), op("USER", 1), POLL, op("FORGET_USER"), op("END", 0), POLL,
          op("USER", 1), POLL, op("DEADLINE"))


# --- direct: tables, requests, forged messages ---

D = enum("KEY, QP, POST, POST_RECV, SWITCH, REQUEST, RESPONSE, RUN, REVOKE, ERROR, TABLES")
WRITE, READ, FADD, CSWAP, SEND, WRITE_IMM = range(6)


def post(code, length, offset=0, more=0):
    return bytes([D["POST"], code | more]) + le("HH", length, offset)


def forged(kind, to, opcode, flags=0, how=0, length=8, va=0, data=8, more=bytes(16)):
    fields = bytes([D[kind], to, how, opcode, flags]) + (b"\1" if how & 2 else b"") + le("HH", length, va)
    return fields + bytes([data]) + more


def direct():
    run = bytes([D["RUN"], 0])
    first = post(SEND, 100) + bytes([D["RUN"], 1])
    recv = bytes([D["POST_RECV"], 1, 0, 255])
    tables = bytes([D["KEY"], 1, 0, D["QP"], 0])
    by_copy = bytes([D["KEY"], 0, 0, D["QP"], 0])
    start = recv + first + recv
    for name, t in (("attached", tables), ("copied", by_copy), ("none", b"")):
        write("direct", f"{name}-all", start, t, *[post(c, 64, 128) + run for c in (WRITE, READ, FADD, CSWAP)],
              post(WRITE, 5000, 64), post(READ, 9000), run, post(WRITE, 4, 3, 8), post(WRITE, 20, 3, 8), run,
              post(WRITE, 1), post(WRITE, 0), run)
    write("direct", "unaligned", start, tables, post(FADD, 8, 8, 32), run)
    write("direct", "ways", start, by_copy, D["SWITCH"], 2, post(WRITE, 64), run, D["SWITCH"], 4, post(READ, 64), run,
          D["SWITCH"], 1, post(READ, 64), run, D["SWITCH"], 8, tables, post(READ, 64), run)
    write("direct", "behind-sends", recv, recv, tables, post(SEND, 10), post(SEND, 10), post(WRITE, 8000), run, run)
    write("direct", "own-tables", start, post(WRITE, 100), run, D["TABLES"], 1, post(WRITE, 100), post(READ, 100), run,
          D["REVOKE"], 1, post(WRITE, 10), run, D["ERROR"], 1, post(WRITE, 10))
    for field in range(18):
        write("direct", f"key-{field}", start, D["KEY"], 1, 1, field, 0, le("I", 0xffffffff), D["QP"], 0, post(READ, 64), run)
    for field in range(10):
        write("direct", f"qp-{field}", start, D["KEY"], 1, 0, D["QP"], 1, field, 1, 1, post(READ, 64), run)
    write("direct", "messages", start, post(SEND, 9000), post(WRITE, 12000), run, post(READ, 12000), run, recv, post(SEND, 8000), run)
    write("direct", "apart", D["SWITCH"], 16, start, post(WRITE, 100), post(READ, 100), D["RUN"], 3)
    write("direct", "asked", D["SWITCH"], 64, start, D["RUN"], 2, post(WRITE, 100), D["SWITCH"], 128, post(WRITE, 9), D["RUN"], 1,
          D["SWITCH"], 0, D["RUN"], 2)
    for opcode in list(range(0, 0x18)) + [0x24, 0x2a, 0xa4, 0x64]:
        write("direct", f"forged-{opcode:02x}", start, forged("REQUEST", 1, opcode, how=32), forged("REQUEST", 1, opcode, 2, 1, 16, 8, 16),
              forged("REQUEST", 1, opcode, 4, 1, 100, 8, 16, b"\1"), run)
        write("direct", f"answer-{opcode:02x}", start, post(READ, 64), forged("RESPONSE", 0, opcode, how=16 + 32, more=b"\0" * 17), run)
    write("direct", "pieces", start, *[forged("REQUEST", 1, 4, 4, 1 + 64, 100, 8, 16, bytes([n]) + bytes([9, 0] * n)) for n in (0, 1, 3)],
          forged("REQUEST", 1, 4, 4, 1, 100, 8, 16, bytes([139])), run)
    write("direct", "acks-along", start, forged("REQUEST", 1, 4, 16, 8, 8, 8, 8, le("Q", 1 << 32) + bytes(16)), run)


# --- dat ---


def dat():
    good = b'dapple-roce-lo u2.0 nonthreadsafe default libdapldapple.so.2 dapl.2.0 "dpl_roce_lo 0" ""\n'
    write("dat", "conf", 0, b"# comment\n\n", good, b"  \t# x\nname k1.2 threadsafe nondefault lib v.1.2 a b # end")
    write("dat", "conf-quotes", 0, b'"a \\" b" u2.0 threadsafe default "lib x" d.2.0 "p\\\\" ""\n"open\n', good)
    for i, bad in enumerate((b"a", b"a u2 threadsafe default l d.2.0 p q", b"a x2.0 threadsafe default l d.2.0 p q",
                             b"a u2.0 safe default l d.2.0 p q", b"a u2.0 threadsafe maybe l d.2.0 p q",
                             b"a u2.0 threadsafe default l 2.0 p q", b"a u2.0 threadsafe default l d.2 p q",
                             b"a u99999.0 threadsafe default l d.2.0 p q", b"a u2.0 threadsafe default l d.2.0 p q r",
                             b'"" u2.0 threadsafe default l d.2.0 p q', b'a u2.0 threadsafe default "" d.2.0 p q',
                             b"a" * 300 + b" u2.0 threadsafe default l d.2.0 p q", b"a" * 1100, b"a\0b", b"a u2.0x threadsafe default l d.2.0 p q",
                             b"a u2.x threadsafe default l d.2.0 p q", b"a u2.0 threadsafe default l d.2.0x p q", b'"' + b"q" * 1100)):
        write("dat", f"conf-bad-{i}", 0, bad, b"\n", good)
    reject = bytes([2, 0, 2, 0])
    ud = b"DUd\1" + bytes(22)
    for what in (1, 2, 3, 4, 5, 8, 16 + 3, 32 + 1, 64 + 2, 96):
        status = b"" if what & 32 else b"\x1c"
        write("dat", f"private-{what}", what, bytes([10]), reject, bytes(6), status, bytes([30]), ud, bytes(4), bytes(9), bytes([20]),
              bytes(20), le("Q", 70000))
    write("dat", "private-provider", 65, bytes([6, 2, 0, 2, 1]), bytes(2), 28, bytes([255]), bytes(255), bytes([255]), bytes(255))
    write("dat", "private-gid", 1, bytes([4]), reject, 28, bytes([26]), ud, bytes([0, 1, 0, 0, 1, 0, 0, 0, 0]), bytes([3, 1, 2, 3]))
    write("dat", "private-no-gid", 1, bytes([4]), reject, 28, bytes([26]), ud, bytes([1, 1, 1, 0, 1, 0]), bytes([3, 1, 2, 3]))


# --- tools ---


def line(*words, how=1, env=(b"", b"", b"")):
    return bytes([how]) + b"".join(e + b"\0" for e in env) + b"".join(w.encode() + b"\0" for w in words)


def tools():
    programs = ("ibv_rc_pingpong", "ib_send_bw", "qperf", "rping", "ucmatose", "udaddy", "mckey", "cmtime", "rstream", "udpong", "rcopy",
                "rdma_server", "rdma_client", "dapltest", "dtest", "dtestx", "dtestcm", "fi_pingpong", "ucx_perftest", "sh", "iperf3")
    for p in programs:
        write("tools", f"pair-{p}", line("pair", p))
        write("tools", f"pair-{p}-more", line("pair", "--hosts", "-6", "--mtu=9000", "--", "timeout", "9", p, "-p", "4000", "-n", "3", "{peer}"))
    write("tools", "pair-dapltest-t", line("pair", "dapltest", "-T", "T", "-i", "9", "-D", "x"))
    write("tools", "pair-odd", line("pair", "--adapter", "iwarp", "--wait", "3", "--grace=0", "--timeout", "9", "--stays", "x", "{port}",
                                    "a{own}b{any}{ia}{peer", "{peer}"))
    write("tools", "pair-gid", line("pair", "ibv_rc_pingpong", "-g", "1"), b"")
    write("tools", "pair-port", line("pair", "ib_send_bw", "--port=77"), b"")
    write("tools", "pair-R", line("pair", "ib_send_bw", "-R", "-F", "--ipv6-addr"))
    for bad in (("pair",), ("pair", "--mtu", "9000", "x"), ("pair", "--mtu", "1", "x"), ("pair", "--wait"), ("pair", "--no"), ("pair", "--list"),
                ("pair", "--help"), ("pair", "--stays=1", "x"), ("pair", "rcopy", "x"), ("pair", "--adapter", "ib", "x"), ("run",),
                ("run", "--adapter"), ("run", "--adapter", "x", "y"), ("run", "--x"), ("run", "-h"), ("env", "x"), ("env", "--x"),
                ("env", "--adapter"), ("devices", "x"), ("devices", "--x"), ("devices", "--adapter"), ("devices", "--adapter", "ib"),
                ("why", "x"), ("why", "-n"), ("why", "-n", "x"), ("why", "--x"), ("help",), ("help", "run"), ("--version",), ("x",), (),
                ("--help",), ("doctor",), ("why", "-n", "3"), ("devices", "--adapter", "iwarp")):
        write("tools", "line-" + ("-".join(w.strip("-") for w in bad) or "none"), line(*bad))
    env = (b"iwarp", b"/a:/b", b"x.so:/opt/dapple/lib/libdapple-preload.so")
    for name, how, e in (("libs", 1, env), ("no-libs", 0, env), ("blank", 3, env),
                         ("same", 1, (b"", b"/opt/dapple/lib:/b", b"a b")), ("bare", 1, (b"", b"", b""))):
        write("tools", f"env-{name}", line("env", "--share", how=how, env=e))
        write("tools", f"run-{name}", line("run", "--share", "--adapter", "roce", "--", "true", how=how, env=e))
    write("tools", "run-isolate", line("run", "--isolate", "true"))
    write("tools", "run-no-preload", line("run", "--no-preload", "true", "x"))
    write("tools", "env-no-preload", line("env", "--no-preload", "--adapter", "iw"))


# --- mpa: the exchanges that are there, with time, little room, and a second connection ---


def mpa():
    folder = os.path.join(corpus, "mpa")
    for name in sorted(n for n in os.listdir(folder) if "." not in n and not n.startswith("ops-")):
        data = open(os.path.join(folder, name), "rb").read()
        for more in (32, 64, 96, 128, 192):
            if more < 128 or data[0] & 1:
                write("mpa", f"{name}.{more}", data[:1], data[1] | more, data[2:])
    mpa_operations()


MPA = enum("CONNECT_PEER, PUT, PUT_REQUEST, PUT_REPLY, END_PEER, PASS, ACCEPT, REJECT, DESTROY, DISCONNECT, LISTEN, "
           "CONNECT, TAKE, ADOPT, ROOM, FAIL, MANNER, MANY, END_QP, LOCAL")


def mpa_operations():
    def ops(*v):
        return bytes(MPA[x] if isinstance(x, str) else x for x in v)

    def listen(name, backlog, *v, config=1 | 3 << 3):
        write("mpa", f"ops-{name}", 0, 128 | config, backlog, ops(*v))

    # Endpoint 0 is the listener. M, C, R, S are 0x80, 0x40, 0x20 and 0x10; enhanced frames have four octets of depths.
    connect = ("CONNECT_PEER", 0)
    depths = (0x00, 0x04, 0x00, 0x04)
    to_peer = (0x80, 0x04, 0x80, 0x04)  # peer-to-peer, the Read on offer

    def adopt(role, flags=0):
        return "ADOPT", next(v for v in range(flags, flags + 4) if v % 3 == role)

    def request(peer, *data, flags=0x40, rev=1):
        return ("PUT_REQUEST", peer, flags, rev, len(data), *data)

    def reply(peer, *data, flags=0x40, rev=1):
        return ("PUT_REPLY", peer, flags, rev, len(data), *data)

    listen("accept", 0, *connect, *request(0, 1, 2), "ACCEPT", 1, 4, "PUT", 0, 2, 1, 1, "END_PEER", 0, 0)
    listen("accept-2", 0, *connect, *request(0, *depths, flags=0x50, rev=2), "ACCEPT", 1, 4, "DISCONNECT", 1, 0, "DESTROY", 1, 0)
    listen("ready", 0, *connect, *request(0, *to_peer, flags=0x50, rev=2), "ACCEPT", 1, 4, "PUT", 0, 1, 1, "END_PEER", 0, 1)
    listen("not-ready", 0, *connect, *request(0, *to_peer, flags=0x50, rev=2), "ACCEPT", 1, 4, "PASS", 255)
    listen("reject", 0, *connect, *request(0), "REJECT", 1, 9, "PASS", 40)
    listen("reject-slowly", 0, *connect, *request(0), "ROOM", 4, "REJECT", 1, 9, "PASS", 4, "ROOM", 255, "PASS", 4)
    listen("accept-slowly", 0, *connect, *request(0), "ROOM", 4, "ACCEPT", 1, 9, "PASS", 4, "ROOM", 255, "PASS", 4)
    listen("accept-never", 0, *connect, *request(0), "ROOM", 4, "ACCEPT", 1, 9, "PASS", 255)
    listen("reject-never", 0, *connect, *request(0), "ROOM", 4, "REJECT", 1, 9, "PASS", 255)
    listen("reject-ended", 0, *connect, *request(0), "ROOM", 4, "REJECT", 1, 9, "END_PEER", 0, 1)
    listen("too-much-said", 0, *connect, *request(0), "REJECT", 1, 255, "ACCEPT", 1, 4, "REJECT", 1, 2)
    listen("gone-before-answer", 0, *connect, *request(0), "END_PEER", 0, 0, "ACCEPT", 1, 4, "REJECT", 1, 2)
    listen("early", 0, *connect, *request(0), "PUT", 0, 3, 1, 2, 3, "ACCEPT", 1, 4)
    listen("turns", 1, *connect, *connect, *connect, *request(0), *request(1, 5), *request(2), "ACCEPT", 1, 4, "DESTROY", 2, 0,
           "REJECT", 3, 4)
    listen("turn-early", 1, *connect, *connect, *request(0), *request(1), "PUT", 1, 1, 1, "PASS", 4)
    listen("turn-ended", 1, *connect, *connect, *request(0), *request(1), "END_PEER", 1, 0, "PASS", 4)
    listen("turn-late", 1, *connect, *connect, *request(0), *request(1), "PASS", 255, "PASS", 255)
    listen("longer", 1, *connect, *connect, *request(0), *request(1), "LISTEN", 0, 3, "PASS", 4, "LISTEN", 1, 1)
    listen("silent", 0, *connect, "PASS", 255)
    listen("flood", 0, "MANY", 0, *request(3), "PASS", 4, "DESTROY", 0, 0)
    listen("flood-waits", 1, *connect, *request(0), *(x for i in range(1, 12) for x in (*connect, *request(i))),
           "MANY", 0, "PASS", 2)
    listen("unclaimed", 1, *connect, *connect, *request(0), "DESTROY", 0, 0, "ACCEPT", 1, 4)
    listen("refused", 0, "MANNER", 1, *connect, *request(0), "MANNER", 2, *connect, *request(1))
    listen("destroyed", 0, *connect, *request(0), "DESTROY", 1, 0, *connect, *request(1), "ROOM", 3, "DESTROY", 1, 0, "PASS", 200)
    listen("qp-ends", 0, *connect, *request(0), "ACCEPT", 1, 4, "END_QP", 0, "DISCONNECT", 1, 0, "DESTROY", 1, 0)
    listen("connect", 0, "CONNECT", 8, "TAKE", *reply(0, *depths, flags=0x50, rev=2), "PASS", 4, "END_PEER", 0, 0)
    listen("connect-way", 0, "LOCAL", 1, "CONNECT", 0, "TAKE", *reply(0, *depths, flags=0x50, rev=2), "PUT", 0, 1, 1, "END_PEER", 0, 0)
    listen("connect-way-waits", 0, "LOCAL", 1, "CONNECT", 0, "TAKE", *reply(0, *depths, flags=0x50, rev=2), "PASS", 255)
    listen("connect-way-no-qp", 0, "LOCAL", 1, "CONNECT", 0, "TAKE", *reply(0, *depths, flags=0x50, rev=2), "END_QP", 0, "PUT", 0, 1, 1)
    listen("connect-rejected", 0, "CONNECT", 0, "TAKE", *reply(0, 1, flags=0x60), *reply(0, *depths, flags=0x70, rev=2))
    listen("connect-refused", 0, "CONNECT", 1, "PASS", 20, "PASS", 255)
    listen("connect-refused-destroyed", 0, "CONNECT", 1, "DESTROY", 1, 0)
    listen("connect-badly", 0, "CONNECT", 2, "CONNECT", 4, "CONNECT", 0, "DISCONNECT", 3, 0, "LISTEN", 3, 1, "REJECT", 3, 1)
    listen("connect-older", 0, "CONNECT", 0, "TAKE", "END_PEER", 0, 0, "TAKE", *reply(1), "PASS", 2)
    listen("connect-older-refused", 0, "CONNECT", 0, "TAKE", "FAIL", 1, 3, "END_PEER", 0, 1, "PASS", 90)
    listen("connect-silent", 0, "CONNECT", 0, "TAKE", "PASS", 255)
    listen("connect-slowly", 0, "CONNECT", 0, "ROOM", 4, "TAKE", "PASS", 4, "ROOM", 255, *reply(0, *depths, flags=0x50, rev=2))
    listen("connect-terms", 0, "CONNECT", 0, "TAKE", *reply(0, 0x40, 0, 0, 0, flags=0x50, rev=2))
    listen("connect-many-reads", 0, "CONNECT", 0, "TAKE", *reply(0, 0, 4, 0x3f, 0xff, flags=0x50, rev=2))
    listen("connect-no-qp", 0, "CONNECT", 0, "TAKE", "END_QP", 0, *reply(0, *depths, flags=0x50, rev=2))
    for n, failure in ((1, 2), (1, 3), (1, 0), (2, 1), (3, 4)):
        listen(f"connect-fails-{n}-{failure}", 0, "FAIL", n, failure, "CONNECT", 0, "TAKE", *reply(0), "PASS", 90)
        listen(f"accept-fails-{n}-{failure}", 0, *connect, *request(0), "FAIL", n, failure, "ACCEPT", 1, 4, "PASS", 9)
    for role, answer in ((0, reply), (1, request), (2, request)):
        listen(f"adopt-{role}", 0, *adopt(role), *answer(0, *depths, flags=0x50, rev=2), "PUT", 0, 1, 1, "END_PEER", 0, 0)
        listen(f"adopt-plain-{role}", 0, *adopt(role, 128), *answer(0), "END_PEER", 0, 1)
        listen(f"adopt-slowly-{role}", 0, *adopt(role, 96), *answer(0, 3, 4), "PASS", 4, "ROOM", 255, "PASS", 2)
        listen(f"adopt-late-{role}", 0, *adopt(role, 64), "PASS", 255)
        listen(f"adopt-ends-{role}", 0, *adopt(role), "END_PEER", 0, 0)
        listen(f"adopt-no-qp-{role}", 0, *adopt(role), "END_QP", 0, *answer(0, *depths, flags=0x50, rev=2))
        listen(f"adopt-nonsense-{role}", 0, *adopt(role), "PUT", 0, 30, *range(30))


# --- receive: requests with a wrong key of our own, on each queue pair; the exchanges without the memory for them ---


def without(data, how):
    """Each record with these bits in its fourth octet."""
    at, out = 0, bytearray(data)
    while at + 6 <= len(out):
        out[at + 3] |= how
        at += 6 + (out[at + 4] | (out[at + 5] & 3) << 8)
    return out


def receive():
    folder = os.path.join(corpus, "receive")
    for name in sorted(n for n in os.listdir(folder) if "." not in n and not n.startswith("wrong-key")):
        data = open(os.path.join(folder, name), "rb").read()
        for how in (4, 8, 16):
            write("receive", f"{name}.without-{how}", without(data, how))
    for q in range(6):
        write("receive", f"wrong-key-{q}", q, 0, 0, 2, 0, 0, q, 0, 3, 0, 0, 0)


for make in (netlink, shm, mailbox, streams, direct, dat, tools, mpa, receive):
    make()
