# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""For tests of programs on a soft fabric: a topology that the test knows, the fabric of it, and what programs print.

A test is a Python program: `from fabric import *`, judges by check(), and ends by finish(). DAPPLE names the
command. The runtime directory is the test's own and ends with it.
"""
import atexit
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

DAPPLE = os.environ.get("DAPPLE", "dapple")
PATIENCE = 60
faults = 0
work = tempfile.mkdtemp(prefix="dapple-fabric-")
for name in ("DAPPLE_TREE", "DAPPLE_ADAPTER", "DAPPLE_FABRIC", "LD_PRELOAD", "LD_LIBRARY_PATH"):
    os.environ.pop(name, None)
os.environ["DAPPLE_RUNTIME_DIR"] = work + "/run"
os.environ["OSM_CACHE_DIR"] = os.environ["OSM_TMP_DIR"] = work
os.environ["HOME"] = work


def check(condition, *what):
    """Counts a fault, with the place of the call."""
    global faults
    if not condition:
        faults += 1
        caller = sys._getframe(1)
        print(f"FAULT: line {caller.f_lineno}:", *what, flush=True)
    return bool(condition)


def finish():
    print(f"{faults} faults")
    sys.exit(1 if faults else 0)


def need(*programs):
    """A test whose programs are missing is a counted skip."""
    for program in programs:
        if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
            print(f"{program} is not installed (packaging/deps test)")
            sys.exit(77)


def until(condition, what, seconds=PATIENCE):
    """Waits for a condition. Returns its value; a fault after the time."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            check(False, "not within", seconds, "s:", what)
            return None
        time.sleep(0.02)
    return value


os.environ["PATH"] += ":/usr/sbin:/sbin"


class Topology:
    """Nodes with their ports, and links. Ports: (node, number)."""

    def __init__(self):
        self.nodes, self.links = {}, {}

    def node(self, name, kind, ports, guid):
        self.nodes[name] = {"kind": kind, "ports": ports, "guid": guid}

    def link(self, a, ap, b, bp, width="4x", speed="EDR"):
        self.links[a, ap] = (b, bp, width, speed)
        self.links[b, bp] = (a, ap, width, speed)

    def of_kind(self, kind):
        return sorted(n for n, v in self.nodes.items() if v["kind"] == kind)

    def port_guid(self, name, port):
        v = self.nodes[name]
        return v["guid"] if v["kind"] == "Switch" else v["guid"] + port

    def by_guid(self, guid):
        """Node or port GUID -> node."""
        for name, v in self.nodes.items():
            if guid == v["guid"] or (v["kind"] != "Switch" and 0 < guid - v["guid"] <= v["ports"]):
                return name
        return None

    def text(self):
        """As ibnetdiscover prints it."""
        out = []
        for name, v in self.nodes.items():
            guid, kind = v["guid"], v["kind"]
            out.append(f"vendid=0xda00\ndevid=0x1\nsysimgguid=0x{guid:x}")
            if kind == "Switch":
                out.append(f"switchguid=0x{guid:x}(0x{guid:x})\nSwitch\t{v['ports']} \"S-{guid:016x}\"\t\t# \"{name}\" "
                           "base port 0 lid 0 lmc 0")
            else:
                out.append(f"caguid=0x{guid:x}\nCa\t{v['ports']} \"H-{guid:016x}\"\t\t# \"{name}\"")
            for port in range(1, v["ports"] + 1):
                if (name, port) not in self.links:
                    continue
                peer, pp, width, speed = self.links[name, port]
                own = "" if kind == "Switch" else f"({self.port_guid(name, port):x}) "
                far = self.nodes[peer]
                behind = "" if far["kind"] == "Switch" else f"({self.port_guid(peer, pp):x}) "
                letter = "S" if far["kind"] == "Switch" else "H"
                out.append(f"[{port}]{own}\t\"{letter}-{far['guid']:016x}\"[{pp}]{behind}\t\t# lid 0 lmc 0 \"{peer}\" "
                           f"lid 0 {width}{speed}")
            out.append("")
        return "\n".join(out)


