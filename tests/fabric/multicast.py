#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
Multicast groups with fifty members: fifty nodes join by mckey of rdmacm-utils, the SA knows each, and each gets every
message of the fifty-first, which sends. When they have left, the group is gone from the SA.
"""
from fabric import *

need("opensm", "mckey", "saquery")
MEMBERS, GROUP, MESSAGES = 50, "224.1.2.3", 20
# The spine replicates, and the thirteen leaves do.
f = Fabric(None, "--tree", "13x4x1", name="many")
nodes = [f"n{i}" for i in range(1, 13 * 4 + 1)]
address = {n: re.search(r"198\.1[89]\.[0-9.]+", f.run(n, f"{DAPPLE} devices"))[0] for n in nodes[:MEMBERS + 1]}


def groups():
    """MLID of the group by its GID, in the SA."""
    m = re.search(r"MGID\.*(\S*4001\S*)[^M]*Mlid\.*(0x[0-9A-Fa-f]+)", f.run(nodes[-1], "saquery -g"))
    return int(m[2], 16) if m else None


members = {}
# Members poll for ever, so the next find processors less and less.
for n in nodes[1:MEMBERS + 1]:
    members[n] = f.start(n, f"stdbuf -oL mckey -m {GROUP} -b {address[n]} -C {MESSAGES}", log=f"{work}/mckey-{n}")
    if not until(lambda: "joined dgid" in read(f"{work}/mckey-{n}") or members[n].poll() is not None, f"mckey at {n} joins", 120) or \
            members[n].poll() is not None:
        check(False, f"mckey at {n}:", read(f"{work}/mckey-{n}"))
        finish()
mlid = groups()
if check(mlid is not None, "the SA has the group", f.run(nodes[-1], "saquery -g")):
    # The SA names the ports of members to those alone that show its key.
    out = f.run(nodes[-1], f"saquery --smkey 1 -m 0x{mlid:x}")
    check(len(re.findall(r"PortGid\.*fe80", out)) == MEMBERS, "members that the SA knows", out[-600:])
f.run(nodes[0], f"mckey -m {GROUP} -b {address[nodes[0]]} -s -C {MESSAGES}", timeout=120)
for n, child in members.items():
    check(child.wait(timeout=120) == 0, "mckey at", n, read(f"{work}/mckey-{n}")[-300:])
until(lambda: groups() is None, "the group is gone")
finish()
