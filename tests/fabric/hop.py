#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
Data packets that travel hop by hop (`dapple fabric up --hop`), over three switches: perftest's programs, whose packets the counters
of each port on the way have seen, as perfquery reads them; a capture with each packet on each link, judged by tshark; a slow link,
which sets the rate, makes senders wait and marks packets; a damaged one; a cut one; a multicast group. Then a damaged link
without --hop.
Runs in a network namespace of its own, since the programs have fixed ports.
"""
from fabric import *

need("opensm", "ib_send_bw", "ib_send_lat", "ibv_rc_pingpong", "perfquery", "tshark", "mckey", "ss")
PORT = 18515
# perftest's timeout of 67 ms, eight times, is less than a process may wait for a processor beside load: then its connection
# breaks. Code 19 is 2.1 s.
PATIENT = "-u 19"
ENDS_S = 300
# Two leaves with two nodes each, one spine: n1 and n2 at leaf1, n3 and n4 at leaf2.
f = Fabric(None, "--tree", "2x2x1", "--hop", "--capture", f"{work}/hop.pcapng", name="hop")
lid = {name: number for name, (_, number) in node_lids(f).items()}
WAY = [(a, b) for a, b in links(f).items() if {a[0], b[0]} in ({"n1", "leaf1"}, {"leaf1", "spine1"}, {"spine1", "leaf2"}, {"leaf2", "n3"})]
check(len(WAY) == 8, "ports of the way from n1 to n3", WAY)


def order(a):
    return ["n1", "leaf1", "spine1", "leaf2", "n3"].index(a[0])


FORTH = sorted((w for w in WAY if order(w[0]) < order(w[1])), key=lambda w: order(w[0]))


def counters():
    """{(node, port): (sent, received, 32-bit words sent)} of the way's ports; data packets alone, that is behind one query each."""
    out = {}
    for node, port in {p for w in FORTH for p in w}:
        v = fields(f.run("n2", f"perfquery -x {lid[node]} {port}"))
        out[node, port] = tuple(int(v[k]) for k in ("PortXmitPkts", "PortRcvPkts", "PortXmitData"))
    return out


def counter(node, port, name):
    return int(fields(f.run("n2", f"perfquery {lid[node]} {port}")).get(name, -1))


def pair(command, a="n1", b="n3", port=PORT, status=0, b_ends=True):
    """Runs the program at both ends; returns the client's output."""
    words = f"{command} -p {port}" + (f" {PATIENT}" if command.startswith("ib_") else "")
    server = f.start(b, words, log=f"{work}/server-{port}")
    until(lambda: subprocess.run(["ss", "-Hltn", f"sport = :{port}"], capture_output=True, text=True).stdout or server.poll() is not None,
          f"{command} listens")
    out = f.run(a, f"{words} 127.0.0.1", status, timeout=ENDS_S)
    if b_ends:
        check(server.wait(timeout=ENDS_S) == 0 or status != 0, command, "server:", read(f"{work}/server-{port}")[-300:])
    else:
        end(server)
    return out


def busy():
    """The share of all processors' time that other programs use now, measured over half a second: nothing of ours runs."""
    def times():
        v = [int(x) for x in read("/proc/stat").split("\n", 1)[0].split()[1:9]]
        return sum(v) - v[3] - v[4], sum(v)

    used, total = times()
    time.sleep(0.5)
    used, total = times()[0] - used, times()[1] - total
    return used / max(total, 1)


def queues():
    """{(node, port, vl): row} of `show queues`."""
    out = f.dapple("show", "queues").stdout.splitlines()
    names = out[0].split()[3:]
    rows = {}
    for line in out[1:]:
        w = line.split()
        rows[w[0], int(w[1]), int(w[2])] = dict(zip(("sent", "waiting", "bytes", "most", "credits", "wait", "fecn", "late"), map(int, w[3:])))
    return rows


# --- every packet counts at every port
before = counters()
out = pair("ib_send_bw -s 65536 -n 500 -F")
after = counters()
check("65536" in out, "ib_send_bw", out[-400:])
for (node, port), (peer, peer_port) in FORTH:
    sent = after[node, port][0] - before[node, port][0]
    got = after[peer, peer_port][1] - before[peer, peer_port][1]
    words = after[node, port][2] - before[node, port][2]
    # 500 messages, and perftest's few; 65,536 bytes are 16 packets of 4,096 (MTU 4096) or more of less.
    check(sent >= 8000 and words * 4 >= 500 * 65536, "packets by", node, port, sent, words)
    # The two are not read at one moment, and MADs of OpenSM and of the questions themselves count as well.
    check(abs(sent - got) <= 300, "between", node, port, "and", peer, peer_port, sent, got)
rows = queues()
for (node, port), _ in FORTH:
    row = rows.get((node, port, 0), {})
    check(row.get("sent", 0) >= 8000 and row.get("waiting") == 0 and row.get("credits") == 512 and row.get("late") == 0, "queue of", node, port, row)
latency = pair("ib_send_lat -s 2 -n 1000 -F")
check(re.search(r"^\s*2\s+1000\s", latency, re.M), "ib_send_lat", latency[-300:])

# --- a service level has its lane on every link
pair("ib_send_bw -s 4096 -n 200 -F -S 3")
check(queues().get(("spine1", FORTH[2][0][1], 3), {}).get("sent", 0) >= 200, "VL 3 of the spine", queues())

# --- the capture has each packet on each of the four links
text = subprocess.run(["tshark", "-n", "--disable-protocol", "rpcordma", "-r", f"{work}/hop.pcapng", "-Y", "infiniband.bth.opcode != 100", "-T", "fields", "-e", "frame.interface_name",
                       "-e", "infiniband.lrh.vl", "-e", "infiniband.lrh.sl", "-e", "infiniband.bth.opcode", "-e", "_ws.malformed"],
                      capture_output=True, text=True, timeout=300).stdout
