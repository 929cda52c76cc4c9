# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Streams of octets within a host: TCP over loopback, rsockets and SDP, by bench-streams and by Debian's rstream.

bench-streams calls SDP in its own process. rstream is a program of TCP (-T s) that `dapple run --sdp` carries, through the carrier, and
--sdp-own in its own process.
rstream prints Gb/sec and usec/xfer, half of a round trip.
"""
import os
import subprocess
import time

from lib import start
from .row import row

SIZES = ("1", "8", "64", "512", "4096", "16384", "65536", "262144", "1048576", "4194304")
LATENCY = ("8", "4096", "65536")
WAYS = (("TCP", "tcp"), ("rsocket", "rsocket"), ("SDP", "sdp"))


def streams(way, measure, sizes, count):
    def run(place):
        return start.figures(start.one(place, [place.dapple(), "run", "--adapter", "roce", "--", place.program("sdp", "bench-streams"), way,
                                               measure, ",".join(sizes), count], place.env()))
    return run


def client_of(place, words):
    """The output of the client, which is started again until the server listens: its port space is not TCP's."""
    until = time.monotonic() + 10
    while True:
        try:
            out = start.one(place, words, place.env())
        except start.Failed:
            out = ""
        figures = [f for f in map(str.split, out.splitlines()) if len(f) == 8 and f[0] == "custom"]
        if figures:
            return figures[-1]
        if time.monotonic() > until:
            raise start.Failed("rstream: " + start.last_words(out))
        time.sleep(0.05)


def rstream(launcher, flags, size, calls, turns, field):
    port = str(start.free_port())
    words = ["rstream", *flags, "-T", "b", "-S", size, "-C", calls, "-I", turns, "-p", port]

    def run(place):
        head = [place.dapple(), *launcher] if launcher else []
        server = start.spawn(place, [*head, "taskset", "-c", str(place.cpus[1]), *words], place.env())
        try:
            got = client_of(place, [*head, "taskset", "-c", str(place.cpus[0]), *words, "-s", "127.0.0.1"])
            return {"": float(got[field]) / (8 if field == -2 else 1)}
        finally:
            try:
                server.wait(2)
            except subprocess.TimeoutExpired:
                pass
            start.end(server)
    return run


CARRIED = (("TCP", (), ("-T", "s")), ("rsocket", ("run", "--adapter", "roce", "--"), ()),
           ("SDP", ("run", "--sdp", "--adapter", "roce", "--"), ("-T", "s")),
           ("SDP own", ("run", "--sdp-own", "--adapter", "roce", "--"), ("-T", "s")))


def rows(place):
    lacks = None if os.path.exists(place.program("sdp", "bench-streams")) else "bench-streams was not built (librdmacm-dev)"
    out = []
    for name, way in WAYS:
        out.append(row(f"stream {name} latency", "streams local", "us", streams(way, "lat", LATENCY, "2000"), lacks))
        out.append(row(f"stream {name} bandwidth", "streams local", "GB/s", streams(way, "bw", SIZES, "512"), lacks))
    lacks = None if start.have("rstream") else "rstream is not installed (rdmacm-utils)"
    for name, launcher, flags in CARRIED:
        out.append(row(f"rstream {name} 8 B", "streams local rstream", "us", rstream(launcher, flags, "8", "1", "2000", -1), lacks))
        for said, size, calls in (("64 KiB", "65536", "1000"), ("1 MiB", "1048576", "100")):
            out.append(row(f"rstream {name} {said}", "streams local rstream", "GB/s", rstream(launcher, flags, size, calls, "2", -2), lacks))
    return out
