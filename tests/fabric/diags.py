#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Every program of infiniband-diags on a fabric, its output compared with the topology, field by field."""
import os
import re
import subprocess

from fabric import *

need("opensm", "ibnetdiscover")
topo = sample()
f = Fabric(topo)
hosts = topo.of_kind("Ca")
switches = topo.of_kind("Switch")

# --- discovery ---
text = f.run("host3", "ibnetdiscover")
seen, lids = read_discovery(text)
check({n: (v["kind"], v["ports"], v["guid"]) for n, v in seen.nodes.items()} ==
      {n: (v["kind"], v["ports"], v["guid"]) for n, v in topo.nodes.items()}, "nodes of ibnetdiscover")
for at, link in topo.links.items():
    check(seen.links.get(at) == link, "ibnetdiscover", at, link, seen.links.get(at))
check(len(seen.links) == len(topo.links), "links of ibnetdiscover")
check(len(set(lids.values())) == len(lids) and all(0 < x < 0xc000 for x in lids.values()), "LIDs", lids)
names = {lid: at for at, lid in lids.items()}

# What it prints is accepted, and gives the same fabric.
with open(f"{work}/again.topo", "w") as out:
    out.write(text)
again = Fabric(None, "--topology", f"{work}/again.topo", name="again")
other, _ = read_discovery(again.run("host5", "ibnetdiscover"))
check(other.nodes == seen.nodes and other.links == seen.links, "the fabric of a discovery")
again.down()

# Caches: written, loaded, edited, compared.
f.run("host0", "ibnetdiscover --cache net.cache")
loaded, _ = read_discovery(f.run("host0", "ibnetdiscover --load-cache net.cache"))
check(loaded.nodes == seen.nodes and loaded.links == seen.links, "the cache")
check(f.run("host0", "ibnetdiscover --diff net.cache") == "", "difference to the cache")
guid = topo.nodes["host1"]["guid"]
f.run("host0", f"ibcacheedit --caguid 0x{guid:x}:0x0002c900deadbeef net.cache edited.cache")
edited, _ = read_discovery(f.run("host0", "ibnetdiscover --load-cache edited.cache"))
check(edited.nodes["host1"]["guid"] == 0x0002c900deadbeef, "the edited cache")
check("deadbeef" in f.run("host0", "ibnetdiscover --diff edited.cache", None), "difference to the edited cache")

listing = f.run("host0", "ibnetdiscover -p")
check(len(re.findall(r"^(?:SW|CA)\s", listing, re.M)) >= len(topo.links), "ibnetdiscover -p")
for name in hosts + switches:
    check(re.search(rf"'?{name}\b", listing), "ibnetdiscover -p lacks", name)
for option, kind, word in (("-H", "Ca", "Ca"), ("-S", "Switch", "Switch"), ("-l", None, "")):
    out = f.run("host0", "ibnetdiscover " + option)
    want = topo.of_kind(kind) if kind else hosts + switches
    got = re.findall(r'"(\w+)"', out)
    check(sorted(got) == sorted(want), "ibnetdiscover", option, got)

def listed(out, word):
    return {m[2]: (int(m[0], 16), int(m[1])) for m in re.findall(rf'^{word}\s+: 0x([0-9a-f]+) ports (\d+) "(\w+)"', out, re.M)}

want_ca = {n: (topo.nodes[n]["guid"], topo.nodes[n]["ports"]) for n in hosts}
want_sw = {n: (topo.nodes[n]["guid"], topo.nodes[n]["ports"]) for n in switches}
check(listed(f.run("host2", "ibhosts"), "Ca") == want_ca, "ibhosts")
out = f.run("host2", "ibswitches")
check(listed(out, "Switch") == want_sw, "ibswitches")
check({m[0]: int(m[1]) for m in re.findall(r'"(\w+)" .* lid (\d+) lmc 0', out)} == {n: lids[n, 0] for n in switches})
out = f.run("host2", "ibnodes")
check(listed(out, "Ca") == want_ca and listed(out, "Switch") == want_sw, "ibnodes")
check(f.run("host2", "ibrouters") == "", "ibrouters")

