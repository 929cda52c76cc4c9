# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Dapple, measured by Debian's unmodified perftest and by bench-verbs and bench-connections.

perftest prints us, MB/s (2^20) and Mpps; its typical latency (the median), average bandwidth and
rate are used.
"""
import os
import re
import subprocess

from lib import start, targets
from .row import BANDWIDTH_SIZES, LATENCY_SIZES, row

LATENCY, RATE, BANDWIDTH = range(3)
UNITS = ("us", "msg/s", "GB/s")

WIRE = {"DAPPLE_LOCAL": "off"}
SHARE = {"DAPPLE_SHARE": "1"}
LOCAL = {}

# Some tenths of a second each: perftest has no warm-up, and in runs of 50 ms what happens once was a quarter of the time.
LAT, BW, BW_LONG = "-n 200000", "-n 100000", "-n 10000"
WIRE_LAT, WIRE_BW, WIRE_BW_LONG = "-n 20000", "-n 20000", "-n 2000"
# name, tags, adapter, environment, command, result
PERFTEST = [
    ("local ib_send_lat 8 B", "local", "roce", LOCAL, f"ib_send_lat -s 8 {LAT}", LATENCY),
    ("local ib_write_lat 8 B", "local", "roce", LOCAL, f"ib_write_lat -s 8 {LAT}", LATENCY),
    ("local ib_read_lat 8 B", "local", "roce", LOCAL, f"ib_read_lat -s 8 {LAT}", LATENCY),
    ("local ib_atomic_lat", "local", "roce", LOCAL, "ib_atomic_lat -A FETCH_AND_ADD -n 100000", LATENCY),
    ("local ib_send_bw 64 B", "local", "roce", LOCAL, "ib_send_bw -s 64 -n 3000000", RATE),
    ("local ib_send_bw 64 B, 2048 outstanding", "local", "roce", LOCAL,
     "ib_send_bw -s 64 -n 3000000 -t 2048 -r 2048", RATE),
    ("local ib_write_bw 64 KiB", "local", "roce", LOCAL, f"ib_write_bw -s 65536 {BW}", BANDWIDTH),
    ("local ib_write_bw 1 MiB", "local", "roce", LOCAL, f"ib_write_bw -s 1048576 {BW_LONG}", BANDWIDTH),
    ("local ib_read_bw 64 KiB", "local", "roce", LOCAL, f"ib_read_bw -s 65536 {BW}", BANDWIDTH),
    ("local ib_send_bw 1 MiB", "local long", "roce", LOCAL, f"ib_send_bw -s 1048576 {BW_LONG}", BANDWIDTH),
    ("local ib_send_lat -c UD 8 B", "local unreliable", "roce", LOCAL, f"ib_send_lat -c UD -s 8 {LAT}", LATENCY),
    ("local ib_send_bw -c UD 64 B", "local unreliable", "roce", LOCAL, "ib_send_bw -c UD -s 64 -n 3000000", RATE),
    ("local ib_write_lat -c UC 8 B", "local unreliable", "roce", LOCAL, f"ib_write_lat -c UC -s 8 {LAT}", LATENCY),
    ("shared ib_write_lat 8 B", "local share", "roce", SHARE, f"ib_write_lat -s 8 {LAT} --flows 32",
     LATENCY),                                  # flows: a buffer outside the heap
    ("shared ib_write_bw 64 KiB", "local share", "roce", SHARE, f"ib_write_bw -s 65536 {BW}",
     BANDWIDTH),
    ("shared ib_write_bw 1 MiB", "local share", "roce", SHARE, f"ib_write_bw -s 1048576 {BW_LONG}",
     BANDWIDTH),
    ("RoCE ib_send_lat 8 B", "roce", "roce", WIRE, f"ib_send_lat -s 8 {WIRE_LAT}", LATENCY),
    ("RoCE ib_write_lat 8 B", "roce", "roce", WIRE, f"ib_write_lat -s 8 {WIRE_LAT}", LATENCY),
    ("RoCE ib_read_lat 8 B", "roce", "roce", WIRE, f"ib_read_lat -s 8 {WIRE_LAT}", LATENCY),
    ("RoCE ib_atomic_lat", "roce", "roce", WIRE, "ib_atomic_lat -A FETCH_AND_ADD -n 5000", LATENCY),
    ("RoCE ib_read_bw 64 KiB", "roce", "roce", WIRE, "ib_read_bw -s 65536 -n 5000 -m 4096", BANDWIDTH),
    ("RoCE ib_send_bw 64 B", "roce", "roce", WIRE, "ib_send_bw -s 64 -n 500000", RATE),
    ("RoCE ib_write_bw 64 KiB", "roce", "roce", WIRE, f"ib_write_bw -s 65536 -m 4096 {WIRE_BW}",
     BANDWIDTH),
    ("RoCE ib_write_bw 1 MiB", "roce", "roce", WIRE, f"ib_write_bw -s 1048576 -m 4096 {WIRE_BW_LONG}",
     BANDWIDTH),
    ("iWARP ib_send_lat 8 B", "iwarp", "iwarp", WIRE, f"ib_send_lat -R -s 8 {WIRE_LAT}", LATENCY),
    ("iWARP ib_send_lat -e 8 B", "iwarp", "iwarp", WIRE, "ib_send_lat -R -e -s 8 -n 5000", LATENCY),
    ("iWARP ib_write_lat 8 B", "iwarp", "iwarp", WIRE, f"ib_write_lat -R -s 8 {WIRE_LAT}", LATENCY),
    ("iWARP ib_read_lat 8 B", "iwarp", "iwarp", WIRE, f"ib_read_lat -R -s 8 {WIRE_LAT}", LATENCY),
    ("iWARP ib_atomic_lat", "iwarp", "iwarp", WIRE, "ib_atomic_lat -R -A FETCH_AND_ADD -n 5000", LATENCY),
    ("iWARP ib_read_bw 64 KiB", "iwarp", "iwarp", WIRE, "ib_read_bw -R -s 65536 -n 5000", BANDWIDTH),
    ("iWARP ib_send_bw 64 B", "iwarp", "iwarp", WIRE, "ib_send_bw -R -s 64 -n 500000", RATE),
    ("iWARP ib_write_bw 64 KiB", "iwarp", "iwarp", WIRE, f"ib_write_bw -R -s 65536 {WIRE_BW}", BANDWIDTH),
    ("iWARP ib_write_bw 1 MiB", "iwarp", "iwarp", WIRE, f"ib_write_bw -R -s 1048576 {WIRE_BW_LONG}", BANDWIDTH),
]

# The same within a host, where programs use shared memory unless DAPPLE_LOCAL=off.
PERFTEST += [(name.replace("iWARP", "iWARP local"), tags, adapter, LOCAL, command, result)
             for name, tags, adapter, _, command, result in PERFTEST
             if name in ("iWARP ib_send_lat 8 B", "iWARP ib_send_lat -e 8 B", "iWARP ib_send_bw 64 B",
                         "iWARP ib_write_bw 64 KiB", "iWARP ib_write_bw 1 MiB")]

# The same between two nodes of the soft fabric, which `dapple pair` makes for each run; the local path too.
PERFTEST += [(name.replace("local", "InfiniBand"), "infiniband", "ib", LOCAL, command, result)
             for name, tags, adapter, _, command, result in PERFTEST
             if tags == "local" and adapter == "roce"]

# The paths of bench-verbs.
PATHS = [("local", "roce", LOCAL), ("RoCE", "roce", WIRE), ("iWARP", "iwarp", WIRE),
         ("shared", "roce", SHARE)]

# One-sided requests of 8 bytes.
PASSIVE = (("FAA", "faa"), ("Read", "read"), ("Write", "write"))

QPS = ("1", "10", "100", "1000")
CONNECTIONS = ("10", "100", "1000", "5000")


def of_perftest(text, result):
    """The numbers of the client's result line."""
    numbers = [line for line in text.splitlines() if re.match(r"client\| +\d+ +\d+ ", line)]
    if not numbers:
        raise start.Failed("no result line: " + start.last_words(text))
    fields = [float(x) for x in numbers[-1].split("|")[1].split()]
    if result == LATENCY:
        return fields[4]                      # t_typical
    return fields[4] * 1e6 if result == RATE else fields[3] * (1 << 20) / 1e9


