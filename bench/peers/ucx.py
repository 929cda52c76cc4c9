# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""UCX by ucx_perftest, over its own shared memory (posix and cma), over TCP, and over the verbs of Dapple's RoCE adapters (all of them, as
it chooses by itself).

`-v` prints CSV: a line of names, then figures; latencies in us (the median is asked for),
bandwidth in MB/s of 2^20, rates per second.
"""
import os

from lib import start
from .row import BANDWIDTH_SIZES, LATENCY_SIZES, row

# name, test, sizes with how often, column, unit
TESTS = [
    ("tag latency", "tag_lat", LATENCY_SIZES, "50.0_percentile_lat", "us"),
    ("put latency", "ucp_put_lat", LATENCY_SIZES, "50.0_percentile_lat", "us"),
    ("am latency", "ucp_am_lat", ("8",), "50.0_percentile_lat", "us"),
    ("tag rate", "tag_bw", ("64",), "overall_mr", "msg/s"),
    ("am rate", "ucp_am_bw", ("64",), "overall_mr", "msg/s"),
    ("put rate", "ucp_put_bw", ("64",), "overall_mr", "msg/s"),
    ("tag bandwidth", "tag_bw", BANDWIDTH_SIZES, "overall_bw", "GB/s"),
    ("put bandwidth", "ucp_put_bw", BANDWIDTH_SIZES, "overall_bw", "GB/s"),
]

OVER_DAPPLE = [
    ("tag latency", "tag_lat", ("8",), "50.0_percentile_lat", "us"),
    ("tag rate", "tag_bw", ("64",), "overall_mr", "msg/s"),
    ("tag bandwidth", "tag_bw", ("4096", "65536", "1048576"), "overall_bw", "GB/s"),
]

TRANSPORTS = [("posix+cma", "posix,cma", "local library"), ("tcp", "tcp", "iwarp")]


def read(text, column):
    lines = [line.strip() for line in text.splitlines() if line.count(",") >= 5]
    names = [i for i, line in enumerate(lines) if line.startswith("iterations")]
    if not names or names[-1] + 1 >= len(lines):
        raise start.Failed("no result line: " + start.last_words(text))
    table = dict(zip(lines[names[-1]].split(","), lines[names[-1] + 1].split(",")))
    return float(table[column])


def figure(text, column):
    """In the unit of its row."""
    return read(text, column) * ((1 << 20) / 1e9 if column == "overall_bw" else 1)


def often(size, latency, tcp):
    """Some tenths of a second, as the others."""
    n = 60000 if latency else 600000 if int(size) <= 512 else 60000
    n = n // 8 if int(size) > 8192 else n
    n = n // 4 if int(size) > 131072 else n
    return max(200, n // 8 if tcp else n)


def runs(test, sizes, column, tls):
    def run(place):
        out = {}
        env = place.env({"UCX_TLS": tls, "UCX_WARN_UNUSED_ENV_VARS": "n"})
        for size in sizes:
            port = start.free_port()
            n = often(size, column.endswith("lat"), tls == "tcp")
            text = start.two(place, ["ucx_perftest", "-p", str(port)],
                             ["ucx_perftest", "127.0.0.1", "-p", str(port), "-t", test, "-s", size,
                              "-n", str(n), "-w", str(n // 10), "-v"], port, env, timeout=30)
            out[size] = figure(text, column)
        return out
    return run


def over_dapple(test, sizes, column):
    def run(place):
        out = {}
        env = place.env({"UCX_TLS": "rc_v", "UCX_WARN_UNUSED_ENV_VARS": "n"})
        for size in sizes:
            n = often(size, column.endswith("lat"), False)
            text = start.one(place, [place.dapple(), "pair", "--adapter", "roce", "--timeout", "40", "--",
                                     os.path.join(place.here, "lib", "pin"), str(place.cpus[1]), str(place.cpus[0]),
                                     "ucx_perftest", "-t", test, "-s", size, "-n", str(n), "-w", str(n // 10), "-v"], env)
            ours = "\n".join(line[len("client|"):] for line in text.splitlines() if line.startswith("client|"))
            out[size] = figure(ours, column)
        return out
    return run


def rows(place):
    lacks = None if start.have("ucx_perftest") else "ucx_perftest is not installed (ucx-utils)"
    built = None if os.path.exists(place.dapple()) else "dapple was not built"
    ours = [row(f"UCX {name}, rc over Dapple", "ucx local library", unit, over_dapple(test, sizes, column), lacks or built)
            for name, test, sizes, column, unit in OVER_DAPPLE]
    return ours + [row(f"UCX {name}, {label}", f"ucx {path} curve" if len(sizes) > 1 else f"ucx {path}", unit,
                runs(test, sizes, column, tls), lacks)
            for label, tls, path in TRANSPORTS for name, test, sizes, column, unit in TESTS]
