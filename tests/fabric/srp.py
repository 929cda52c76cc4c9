#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
`dapple srp` on a soft InfiniBand fabric: targets are found by their agents of device management, by ibsrpdm and srp_daemon and by
`dapple srp discover`, which finds agents of others, too; what is found is logged in to.
"""
from fabric import *

need("opensm", "ibsrpdm", "srp_daemon", "smpquery")
MADS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "mads.py")
topo = sample()
f = Fabric(topo)
_, lids = read_discovery(f.run("host3", "ibnetdiscover"))
TARGETS = {"host9": "0102030405060708090a0b0c0d0e0f10", "host2": "11121314151617180002c90300aabb02"}
INITIATOR = "aa" + "0" * 29 + "1"
FOREIGN = 0x0002c90300aabb05


def gid(name, port=1):
    return f"fe80000000000000{topo.port_guid(name, port):016x}"


def address(node):
    return re.search(r"198\.1[89]\.[0-9.]*", f.run(node, f"{DAPPLE} devices"))[0]


places, children = {}, {}
for node, target in TARGETS.items():
    log = f"{work}/{node}.log"
    children[node] = f.start(node, f"{DAPPLE} srp serve --listen {address(node)}:0 --from 198.18.0.0/15 --allow {INITIATOR} --target {target} --memory 8M "
                             "--limit 48", log=log)
    listens = lambda: re.search(r"listening at (\S+),", open(log).read())
    if not until(lambda: listens() or children[node].poll() is not None, f"the target at {node} listens") or not listens():
        check(False, open(log).read())
        finish()
    places[node] = listens()[1]
foreign = f.start("host5", f"{sys.executable} {MADS} target {FOREIGN:x} Disk-host5")
for node in (*TARGETS, "host5"):
    until(lambda: "IsDeviceManagementSupported" in f.run("host0", f"smpquery portinfo {lids[node, 1]}"), f"an agent at {node}")


def services(node):
    return f"{0x1060000 | int(places[node].rsplit(':', 1)[1]):016x}"


# --- as others find them ---

def found(command="ibsrpdm -d /dev/infiniband/umad0"):
    return read_targets(f.run("host1", command, None, quiet=True))


every = {gid(node) for node in (*TARGETS, "host5")}
until(lambda: set(found()) == every, "ibsrpdm finds the targets")
for command in ("ibsrpdm -d /dev/infiniband/umad0", "srp_daemon -o -a -i dpl_ib0 -p 1"):
    units = found(command)
    for node, target in TARGETS.items():
        m = units.get(gid(node))
        if check(m, command, "has no", node, units):
            check(int(m["lid"], 16) == lids[node, 1] and (m["change"], m["controllers"]) == ("0001", "01") and m["ioc"] == target[16:] and
                  m["ioclass"] == "0100" and m["length"] == "8276" and m["id"] == f"Dapple SRP {places[node]}" and m["services"] == "1" and
                  m["service"] == services(node) and m["name"] == f"SRP.T10:{target[:16]}", command, m)

# --- as we find them ---


def discover():
    out = f.run("host1", f"{DAPPLE} srp discover")
    return dict(re.findall(r"^([0-9a-f]{32})  (gid .*)$", out, re.M))


targets = discover()
want = {target: f"gid {gid(node)}  lid {lids[node, 1]}  service {services(node)}  Dapple SRP {places[node]}" for node, target in TARGETS.items()}
want[f"{FOREIGN:016x}" * 2] = f"gid {gid('host5')}  lid {lids['host5', 1]}  service {FOREIGN:016x}  Disk-host5"
check(targets == want, "dapple srp discover", targets, want)

# What was found is a disk.
with open(f"{work}/data", "wb") as data:
    data.write(os.urandom(3 << 20))
for target, text in targets.items():
    if "Dapple SRP " in text:
        options = f"{text.rsplit(' ', 1)[1]} {work}/data --target {target} --initiator {INITIATOR}"
        f.run("host1", f"{DAPPLE} srp write {options}")
        check("3145728 octets are equal" in f.run("host4", f"{DAPPLE} srp verify {options}"), "the octets at", target)

# Two targets at one port cannot both be its agent: the second one says so, and serves.
log = f"{work}/second.log"
second = f.start("host9", f"{DAPPLE} srp serve --listen {address('host9')}:0 --from 198.18.0.0/15 --allow {INITIATOR} --target {'22' * 16} --memory 8M", log=log)
until(lambda: "cannot be discovered" in open(log).read(), "the second target says that it is not discovered")
place = re.search(r"listening at (\S+),", open(log).read())[1]
check("16384 blocks" in f.run("host1", f"{DAPPLE} srp capacity {place} --target {'22' * 16} --initiator {INITIATOR}"), "the second target serves")
end(second, signal.SIGTERM)

# A target that has ended is not found any more, however it ended; an agent that is none of SRP and one that is silent are no harm.
end(children["host9"])
end(foreign)
until(lambda: set(discover()) == {TARGETS["host2"]}, "the targets that are left")
end(children["host2"], signal.SIGTERM)
until(lambda: not discover(), "no target is left")
f.dapple("link", "host1/1", "down")
check("no target is found; see that the link is InfiniBand" in (f.run("host1", f"{DAPPLE} srp discover", 1) + f.errors), "a port without a fabric", f.errors)
finish()