SPEED = {"SDR": "2.5 Gbps", "DDR": "5.0 Gbps", "QDR": "10.0 Gbps", "FDR": "14.0625 Gbps", "EDR": "25.78125 Gbps"}
got = {}
for m in re.findall(r'^0x([0-9a-f]+) "\s*(\w+)"\s+(\d+)\s+(\d+)\[ *\] ==\(\s*(\d+X)\s+([\d.]+ Gbps)\s+(\w+)/\s+(\w+)\)==>\s+'
                    r'0x([0-9a-f]+)\s+(\d+)\s+(\d+)\[ *\] "(\w+)"', f.run("host0", "iblinkinfo -l"), re.M):
    got[m[1], int(m[3])] = (m[11], int(m[10]), m[4].lower(), m[5], m[6], m[7])
    check(int(m[0], 16) == topo.port_guid(m[1], int(m[3])), "iblinkinfo: GUID of", m[1])
    check(int(m[2]) == lids[m[1], int(m[3]) if m[1] in hosts else 0], "iblinkinfo: LID of", m[1])
for at, (peer, port, width, speed) in topo.links.items():
    check(got.get(at) == (peer, port, width, SPEED[speed], "Active", "LinkUp"), "iblinkinfo", at, got.get(at))
check(len(got) == len(topo.links), "iblinkinfo: links")

# --- at a node ---
out = f.run("dual", "ibstat dpl_ib0")
for port in (1, 2):
    part = out.split(f"Port {port}:")[1]
    v = dict(re.findall(r"^\s+([\w ]+): (.*)$", part, re.M)) if port == 2 else \
        dict(re.findall(r"^\s+([\w ]+): (.*)$", part.split("Port 2:")[0], re.M))
    check(v["State"] == "Active" and v["Physical state"] == "LinkUp" and v["Rate"] == "100", "ibstat", v)
    check(int(v["Base lid"]) == lids["dual", port] and int(v["SM lid"]) == lids["host0", 1], "ibstat", v)
    check(int(v["Port GUID"], 16) == topo.port_guid("dual", port), "ibstat", v)
check("dpl_ib0" in f.run("dual", "ibstat -l") and int(f.run("dual", "ibstat -p").split()[0], 16) == topo.port_guid("dual", 1))
out = f.run("host4", "ibstatus")
check("rate:\t\t 10 Gb/sec (4X SDR)" in out and f"base lid:\t 0x{lids['host4', 1]:x}\n" in out, "ibstatus", out)
check("state:\t\t 4: ACTIVE" in out and "link_layer:\t InfiniBand" in out, "ibstatus", out)
rates = {"host5": "20 Gb/sec (4X DDR)", "host6": "40 Gb/sec (4X QDR)", "host7": "56 Gb/sec (4X FDR)",
         "host8": "10 Gb/sec (1X QDR)", "host10": "120 Gb/sec (12X QDR)"}
for host, rate in rates.items():
    check(rate in f.run(host, "ibstatus"), "rate of", host)
for host in ("host1", "host9"):
    out = f.run("host0", f"ibaddr {lids[host, 1]}")
    m = re.match(r"GID fe80::([0-9a-f:]+) LID start 0x([0-9a-f]+) end 0x([0-9a-f]+)", out)
    check(m and int(m[2], 16) == int(m[3], 16) == lids[host, 1], "ibaddr", out)
check(f.run("host0", f"ibaddr -G 0x{topo.port_guid('host9', 1):x} -L").split()[2] == str(lids["host9", 1]), "ibaddr -G")
m = re.match(r"sminfo: sm lid (\d+) sm guid 0x([0-9a-f]+), activity count \d+ priority (\d+) state 3 SMINFO_MASTER",
             f.run("host7", "sminfo"))
check(m and int(m[1]) == lids["host0", 1] and int(m[2], 16) == topo.port_guid("host0", 1), "sminfo")

