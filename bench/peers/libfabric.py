# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""libfabric by fi_pingpong, which is serial: latency alone is taken (a mean, it knows no other).

The result line: bytes, sent, acknowledged, total, time, MB/s, us per transfer, Mxfers/s.
"""
import re

from lib import start
from .row import LATENCY_SIZES, row

# name, provider, endpoint, path, sizes
PROVIDERS = [
    ("shm", "shm", "rdm", "local", LATENCY_SIZES),
    ("tcp", "tcp", "msg", "iwarp", LATENCY_SIZES),
    ("udp;rxd", "udp;ofi_rxd", "rdm", "roce", LATENCY_SIZES[:4]),
]


def read(text):
    lines = [line for line in text.splitlines() if re.match(r"\d+[kmg]?\s+\d+", line)]
    if not lines:
        raise start.Failed("no result line: " + start.last_words(text))
    return float(lines[-1].split()[6])


def runs(provider, kind, sizes):
    def run(place):
        out = {}
        for size in sizes:
            port = start.free_port()
            words = ["-p", provider, "-e", kind, "-S", size, "-I", "3000" if int(size) < 8192 else "500"]
            out[size] = read(start.two(place, ["fi_pingpong", "-B", str(port)] + words,
                                       ["fi_pingpong", "-P", str(port)] + words + ["127.0.0.1"], port,
                                       timeout=20))
        return out
    return run


def rows(place):
    lacks = None if start.have("fi_pingpong") else "fi_pingpong is not installed (libfabric-bin)"
    return [row(f"libfabric latency, {name}", f"libfabric {path} curve", "us",
                runs(provider, kind, sizes), lacks, 5)
            for name, provider, kind, path, sizes in PROVIDERS]
