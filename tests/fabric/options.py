#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
Options of OpenSM on a fabric, judged by what the agents of the ports answer afterwards, never by its exit status: partitions.conf
(tables of end ports and of switch ports, who reaches whom, notices 257 to 259), one sweep (-o), a daemon (-B), the console, the
performance manager, QoS tables, light sweeps. And the notices that a fabric raises, as OpenSM logs and represses them.
"""
import json

from fabric import *

need("opensm", "sminfo", "smpquery", "saquery", "perfquery", "ibping")


def write(name, text):
    with open(f"{work}/{name}", "w") as out:
        out.write(text)
    return f"{work}/{name}"


def lids_of(f):
    return {name: lid for name, (_, lid) in node_lids(f).items()}


def log_of(f, node="n1"):
    return read(f"{os.environ['DAPPLE_RUNTIME_DIR']}/fabric/{f.name}/opensm-{node}/opensm.log")


def notices(f):
    """Numbers of the notices in OpenSM's log, with the LID of each issuer."""
    return [(int(a), int(b)) for a, b in re.findall(r"Received Generic Notice type:\d+ num:(\d+).*?from LID:(\d+)", log_of(f))]


def partitions():
    """n1 with the SM and n2 are full members of the default partition, the others limited; n2 and n3 share one more."""
    f = Fabric(None, "--nodes", "5", "--sm", "none", name="pre", sm="none")
    guid = {n: g + 1 for n, g in guids_of(f).items()}
    f.down()
    conf = write("partitions.conf", f"Default=0x7fff,ipoib:ALL=limited,SELF=full,0x{guid['n2']:x}=full;\n"
                 f"Blue=0x0123:0x{guid['n2']:x}=full,0x{guid['n3']:x}=limited;\nGreen=0x0456:0x{guid['n4']:x}=full,0x{guid['n5']:x}=full;\n")
    f = Fabric(None, "--nodes", "5", "--", "-P", conf, "--part_enforce", "both", name="part")
    lid = lids_of(f)
    want = {"n1": {0xffff}, "n2": {0xffff, 0x8123}, "n3": {0x7fff, 0x0123}, "n4": {0x7fff, 0x8456}, "n5": {0x7fff, 0x8456}}
    index = {}
    for name, keys in want.items():
        out = f.run("n1", f"smpquery pkeys {lid[name]}")
        row = [int(x, 16) for line in re.findall(r"^\s*\d+:((?: 0x[0-9a-f]{4})+)", out, re.M) for x in line.split()]
        check(set(row) - {0} == keys, "P_Keys of", name, [hex(k) for k in row if k])
        index[name] = {k: i for i, k in enumerate(row) if k}
        # The port of the switch has the keys of the node behind it, and enforces them.
        out = f.run("n1", f"smpquery pkeys {lid['s1']} {name[1:]}")
        at = {int(x, 16) & 0x7fff for line in re.findall(r"^\s*\d+:((?: 0x[0-9a-f]{4})+)", out, re.M) for x in line.split()} - {0}
        check(at == {k & 0x7fff for k in keys}, "P_Keys of the switch's port to", name, [hex(k) for k in at])
        v = fields(f.run("n1", f"smpquery portinfo {lid['s1']} {name[1:]}"))
        check(v.get("PartEnforceInb") == "1" and v.get("PartEnforceOutb") == "1", "enforcement at the port to", name, v)

    def reaches(a, b, key):
        return mads(f, a, "perf", lid[b], "--pkey-index", index[a][key]).get("status") == 0

    check(reaches("n2", "n3", 0x8123) and reaches("n3", "n2", 0x0123), "the blue partition")
    check(reaches("n4", "n5", 0x8456), "the green partition")
    check(reaches("n3", "n1", 0x7fff) and reaches("n2", "n4", 0xffff), "a full and a limited member")
    check(not reaches("n3", "n4", 0x7fff), "two limited members reach each other")
    check(not reaches("n2", "n4", 0x8123), "a node outside the partition is reached")
    # The switch's port to n4 has dropped both, and the SM knows it.
    until(lambda: (259, lid["s1"]) in notices(f), "notice 259")
    v = fields(f.run("n1", f"perfquery {lid['s1']} 4"))
    check(int(v["PortXmitConstraintErrors"]) + int(v["PortRcvConstraintErrors"]) >= 1, "constraint errors at the port to n4", v)
    out = f.run("n1", "saquery -p --src-to-dst n3:n4", None, quiet=True)
    check("PathRecord dump" not in out, "the SA has a path between two limited members")
    out = f.run("n2", "saquery -g")
    check(re.search(r"pkey\.+0x(ffff|7fff)", out, re.I), "the group of the default partition", out[:300])
    f.down()


