#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
Each routing engine of OpenSM on a topology made for it, and on one that it refuses, where OpenSM falls back on another as its
manual says. Judged by the engine that the log names, by sminfo, and by the tables of the switches as their agents answer them
(dump_fts): they are OpenSM's own dump, each pair of end ports has a route along links, and an engine that promises freedom from
deadlocks has none (no ring of links that wait for each other, on any virtual lane). LMC 0 to 3 as well.
    engines.py [--all] [ENGINE...]      without --all minhop, updn, ftree and one fall-back
"""
import glob

from fabric import *

need("opensm", "sminfo", "dump_fts", "saquery")

TREE = ["--tree", "4x4x2"]
TORUS = ["--torus", "3x3x3:1"]
GRID = ["--torus", "5x5:1"]
RING = ["--torus", "6:1"]
LANE = "max_op_vls 1\n"     # one data lane
CONF = """torus 3 3 3
xp_link 0x{0:x} 0x{1:x}
yp_link 0x{0:x} 0x{2:x}
zp_link 0x{0:x} 0x{3:x}
"""


class Row:
    """Engine, topology, engine that is used. lanes: what the promise of no deadlocks holds for: None, "one" or "sl"."""

    def __init__(self, engine, topology, used=None, lanes=None, options=(), conf=""):
        self.engine, self.topology, self.used, self.lanes = engine, topology, used or engine, lanes
        self.options, self.conf = list(options), conf


ROWS = [
    Row("minhop", TREE),
    Row("updn", TREE, lanes="one", options=["-a", "roots"]),
    Row("dnup", TREE, lanes="one", options=["-a", "roots"]),
    Row("ftree", TREE, lanes="one"),
    Row("lash", GRID, lanes="sl"),
    Row("dor", GRID),
    Row("torus-2QoS", TORUS, options=["-Q", "--torus_config", "torus.conf"]),
    Row("dfsssp", GRID, lanes="sl", options=["-Q"]),
    Row("sssp", TREE),
    Row("file", TREE, options=["-U", "saved.lfts"]),
    # What they refuse.
    Row("ftree", TORUS, "minhop"),
    Row("ftree,updn", RING, "updn", options=["-a", "roots"], lanes="one"),
    Row("updn", RING, "minhop"),                                # no roots
    Row("lash", GRID, "minhop", conf=LANE),                    # more lanes than there are
    Row("dfsssp", GRID, "minhop", conf=LANE),
    Row("torus-2QoS", TREE, "minhop", options=["-Q", "--torus_config", "torus.conf"]),
]
FEW = (0, 1, 3, 10)


def has_ring(after):
    """True if the graph {link: links that packets take after it} has a cycle."""
    state = {}
    for start in after:
        stack = [(start, iter(after.get(start, ())))]
        if start in state:
            continue
        state[start] = 1
        while stack:
            node, more = stack[-1]
            nxt = next(more, None)
            if nxt is None:
                state[node] = 2
                stack.pop()
            elif state.get(nxt) == 1:
                return True
            elif nxt not in state:
                state[nxt] = 1
                stack.append((nxt, iter(after.get(nxt, ()))))
    return False


def service_levels(f):
    """SL of each path, by the SA: {(slid, dlid): sl}."""
    out, levels = f.run("n1", "saquery -p", timeout=120), {}
    for part in out.split("PathRecord dump")[1:]:
        v = dict(re.findall(r"(dlid|slid|sl)\.+(?:0x)?([0-9A-Fa-f]+)", part, re.I))
        v = {k.lower(): x for k, x in v.items()}
        levels[int(v["slid"]), int(v["dlid"])] = int(v["sl"], 16)
    return levels


def judge_routes(f, row, tables):
    lids, wires = node_lids(f), links(f)
    ends = [n for n, (kind, _) in lids.items() if kind == "node"]
    levels = service_levels(f) if row.lanes == "sl" else {}
    after, lost = {}, []
    for a in ends:
        for b in ends:
            if a == b:
                continue
            way = follow(tables, wires, a, b, lids[b][1])
            if not way:
                lost.append((a, b))
                continue
            graph = after.setdefault(levels.get((lids[a][1], lids[b][1]), 0), {})
            for x, y in zip(way, way[1:]):
                graph.setdefault(x, set()).add(y)
    check(not lost, row.engine, "leaves pairs without a route:", lost[:5])
    rings = [sl for sl, graph in after.items() if has_ring(graph)]
    if row.lanes and row.used == row.engine.split(",")[-1]:
        check(not rings, row.engine, "can deadlock on lanes", rings)
    return bool(rings)


def prepare(f, row, number):
    """The files that the options name."""
    guids = guids_of(f)
    corner = ("t0-0-0", "t1-0-0", "t0-1-0", "t0-0-1") if row.topology is TORUS else ("leaf1", "spine1") * 2
    if "torus.conf" in row.options:
        with open(f"{work}/torus.conf", "w") as out:
            out.write(CONF.format(*(guids[n] for n in corner)))
    if "roots" in row.options:
        with open(f"{work}/roots", "w") as out:
            for name, guid in guids.items():
                if name.startswith("spine") or name == "t0-0-0":
                    out.write(f"0x{guid:016x}\n")
    os.mkdir(f"{work}/dump{number}")
    with open(f"{work}/conf{number}", "w") as out:
        out.write(row.conf)


def run(number, row):
    began = time.monotonic()
    f = Fabric(None, *row.topology, sm="none", name=f"e{number}")
    log = f"{work}/{number}.log"
    prepare(f, row, number)
    child = f.start("n1", f"opensm -F conf{number} -R {row.engine} {' '.join(row.options)} -f {log} --dump_files_dir {work}/dump{number} -d 2 -D 0x43",
                    log=f"{work}/{number}.out")
    what = f"{row.engine} on {' '.join(row.topology)}"
    up = until(lambda: "SUBNET UP" in read(log) or child.poll() is not None, f"{what}: SUBNET UP", 120)
    if check(up and child.poll() is None, what, "does not come up:", read(f"{work}/{number}.out")[-500:], read(log)[-500:]):
        def says():
            return re.findall(r"(\S+) tables configured on all switches", read(log))

        if row.conf:    # the limit of lanes is in the ports only after the first sweep
            swept = read(log).count("SUBNET UP")
            child.send_signal(signal.SIGHUP)
            until(lambda: says()[-1] == row.used and read(log).count("SUBNET UP") > swept, f"{what}: another sweep")
        check(says() and says()[-1] == row.used, what, "was routed by", says(), "not by", row.used)
        check("MASTER" in f.run("n2", "sminfo"), what, "sminfo")
        tables = switch_tables(f, "n2")
        dump = glob.glob(f"{work}/dump{number}/opensm-lfts.dump")
        if check(dump, what, "wrote no dump"):
            own = opensm_tables(dump[0], {g: n for n, g in guids_of(f).items()})
            check(own == tables, what, "the dump of OpenSM differs from the switches:",
                  [n for n in tables if tables[n] != own.get(n)])
            if row.engine == "minhop":
                shutil.copy(dump[0], f"{work}/saved.lfts")
        ring = judge_routes(f, row, tables)
        if row.engine == "dor" and row.used == "dor":
            check(ring, "a torus routed in order of dimensions on one lane has rings: the judge of rings is blind")
    end(child)
    f.down()
    print(f"{what}: {row.used}, {time.monotonic() - began:.1f} s", flush=True)


def lmc():
    """LMC 0 to 3: base LIDs are multiples of 2^LMC, and SMPs and GMPs reach a port by each of its LIDs."""
    for n in range(4):
        f = Fabric(None, "--tree", "2x2x2", "--", "-l", str(n), name=f"l{n}")
        lids, wires, tables = node_lids(f), links(f), switch_tables(f, "n1")
        for name, (kind, lid) in lids.items():
            if kind != "node":
                continue
            check(lid % (1 << n) == 0, "LMC", n, "LID", lid)
            v = fields(f.run("n1", f"smpquery portinfo {lid}"))
            check(v["LMC"] == str(n) and int(v["Lid"]) == lid, "LMC", n, v["LMC"], v["Lid"])
            for i in range(1 << n):
                check(name == "n1" or follow(tables, wires, "n1", name, lid + i), "LMC", n, "no route to", name, "by LID", lid + i)
                check(name in f.run("n4", f"smpquery nodedesc {lid + i}"), "LMC", n, "LID", lid + i)
        taken = {lid + i for _, (kind, lid) in lids.items() if kind == "node" for i in range(1 << n)}
        check(len(taken) == 4 << n, "LMC", n, "LIDs of ports overlap")
        f.down()


names = [a for a in sys.argv[1:] if not a.startswith("-")]
rows = [r for r in ROWS if r.engine in names] if names else ROWS if "--all" in sys.argv else [ROWS[i] for i in FEW]
for i, row in enumerate(rows):
    run(i, row)
if not names:
    lmc()
finish()
