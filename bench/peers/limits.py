# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The machine itself: bench/limits."""
import os

from lib import start
from .row import BANDWIDTH_SIZES, LATENCY_SIZES, row

SECONDS = "0.3"

# name, tags, unit, program and words
SINGLE = [(f"line: {where}, {wait}", "local", "us", f"bench-line {where} {wait} 50000")
          for where in ("one", "split") for wait in ("none", "pause", "yield")]
SINGLE += [
    ("ring, published singly", "local", "msg/s", f"bench-ring rate 64 8192 1 {SECONDS}"),
    ("ring, published by 32", "local", "msg/s", f"bench-ring rate 64 8192 32 {SECONDS}"),
    ("ring, round trip", "local", "us", "bench-ring trip 64 50000"),
    ("futex", "local iwarp", "us", "bench-wake futex 10000"),
    ("eventfd", "local iwarp", "us", "bench-wake eventfd 10000"),
    ("sleeper answers poller", "local", "us", "bench-wake one 10000"),
    ("TCP, blocking", "iwarp", "us", "bench-rawtcp blat 8 10000"),
    ("TCP, a call per 64 B", "iwarp", "msg/s", f"bench-rawtcp rate 64 {SECONDS}"),
    ("TCP, 16 messages a call, 1 socket", "iwarp scale", "msg/s", f"bench-rawtcp many 1 {SECONDS}"),
    ("TCP, 16 messages a call, 1,000 sockets", "iwarp scale", "msg/s", f"bench-rawtcp many 1000 {SECONDS}"),
    ("TCP, copied and summed, 64 KiB", "iwarp", "GB/s", f"bench-rawtcp sum 65536 {SECONDS}"),
    ("TCP, copied and summed, 1 MiB", "iwarp", "GB/s", f"bench-rawtcp sum 1048576 {SECONDS}"),
    ("UDP, blocking", "roce", "us", "bench-rawudp blat 24 10000"),
    ("UDP, acknowledged, polling", "roce", "us", "bench-rawudp acked 24 20000"),
    ("UDP, a datagram per 64 B", "roce", "msg/s", f"bench-rawudp pps 80 {SECONDS}"),
    ("UDP, GSO and GRO", "roce cpu", "GB/s", f"bench-rawudp bw 4112 {SECONDS}"),
    ("UDP, copied and summed, 64 KiB", "roce cpu", "GB/s", f"bench-rawudp sum 4112 {SECONDS} 65536"),
    ("UDP, copied and summed, 1 MiB", "roce cpu", "GB/s", f"bench-rawudp sum 4112 {SECONDS} 1048576"),
]

ONE_CORE = [
    ("futex, one core", "bench-wake futex 5000"),
    ("eventfd, one core", "bench-wake eventfd 5000"),
    ("line with yield, one core", "bench-line split yield 5000"),
    ("UDP, acknowledged, one core", "bench-rawudp backed 24 5000"),
    ("TCP, blocking, one core", "bench-rawtcp blat 8 5000"),
]

# name, tags, unit, words before the size and after it, sizes, bytes of headers
SWEPT = [
    ("memcpy, private", "local curve cpu", "GB/s", "bench-copy private", SECONDS, BANDWIDTH_SIZES, 0),
    ("memcpy, shared memfd", "local curve cpu", "GB/s", "bench-copy shared", SECONDS,
     BANDWIDTH_SIZES, 0),
    ("process_vm_readv", "local curve cpu streams", "GB/s", "bench-vm readv", SECONDS, BANDWIDTH_SIZES, 0),
    ("process_vm_writev", "local curve cpu streams", "GB/s", "bench-vm writev", SECONDS, BANDWIDTH_SIZES, 0),
    ("write by process_vm_writev", "local curve", "us", "bench-vm wlat", "5000", LATENCY_SIZES, 0),
    ("write by memory descriptor", "local curve", "us", "bench-vm mlat", "5000", LATENCY_SIZES, 0),
    ("TCP, polling", "iwarp curve", "us", "bench-rawtcp lat", "4000", LATENCY_SIZES, 0),
    ("TCP, stream", "iwarp curve cpu", "GB/s", "bench-rawtcp bw", SECONDS, BANDWIDTH_SIZES, 0),
    # The 16 are BTH and ICRC, as a RoCE packet has them; larger ones would be several packets.
    ("UDP, polling", "roce curve", "us", "bench-rawudp lat", "4000", LATENCY_SIZES[:4], 16),
]


def single(words, one_core=False):
    def run(place):
        name, *rest = words.split()
        return start.figures(start.one(place, [place.limit(name)] + rest,
                                       place.env(one_core=one_core)))
    return run


def swept(words, last, sizes, headers):
    def run(place):
        name, *rest = words.split()
        out = {}
        for size in sizes:
            got = start.figures(start.one(place, [place.limit(name)] + rest +
                                          [str(int(size) + headers), last]))
            out[size] = got[""]
            if "cpu" in got:
                out["cpu" + size] = got["cpu"]
        return out
    return run


def rows(place):
    def lacks(words):
        program = place.limit(words.split()[0])
        if place.cpus[0] == place.cpus[1] and {"none", "pause"} & set(words.split()):
            return "both ends spin, which needs two processors"
        return None if os.path.exists(program) else f"{os.path.basename(program)} was not built"
    out = [row(n, "limits " + tags, unit, single(w), lacks(w)) for n, tags, unit, w in SINGLE]
    out += [row(n, "limits one-core", "us", single(w, True), lacks(w)) for n, w in ONE_CORE]
    out += [row(n, "limits " + tags, unit, swept(w, last, sizes, extra), lacks(w))
            for n, tags, unit, w, last, sizes, extra in SWEPT]
    return out
