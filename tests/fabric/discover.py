#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
The lesson of docs/fabric.md: up --capture, OpenSM sweeps once, and tshark reads each link of each MAD. Nothing is malformed;
nodes are found breadth first; a request with a directed route of h hops appears on the h links of its path, in order, with a hop
pointer that counts, and its answer on the same links back.
"""
import collections

from fabric import *

need("opensm", "tshark")
capture = f"{work}/discover.pcapng"
f = Fabric(None, "--tree", "2x2", "--capture", capture, sm="none")
f.run("n1", f"opensm -o -f {work}/opensm.log")
wires = links(f)
check("packets in " + capture in f.dapple("show").stdout, "show does not name the capture")
f.down()


def tshark(*words):
    r = subprocess.run(["tshark", "-r", capture, *words], capture_output=True, text=True, timeout=120)
    check(r.returncode == 0, "tshark:", r.stderr[-300:])
    return [line.split("\t") for line in r.stdout.splitlines()]


NAMES = ("frame.interface_name", "infiniband.mad.transactionid", "infiniband.mad.method", "infiniband.mad.attributeid",
         "infiniband.mad.mgmtclass", "infiniband.smpdirected.hoppointer", "infiniband.smpdirected.hopcount",
         "infiniband.smpdirected.d", "infiniband.smpdirected.initialpath")
rows = tshark("-T", "fields", *(w for name in NAMES for w in ("-e", name)))
check(len(rows) > 300, "packets:", len(rows))
check(tshark("-Y", "_ws.malformed") == [], "malformed packets")
check(all(row[1] for row in rows), "packets that are no MADs")

requests, answers, depths = collections.defaultdict(list), collections.defaultdict(list), []
for at, tid, method, attribute, mgmt_class, pointer, count, _, path in rows:
    if mgmt_class != "0x81":
        continue
    node, port = at.rsplit("/", 1)
    entry = ((node, int(port)), int(pointer, 16), int(count, 16), bytes.fromhex(path.replace(":", "")))
    (answers if int(method, 16) & 0x80 else requests)[tid].append(entry)
    if method == "0x01" and attribute == "0x0011" and at == "n1/1":
        depths.append(int(count, 16))
check(depths == sorted(depths) and depths[-1] == 4, "NodeInfo is not asked for breadth first:", depths)
for tid, went in requests.items():
    hops, path = went[0][2], went[0][3]
    at, way = "n1", []
    for i in range(hops):
        way.append((at, path[i + 1]))
        at = wires[way[-1]][0]
    check([w[0] for w in went] == way, "request", tid, "went", [w[0] for w in went], "not", way)
    check([w[1] for w in went] == list(range(1, hops + 1)), "hop pointers of", tid, [w[1] for w in went])
    check([w[0] for w in answers[tid]] == [wires[w] for w in reversed(way)], "answer", tid)
finish()
