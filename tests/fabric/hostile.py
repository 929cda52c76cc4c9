#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
Programs at nodes that send what they should not: MADs of random bytes, classes, LIDs and lengths to QP0 and QP1, a flood of
requests that nothing answers, guesses of an M_Key. All of it is bounded and counted, and others are not harmed: the SM is asked
meanwhile and answers, and at the end the fabric is what the topology says.
    hostile.py [SEED]
"""
import json

from fabric import *

need("opensm", "sminfo", "ibnetdiscover", "smpquery")
MADS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "mads.py")
FLOOD, NOISE = 20000, 4000
seed = int(sys.argv[1]) if len(sys.argv) > 1 else int.from_bytes(os.urandom(4), "little")
print("seed", seed, flush=True)
conf = f"{work}/key.conf"
with open(conf, "w") as out:
    out.write("m_key 0x7766554433221100\nm_key_protection_level 2\nsweep_interval 2\n")
topo = sample()
f = Fabric(topo, "--", "-F", conf)
lids = {name: lid for name, (_, lid) in node_lids(f).items()}


def dropped():
    return int(re.search(r"(\d+) dropped", f.dapple("show").stdout)[1])


def mads(node, *words):
    path = f"{work}/{node}.json"
    child = f.start(node, " ".join((sys.executable, MADS, *map(str, words))), log=path)
    return child, path


def result(child, path):
    check(child.wait(timeout=PATIENCE) == 0, "mads.py:", read(path)[-300:])
    return json.loads(read(path) or "{}")


before = dropped()
bad = {"host3": mads("host3", "noise", lids["host0"], NOISE, seed), "host9": mads("host9", "noise", lids["sw3"], NOISE, seed + 1),
       "host5": mads("host5", "flood", lids["host0"], FLOOD), "host2": mads("host2", "guess", lids["host6"], 20, "--right", 0x7766554433221100)}
asked = 0
while any(child.poll() is None for child, _ in bad.values()) or asked < 10:
    began = time.monotonic()
    check("SMINFO_MASTER" in f.run("host7", "sminfo -y 0x7766554433221100"), "sminfo under hostile MADs")
    check(time.monotonic() - began < 10, "sminfo took", time.monotonic() - began)
    asked += 1
got = {node: result(*b) for node, b in bad.items()}
check(got["host5"]["left"] > 0, "the flood did not leave", got["host5"])
check(got["host2"] == {"answered": 0, "right": True}, "guesses", got["host2"])
check(dropped() - before >= got["host5"]["left"], "the flood is not counted:", dropped() - before, got["host5"])
seen, _ = read_discovery(f.run("host0", "ibnetdiscover -y 0x7766554433221100"))
check(seen.nodes.keys() == topo.nodes.keys() and seen.links == topo.links, "the fabric has changed")
until(lambda: re.search(r" (\d+) of \1 linked ports active, 0 ports without LID", f.dapple("show").stdout), "all ports are active")
print("asked", asked, "times;", got)
finish()
