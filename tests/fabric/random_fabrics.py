#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
Random fabrics: up, links and switches broken in random order while OpenSM sweeps, and mended. At the end every linked
port is active, the SA has every node that can be reached, ibnetdiscover sees the topology that the fabric has, and
ibtracert finds a route between end nodes.
    random_fabrics [--fabrics N] [--seed S]     default 2 fabrics, seed 1; a failing one is repeated by --seed
"""
import argparse
import random

from fabric import *

need("opensm", "ibnetdiscover", "saquery", "ibtracert")
parser = argparse.ArgumentParser()
parser.add_argument("--fabrics", type=int, default=2)
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()


def make(rng):
    """A connected graph of switches, some doubled links, an end node or more on each."""
    t, free = Topology(), {}
    n = rng.randint(2, 8)
    for i in range(n):
        t.node(f"s{i}", "Switch", 24, 0x0002c90000200000 + 0x100 * i)
        free[f"s{i}"] = list(range(1, 25))
        rng.shuffle(free[f"s{i}"])

    def join(a, b):
        t.link(a, free[a].pop(), b, free[b].pop())

    for i in range(1, n):
        join(f"s{i}", f"s{rng.randrange(i)}")
    for _ in range(rng.randint(0, 2 * n)):
        a, b = rng.sample(range(n), 2)
        join(f"s{a}", f"s{b}")
    hosts = 0
    for i in range(n):
        for _ in range(rng.randint(1, 3)):
            t.node(f"h{hosts}", "Ca", 1, 0x0002c90000100000 + 0x10 * hosts)
            s = f"s{i}"
            t.link(f"h{hosts}", 1, s, free[s].pop())
            hosts += 1
    return t


def settled(f):
    """All linked ports are active."""
    out = f.dapple("show").stdout
    m = re.search(r"(\d+) of (\d+) linked ports active", out)
    return m and m[1] == m[2] and m[1] != "0"


def sa_nodes(f):
    return len(re.findall("NodeRecord dump", f.run("h0", "saquery", status=None, quiet=True)))


def break_and_mend(f, t, rng):
    cut = []
    for _ in range(rng.randint(3, 10)):
        (a, ap), (b, bp, *_) = rng.choice(sorted(t.links.items()))
        if a == "h0" or b == "h0":      # the SM's own cable stays
            continue
        what = rng.choice(("down", "flap", "down"))
        f.dapple("link", f"{a}/{ap}", what)
        if what == "down":
            cut.append((a, ap))
        if rng.random() < 0.3:
            until(lambda: settled(f), "a sweep with links down")
    rng.shuffle(cut)
    for a, ap in cut:
        f.dapple("link", f"{a}/{ap}", "up")


for seed in range(args.seed, args.seed + args.fabrics):
    rng = random.Random(seed)
    t = make(rng)
    before = faults
    f = Fabric(t, sm="h0", name="r")
    break_and_mend(f, t, rng)
    until(lambda: settled(f) and sa_nodes(f) == len(t.nodes), f"seed {seed}: the mended fabric")
    seen, lids = read_discovery(f.run("h0", "ibnetdiscover"))
    check(seen.links == t.links, f"seed {seed}: ibnetdiscover sees other links")
    hosts = t.of_kind("Ca")
    for a, b in [rng.sample(hosts, 2) for _ in range(5)] if len(hosts) > 1 else []:
        out = f.run(a, f"ibtracert {lids[a, 1]} {lids[b, 1]}")
        check(f'"{b}"' in out or b in out, f"seed {seed}: ibtracert {a} {b}")
    f.down()
    print(f"seed {seed}: {len(t.nodes)} nodes, {len(t.links) // 2} links", "ok" if globals()["faults"] == before else "FAULTY",
          flush=True)
finish()
