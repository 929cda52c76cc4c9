# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A second host: a network namespace with a wire to this one, and programs and carriers there."""
import os
import socket
import subprocess
import sys
import tempfile

from rds_tests.carriers import carrier_pid
from rds_tests.common import HERE, LIMIT, SOL_RDS, TRANSPORT, rds

FAR = r"""
import socket, sys
s = socket.socket(21, socket.SOCK_SEQPACKET)
s.settimeout(60)
if sys.argv[3] != "-1":
    s.setsockopt(276, 8, int(sys.argv[3]))
s.bind((sys.argv[1], 4000))
print("ready", flush=True)
for _ in range(int(sys.argv[2])):
    data, who = s.recvfrom(200000)
    s.sendto(data, who)
s.sendto(b"", (who[0], 0)) # the answer comes behind: the other end has all
assert s.recvfrom(10)[0] == b""
"""


def far_host(net):
    """Another network namespace, 10.NET.0.2 and .3, with a wire to 10.NET.0.1 here. Returns its holder, and the words before a command there."""
    holder = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo; read -r end"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    holder.stdout.readline()
    far = ["nsenter", "-n", "-t", str(holder.pid)]
    near, there = f"near{net}", f"far{net}"
    for words in (["ip", "link", "add", near, "type", "veth", "peer", "name", there, "netns", str(holder.pid)],
                  ["ip", "addr", "add", f"10.{net}.0.1/24", "dev", near], ["ip", "link", "set", near, "up"],
                  far + ["ip", "addr", "add", f"10.{net}.0.2/24", "dev", there], far + ["ip", "addr", "add", f"10.{net}.0.3/24", "dev", there],
                  far + ["ip", "link", "set", "lo", "up"], far + ["ip", "link", "set", there, "up"]):
        subprocess.run(words, check=True)
    return holder, far


def v4_gid(addr):
    return bytes(10) + b"\xff\xff" + socket.inet_aton(addr)


END = os.path.join(HERE, "..", "..", "kernel", "rds_end.py")


def far_end(far, run, *words):
    end = subprocess.Popen(far + [sys.executable, END, *words], stdout=subprocess.PIPE, env=dict(os.environ, DAPPLE_RUNTIME_DIR=run))
    assert end.stdout.readline() == b"ready\n"
    return end


KEEPER = """
import socket, sys
s = socket.socket(21, socket.SOCK_SEQPACKET)
s.setsockopt(276, 8, 0)
s.bind((sys.argv[1], 3000))
print("ready", flush=True)
sys.stdin.read()
"""


class Pair:
    """Carriers of two hosts that stay and have opened their adapters, and messages over RDMA between them."""

    def __init__(self, net):
        self.here, self.there = f"10.{net}.0.1", f"10.{net}.0.2"
        self.holder, self.far = far_host(net)
        self.run = tempfile.mkdtemp(dir=os.environ.get("DAPPLE_RUNTIME_DIR"))
        self.keeper = rds()
        self.keeper.setsockopt(SOL_RDS, TRANSPORT, 0)
        self.keeper.bind((self.here, 3000))
        self.other = subprocess.Popen(self.far + [sys.executable, "-c", KEEPER, self.there], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, env=dict(os.environ, DAPPLE_RUNTIME_DIR=self.run))
        assert self.other.stdout.readline() == b"ready\n"
        far_carrier = carrier_pid(self.holder.pid)
        runtime = os.environ.get("DAPPLE_RUNTIME_DIR")
        self.ends = [(carrier_pid(), dict(os.environ, **({"DAPPLE_RUNTIME_DIR": runtime} if runtime else {}))),
                     (far_carrier, dict(os.environ, DAPPLE_RUNTIME_DIR=self.run))]

    def flood(self, count=300, ports=2, depth=16, over="0"):
        env = dict(os.environ, RDS_OVER=over)
        end = subprocess.Popen(self.far + [sys.executable, END, "drain", self.there, str(ports)], stdout=subprocess.PIPE,
                               env=dict(env, DAPPLE_RUNTIME_DIR=self.run))
        assert end.stdout.readline() == b"ready\n"
        subprocess.run([sys.executable, END, "flood", self.here, self.there, str(count), str(ports), str(depth)], check=True, env=env,
                       timeout=10 * LIMIT, stdout=subprocess.DEVNULL)
        assert not end.wait(LIMIT)

    def fault(self, end, *words):
        pid, env = self.ends[end]
        return subprocess.run([os.environ["RDS_DAPPLE"], "fault", "--pid", str(pid), *words], check=True, stdout=subprocess.PIPE, text=True,
                              env=env).stdout

    def close(self):
        self.other.communicate()
        self.holder.communicate()
