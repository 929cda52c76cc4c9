# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Targets, as rows: Dapple against the best of the others, in one run.

A ratio is taken in each round, between figures of equal distance (`distance`), and at each distance their median counts. The
best of several others is chosen once for a distance, by their medians: the best of each round would be the luckiest moment of
the machine. A target is met where it is met at each distance that has a ratio.
"""
import statistics

from . import distance, rounds

LINES = [f"line: {where}, {wait}" for where in ("one", "split") for wait in ("none", "pause", "yield")]
RINGS = ["ring, published singly", "ring, published by 32"]
VM = ["process_vm_readv", "process_vm_writev"]
ONE = ["futex, one core", "eventfd, one core"]

AT_MOST, AT_LEAST = "at most", "at least"


def at(names, key=""):
    return [(n, key) for n in ([names] if isinstance(names, str) else names)]


# path, measure, Dapple's rows, others, their name, direction, factor
TARGETS = [
    ("local", "`ib_send_lat` 8 B", at("local ib_send_lat 8 B"), at(LINES),
     "best bare cache line", AT_MOST, 1.3),
    ("local", "`ib_send_lat` 8 B", at("local ib_send_lat 8 B"), at("UCX tag latency, posix+cma", "8"),
     "UCX tag", AT_MOST, 1.0),
    ("local", "`ib_send_lat` 8 B", at("local ib_send_lat 8 B"), at("Open MPI latency, vader", "8"),
     "Open MPI", AT_MOST, 1.0),
    ("local", "`ib_write_lat` 8 B, ordinary memory", at("local ib_write_lat 8 B"),
     at(["write by process_vm_writev", "write by memory descriptor"], "8"),
     "better bare one-sided ping-pong", AT_MOST, 1.15),
    ("local", "`ib_write_lat` 8 B, shared registration", at("shared ib_write_lat 8 B"), at(LINES),
     "best bare cache line", AT_MOST, 1.25),
    ("local", "`ib_write_lat` 8 B, shared registration", at("shared ib_write_lat 8 B"),
     at("UCX put latency, posix+cma", "8"), "UCX put", AT_MOST, 1.0),
    ("local", "64 B Send rate, 2,048 outstanding", at("local ib_send_bw 64 B, 2048 outstanding"),
     at(RINGS), "bare ring", AT_LEAST, 0.35),
    ("local", "64 B Send rate, 2,048 outstanding", at("local ib_send_bw 64 B, 2048 outstanding"),
     at("UCX tag rate, posix+cma", "64"), "UCX tag", AT_LEAST, 1.5),
    ("local", "64 B Send rate, perftest's depth", at("local ib_send_bw 64 B"),
     at("UCX tag rate, posix+cma", "64"), "UCX tag", AT_LEAST, 1.0),
    ("local", "1 MiB Send bandwidth", at("local ib_send_bw 1 MiB"), at("UCX tag bandwidth, posix+cma", "1048576"),
     "UCX tag", AT_LEAST, 1.0),
    # A datagram has a GRH, of 40 octets, and its own destination and Q_Key.
    ("local", "`ib_send_lat -c UD` 8 B", at("local ib_send_lat -c UD 8 B"), at("local ib_send_lat 8 B"), "the same over RC", AT_MOST, 2.25),
    ("local", "64 B Send rate of UD", at("local ib_send_bw -c UD 64 B"), at("UCX tag rate, posix+cma", "64"), "UCX tag", AT_LEAST, 0.4),
    ("local", "`ib_write_lat -c UC` 8 B, ordinary memory", at("local ib_write_lat -c UC 8 B"), at("local ib_write_lat 8 B"),
     "the same over RC", AT_MOST, 1.1),
]
for name, key in (("64 KiB", "65536"), ("1 MiB", "1048576")):
    TARGETS += [
        ("local", f"{name} bandwidth", at(f"local ib_write_bw {name}"), at(VM, key),
         "process_vm", AT_LEAST, 0.95),
        ("local", f"{name} bandwidth", at(f"local ib_write_bw {name}"),
         at("UCX tag bandwidth, posix+cma", key), "UCX tag", AT_LEAST, 1.0),
        ("local", f"{name} bandwidth, shared registration", at(f"shared ib_write_bw {name}"),
         at("memcpy, shared memfd", key), "memcpy", AT_LEAST, 0.95),
        ("local", f"{name} bandwidth, shared registration", at(f"shared ib_write_bw {name}"),
         at("UCX put bandwidth, posix+cma", key), "UCX put", AT_LEAST, 1.0),
    ]
TARGETS += [
    # A work request, and a completion, lie in it.
    ("local", "FAA, target polling", at("local FAA, target polling"), at("ring, round trip"),
     "ring, there and back", AT_MOST, 3.0),
    # Without a wake-up.
    ("local", "FAA, target asleep", at("local FAA, target asleep"), at("sleeper answers poller"),
     "blocking primitive, there and back", AT_MOST, 0.2),
]
# A message library over the verbs of Dapple, against its own shared memory: a queue pair and completion queues lie between, each of
# which the library polls by itself.
for path, ours, other, latency, factors in (
        ("UCX over Dapple", "UCX {}, rc over Dapple", "UCX {}, posix+cma", "tag latency", (3.0, 0.3, 1.0)),
        ("Open MPI over UCX over Dapple", "Open MPI {}, UCX over Dapple", "Open MPI {}, vader", "latency", (4.0, 1.0, 1.0))):
    bandwidth = latency.replace("latency", "bandwidth")
    TARGETS += [(path, f"{latency} 8 B", at(ours.format(latency), "8"), at(other.format(latency), "8"), "its shared memory", AT_MOST, factors[0])]
    TARGETS += [(path, f"{bandwidth} {name}", at(ours.format(bandwidth), key), at(other.format(bandwidth), key), "its shared memory", AT_LEAST,
                 factors[1 + (key != "4096")]) for name, key in (("4 KiB", "4096"), ("64 KiB", "65536"), ("1 MiB", "1048576"))]
TARGETS += [("UCX over Dapple", "tag rate 64 B", at("UCX tag rate, rc over Dapple", "64"), at("UCX tag rate, posix+cma", "64"),
             "its shared memory", AT_LEAST, 0.3),
            ("Open MPI over UCX over Dapple", "latency 32 KiB", at("Open MPI latency, UCX over Dapple", "32768"),
             at("Open MPI latency, vader", "32768"), "its shared memory", AT_MOST, 1.0)]
# Streams: SDP in the program's process, then carried (`dapple run --sdp`) and in that of an unmodified program (`--sdp-own`), against the kernel's TCP and rsockets.
TARGETS += [
    ("SDP", "8 B, half of a round trip", at("stream SDP latency", "8"), at("stream TCP latency", "8"), "TCP over loopback", AT_MOST, 0.5),
    ("SDP", "8 B, half of a round trip", at("stream SDP latency", "8"), at("stream rsocket latency", "8"), "rsockets", AT_MOST, 1.5),
    ("SDP", "64 KiB bandwidth", at("stream SDP bandwidth", "65536"), at("stream TCP bandwidth", "65536"), "TCP over loopback", AT_LEAST, 2.0),
    ("SDP", "64 KiB bandwidth", at("stream SDP bandwidth", "65536"), at("stream rsocket bandwidth", "65536"), "rsockets", AT_LEAST, 1.0),
    ("SDP", "1 MiB bandwidth", at("stream SDP bandwidth", "1048576"), at(VM, "1048576"), "process_vm", AT_LEAST, 0.85),
]
TARGETS += [("SDP", f"{name} bandwidth", at("stream SDP bandwidth", key), at("stream TCP bandwidth", key), "TCP over loopback", AT_LEAST, 1.0)
            for name, key in (("1 B", "1"), ("8 B", "8"), ("64 B", "64"), ("512 B", "512"), ("4 KiB", "4096"), ("16 KiB", "16384"),
                              ("256 KiB", "262144"), ("1 MiB", "1048576"), ("4 MiB", "4194304"))]
TARGETS += [("rsockets", "8 B, half of a round trip", at("stream rsocket latency", "8"), at("stream TCP latency", "8"), "TCP over loopback", AT_MOST, 0.5)]
TARGETS += [("rsockets", f"{name} bandwidth", at("stream rsocket bandwidth", key), at("stream TCP bandwidth", key), "TCP over loopback", AT_LEAST, 1.0)
            for name, key in (("64 B", "64"), ("4 KiB", "4096"), ("16 KiB", "16384"), ("64 KiB", "65536"), ("1 MiB", "1048576"))]
for title, way in (("SDP, carried", "SDP"), ("SDP, `--sdp-own`", "SDP own")):
    for name, slow, factor in (("8 B", True, 0.5), ("64 KiB", False, 2.0), ("1 MiB", False, 1.0)):
        TARGETS += [(title, f"`rstream -T s` {name}", at(f"rstream {way} {name}"), at(f"rstream TCP {name}"), "TCP over loopback",
                     AT_MOST if slow else AT_LEAST, factor)]
# Between two nodes of the soft fabric, which is memory as within a host.
for what in ("ib_send_lat 8 B", "ib_write_lat 8 B", "ib_read_lat 8 B", "ib_atomic_lat", "ib_send_bw 64 B",
             "ib_send_bw 64 B, 2048 outstanding", "ib_write_bw 64 KiB", "ib_write_bw 1 MiB", "ib_read_bw 64 KiB"):
    slow = "lat" in what
    TARGETS += [("InfiniBand", f"`{what.split(' ')[0]}`{what[len(what.split(' ')[0]):]}", at(f"InfiniBand {what}"), at(f"local {what}"),
                 "the same over RoCE within a host", AT_MOST if slow else AT_LEAST, 1.05 if slow else 0.95)]
# On the wire, and on the local path of one host.
for path, tool in (("iWARP", "iWARP"), ("iWARP, one host", "iWARP local")):
    TARGETS += [
        (path, "`ib_send_lat -R` 8 B, polling", at(f"{tool} ib_send_lat 8 B"),
         at("TCP, polling", "8"), "raw TCP, polling", AT_MOST, 1.1),
        (path, "`ib_send_lat -R -e` 8 B", at(f"{tool} ib_send_lat -e 8 B"), at("TCP, blocking"),
         "raw TCP, blocking", AT_MOST, 1.2),
        (path, "64 B Send rate", at(f"{tool} ib_send_bw 64 B"), at("UCX tag rate, tcp", "64"),
         "UCX tcp", AT_LEAST, 10.0),
    ]
    TARGETS += [(path, f"{name} Write" + (", CRC on" if tool == path else ""),
                 at(f"{tool} ib_write_bw {name}"), at(others, key), called, AT_LEAST, factor)
                for name, key in (("64 KiB", "65536"), ("1 MiB", "1048576"))
                for others, called, factor in (("UCX tag bandwidth, tcp", "UCX tcp", 1.0),
                                               ("iperf3", "iperf3", 1.0))]
TARGETS += [("iWARP, one host", f"{name} Write", at(f"iWARP local ib_write_bw {name}"), at("TCP, stream", key), "raw TCP", AT_LEAST, 0.9)
            for name, key in (("64 KiB", "65536"), ("1 MiB", "1048576"))]
# The limit of the machine where a segment carries the CRC of its bytes, and nothing is placed before that is checked, by 1.3.
TARGETS += [("iWARP", f"{size} Write, CRC on", at(f"iWARP ib_write_bw {size}"), at(f"TCP, copied and summed, {size}"),
             "raw TCP, copied and summed at both ends", AT_LEAST, 0.77) for size in ("64 KiB", "1 MiB")]
TARGETS += [
    # What the machine sets where an acknowledgement leaves first, by 1.3; that is 0.58 of libfabric's.
    ("RoCE", "`ib_send_lat` 8 B, polling", at("RoCE ib_send_lat 8 B"), at("UDP, acknowledged, polling"),
     "raw UDP, acknowledged, polling", AT_MOST, 1.3),
    ("RoCE", "`ib_send_lat` 8 B, polling", at("RoCE ib_send_lat 8 B"),
     at("libfabric latency, udp;rxd", "8"), "libfabric's reliable UDP", AT_MOST, 0.75),
    ("RoCE", "64 B Send rate", at("RoCE ib_send_bw 64 B"), at("UDP, a datagram per 64 B"),
     "UDP, a call per datagram", AT_LEAST, 4.0),
]
# What the machine sets where nothing is placed before its ICRC is checked, by 1.3.
TARGETS += [("RoCE", f"{size} Write, MTU 4096", at(f"RoCE ib_write_bw {size}"), at(f"UDP, copied and summed, {size}"),
             "raw UDP, copied and summed at both ends", AT_LEAST, 0.77) for size in ("64 KiB", "1 MiB")]
# A target whose program sleeps, beside an idle processor.
for path, kinds in (("RoCE", ("Read", "Write", "FAA")), ("iWARP", ("Read", "FAA"))):
    TARGETS += [(path, f"8 B {kind}, target asleep", at(f"{path} {kind}, target asleep"), at(f"{path} {kind}, target polling"),
                 "the same, target polling", AT_MOST, 1.5) for kind in kinds]
PATHS = (("local", "local"), ("RoCE", "RoCE"), ("iWARP", "iWARP"), ("iWARP, one host", "iWARP local"))
for path, tool in PATHS:
    TARGETS += [(path, "64 B Send rate, 1,000 queue pairs", at(f"{tool} rate by queue pairs", "1000"),
                 at(f"{tool} rate by queue pairs", "1"), "the same with one", AT_LEAST, 0.8)] if path != "iWARP" else []
# iWARP has a socket for each, whose own rate sets the limit: that by 1.3.
TARGETS += [("iWARP", "64 B Send rate, 1,000 queue pairs", at("iWARP rate by queue pairs", "1000"),
             at("TCP, 16 messages a call, 1,000 sockets"), "raw TCP, 1,000 sockets", AT_LEAST, 0.77)]
TARGETS += [("local", "64 B Send rate, captured (dapple capture)", at("local ib_send_bw 64 B, captured"),
             at("local ib_send_bw 64 B"), "the same without a capture", AT_LEAST, 0.7),
            ("local", "64 B Send rate, checked (dapple check)", at("local ib_send_bw 64 B, checked"),
             at("local ib_send_bw 64 B"), "the same without the checker", AT_LEAST, 1 / 3)]
TARGETS += [("any", "an idle RC QP, KiB beside its queues", at("RoCE memory of a queue pair"), None, "",
             AT_MOST, 4.0),
            ("any", "`ib_send_lat` 8 B, one core", at("local ib_send_lat 8 B, one core"), at(ONE),
             "blocking primitive", AT_MOST, 2.0)]
# By a socket: 1.5 times what the socket itself takes. Of TCP that is 2.6 primitives.
ONE_CORE = {"RoCE": (at("UDP, acknowledged, one core"), "raw UDP, acknowledged, one core", 1.5),
            "iWARP": (at("TCP, blocking, one core"), "raw TCP, blocking, one core", 1.5)}
for path, tool in PATHS:
    others, called, factor = ONE_CORE.get(path, (at(ONE), "blocking primitive", 2.0))
    TARGETS += [(path, f"8 B Send, one core, {said}", at(f"{tool} send, one core, {wait}", "8"), others, called, AT_MOST, factor)
                for wait, said in (("poll", "polling"), ("event", "blocking"))]
TARGETS += [(path, f"idle, {what}", at(f"{path} idle wake-ups", key), None, "", AT_MOST, 0.0)
            for path in ("local", "RoCE", "iWARP")
            for key, what in (("", "wake-ups per second"), ("cpu", "ms of CPU time per second"))]


def pairs():
    """Names of contenders that are compared: (Dapple's, the other's)."""
    return list(dict.fromkeys((ours[0][0], name) for _, _, ours, others, *_ in TARGETS for name, _ in others or ()))


def in_order(rows):
    """The contenders of a target follow one another, so that they meet the same machine; those without a target come last."""
    order = []
    for target in TARGETS:
        names = dict.fromkeys(name for name, _ in target[2] + (target[3] or []))
        at = max((order.index(name) + 1 for name in names if name in order), default=len(order))
        order[at:at] = [name for name in names if name not in order]
    return sorted(rows, key=lambda r: order.index(r.name) if r.name in order else len(order))


def missing(entries, wanted):
    return "; ".join(sorted({f"{n}: {rounds.why_missing(entries.get(n))}" for n, _ in wanted}))


def verdict(row, direction, factor):
    """row: a ratio, and under "at" those of each distance, if it depends on that."""
    ratios = [r["ratio"] for r in row.get("at", [row])]
    return "met" if (max(ratios) <= factor if direction == AT_MOST else min(ratios) >= factor) else "missed"


def summary(ratios):
    return {"ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios), "rounds": len(ratios)}


def quotients(entries, ours, other):
    """(round, level, Dapple's figure, the other's); level None where both have figures, but not at equal distance."""
    theirs = [s for s in rounds.samples(entries, *other) if s[1]]
    for n, mine, line in rounds.samples(entries, *ours):
        there = [(v, at) for m, v, at in theirs if m == n]
        equal = [(v, at) for v, at in there if distance.agree(line, at)]
        for v, at in (equal or there)[:1]:
            yield n, (distance.level(line, at) if line and at else 0.0) if equal else None, mine, v


def at_distance(found, low, high, slow):
    """The best of the others between these levels, the ratios to it, and their level."""
    here = {o: [q for q in got if low <= q[1] <= high] for o, got in found.items()}
    best = (min if slow else max)((o for o in here if here[o]), key=lambda o: statistics.median(q[3] for q in here[o]))
    return best, [q[2] / q[3] for q in here[best]], statistics.median(q[1] for q in here[best])


def compare(entries, ours, others, called):
    both = {o: list(quotients(entries, ours, o)) for o in others}
    found = {o: [q for q in got if q[1] is not None] for o, got in both.items()}
    left = len({q[0] for got in both.values() for q in got} - {q[0] for got in found.values() for q in got})
    at, ratios = [], []
    for low, high in distance.groups([q[1] for got in found.values() for q in got]):
        best, here, level = at_distance(found, low, high, entries[ours[0]]["unit"] == "us")
        at.append({"line": level, "best": best[0] if len(others) > 1 else called, **summary(here)})
        ratios += here
    if not at:
        return {"left": left, "verdict": "no figure", "why": "no round has figures of both" + (" at one distance" if left else "")}
    out = {"best": " / ".join(dict.fromkeys(d["best"] for d in at)), "left": left, **summary(ratios)}
    return {**out, "at": at} if at[0]["line"] else out


def judge(entries, target):
    path, what, ours, others, called, direction, factor = target
    out = {"path": path, "what": what, "against": called, "direction": direction, "factor": factor}
    got = rounds.values(entries, *ours[0])
    if not got:
        return {**out, "verdict": "no figure", "why": missing(entries, ours)}
    if others is None:
        out.update(summary(got))
    elif not any(rounds.values(entries, *o) for o in others):
        return {**out, "verdict": "no figure", "why": missing(entries, others)}
    else:
        out.update(compare(entries, ours[0], others, called))
    return {"verdict": verdict(out, direction, factor), **out} if "ratio" in out else out


def chosen(target, names):
    """True if a row of Dapple of this target is in the run."""
    return any(n in names for n, _ in target[2])


def all_of(entries):
    return [judge(entries, t) for t in TARGETS if chosen(t, entries)]