seen = {}
for line in text.splitlines():
    name, vl, sl, op, bad = (line + "\t\t\t\t").split("\t")[:5]
    check(not bad, "tshark calls a frame malformed:", line)
    seen[name] = seen.get(name, 0) + 1
    check(int(vl, 0) == int(sl, 0) % 8, "VL of a packet", line)
crossed = [seen.get(f"{node}/{port}", 0) for (node, port), _ in FORTH]
check(len(set(crossed)) == 1 and crossed[0] > 8000, "packets by the links of the way", crossed, seen)

# --- a slow link sets the rate: connections adapt to its marks, and packets wait before it
f.dapple("link", "n3/1", "slow")
until(lambda: links(f).get(("n3", 1)), "the slow link is active")
others = busy()
out = pair("ib_send_bw -s 65536 -n 400 -F")
others = max(others, busy())
rate = float(re.search(r"^\s*65536\s+\d+\s+\S+\s+(\S+)", out, re.M)[1]) if check("65536" in out, "ib_send_bw", out[-400:]) else 0
print("MB/s over a link of 2 Gb/s:", rate, "beside others' share of the processors", round(others, 2))
# The window is a few packets, and each round trip takes the turns of four processes: beside other programs a low rate is the
# scheduler's. On a machine of our own it is the fabric's, which writes each packet into the capture four times (48 MB/s; the
# link's, 228, without --capture).
check((20 if others < 0.15 else 0) < rate < 260, "MB/s over a link of 2 Gb/s:", rate, "others", others)
# Datagrams know no notifications of congestion: they fill the buffers back to their source.
pair("ib_send_bw -c UD -s 4096 -n 5000 -F", b_ends=False)
spine = queues()[("spine1", FORTH[2][0][1], 0)]
check(spine["wait"] > 10000 and spine["late"] == 0, "the spine waits for credits", spine)
check(counter("spine1", FORTH[2][0][1], "PortXmitWait") > 0, "PortXmitWait of the spine")
leaf = queues()[("leaf2", FORTH[3][0][1], 0)]
check(leaf["fecn"] > 0 and leaf["most"] > 16384, "the leaf marks", leaf)
f.dapple("link", "n3/1", "slow", "off")
until(lambda: links(f).get(("n3", 1)), "the link is active")

# --- a damaged link loses packets, which are sent again
f.dapple("link", "n3/1", "errors", "2")
before = counter("n3", 1, "SymbolErrorCounter")
pair("ibv_rc_pingpong -s 4096 -n 500")
lost = counter("n3", 1, "SymbolErrorCounter") - before
check(lost > 0, "symbol errors", lost)
f.dapple("link", "n3/1", "errors", "0")

# --- a link that is cut under traffic ends it by retries, and comes back
server = f.start("n3", f"ibv_rc_pingpong -p {PORT + 1} -n 100000000", log=f"{work}/cut-server")
until(lambda: subprocess.run(["ss", "-Hltn", f"sport = :{PORT + 1}"], capture_output=True, text=True).stdout, "ibv_rc_pingpong listens")
client = f.start("n1", f"ibv_rc_pingpong -p {PORT + 1} -n 100000000 127.0.0.1", log=f"{work}/cut-client")
sent = lambda: queues().get(("n1", 1, 0), {}).get("sent", 0)
base = sent()
until(lambda: sent() > base + 1000, "traffic")
f.dapple("link", "n3/1", "down")
until(lambda: client.poll() is not None or server.poll() is not None, "an end of the cut connection")
check("retry counter exceeded" in read(f"{work}/cut-client") + read(f"{work}/cut-server"), "the ends say why",
      read(f"{work}/cut-client")[-200:], read(f"{work}/cut-server")[-200:])
end(client)
end(server)
f.dapple("link", "n3/1", "up")
until(lambda: links(f).get(("n3", 1)), "the link is active again")
pair("ibv_rc_pingpong -n 1000")

# --- multicast over the switches
addr = {n: re.search(r"198\.1[89]\.[\d.]+", f.run(n, f"{DAPPLE} devices"))[0] for n in ("n1", "n3", "n4")}
members = {n: f.start(n, f"stdbuf -oL mckey -m 224.1.2.3 -b {addr[n]} -C 20", log=f"{work}/mckey-{n}") for n in ("n3", "n4")}
for n in members:
    until(lambda: "joined dgid" in read(f"{work}/mckey-{n}"), f"mckey at {n} has joined")
f.run("n1", f"mckey -m 224.1.2.3 -b {addr['n1']} -s -C 20", timeout=120)
for n, child in members.items():
    check(child.wait(timeout=120) == 0, "mckey at", n, read(f"{work}/mckey-{n}")[-300:])
f.down()

# --- without --hop there are no queues, and a damaged link reaches processes of one host too
f = Fabric(None, name="short")
lid = {name: number for name, (_, number) in node_lids(f).items()}
check("there are no queues" in f.dapple("show", "queues").stdout, "queues without --hop")
f.dapple("link", "n2/1", "errors", "2")
pair("ibv_rc_pingpong -s 4096 -n 500", b="n2", port=PORT + 2)
f.dapple("link", "n2/1", "errors", "0")
# OpenSM may have lost the port by its own MADs meanwhile.
v = until(lambda: fields(f.run("n1", f"perfquery {lid['n2']} 1", None, quiet=True)), "the port answers") or {}
check(int(v.get("SymbolErrorCounter", 0)) > 0 and int(v["PortRcvErrors"]) > 0, "errors of the link to n2", v)
finish()