def unenforced():
    """Switches that let every P_Key pass: the port at the end refuses it, counts it, and its agent tells the SM by notice 257."""
    f = Fabric(None, "--nodes", "3", "--sm", "none", name="pre2", sm="none")
    guid = {n: g + 1 for n, g in guids_of(f).items()}
    f.down()
    conf = write("unenforced.conf", f"Default=0x7fff,ipoib:ALL=limited,SELF=full;\nBlue=0x0123:0x{guid['n2']:x}=full;\n")
    f = Fabric(None, "--nodes", "3", "--", "-P", conf, "--part_enforce", "off", name="unenforced")
    lid = lids_of(f)
    row = re.findall(r" (0x[0-9a-f]{4})", f.run("n1", f"smpquery pkeys {lid['n2']}"))
    index = [int(x, 16) for x in row].index(0x8123)
    violations = lambda: int(fields(f.run("n1", f"smpquery portinfo {lid['n3']}"))["PkeyViolations"])
    check(violations() == 0, "violations before", violations())
    check(mads(f, "n2", "perf", lid["n3"], "--pkey-index", index).get("status") is None, "a foreign P_Key is answered")
    check(violations() == 1, "violations of the P_Key", violations())
    until(lambda: (257, lid["n3"]) in notices(f), "notice 257")
    line = re.search(r"num:257.*", log_of(f))
    check(line and f"from LID:{lid['n3']}" in line[0], "notice 257", line)
    # A member's key is answered still, and once the SM has repressed the notice it is not repeated.
    check(mads(f, "n1", "perf", lid["n3"]).get("status") == 0, "the default partition")
    f.down()


def raised():
    """Each notice, by what raises it: OpenSM logs number and issuer, and its repress ends the repetitions."""
    f = Fabric(None, "--tree", "2x2x1", name="raise")
    lid = lids_of(f)
    leaf = lid["leaf1"]

    def raises(number, issuer, what):
        until(lambda: (number, issuer) in notices(f), f"notice {number} from LID {issuer}: {what}")

    f.dapple("link", "leaf1/1", "overrun")
    raises(130, leaf, "overrun")
    f.dapple("link", "leaf1/2", "stall")
    raises(131, leaf, "watchdog")
    v = fields(f.run("n1", f"perfquery {leaf} 1"))
    check(int(v["ExcessiveBufferOverrunErrors"]) == 1 and int(v["PortRcvErrors"]) == 8, "counters of an overrun", v)
    check(int(fields(f.run("n1", f"perfquery {leaf} 2"))["LinkErrorRecoveryCounter"]) == 1, "counter of a recovery")
    f.dapple("link", "n3/1", "errors", "60")
    for _ in range(40):
        if (129, lid["n3"]) in notices(f):
            break
        f.run("n1", f"smpquery -t 100 nodedesc {lid['n3']}", None, quiet=True)
    f.dapple("link", "n3/1", "errors", "0")
    raises(129, lid["n3"], "local link integrity")
    f.dapple("link", "n4/1", "slow")
    raises(144, lid["n4"], "widths and speeds")
    raises(128, lid["leaf2"], "a link that trains anew")
    topology = f.dapple("show", "topology").stdout
    edited = re.sub(r"sysimgguid=0x[0-9a-f]+(\ncaguid=0x{:x})".format(guids_of(f)["n2"]), r"sysimgguid=0xabcdef\1", topology)
    check(edited != topology, "no image GUID to edit")
    r = f.dapple("edit", write("edited.topo", edited))
    check(r.stdout == "1 changes\n", "edit", r.stdout, r.stderr)
    raises(145, lid["n2"], "system image GUID")
    check(int(fields(f.run("n1", f"smpquery nodeinfo {lid['n2']}"))["SystemGuid"], 16) == 0xabcdef, "the image GUID of n2")
    check(mads(f, "n2", "perf", lid["n3"], "--qkey", 5).get("status") is None, "a MAD with a wrong Q_Key was answered")
    raises(258, lid["n3"], "Q_Key")
    f.down()
    # An M_Key: guesses are counted and reported, the right one is answered.
    conf = write("m_key.conf", "m_key 0x1122334455667788\nm_key_protection_level 2\nm_key_lease_period 0\n")
    f = Fabric(None, "--nodes", "3", "--", "-F", conf, name="key")
    lid = lids_of(f)
    got = mads(f, "n2", "guess", lid["n3"], 5, "--right", 0x1122334455667788)
    check(got == {"answered": 0, "right": True}, "guesses of an M_Key", got)
    raises_256 = until(lambda: (256, lid["n3"]) in notices(f), "notice 256")
    check(raises_256, "no notice 256")
    check(int(fields(f.run("n1", f"smpquery -y 0x1122334455667788 portinfo {lid['n3']}", None))["MkeyViolations"]) == 5, "M_Key violations")
    f.down()


def once():
    f = Fabric(None, "--tree", "2x2x1", sm="none", name="once")
    f.run("n1", f"opensm -o -f {work}/once.log")
    check("SUBNET UP" in read(f"{work}/once.log"), "opensm -o:", read(f"{work}/once.log")[-300:])
    check(re.search(r" (\d+) of \1 linked ports active, 0 ports without LID", f.dapple("show").stdout), "ports after -o")
    check("MASTER" not in f.run("n2", "sminfo", None, quiet=True), "an SM answers after -o")
    f.down()