# --- subnet management ---
KIND = {"Ca": "Channel Adapter", "Switch": "Switch"}
for (name, port), lid in lids.items():
    v = fields(f.run("host0", f"smpquery nodeinfo {lid}"))
    node = topo.nodes[name]
    check(v.get("NodeType") == KIND[node["kind"]] and int(v["NumPorts"]) == node["ports"] and
          int(v["Guid"], 16) == node["guid"] and int(v["SystemGuid"], 16) == node["guid"] and
          int(v["PortGuid"], 16) == topo.port_guid(name, port) and v["VendorId"] == "0x00da00" and v["DevId"] == "0x0001",
          "smpquery nodeinfo", name, v)
    check(f.run("host0", f"smpquery nodedesc {lid}").split(".")[-1].strip() == name, "smpquery nodedesc", name)
LINKS = {"1x": "1X", "4x": "4X", "12x": "12X"}
for (name, port), (peer, pp, width, speed) in topo.links.items():
    lid = lids[name, 0 if name in switches else port]
    v = fields(f.run("host0", f"smpquery portinfo {lid} {port}"))
    check(v.get("LinkState") == "Active" and v["PhysLinkState"] == "LinkUp" and v["LinkWidthActive"] == LINKS[width] and
          int(v["LocalPort"]) < 255 and v["NeighborMTU"] == "4096", "smpquery portinfo", name, port, v)
    active = v.get("LinkSpeedExtActive", "")
    check(active.startswith(SPEED[speed]) if speed in ("FDR", "EDR") else v["LinkSpeedActive"] == SPEED[speed],
          "speed of", name, port, v.get("LinkSpeedActive"), active)
    if name in hosts:
        check(int(v["Lid"]) == lid and int(v["SMLid"]) == lids["host0", 1] and v["GidPrefix"] == "0xfe80000000000000" and
              v["LMC"] == "0" and "IsTrapSupported" in f.run("host0", f"smpquery portinfo {lid} {port}"), "portinfo of", name)
for name in switches:
    v = fields(f.run("host0", f"smpquery switchinfo {lids[name, 0]}"))
    check(int(v["LinearFdbTop"]) == max(lids.values()) and v["LinearFdbCap"] == "49151" and v["LifeTime"] == "18", name, v)
check(f.run("host0", "smpquery -D nodeinfo 0") != "" and f.run("host0", f"smpquery -G nodeinfo 0x{topo.port_guid('host9', 1):x}"))
hop = topo.links["host0", 1]
v = fields(f.run("host0", f"smpquery -D nodeinfo 0,1,7"))
check(int(v["Guid"], 16) == topo.nodes["sw3"]["guid"], "directed route", v)
v = fields(f.run("host0", f"smpquery -c nodeinfo {lids['sw0', 0]} 0,7"))
check(int(v["Guid"], 16) == topo.nodes["sw3"]["guid"], "combined route", v)
out = f.run("host0", f"smpquery pkeys {lids['host9', 1]}")
check(re.match(r"\s+0: 0xffff 0x0000", out) and "pkeys capacity" in out, "smpquery pkeys", out)
out = f.run("host0", f"smpquery guidinfo {lids['host9', 1]}")
check(f"0: 0x{topo.port_guid('host9', 1):016x} 0x0000000000000000" in out, "smpquery guidinfo", out)
out = f.run("host0", f"smpquery sl2vl {lids['sw0', 0]} 1")
check(len(re.findall(r"^ports: in +\d+, out +1:", out, re.M)) == topo.nodes["sw0"]["ports"] + 1, "smpquery sl2vl", out)
out = f.run("host0", f"smpquery vlarb {lids['host9', 1]}")
check("Low priority VL Arbitration Table" in out and "High priority" in out, "smpquery vlarb")
out = f.run("host0", f"smpdump {lids['host9', 1]} 0x11").split()
g = topo.nodes["host9"]["guid"]
check("".join(out)[8:24] == f"{g:016x}", "smpdump", out)
check(bytes.fromhex("".join(f.run("host0", "smpdump -D 0,1 0x10").split()[:32])).split(b"\0")[0] == b"sw0", "smpdump -D")

# --- routes: tables, and each pair by ibtracert ---
tables = {}
for name in switches:
    out = f.run("host0", f"ibroute {lids[name, 0]}")
    tables[name] = {int(m[0], 16): int(m[1]) for m in re.findall(r"^0x([0-9a-f]{4}) (\d{3}) : \(", out, re.M)}
    check(set(tables[name]) == set(lids.values()), "ibroute", name)
