#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
Programs of other packages on a fabric: ibdiagnet, ibdiagpath and ibdmtr of ibutils, mstflint by LID. Those that are
not installed are left out and named. Of ibutils 1.5.7 ibnlparse, ibtopodiff and ibdmchk read files alone and ended by
SIGSEGV or "buffer overflow detected" on those that were tried; ibdiagpath -l follows the entry of the LID before the one that it is given.
"""
import re

from fabric import *

PARTS = {"ibdiagnet": ("ibdiagnet", "ibdiagpath"), "ibdm": ("ibdmtr", "ibdmchk"), "mstflint": ("mstflint",)}
part = sys.argv[1]
need("opensm", "ibnetdiscover", *PARTS[part])
topo = sample()
f = Fabric(topo, "--", "-D", "0x43")     # with the dumps that IBDM reads
seen, lids = read_discovery(f.run("host3", "ibnetdiscover"))
hosts, switches = topo.of_kind("Ca"), topo.of_kind("Switch")


def read_list(text):
    """The links of ibdiagnet.lst: {(node, port): (node, port, width, speed)}."""
    out = {}
    for line in text.splitlines():
        ends = re.findall(r"NodeGUID:([0-9a-fA-F]+) .*?PN:([0-9A-F]+) \}", line)
        tail = re.search(r"PHY=(\d+x) LOG=(\w+) SPD=([\d.]+)", line)
        if len(ends) == 2 and tail:
            a, b = ((topo.by_guid(int(g, 16)), int(p, 16)) for g, p in ends)
            out[a] = (*b, tail[1], tail[2])
            out[b] = (*a, tail[1], tail[2])
    return out


def ibdiagnet():
    """All checks of ibdiagnet against the topology; ibdiagpath along a directed route."""
    out = f.run("host0", "ibdiagnet -o ibd -lw 4x", timeout=120)
    for text in ("No bad Guids were found", "No bad Links (with logical state = INIT) were found",
                 "No illegal PM counters values were found", "No bad link were found",
                 f"PKey:0x7fff Hosts:{len([1 for n, p in lids if n in hosts])} full:13 limited:0"):
        check(text in out, "ibdiagnet lacks:", text)
    check(sorted(re.findall(r'Port="(host\d+)/P1"', out)) == ["host10", "host8"], "ibdiagnet -lw 4x: narrow and wide links")
    got = read_list(open(f"{work}/ibd/ibdiagnet.lst").read())
    check(got == {a: (b, p, w, "ACT") for a, (b, p, w, s) in topo.links.items()}, "ibdiagnet.lst", got)
    fdbs = open(f"{work}/ibd/ibdiagnet.fdbs").read()
    for name in switches:
        part = re.search(rf"Switch 0x{topo.nodes[name]['guid']:016x}\n(.*?)(?=osm_ucast|\Z)", fdbs, re.S)
        table = {int(a, 16): int(b) for a, b in re.findall(r"^(0x[0-9A-F]{4}) : (\d{3})", part[1] if part else "", re.M)}
        route = {int(a, 16): int(b) for a, b in
                 re.findall(r"^0x([0-9a-f]{4}) (\d{3}) : \(", f.run("host0", f"ibroute {lids[name, 0]}"), re.M)}
        check(table == route, "ibdiagnet.fdbs", name)
    check(re.search(rf"SM - master\s+The Local Device : host0/P1 lid=0x{lids['host0', 1]:04x}", open(f"{work}/ibd/ibdiagnet.sm").read()),
          "ibdiagnet.sm")
    # Along a directed route: host0, sw0, sw3, sw2, host9.
    way = re.findall(r"^-I- (?:From|To): +lid=0x([0-9a-f]+)", f.run("host0", "ibdiagpath -d 1,7,3,11", None), re.M)
    stops = [lids[at] for at in (("host0", 1), ("sw0", 0), ("sw0", 0), ("sw3", 0), ("sw3", 0), ("sw2", 0), ("sw2", 0), ("host9", 1))]
    check([int(x, 16) for x in way] == stops, "ibdiagpath", way, stops)
    # A link that is down, with what it leaves in the counters.
    f.dapple("link", "host9/1", "flap")
    until(lambda: "host9" in f.run("host0", "ibhosts"), "the link is back")
    f.dapple("node", "remove", "host1")
    until(lambda: "15 nodes" in (o := f.run("host0", "ibdiagnet -o ibd2", None, timeout=120)) or
          len(read_list(open(f"{work}/ibd2/ibdiagnet.lst").read())) == len(topo.links) - 2, "ibdiagnet without host1")


def ibdm():
    """IBDM's programs, which read files alone."""
    # The topology in IBDM's own form.
    os.mkdir(f"{work}/ibnl")
    os.environ["IBDM_IBNL_PATH"] = f"{work}/ibnl"
    kind = lambda name: f"{topo.nodes[name]['kind'][:2].upper()}{topo.nodes[name]['ports']}"
    for name, v in topo.nodes.items():
        with open(f"{work}/ibnl/{kind(name)}.ibnl", "w") as out:
            out.write(f"TOPSYSTEM {kind(name)}\n\nNODE {kind(name)[:2]} {v['ports']} {kind(name)} U1\n" +
                      "".join(f"{p} -> P{p}\n" for p in range(1, v["ports"] + 1)) + "\n")
    with open(f"{work}/net.topo", "w") as out:
        for name in switches:
            out.write(f"{kind(name)} {name}\n")
            for (n, p), (peer, pp, width, _) in sorted(topo.links.items()):
                if n == name:
                    out.write(f"   P{p} -{width.upper()}-10G-> {kind(peer)} {peer} P{pp}\n")
            out.write("\n")
    out = f.run("host0", "ibdmtr -t net.topo -s host0/U1 -p 1 -d 0,1,7,3")
    check("sw2" in out and "sw3" in out and "-E-" not in out, "ibdmtr", out[-400:])
    check_routes()