# Words in front of `dapple pair`. Under dapple capture: headers of every message, to nowhere. The reader shares the processors of the ends.
CHECKED = ("check", "--")
CAPTURED = ("capture", "-o", "/dev/null", "--ring", "64", "--")


def perftest(adapter, env, command, result, one_core=False, below=()):
    def run(place):
        cpus = (place.cpus[0],) * 2 if one_core else place.cpus
        words = [place.dapple(), *below, *([place.dapple()] if below else []), "pair", "--adapter", adapter, "--timeout", "40", "--",
                 os.path.join(place.here, "lib", "pin"), str(cpus[1]), str(cpus[0])] + command.split()
        return {"": of_perftest(start.one(place, words, place.env(env)), result)}
    return run


def verbs(place, adapter, env, words, one_core=False):
    return start.figures(start.one(
        place, [place.dapple(), "run", "--adapter", adapter, "--",
                place.program("verbs", "bench-verbs")] + words.split(),
        place.env(env, one_core), timeout=60))


def by_verbs(adapter, env, words, one_core=False):
    return lambda place: verbs(place, adapter, env, words, one_core)


def by_qps(adapter, env):
    return lambda place: {n: verbs(place, adapter, env, f"rate {n} 0.3")[""] for n in QPS}


def connections(adapter):
    """Rate, and resident KiB of an idle one (the larger end) as "kib..."."""
    def run(place):
        out = {}
        for n in CONNECTIONS[:2] if place.quick else CONNECTIONS:
            text = start.one(place, [place.dapple(), "run", "--adapter", adapter, "--",
                                     place.program("scale", "bench-connections"), n], timeout=120)
            rate = re.search(r"at a time: (\d+)/s", text)
            kib = re.search(r"idle one: ([-\d.]+) KiB at the client, ([-\d.]+) KiB", text)
            if not rate or not kib:
                raise start.Failed("no figures: " + start.last_words(text))
            out[n] = float(rate[1])
            out["kib" + n] = max(0.0, float(kib[1]), float(kib[2]))
        return out
    return run