dump = f.run("host0", "dump_lfts")
for name in switches:
    part = re.search(rf"switch DR path.*?\({name}\):?\n(.*?)(?=Unicast|\Z)", dump, re.S) or \
        re.search(rf"guid 0x0*{topo.nodes[name]['guid']:x} .*?\n(.*?)(?=Unicast|\Z)", dump, re.S)
    mine = {int(m[0], 16): int(m[1]) for m in re.findall(r"^0x([0-9a-f]{4}) (\d{3}) : \(", part[1], re.M)} if part else {}
    check(mine == tables[name], "dump_lfts", name, len(mine))
check(switch_tables(f, "host0") == tables, "dump_fts")
# Each line names the port that has the LID.
described = re.findall(r"^0x([0-9a-f]{4}) \d{3} : \((Switch|Channel Adapter) portguid 0x([0-9a-f]+): '(\w+)", f.run("host0", "dump_fts"), re.M)
check(len(described) == len(switches) * len(lids), "lines of dump_fts", len(described))
for lid, kind, guid, name in described:
    at = names[int(lid, 16)]
    check(kind == KIND.get(topo.nodes[at[0]]["kind"], "Switch") and int(guid, 16) == topo.port_guid(*at) and name.startswith(at[0]), "dump_fts", lid, at, name)


def follow(at, lid):
    """The ports of a route, by the tables and the topology."""
    way = [at]
    for _ in range(8):
        peer = topo.links[way[-1]]
        way.append(peer[:2])
        if peer[0] in hosts or tables[peer[0]][lid] == 0:
            return way
        way.append((peer[0], tables[peer[0]][lid]))
    return way


ends = [at for at in lids if at[0] in hosts]
for a in ends[::3]:
    for b in ends[1::4]:
        way = follow(a, lids[b])
        check(way[-1] == b, "tables: from", a, "to", b, way)
        out = f.run("host0", f"ibtracert {lids[a]} {lids[b]}")
        got = [a] if re.search(rf"^From ca .* portnum {a[1]} lid {lids[a]}-", out, re.M) else []
        for m in re.findall(r'^\[(\d+)\] -> (?:switch|ca) port \{0x([0-9a-f]+)\}\[(\d+)\]', out, re.M):
            got[-1:] = [(got[-1][0], int(m[0]))]
            peer = topo.by_guid(int(m[1], 16))
            got += [(peer, int(m[2])), (peer, None)]
        if a == b:
            continue
        got = [x for x in got if x[1] is not None]
        check(got == way, "ibtracert", a, b, got, way)

# Multicast: the broadcast group, with members at three nodes.
groups = f.run("host0", "saquery -g")
mlid = int(re.search(r"Mlid\.+(0x[0-9A-Fa-f]+)", groups)[1], 16)
check(mlid == 0xc000, "the broadcast group", groups)
f.run("host0", f"ibroute -M {lids['sw3', 0]}")
check("MLid" in f.run("host0", f"ibroute -M {lids['sw3', 0]}"), "ibroute -M")

# Members at three nodes: the tables join them, and nothing else, in a tree.
members = ["host1", "host5", "host9"]
MGID = "ff12:401b:ffff::ffff:ffff"
for name in members:
    check(mads(f, name, "join", MGID) == {"status": 0, "mlid": 0xc000}, name, "joins the broadcast group")