def sample():
    """Four switches in two levels of unlike size, twelve adapters of which one has two ports, unlike links."""
    t = Topology()
    for i, ports in enumerate((8, 12, 36, 24)):
        t.node(f"sw{i}", "Switch", ports, 0x0002c90000200000 + 0x100 * i)
    for i in range(11):
        t.node(f"host{i}", "Ca", 1, 0x0002c90000100000 + 0x10 * i)
    t.node("dual", "Ca", 2, 0x0002c90000100800)
    for i in range(4):
        t.link(f"host{i}", 1, "sw0", i + 1)
        t.link(f"host{i + 4}", 1, "sw1", i + 2, "4x", ("SDR", "DDR", "QDR", "FDR")[i])
    for i in range(3):
        t.link(f"host{i + 8}", 1, "sw2", 10 + i, ("1x", "4x", "12x")[i], "QDR")
    t.link("dual", 1, "sw0", 5)
    t.link("dual", 2, "sw2", 36)
    for i in range(3):
        t.link(f"sw{i}", 7 if i == 0 else 12 if i == 1 else 20, "sw3", i + 1)
        t.link(f"sw{i}", 8 if i == 0 else 11 if i == 1 else 21, "sw3", 20 + i)
    return t


class Fabric:
    def __init__(self, topology=None, *options, sm="opensm", name="f"):
        self.name, self.topology, self.children = name, topology, []
        words = [DAPPLE, "fabric", "up", name, "--sm", sm]
        if topology:
            self.file = f"{work}/{name}.topo"
            with open(self.file, "w") as f:
                f.write(topology.text())
            words += ["--topology", self.file]
        r = subprocess.run(words + list(options), capture_output=True, text=True, timeout=120)
        print(r.stdout + r.stderr, end="", flush=True)
        atexit.register(self.down)
        if r.returncode:
            check(False, "dapple fabric up:", r.returncode)
            finish()

    def down(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
                child.wait()
        self.children = []
        subprocess.run([DAPPLE, "fabric", "down", self.name], capture_output=True, timeout=60)

    def dapple(self, *words):
        return subprocess.run([DAPPLE, "fabric", words[0], "--fabric", self.name, *map(str, words[1:])],
                              capture_output=True, text=True, timeout=PATIENCE)

    def words(self, node, command):
        return [DAPPLE, "fabric", "run", "--fabric", self.name, node, "--"] + command.split()

    def run(self, node, command, status=0, timeout=PATIENCE, quiet=False):
        """Runs a program at a node. Returns its output; another status is a fault (None: any but a signal)."""
        try:
            r = subprocess.run(self.words(node, command), capture_output=True, text=True, timeout=timeout,
                               stdin=subprocess.DEVNULL, cwd=work)
        except subprocess.TimeoutExpired:
            check(False, node, command, "does not end")
            return ""
        self.status, self.errors = r.returncode, r.stderr
        if (r.returncode != status if status is not None else r.returncode < 0) and not quiet:
            check(False, f"{command}: status {r.returncode}, not {status}: {(r.stderr or r.stdout)[-300:]}")
        return r.stdout

    def start(self, node, command, log=None):
        """Starts a program at a node; its output goes to log."""
        out = open(log, "w") if log else subprocess.DEVNULL
        child = subprocess.Popen(self.words(node, command), stdout=out, stderr=subprocess.STDOUT,
                                 stdin=subprocess.DEVNULL, cwd=work)
        self.children.append(child)
        return child


def end(child, how=signal.SIGKILL):
    child.send_signal(how)
    child.wait()


def fields(text):
    """Lines "Name:......value" as a dictionary; the first of each name."""
    out = {}
    for line in text.splitlines():
        if m := re.match(r"\s*([A-Za-z][\w ./-]*?):\.+(.*)", line):
            out.setdefault(m[1], m[2].strip())
    return out


def read_discovery(text):
    """What ibnetdiscover prints as a Topology, and the LIDs: {(node, port): lid}."""
    t, lids, name = Topology(), {}, None
    for line in text.splitlines():
        if m := re.match(r'(Switch|Ca|Rt)\s+(\d+) "[SHR]-([0-9a-f]+)"\s+# "(.*?)"(?:.* lid (\d+))?', line):
            name = m[4]
            t.node(name, m[1], int(m[2]), int(m[3], 16))
            if m[1] == "Switch":
                lids[name, 0] = int(m[5])
        elif m := re.match(r'\[(\d+)\](?:\(([0-9a-f]+)\))?\s+"[SHR]-([0-9a-f]+)"\[(\d+)\](?:\(([0-9a-f]+)\))?\s+#(.*)', line):
            rest = m[6]
            t.links[name, int(m[1])] = (int(m[3], 16), int(m[4]), *re.search(r"(\d+x)([A-Z0-9]+)\s*$", rest).groups())
            if m[2]:
                lids[name, int(m[1])] = int(re.search(r"lid (\d+)", rest)[1])
    for at, (guid, port, width, speed) in t.links.items():
        t.links[at] = (t.by_guid(guid), port, width, speed)
    return t, lids


def read_targets(text):
    """What ibsrpdm and srp_daemon -a print, without -c (with it both print what is not connected yet, by /sys/class/scsi_host, which containers
    lack): the fields of each target, by the GID of its port."""
    pattern = (r"port LID: +(?P<lid>[0-9a-f]{4})\s+port GID: +(?P<gid>[0-9a-f]{32})\s+change ID: +(?P<change>\d+)\s+max controllers: 0x(?P<controllers>\d+)"
               r".*?GUID: +(?P<ioc>[0-9a-f]{16})\s+vendor ID: (?P<vendor>[0-9a-f]+)\s+device ID: (?P<device>[0-9a-f]+)\s+IO class : (?P<ioclass>[0-9a-f]+)"
               r"\s+Maximum size of Send Messages in bytes: (?P<length>\d+)"
               r".*?ID: +(?P<id>\S.*?)\s+service entries: (?P<services>\d+)\s+service\[ *0\]: (?P<service>[0-9a-f]{16}) / (?P<name>\S+)")
    return {m["gid"]: m.groupdict() for m in re.finditer(pattern, text, re.S)}


def switch_tables(f, node):
    """The linear tables of all switches as their agents answer them (dump_fts): {switch: {lid: port}}."""
    out, name = {}, None
    for line in f.run(node, "dump_fts", timeout=120).splitlines():
        if m := re.match(r"Unicast lids .* guid 0x[0-9a-f]+ \((.*)\):", line):
            name = m[1]
            out[name] = {}
        elif m := re.match(r"(0x[0-9a-f]{4}) (\d{3}) : ", line):
            out[name][int(m[1], 16)] = int(m[2])
    return out


def opensm_tables(path, names):
    """The same in OpenSM's dump; names: {guid: switch}."""
    out, name = {}, None
    with open(path) as text:
        for line in text:
            if m := re.match(r"Unicast lids .* guid (0x[0-9a-f]+)", line):
                name = names[int(m[1], 16)]
                out[name] = {}
            elif m := re.match(r"(0x[0-9a-f]+) (\d+) #", line):
                out[name][int(m[1], 16)] = int(m[2])
    return out


def guids_of(f):
    """Node GUIDs as the fabric process shows them: {node: guid}."""
    out = f.dapple("show", "nodes").stdout
    return {m[1]: int(m[2], 16) for m in re.finditer(r"^(\S+) .*(0x[0-9a-f]{16})", out, re.M)}


def node_lids(f):
    """{node: (kind, LID)}; kind: node or switch."""
    out = f.dapple("show", "nodes").stdout
    return {m[1]: (m[2], int(m[3])) for m in re.finditer(r"^(\S+)\s+(node|switch)\s+(\d+)", out, re.M)}


def links(f):
    """Links that are active, both ways: {(node, port): (node, port)}."""
    found = {}
    for m in re.finditer(r"^(\S+)\s+(\d+)\s+(\S+)\s+(\d+)\s+active", f.dapple("show", "links").stdout, re.M):
        found[m[1], int(m[2])] = m[3], int(m[4])
        found[m[3], int(m[4])] = m[1], int(m[2])
    return found


def follow(tables, wires, a, b, lid):
    """The ports by which packets from a to b leave nodes, or None: they do not arrive."""
    way, at = [(a, 1)], wires.get((a, 1), (None, 0))[0]
    while at and at != b and len(way) < 64:
        port = (at, tables.get(at, {}).get(lid, 255))
        if port not in wires:
            return None
        way.append(port)
        at = wires[port][0]
    return way if at == b else None


def read(path):
    """The text of a file, "" if it is not there."""
    try:
        with open(path, errors="replace") as text:
            return text.read()
    except FileNotFoundError:
        return ""


def mads(f, node, *words):
    """Runs mads.py at a node. Returns what it prints."""
    program = os.path.join(os.path.dirname(os.path.realpath(__file__)), "mads.py")
    out = f.run(node, " ".join((sys.executable, program, *map(str, words))), None, quiet=True)
    return json.loads(out) if check(out.startswith("{"), node, words, out, f.errors[-300:]) else {}