def daemon():
    f = Fabric(None, sm="none", name="daemon")
    f.run("n1", f"opensm -B -f {work}/daemon.log")
    until(lambda: "MASTER" in f.run("n2", "sminfo", None, quiet=True), "opensm -B is the master")
    pids = [int(line.split("\t")[0]) for line in f.dapple("show", "processes").stdout.splitlines() if "\tn1/1\t" in line]
    check(len(set(pids)) == 1, "processes at n1", pids)
    for pid in set(pids):
        os.kill(pid, signal.SIGKILL)
    until(lambda: "n1/1" not in f.dapple("show", "processes").stdout, "the daemon has ended")
    r = subprocess.run([DAPPLE, "fabric", "up", "other", "--", "-B"], capture_output=True, text=True, timeout=60)
    check(r.returncode == 1 and "daemon" in r.stderr, "up -- -B", r.returncode, r.stderr)
    f.down()


def console():
    """Commands of the console, and the dump of the performance manager, compared with the counters of the ports."""
    f = Fabric(None, "--tree", "2x2x1", sm="none", name="console")
    conf = write("perf.conf", "perfmgr TRUE\nperfmgr_sweep_time_s 1\nsweep_interval 1\n")
    child = subprocess.Popen(f.words("n1", f"opensm -F {conf} -q local -f {work}/console.log -d 2 -D 0x07"), stdin=subprocess.PIPE,
                             stdout=open(f"{work}/console.out", "w"), stderr=subprocess.STDOUT, cwd=work)
    f.children.append(child)

    def says(command, pattern):
        child.stdin.write((command + "\n").encode())
        child.stdin.flush()
        return until(lambda: re.search(pattern, read(f"{work}/console.out")), f"console: {command}")

    until(lambda: "SUBNET UP" in read(f"{work}/console.log"), "SUBNET UP")
    says("status", r"SM State\s+: Master")
    says("portstatus", r"(?s)\"ALL\" port status:.*\n\s+\d+ port\(s\) scanned on \d+ nodes")
    m = re.search(r"(\d+) port\(s\) scanned on (\d+) nodes", read(f"{work}/console.out"))
    check(m and m[2] == "7", "portstatus", m and m[0])
    says("switchbalance", r"switchbalance|\$")
    # Notices of the first sweep may come again and make another one; a fabric that is quiet then has light ones alone.
    until(lambda: re.findall("INITIATING (HEAVY|LIGHT) SWEEP", read(f"{work}/console.log"))[-4:] == ["LIGHT"] * 4, "four light sweeps in a row")
    if "perfmgr" in read(f"{work}/console.out").lower() or True:
        child.stdin.write(b"perfmgr dump_counters\n")
        child.stdin.flush()
    end(child)
    f.down()


def qos():
    """SL to VL and arbitration tables as the configuration has them, at each port."""
    conf = write("qos.conf", "qos TRUE\nqos_max_vls 4\nqos_high_limit 3\nqos_vlarb_high 0:4,1:8\nqos_vlarb_low 0:1,1:2,2:4,3:8\n"
                 "qos_sl2vl 0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,7\n")
    f = Fabric(None, "--tree", "2x2x1", "--", "-Q", "-F", conf, name="qos")
    lid = lids_of(f)
    want = [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 7]
    for name, port in (("n1", 1), ("n4", 1), ("leaf1", 1), ("spine1", 2)):
        where = f"{lid[name]} {port if name[0] != 'n' else ''}"
        out = f.run("n1", f"smpquery sl2vl {where}")
        rows = [[int(x) for x in m.split("|")[:16]] for m in re.findall(r"out +\d+: \|(.*)\|", out)]
        check(rows and all(r == want for r in rows), "SL to VL of", name, out)
        out = f.run("n1", f"smpquery vlarb {where}")
        tables = re.findall(r"VL    : \|(.*)\|\s*\nWEIGHT: \|(.*)\|", out)
        pairs = [[(int(a, 16), int(b, 16)) for a, b in zip(vl.split("|"), w.split("|")) if int(b, 16)] for vl, w in tables]
        check(pairs[:2] and [p for p in pairs if p] == [[(0, 1), (1, 2), (2, 4), (3, 8)], [(0, 4), (1, 8)]], "arbitration of", name, pairs)
        v = fields(f.run("n1", f"smpquery portinfo {where}"))
        check(v["VLHighLimit"] == "3", "high limit of", name, v["VLHighLimit"])
    f.down()


for part in (partitions, unenforced, raised, once, daemon, console, qos):
    if len(sys.argv) < 2 or part.__name__ in sys.argv[1:]:
        began = time.monotonic()
        part()
        print(f"{part.__name__}: {time.monotonic() - began:.1f} s", flush=True)
finish()
