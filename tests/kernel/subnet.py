# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A guest, our end of the wire to it, and programs started at either of them."""
import itertools
import os
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
GUEST = os.path.join(HERE, "guest")
KEEP = [sys.executable, "-S", "-E", os.path.join(HERE, "keep")]
# A host in the subnet that is not there, but whose Ethernet address both ends know.
UNUSED = {"v4": "10.77.0.99", "v6": "fd77::99"}
PREPARE = "; ".join(["sysctl -qw net.ipv4.tcp_syn_retries=1"] + [
    f"ip neigh replace {a} lladdr 52:54:00:77:00:63 dev $dev" for a in UNUSED.values()])


class Missing(Exception):
    """Something this machine has not: skipped."""


class Subnet:
    def __init__(self, dapple, tool):
        self.dapple = os.path.abspath(dapple)
        self.tool = tool and os.path.abspath(tool)
        self.work = tempfile.mkdtemp(prefix="dapple-matrix-")
        self.state = os.path.join(self.work, "guest")
        self.env = dict(os.environ, GUEST_DIR=self.state,
                        DAPPLE_RUNTIME_DIR=os.path.join(self.work, "run"))
        self.share = os.path.join(self.state, "g1")
        self.count = itertools.count(1)
        self.now, self.children = None, set()
        self.lock, self.closed = threading.Lock(), False

    def guest(self, *words):
        """Exit status and output."""
        with self.lock:
            if self.closed:
                raise RuntimeError("stopped")
            child = subprocess.Popen(
                [GUEST, *words], env=self.env, text=True, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.children.add(child)
        text = child.communicate()[0]
        with self.lock:
            self.children.discard(child)
        return child.returncode, text

    def must(self, *words):
        code, text = self.guest(*words)
        if code == 77:
            raise Missing(text.strip().removeprefix("skipped: "))
        if code:
            raise RuntimeError(" ".join(words) + ": " + text)

    def up(self, driver):
        self.must("up", "-d", driver)
        with open(os.path.join(self.state, "qemu1.pid"), encoding="utf-8") as f:
            self.pid = int(f.read())
        if self.tool:
            shutil.copy(self.tool, os.path.join(self.share, "peer"))
        self.must("exec", "set -e; dev=eth0; " + PREPARE)
        self.must("ns", "sh", "-ec", "dev=pv0; " + PREPARE)

    def down(self):
        self.guest("down")
        self.now = None

    def close(self):
        """Also while another thread starts something, which then fails."""
        with self.lock:
            self.closed = True
            children = list(self.children)
        for child in children:
            child.terminate()
            child.wait()
        subprocess.run([GUEST, "down"], env=self.env, check=False)
        shutil.rmtree(self.work, ignore_errors=True)

    def ring(self):
        """The guest's loop has a look. Opened so, a guest that is gone does not matter."""
        bell = os.open(os.path.join(self.state, "bell1.in"), os.O_RDWR | os.O_NONBLOCK)
        os.write(bell, b"\n")
        os.close(bell)

    def driver(self, driver):
        """True if it is another one now. From rxe to siw a new guest is the safer way."""
        if self.now == driver:
            return False
        if not (self.now and self.now.startswith("siw") and driver.startswith("siw") and
                self.guest("driver", driver)[0] == 0):
            self.down()
            self.up(driver)
        self.now = driver
        return True

    def alive(self):
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def crashed(self):
        """What the guest's kernel said when it stopped, if it did."""
        with open(os.path.join(self.state, "console1"), errors="replace") as f:
            return next((line.strip() for line in f if "kernel BUG at" in line), None)

    def netem(self, words):
        """None: none any more. What comes in passes a device of its own, as it must."""
        spec = words.replace("_", " ") if words else ""
        self.must("exec", f"""set -e
            modprobe -a sch_netem sch_ingress ifb act_mirred cls_matchall
            ip link add ifb0 type ifb; ip link set ifb0 up
            tc qdisc add dev eth0 root netem {spec}
            tc qdisc add dev ifb0 root netem {spec}
            tc qdisc add dev eth0 handle ffff: ingress
            tc filter add dev eth0 parent ffff: matchall action mirred egress redirect dev ifb0
            """ if words else """
            tc qdisc del dev eth0 root; tc qdisc del dev eth0 ingress; ip link del ifb0""")

    def capture(self, path):
        """The wire into a file, from before this returns."""
        with open(path, "wb") as out, open(path + ".log", "wb") as log:
            p = subprocess.Popen([GUEST, "ns", "tcpdump", "-i", "pv0", "--immediate-mode", "-U",
                                  "-w", "-"],
                                 env=self.env, stdout=out, stderr=log)
        while p.poll() is None and os.path.getsize(path) == 0:
            time.sleep(0.01)
        os.unlink(path + ".log")
        return p

    def ours(self, adapter, text, limit, stays, mpa):
        cmd = [GUEST, "ns", self.dapple, "run", "--adapter", adapter, "--", "sh", "-c",
               f"exec timeout -k 5 {limit} {text}"]
        out = tempfile.TemporaryFile("w+", dir=self.work)
        env = dict(self.env, DAPPLE_MPA=mpa) if mpa else self.env
        return Ours(stays, subprocess.Popen(KEEP + cmd, env=env, text=True, stderr=out,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE), out)

    def theirs(self, text, limit, stays, ready):
        base = f"m{next(self.count)}"
        name = os.path.join(self.share, base)
        lines = ["cd /tmp"]
        if ready:
            lines += [f"timeout -k 5 {limit} {text} &", "c=$!",
                      f"until {ready}; do kill -0 $c || break; busybox usleep 30000; done",
                      f": >/share/{base}.up"]
            if stays:
                lines += [f"until [ -e /share/{base}.stop ]; do busybox usleep 50000; done",
                          "kill $c", "exit 0"]
            lines += ["wait $c"]
        else:
            lines += [f"exec timeout -k 5 {limit} {text}"]
        with open(name + ".tmp", "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        os.rename(name + ".tmp", name + ".cell")
        self.ring()
        return Theirs(self, stays, name)


class Ours:
    """A program below `keep`, which says how it ended and then ends what it left behind."""

    def __init__(self, stays, keeper, out):
        self.stays, self.keeper, self.out, self.code = stays, keeper, out, None

    def look(self, seconds):
        if self.code is None and select.select([self.keeper.stdout], [], [], seconds)[0]:
            self.code = int(self.keeper.stdout.readline() or -9)

    def stop(self):
        if self.stays:
            self.keeper.stdin.write("\n")
            self.keeper.stdin.flush()

    def wait(self, seconds):
        self.look(seconds)
        self.out.seek(0)
        return 0 if self.stays else -9 if self.code is None else self.code, self.out.read()

    def ended(self):
        self.look(0)
        return self.code is not None

    def finish(self):
        self.keeper.communicate()


class Theirs:
    def __init__(self, net, stays, name):
        self.net, self.stays, self.name = net, stays, name

    def stop(self):
        if self.stays:
            with open(self.name + ".stop", "w", encoding="utf-8"):
                pass

    def wait(self, seconds):
        until = time.monotonic() + seconds
        while not os.path.exists(self.name + ".rc"):
            if time.monotonic() > until or not self.net.alive():
                return 124, self.text()
            time.sleep(0.02)
        with open(self.name + ".rc", encoding="utf-8") as f:
            return int(f.read() or 1), self.text()

    def finish(self):
        """Its script has a limit of time of its own."""

    def text(self):
        try:
            with open(self.name + ".out", encoding="utf-8", errors="replace") as f:
                return f.read()
        except OSError:
            return ""

    def ended(self):
        return (os.path.exists(self.name + ".rc") or os.path.exists(self.name + ".up") or
                not self.net.alive())