def check_routes():
    """ibdmchk reads OpenSM's dumps: it defines as many nodes and entries, finds the distances, and a route for each pair."""
    dumps = f"{os.environ['DAPPLE_RUNTIME_DIR']}/fabric/f/opensm-host0"
    entries = lambda: len(re.findall(r"^0x[0-9a-f]{4} : \d{3}", read(f"{dumps}/opensm.fdbs"), re.I | re.M))
    until(lambda: entries() == len(lids) * len(switches), "OpenSM's dump is whole")
    out = f.run("host0", f"ibdmchk -s {dumps}/opensm-subnet.lst -f {dumps}/opensm.fdbs -m {dumps}/opensm.mcfdbs", None, quiet=True)
    ends = [(n, p) for n, p in lids if n in hosts]
    hops = {}
    for a in ends:
        for b in ends:
            if a != b:
                n = distance(a, b)
                hops[n] = hops.get(n, 0) + 1
    check(f"Defined {len(topo.nodes)}/{len(topo.nodes)} systems/nodes" in out, "nodes of ibdmchk", out[:600])
    check(f"Defined {len(lids) * len(switches)} fdb entries for:{len(switches)} switches" in out, "entries of ibdmchk", out[:900])
    tables = [dict((int(a), int(b)) for a, b in re.findall(r"^ +(\d+) +(\d+)$", part, re.M))
              for part in re.findall(r"HOPS NUM-CA-CA-PAIRS\n((?: +\d+ +\d+\n)+)", out)]
    check(tables == [hops, hops], "hops of ibdmchk", tables, hops)
    check(f"Scanned:{len(ends) * (len(ends) - 1)} CA to CA paths" in out, "paths of ibdmchk", out[-900:])
    check("no credit loops found" in out and "-E-" not in out, "verdict of ibdmchk", out[-600:])


def distance(a, b):
    """Links between two ports of adapters."""
    seen, more = {a}, [(a, 0)]
    while more:
        (n, p), d = more.pop(0)
        peer, pp, *_ = topo.links[n, p]
        if (peer, pp) == b:
            return d + 1
        for (m, q) in sorted(topo.links):
            if m == peer and topo.nodes[m]["kind"] == "Switch" and (m, q) not in seen:
                seen.add((m, q))
                more.append(((m, q), d + 1))
    return None


def mstflint():
    """A node without vendor MADs of flash: it answers that, and at once."""
    start = time.monotonic()
    f.run("host0", f"mstflint -d lid-{lids['sw0', 0]} q", None)
    check(f.status != 0 and time.monotonic() - start < 20, "mstflint by LID ends", f.status, f.errors[-200:])


globals()[part]()
finish()
