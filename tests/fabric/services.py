#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
Services of other packages on a fabric: srp_daemon and ibsrpdm find a storage target, ibacm resolves paths over the SA (ib_acme
verifies them), rdma-ndd names nodes, PCP's InfiniBand PMDA reads ports and counters. Each field of a result is compared with the
topology. One part is one test: where its programs are missing it is a counted skip.
    services.py srp|acm|ndd|pcp
"""
import json

from fabric import *

PMDA, DBPMDA = "/var/lib/pcp/pmdas/infiniband/pmdaib", os.environ.get("DBPMDA", "dbpmda")
PARTS = {"srp": ("srp_daemon", "ibsrpdm"), "acm": ("ibacm", "ib_acme"), "ndd": ("rdma-ndd",), "pcp": (PMDA, DBPMDA)}
part = sys.argv[1]
need("opensm", "ibnetdiscover", *PARTS[part])
MADS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "mads.py")
topo = sample()
f = Fabric(topo)
_, lids = read_discovery(f.run("host3", "ibnetdiscover"))


def gid(name, port=1):
    return f"fe80000000000000{topo.port_guid(name, port):016x}"


def srp():
    """A target at host9 and one at host2; a program at host1 finds both, by the SA and by their device management agents."""
    targets = {"host9": 0x0002c90300aabb01, "host2": 0x0002c90300aabb02}
    for node, ioc in targets.items():
        f.start(node, f"{sys.executable} {MADS} target {ioc:x} Disk-{node}")
    for node in targets:
        until(lambda: "IsDeviceManagementSupported" in f.run("host0", f"smpquery portinfo {lids[node, 1]}"), f"the target at {node}")

    def found(command="ibsrpdm -d /dev/infiniband/umad0"):
        return read_targets(f.run("host1", command, None, quiet=True))

    # The SA learns the capability by notice 144.
    until(lambda: set(found()) == {gid(node) for node in targets}, "ibsrpdm finds both targets")
    for command in ("ibsrpdm -d /dev/infiniband/umad0", "srp_daemon -o -a -i dpl_ib0 -p 1"):
        units = found(command)
        for node, ioc in targets.items():
            m = units.get(gid(node))
            if check(m, command, "has no", node, units):
                check(int(m["lid"], 16) == lids[node, 1] and (m["change"], m["controllers"]) == ("0001", "01") and int(m["ioc"], 16) == ioc and
                      m["vendor"] == "00da00" and int(m["device"], 16) == 0x42 and m["ioclass"] == "0100" and m["id"] == f"Disk-{node}" and
                      m["services"] == "1" and int(m["service"], 16) == ioc and m["name"] == f"SRP.T10:{ioc:016x}", command, m)
    end(f.children[-1])
    until(lambda: set(found()) == {gid("host9")}, "a target that has ended is not found any more")


def ndd():
    """rdma-ndd writes host name and device into node_desc: the SMA answers it, and the SA learns it by notice 144."""
    want = f"{os.uname().nodename.split('.')[0]} dpl_ib0"
    child = f.start("host7", "rdma-ndd -f")
    until(lambda: f.run("host0", f"smpquery nodedesc {lids['host7', 1]}").split(".")[-1].strip() == want, "rdma-ndd names the node")
    until(lambda: want in f.run("host0", f"saquery {lids['host7', 1]}", None, quiet=True), "the SA has the new name")
    check(f.run("host7", "cat /sys/class/infiniband/dpl_ib0/node_desc").strip() == want, "node_desc below /sys")
    end(child)


def acm():
    """ibacm at host4 resolves paths by LID and by GID: each path is what the SA says and what the topology has."""
    port = 20000 + os.getpid() % 20000
    with open(f"{work}/acm.cfg", "w") as out:
        out.write(f"log_file {work}/acm.log\nlog_level 2\nlock_file {work}/acm.pid\nserver_mode loop\nserver_port {port}\nroute_prot sa\n"
                  "acme_plus_kernel_only no\nprovider_lib_path /usr/lib/x86_64-linux-gnu/ibacm\n")
    with open(f"{work}/acm_addr.cfg", "w") as out:
        out.write("host4 dpl_ib0 1 default\n")
    child = f.start("host4", f"ibacm -P -O {work}/acm.cfg -A {work}/acm_addr.cfg", log=f"{work}/acm.out")
    until(lambda: "SERVER" in read(f"{work}/acm.log").upper() and child.poll() is None, "ibacm serves")
    for node in ("host1", "host9"):
        out = f.run("host4", f"ib_acme -S 127.0.0.1 -f l -s {lids['host4', 1]} -d {lids[node, 1]} -v", None)
        check(f.status == 0, "ib_acme by LID to", node, f.status, out[-600:], read(f"{work}/acm.out")[-300:])
    end(child)


PMNS = """root { infiniband }
infiniband { hca port }
infiniband.hca { numports 91:0:2
 node_guid 91:0:5
 system_guid 91:0:6 }
infiniband.port { guid 91:0:7
 lid 91:0:9
 state 91:0:10
 phystate 91:0:11
 rate 91:0:12
 in }
infiniband.port.in { packets 91:1:1 }
"""


def pcp():
    """PCP's PMDA at host5, as dbpmda fetches its values. pcp's package needs systemd to be installed; DBPMDA and
    PCP_BINADM_DIR (of pcp.conf(5)) name a copy elsewhere: dpkg -x."""
    with open(f"{work}/root", "w") as out:
        out.write(PMNS)
    names = re.findall(r"^ ?(?:infiniband\.(\w+)(?:\.in)? \{ )?(\w+) 91:(\d:\d+)", PMNS, re.M)
    words = "".join(f"fetch infiniband.{path}\n" for path in
                    ("hca.numports", "hca.node_guid", "hca.system_guid", "port.guid", "port.lid", "port.state", "port.phystate", "port.rate",
                     "port.in.packets"))

    def packets():
        return int(fields(f.run("host0", f"perfquery -x {lids['host5', 1]} 1"))["PortRcvPkts"])

    check(len(names) == 9, "names of the PMNS", names)
    before = packets()
    r = subprocess.run(f.words("host5", f"{DBPMDA} -n {work}/root"), cwd=work, capture_output=True, text=True, timeout=60,
                       input=f"open pipe {PMDA} -l {work}/pmda.log\ninstance 91.0\ninstance 91.1\n{words}quit\n")
    after = packets()
    got = dict(re.findall(r"\(infiniband\.([\w.]+)\): numval: 1 .*\n\s+inst .* value (\"[^\"]*\"|\S+)", r.stdout))
    swapped = lambda guid: str(int.from_bytes(guid.to_bytes(8, "big"), "little"))    # the PMDA shows these as they come
    guid = topo.nodes["host5"]["guid"]
    want = {"hca.numports": "1", "hca.node_guid": swapped(guid), "hca.system_guid": swapped(guid),
            "port.guid": str(topo.port_guid("host5", 1)), "port.lid": str(lids["host5", 1]), "port.state": '"Active"',
            "port.phystate": '"Link Up"', "port.rate": "20"}
    check({k: got.get(k) for k in want} == want, "PMDA", {k: (got.get(k), want[k]) for k in want if got.get(k) != want[k]}, r.stderr[-300:])
    check(before < int(got.get("port.in.packets", 0)) < after, "packets", before, got.get("port.in.packets"), after)


globals()[part]()
finish()