def group_ports(text):
    """Ports of the group in a table as ibroute -M and dump_mfts print it: two columns for each port."""
    m = re.search(r"^0xc000 {6}(.*)$", text, re.M)
    return {i // 2 for i, mark in enumerate(m[1]) if mark == "x"} if m else set()


def spread():
    return {name: group_ports(f.run("host0", f"ibroute -M {lids[name, 0]}")) for name in switches}


def reached(start, table):
    """Nodes that a packet of the group from this node comes to."""
    seen, more = {start}, [topo.links[start, 1][:2]]
    while more:
        name, came = more.pop()
        if name in seen:
            check(False, "a ring in the tables of the group:", name)
            return seen
        seen.add(name)
        if name in switches:
            more += [topo.links[name, p][:2] for p in table[name] - {came, 0}]
    return seen


until(lambda: {n for n in reached("host1", spread()) if n in hosts} == set(members), "the group's tables join its members")
table = spread()
for name in members:
    check({n for n in reached(name, table) if n in hosts} == set(members), "multicast from", name, reached(name, table), table)
dumped = f.run("host0", "dump_mfts")
for name in switches:
    part = re.search(rf"Multicast mlids [^\n]*\({name}\):\n(.*?)valid mlids", dumped, re.S)
    check(part and group_ports(part[1]) == table[name], "dump_mfts", name, part and part[1], table[name])
out = f.run("host1", f"ibtracert -m 0xc000 {lids['host1', 1]} {lids['host9', 1]}")
check(re.findall(r'"(\w+)"$', out, re.M) == ["host1", "sw0", "sw3", "sw2", "host9", "host9"], "ibtracert -m", out)

# The balance of tables. Ports that lead to one node alone, and such as are down, are left out.
with open(f"{work}/lft", "w") as out:
    out.write(dump)
balance = f.run("host0", "check_lft_balance -l lft -i net.cache -v")
for name in switches:
    part = re.search(rf"Switch Port Usage: {name}, 0x0*{topo.nodes[name]['guid']:x}\n((?:Port \d+: \d+\n)*)", balance)
    got = {int(p): int(n) for p, n in re.findall(r"Port (\d+): (\d+)", part[1])} if part else None
    uses = {p: sum(tables[name][lids[at]] == p for at in lids if at[0] in hosts) for n, p in topo.links if n == name}
    check(got == {p: n for p, n in uses.items() if n != 1}, "check_lft_balance", name, got, uses)
# Doubles of LIDs and GUIDs: none, so not a word. The nodes that a switch's port routes to, both ways.
CACHE = "/var/cache/infiniband-diags"
if os.access(CACHE if os.path.isdir(CACHE) else "/var/cache", os.W_OK):
    check(f.run("host0", "ibidsverify -R") == "", "ibidsverify")
    out = f.run("host0", f"ibfindnodesusing -R 0x{topo.nodes['sw3']['guid']:016x} 2")
    m = re.search(r'^0x0*([0-9a-f]+) 2 \("sw3" base\) +==>> +0x0*([0-9a-f]+) (\d+) \(sw1\)\n(.*?)\n.*?<<==.*?\n(.*)$', out, re.S | re.M)
    peer = topo.links["sw3", 2]
    check(m and int(m[2], 16) == topo.nodes["sw1"]["guid"] and (peer[0], peer[1]) == ("sw1", int(m[3])), "ibfindnodesusing", out)

    def spelled(words):
        for a, b in re.findall(r"host(\d+)(?:-(\d+))?|dual", words):
            yield from (f"host{i}" for i in range(int(a), int(b or a) + 1)) if a else ("dual",)

    def using(switch, port):
        return {at[0] for at in lids if at[0] in hosts and tables[switch][lids[at]] == port}

    check(m and set(spelled(m[4])) == using("sw3", 2) and set(spelled(m[5])) == using("sw1", peer[1]), "ibfindnodesusing: nodes", out)
else:
    print("left out: ibidsverify, ibfindnodesusing:", CACHE, "is not this user's")

# --- servers ---
server = f.start("host9", "ibping -S")
until(lambda: re.search(r"1 packets transmitted, 1 received", f.run("host2", f"ibping -c 1 {lids['host9', 1]}")), "ibping -S")
before = fields(f.run("host0", f"perfquery {lids['host9', 1]} 1"))
out = f.run("host2", f"ibping -f -c 200 {lids['host9', 1]}")
check("200 packets transmitted, 200 received, 0% packet loss" in out, "ibping", out[-200:])
after = fields(f.run("host0", f"perfquery {lids['host9', 1]} 1"))
rise = {k: int(after[k]) - int(before[k]) for k in ("PortXmitPkts", "PortRcvPkts", "PortXmitData", "PortRcvData")}
# 200 pings, and what the two calls of perfquery and their look-ups bring.
check(200 < rise["PortXmitPkts"] < 215 and 200 < rise["PortRcvPkts"] < 215, "counters", rise)
check(rise["PortXmitData"] == rise["PortXmitPkts"] * (rise["PortXmitData"] // rise["PortXmitPkts"]), "words", rise)
end(server)
until(lambda: "0 received" in f.run("host2", f"ibping -c 1 {lids['host9', 1]}"), "no ibping -S")
server = f.start("host9", "ibsysstat -S")
until(lambda: os.uname().nodename in f.run("host2", f"ibsysstat {lids['host9', 1]} host"), "ibsysstat -S")
check("cpu" in f.run("host2", f"ibsysstat {lids['host9', 1]} cpu").lower(), "ibsysstat cpu")
end(server)

# --- ports ---
at = ("sw2", 11)  # host9
lid = lids["sw2", 0]
out = f.run("host0", f"ibportstate {lid} 11 query")
v = fields(out)
check(v["LinkState"] == "Active" and v["PhysLinkState"] == "LinkUp" and "Peer PortInfo" in out, "ibportstate query", out[:300])
check(f"Lid {lid} DR path slid 4; dlid 65535; 0,11 port 1" in out or "0,11 port 1" in out, "ibportstate: peer", out[-800:-600])


def port_state():
    return fields(f.run("host0", f"smpquery portinfo {lid} 11"))["LinkState"], \
        fields(f.run("host0", f"smpquery portinfo {lid} 11"))["PhysLinkState"]


f.run("host0", f"ibportstate {lid} 11 disable")
check(port_state() == ("Down", "Disabled"), "disabled", port_state())
check("host9" not in f.run("host0", "ibhosts"), "ibhosts after a port was disabled")
f.run("host0", f"ibportstate {lid} 11 enable")
until(lambda: port_state() == ("Active", "LinkUp"), "the SM brings the port up")
f.run("host0", f"ibportstate {lid} 11 reset")
until(lambda: port_state() == ("Active", "LinkUp"), "the SM brings the port up after a reset")
f.run("host0", f"ibportstate {lid} 11 speed 1")
check(fields(f.run("host0", f"smpquery portinfo {lid} 11"))["LinkSpeedEnabled"] == "2.5 Gbps", "ibportstate speed")
f.run("host0", f"ibportstate {lid} 11 reset")
until(lambda: fields(f.run("host0", f"smpquery portinfo {lid} 11"))["LinkSpeedActive"] == "2.5 Gbps" and
      port_state()[0] == "Active", "a slower link")
f.run("host0", f"ibportstate {lid} 11 width 1")
f.run("host0", f"ibportstate {lid} 11 reset")
until(lambda: fields(f.run("host0", f"smpquery portinfo {lid} 11"))["LinkWidthActive"] == "1X" and
      port_state()[0] == "Active", "a narrower link")
f.run("host0", f"ibportstate {lid} 11 speed 7")
f.run("host0", f"ibportstate {lid} 11 width 3")
f.run("host0", f"ibportstate {lid} 11 reset")
until(lambda: port_state() == ("Active", "LinkUp"), "the port as it was")

# --- counters of every kind: all fields, by name and value ---
sw0 = lids["sw0", 0]
SELECT = {"PortSelect": "1", "CounterSelect": "0x0000"}
ERRORS = ("SymbolErrorCounter LinkErrorRecoveryCounter LinkDownedCounter PortRcvErrors PortRcvRemotePhysicalErrors PortXmitDiscards "
          "PortXmitConstraintErrors PortRcvConstraintErrors LocalLinkIntegrityErrors ExcessiveBufferOverrunErrors QP1Dropped VL15Dropped "
          "PortXmitWait").split()
MAD_WORDS = 72      # LRH to ICRC of a datagram, in the words that PortXmitData counts


def numbered(prefix, n):
    return {f"{prefix}{i}": "0" for i in range(n)}




def basic():
    """PortCounters behind a clear. A sweep may lie between; then once more."""
    f.run("host0", f"perfquery -R {sw0} 1")
    v = fields(f.run("host0", f"perfquery {sw0} 1"))
    moving = {k: int(v.pop(k)) for k in ("PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts")}
    check(v == {**SELECT, "CounterSelect2": "0x00", "PortRcvSwitchRelayErrors": "0", **{k: "0" for k in ERRORS}}, "perfquery", v)
    check(moving["PortXmitData"] == MAD_WORDS * moving["PortXmitPkts"] and moving["PortRcvData"] == MAD_WORDS * moving["PortRcvPkts"],
          "perfquery: traffic", moving)
    return 0 <= moving["PortRcvPkts"] - moving["PortXmitPkts"] <= 1


until(basic, "perfquery: as many packets came as went")
v = {k: x if k.endswith("Select") else int(x) for k, x in fields(f.run("host0", f"perfquery -x {sw0} 1")).items()}
check(v == {**SELECT, **{f"Port{d}Data": MAD_WORDS * v["PortXmitPkts" if d == "Xmit" else "PortRcvPkts"] for d in ("Xmit", "Rcv")},
            "PortXmitPkts": v["PortUnicastXmitPkts"], "PortRcvPkts": v["PortUnicastRcvPkts"], "PortUnicastXmitPkts": v["PortUnicastXmitPkts"],
            "PortUnicastRcvPkts": v["PortRcvPkts"], "PortMulticastXmitPkts": v["PortMulticastXmitPkts"],
            "PortMulticastRcvPkts": v["PortMulticastRcvPkts"]}, "perfquery -x", v)
for option, prefix, n in (("-X", "XmtDataSL", 16), ("-S", "RcvDataSL", 16), ("--vloppackets", "PortVLOpPackets", 16), ("--vlopdata", "PortVLOpData", 16)):
    v = fields(f.run("host0", f"perfquery {option} {sw0} 1"))
    lanes = {0, 15} if "VLOp" in prefix else {0}
    moved = {i: int(v.pop(f"{prefix}{i}", -1)) for i in lanes}
    check(v == {**SELECT, **{k: x for k, x in numbered(prefix, n).items() if int(k[len(prefix):]) not in lanes}}, "perfquery", option, v)
    check(all(x > 0 and (x % MAD_WORDS == 0 or "Packets" in prefix) for x in moved.values()), "perfquery", option, moved)
for option, names_ in (("-D", "PortInactiveDiscards PortNeighborMTUDiscards PortSwLifetimeLimitDiscards PortSwHOQLifetimeLimitDiscards"),
                       ("-E", "PortLocalPhysicalErrors PortMalformedPktErrors PortBufferOverrunErrors PortDLIDMappingErrors "
                              "PortVLMappingErrors PortLoopingErrors")):
    v = fields(f.run("host0", f"perfquery {option} {sw0} 1"))
    check(v == {**SELECT, **{k: "0" for k in names_.split()}}, "perfquery", option, v)
v = fields(f.run("host0", f"perfquery -T {sw0} 1"))
check(v == {"PortSelect": "1", "CounterSelect": "0x0000000000000000", "SyncHeaderErrorCounter": "0", "UnknownBlockCounter": "0",
            **numbered("ErrorDetectionCounterLane", 12), **numbered("FECCorrectableBlockCtrLane", 12), **numbered("FECUncorrectableBlockCtrLane", 12)},
      "perfquery -T", v)
v = fields(f.run("host0", f"perfquery --smplctl {sw0} 1"))
check(v == {"OpCode": "0x00", "PortSelect": "1", "Tick": "0x10", "CounterWidth": "4", "CounterMask0": "0x02", "CounterMasks1to9": "0x02492492",
            "CounterMasks10to14": "0x0000", "SampleMechanisms": "1", "SampleStatus": "0", "OptionMask": "0x0000000000000003",
            "VendorMask": "0x0000000000000000", "SampleStart": "0", "SampleInterval": "0", "Tag": "0x0000",
            **{f"CounterSelect{i}": "0x0000" for i in range(15)}, "SamplesOnlyOptionMask": "0x0000000000000000"}, "perfquery --smplctl", v)
far = lids["sw1", 0]


def both_ends():
    """A link counts the same at both ends: two requests of perfquery come in before its answer leaves. A sweep may lie between."""
    a, b, c = (fields(f.run("host0", f"perfquery {at}")) for at in (f"{far} 2", f"{lids['host4', 1]} 1", f"{far} 2"))
    tx, rx = int(a["PortXmitPkts"]), int(a["PortRcvPkts"])
    return (int(c["PortXmitPkts"]), int(c["PortRcvPkts"])) == (tx + 2, rx + 2) and int(b["PortRcvPkts"]) - tx == int(b["PortXmitPkts"]) - rx + 1


until(both_ends, "both ends of a link count the same")
check(int(fields(f.run("host0", f"perfquery -a {sw0}")).get("PortXmitPkts", 0)) > 0, "perfquery -a")
check(len(re.findall(r"^# Port counters", f.run("host0", f"perfquery -l {sw0}"), re.M)) >= 1, "perfquery -l")
f.run("host0", f"perfquery -R {sw0} 2")
check(int(fields(f.run("host0", f"perfquery {sw0} 2"))["SymbolErrorCounter"]) == 0, "perfquery -R")
check(fields(f.run("host0", f"perfquery -r {sw0} 2")), "perfquery -r")
check(fields(f.run("host0", f"perfquery -G 0x{topo.port_guid('host9', 1):x} 1")), "perfquery -G")

# Errors of one link, and none elsewhere.
f.run("host0", "ibqueryerrors -k -K", 1)  # links went down above
check("0 bad nodes found" in f.run("host0", "ibqueryerrors"), "ibqueryerrors after a clear")
check(f.dapple("link", "host3/1", "errors", "40").returncode == 0, "dapple fabric link errors")
for _ in range(10):
    f.run("host0", f"perfquery -t 50 {lids['host3', 1]} 1", None, quiet=True)
check(f.dapple("link", "host3/1", "errors", "0").returncode == 0, "dapple fabric link errors 0")
out = f.run("host0", "ibqueryerrors", 1)
check(re.search(r'host3|GUID 0x[0-9a-f]+ port 4', out) and "SymbolErrorCounter" in out, "ibqueryerrors", out)
check(not re.search(r'"?(host[0-24-9]|host10|dual)\b', out), "ibqueryerrors of others", out)
out = f.run("host0", "ibqueryerrors -s SymbolErrorCounter,PortRcvErrors,PortXmitDiscards,LinkDownedCounter,LocalLinkIntegrityErrors")
check("0 bad nodes found" in out, "ibqueryerrors -s", out)
with open(f"{work}/thresholds", "w") as out:
    out.write("SymbolErrorCounter=60000\nPortRcvErrors=60000\nLocalLinkIntegrityErrors=12\n")
check("0 bad nodes found" in f.run("host0", "ibqueryerrors --threshold-file thresholds"), "thresholds")
out = f.run("host0", "ibqueryerrors --data --counters")
rows = re.findall(r"GUID 0x([0-9a-f]+) port (\d+): \[PortXmitData == (\d+) .*?\[PortRcvData == (\d+) .*?\[PortXmitPkts == (\d+) .*?\[PortRcvPkts == (\d+) ", out)
check({(topo.by_guid(int(g, 16)), int(p)) for g, p, *_ in rows} >= set(topo.links), "ibqueryerrors --data: ports", len(rows))
check(all(int(x) == MAD_WORDS * int(n) for _, _, x, r, n, m in rows for x, n in ((x, n), (r, m))), "ibqueryerrors --data: traffic", rows[:3])

# --- classes that nothing serves ---
for command, says in ((f"vendstat -N {sw0}", "failed: classportinfo query"), (f"ibccquery CongestionInfo {sw0}", "congestion info query failed"),
                      (f"ibccconfig SwitchCongestionSetting 0 0 0 0 0 0 {sw0}", "failed")):
    began = time.monotonic()
    out = f.run("host0", command, 255)
    check(says in out + f.errors and time.monotonic() - began < 10, command, f.errors)     # an answer, and no time-out
finish()
