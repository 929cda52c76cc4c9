#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
Random fabrics: up, links and switches broken in random order while OpenSM sweeps, and mended. Whenever OpenSM has settled,
with links and switches missing and at the end: its dump of the tables is what the switches' agents answer, each pair of live
nodes has a route along links, nodes that cannot be reached are gone from the SA, and the others are there. At the end
ibnetdiscover sees the topology that the fabric has.
    random_fabrics [--fabrics N] [--seed S] [--jobs J]     default 2 fabrics, seed 1, one at a time; a failing one is repeated by --seed
"""
import argparse
import random

from fabric import *

need("opensm", "ibnetdiscover", "saquery", "ibtracert")
parser = argparse.ArgumentParser()
parser.add_argument("--fabrics", type=int, default=2)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--jobs", type=int, default=1)
args = parser.parse_args()


def share():
    """Fabrics wait for timers of OpenSM most of their time: some at once, each worker with its own seeds and runtime directory."""
    each = -(-args.fabrics // args.jobs)
    last = args.seed + args.fabrics
    workers = [subprocess.Popen([sys.executable, __file__, "--seed", str(s), "--fabrics", str(min(each, last - s))])
               for s in range(args.seed, last, each)]
    for worker in workers:
        check(worker.wait() == 0, "a worker has failed: its seeds are above")
    finish()


if args.jobs > 1:
    share()


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


def dumped(f):
    return opensm_tables(f"{f.dumps}/opensm-lfts.dump", {g: n for n, g in guids_of(f).items()}) \
        if os.path.exists(f"{f.dumps}/opensm-lfts.dump") else {}


def live(f, wires):
    """Nodes that links join to the SM's node."""
    seen, more = {"h0"}, ["h0"]
    while more:
        at = more.pop()
        for (a, _), (b, _) in wires.items():
            if a == at and b not in seen:
                seen.add(b)
                more.append(b)
    return seen


def broken_pairs(f, wires, alive, tables):
    lids = node_lids(f)
    ends = [n for n in alive if lids[n][0] == "node"]
    return [(a, b) for a in ends for b in ends if a != b and not follow(tables, wires, a, b, lids[b][1])]


def agrees(f):
    """One look: None, or what does not agree yet."""
    out = f.dapple("show", "links").stdout
    wires = links(f)
    alive = live(f, wires)
    # A link between live nodes that is up but not active: OpenSM is not done.
    waiting = [m[0] for m in re.findall(r"^(\S+)\s+\d+\s+(\S+)\s+\d+\s+(?:init|armed)", out, re.M) if m[0] in alive or m[1] in alive]
    if waiting:
        return f"links of {waiting} are not active"
    sa = set(re.findall(r"NodeDescription\.+(\S+)", f.run("h0", "saquery", None, quiet=True)))
    if sa != alive:
        return f"the SA has {sorted(sa - alive)} too many and {sorted(alive - sa)} too few"
    tables = switch_tables(f, "h0")
    own = dumped(f)
    if own != tables:
        return f"dump and switches differ: {[n for n in tables if tables[n] != own.get(n)]}"
    lost = broken_pairs(f, wires, alive, tables)
    return f"no route: {lost[:5]}" if lost else None


def settle(f, what):
    state = ["nothing looked at"]

    def look():
        state[0] = agrees(f)
        return state[0] is None

    if until(look, what, 120) is None:
        check(False, what, state[0])


def break_and_mend(f, t, rng, what):
    cut = []

    def pull(a, ap, how):
        f.dapple("link", f"{a}/{ap}", how)
        if how == "down":
            cut.append((a, ap))

    for _ in range(rng.randint(3, 10)):
        (a, ap), (b, bp, *_) = rng.choice(sorted(t.links.items()))
        if "h0" in (a, b):      # the SM's own cable stays
            continue
        if rng.random() < 0.2 and a.startswith("s") and t.links["h0", 1][0] != a:
            for port in sorted(p for n, p in t.links if n == a):     # a switch loses its power
                pull(a, port, "down")
        else:
            pull(a, ap, rng.choice(("down", "flap", "down")))
        if rng.random() < 0.3:
            settle(f, f"{what}, with {len(cut)} cables out")
    rng.shuffle(cut)
    for a, ap in cut:
        f.dapple("link", f"{a}/{ap}", "up")


for seed in range(args.seed, args.seed + args.fabrics):
    rng = random.Random(seed)
    t = make(rng)
    before = faults
    conf = f"{work}/random.conf"
    with open(conf, "w") as out:
        out.write("sweep_interval 2\n")
    f = Fabric(t, "--", "-F", conf, "-D", "0x43", sm="h0", name="r")
    f.dumps = f"{os.environ['DAPPLE_RUNTIME_DIR']}/fabric/r/opensm-h0"
    settle(f, f"seed {seed}, at first")
    break_and_mend(f, t, rng, f"seed {seed}")
    settle(f, f"seed {seed}, mended")
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
