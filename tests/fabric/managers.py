#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
Two and three subnet managers with priorities: election, handover to a higher one, failover when the master is killed
or stopped, and the return of the old master. Judged by sminfo, which asks the SM's port, and by the logs.
"""
import re

from fabric import *

need("opensm", "sminfo")
topo = sample()
f = Fabric(topo, sm="none")
LIGHT = "-s 1"


class Manager:
    def __init__(self, node, priority):
        self.node, self.priority = node, priority
        self.log = f"{work}/{node}.log"
        self.start()

    def start(self):
        conf = f"{work}/{self.node}.conf"
        with open(conf, "w") as out:
            out.write("sweep_interval 1\nsminfo_polling_timeout 300\npolling_retry_number 3\n")
        self.process = f.start(self.node, f"opensm -F {conf} -p {self.priority} -f {self.log} -e")

    def text(self):
        return read(self.log)

    def signal(self, how):
        self.process.send_signal(how)


def master(at="host8"):
    """Port GUID and priority of the master that a node sees."""
    out = f.run(at, "sminfo", None, quiet=True)
    m = re.match(r"sminfo: sm lid (\d+) sm guid 0x([0-9a-f]+), activity count (\d+) priority (\d+) state (\d) (\w+)", out)
    return (topo.by_guid(int(m[2], 16)), int(m[4])) if m and m[6] == "SMINFO_MASTER" else None


def becomes(node, why, priority=None):
    """All nodes see this master, and its subnet is up."""
    for at in ("host8", "host1", "dual"):
        until(lambda: (m := master(at)) and m[0] == node and (priority is None or m[1] == priority), f"{why}: {node}, at {at}")
    until(lambda: states() == {"Active"}, f"{why}: all ports are active")


def states():
    out = f.run("host8", "iblinkinfo -l", None, quiet=True)
    return set(re.findall(r"Gbps\s+(\w+)/", out)) if len(re.findall("==>", out)) >= len(topo.links) else set()


# The higher priority wins whichever comes first; among equals the lower GUID.
low = Manager("host2", 3)
becomes("host2", "the only one", 3)
high = Manager("host6", 9)
becomes("host6", "handover to a higher priority", 9)
check("Entering MASTER" in high.text() and "Entering STANDBY" in low.text(), "logs of a handover")
equal = Manager("host9", 9)
until(lambda: "Entering STANDBY" in equal.text(), "an equal one with a higher GUID stands by")
check(master() == ("host6", 9), "the master stays")

# The master dies: of the two that wait the higher one takes over.
end(high.process)
becomes("host9", "failover", 9)
check(master("host2") == ("host9", 9), "the standby sees the new master")

# The old master comes back; GUID decides.
high.start()
becomes("host6", "the return of the old master", 9)
until(lambda: equal.text().count("Entering STANDBY") >= 2, "the master hands over")

# The master stops, and goes on later: there are two for a moment, and then one.
high.signal(signal.SIGSTOP)
becomes("host9", "failover from a stopped master", 9)
high.signal(signal.SIGCONT)
becomes("host6", "the stopped master goes on", 9)

# The links change under a master that has taken over.
f.dapple("link", "host1/1", "down")
until(lambda: '"host1"' not in f.run("host8", "ibhosts", None, quiet=True), "a link goes down")
end(high.process)
until(lambda: (m := master()) and m[0] == "host9", "failover with a link down")
f.dapple("link", "host1/1", "up")
becomes("host9", "after the link is mended", 9)

# A second subnet manager at a port that has one.
twice = f.start("host9", f"opensm -f {work}/twice.log -p 1", log=f"{work}/twice.out")
until(lambda: twice.poll() is not None or "ERR" in read(f"{work}/twice.log"), "the second one at a port")
check("Entering MASTER" not in read(f"{work}/twice.log"), "a second manager at one port is refused")
check(master() == ("host9", 9), "the first one stays")
end(twice)

# An orderly end hands over at once.
equal.signal(signal.SIGTERM)
becomes("host2", "the last one", 3)
end(low.process)
until(lambda: master() is None, "no subnet manager is left")
finish()