def share_is_there(place):
    """False for a build without shared registration, which would be measured under that name."""
    try:
        done = subprocess.run([place.dapple(), "run", "--help"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
    except OSError:
        return False
    return "--share" in done.stdout


def busy_rows(path, tag, adapter, env, why):
    out = [row(f"{path} rate by queue pairs", f"verbs {tag} scale", "msg/s", by_qps(adapter, env), why, 5)]
    for wait in ("poll", "event"):
        out.append(row(f"{path} send, one core, {wait}", f"verbs {tag} one-core", "us",
                       by_verbs(adapter, env, f"lat send {wait} 8 5000", True), why))
    return out


def verbs_rows(lacks, no_share):
    lat, bw = ",".join(LATENCY_SIZES), ",".join(BANDWIDTH_SIZES)
    out = []
    for path, adapter, env in PATHS:
        why = lacks or (no_share if path == "shared" else None)
        tag = "local share" if path == "shared" else path.lower()

        def add(name, tags, unit, run, most=99, why=why, tag=tag, path=path):
            out.append(row(f"{path} {name}", f"verbs {tag} {tags}", unit, run, why, most))
        kinds = ("write",) if path == "shared" else ("send", "write")
        for kind in kinds:
            add(f"{kind} latency", "curve", "us", by_verbs(adapter, env, f"lat {kind} poll {lat} 4000"), 5)
            add(f"{kind} bandwidth", "curve cpu", "GB/s",
                by_verbs(adapter, env, f"bw {kind} poll {bw} 0.2"), 5)
        if path == "shared":
            continue
        out += busy_rows(path, tag, adapter, env, why)
        add("send bandwidth, events", "cpu", "GB/s", by_verbs(adapter, env, f"bw send event {bw} 0.2"), 5)
        add("send percentiles, polling", "tail", "us", by_verbs(adapter, env, "tail send poll 8 100000"), 3)
        add("send percentiles, events", "tail", "us", by_verbs(adapter, env, "tail send event 8 30000"), 3)
        for said, kind in PASSIVE:
            # A Write over iWARP is complete when TCP has it.
            if kind != "write" or path == "RoCE":
                add(f"{said}, target polling", "passive", "us", by_verbs(adapter, env, f"passive {kind} poll 5000"))
                add(f"{said}, target asleep", "passive", "us", by_verbs(adapter, env, f"passive {kind} sleep 3000"))
        add("idle wake-ups", "idle", "1/s", by_verbs(adapter, env, "quiet 10 2"), 2)
    return out + busy_rows("iWARP local", "iwarp", "iwarp", LOCAL, lacks)


def rows(place):
    built = None if os.path.exists(place.dapple()) else "dapple was not built"
    no_verbs = built or (None if os.path.exists(place.program("verbs", "bench-verbs")) else
                    "bench-verbs was not built (librdmacm-dev)")
    scale = built or (None if os.path.exists(place.program("scale", "bench-connections")) else
                      "bench-connections was not built (librdmacm-dev)")
    no_share = None if built or share_is_there(place) else "this build has no shared registration"
    judged = {name for t in targets.TARGETS for name, _ in t[2]}
    out = []
    for name, tags, adapter, env, command, result in PERFTEST:
        lacks = built or (None if start.have(command.split()[0]) else "perftest is not installed")
        lacks = lacks or (no_share if env is SHARE else None)
        out.append(row(name, "perftest " + tags, UNITS[result],
                       perftest(adapter, env, command, result), lacks, 99 if name in judged else 2))
    lacks = built or (None if start.have("ib_send_lat") else "perftest is not installed")
    out.append(row("local ib_send_lat 8 B, one core", "perftest one-core", "us",
                   perftest("roce", LOCAL, "ib_send_lat -s 8 -n 3000", LATENCY, True), lacks))
    out.append(row("local ib_send_bw 64 B, captured", "perftest local capture", "msg/s",
                   perftest("roce", LOCAL, "ib_send_bw -s 64 -n 3000000", RATE, below=CAPTURED), lacks))
    out.append(row("local ib_send_bw 64 B, checked", "perftest local check", "msg/s",
                   perftest("roce", LOCAL, "ib_send_bw -s 64 -n 3000000", RATE, below=CHECKED), lacks))
    out += verbs_rows(no_verbs, no_share)
    out.append(row("RoCE memory of a queue pair", "verbs scale", "KiB",
                   by_verbs("roce", LOCAL, "memory 1000"), no_verbs, 3))
    for name, adapter in (("RoCE", "roce"), ("iWARP", "iwarp")):
        out.append(row(f"{name} connections", "verbs scale", "1/s", connections(adapter), scale, 2))
    return out
