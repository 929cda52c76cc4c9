# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The processes of carriers - owners and standbys - as /proc shows them, and their ends."""
import contextlib
import os
import signal
import socket
import subprocess

from rds_tests.common import STRACE, until
from rds_tests.peers import PORT

CALLED = "recvmsg,sendmsg,recvfrom,sendto,recvmmsg,sendmmsg,close,accept4,epoll_ctl,epoll_wait,futex,getsockopt,ioctl,shutdown"


def kill_at(pid, call):
    """Has a process killed at its n-th call. Returns the one that does it, which ends with that."""
    return subprocess.Popen([STRACE, "-qq", "-f", "-o", "/dev/null", "-p", str(pid), "-e", f"trace={CALLED}",
                             "-e", f"inject={CALLED}:signal=KILL:when={call}"], stderr=subprocess.DEVNULL)


def killed_owner(of, before, call=0):
    """Kills the owner of the connections of a host, at once or as it makes its n-th call; returns the process that has taken over."""
    if call:
        kill_at(before, call)
    else:
        os.kill(before, signal.SIGKILL)
    until("nothing takes over", lambda: [pid for pid in carriers(of) if pid != before])
    return next(pid for pid in carriers(of) if pid != before)


def sockets(pid):
    """The sockets that a process has open, by their names in /proc; none of one that has ended."""
    found = set()
    with contextlib.suppress(OSError):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return {name for name in found if name.startswith("socket:")}


def killed_standby(of):
    """Kills the standby of a host; there is another one, which has the descriptors that the owner still has, when this returns."""
    before = carriers(of, "rds-standby")
    assert len(before) == 1, before
    had = sockets(before[0])
    os.kill(before[0], signal.SIGKILL)
    new = lambda: [pid for pid in carriers(of, "rds-standby") if pid not in before]
    until("the standby is not replaced",
          lambda: new() and carriers(of) and had & sockets(carriers(of)[0]) <= sockets(new()[0]))


def is_held(pid):
    """A process of which a thread is held by its tracer in the last part of a call."""
    return any(open(f"/proc/{pid}/task/{t}/stat").read().rsplit(")", 1)[1].split()[0] == "t" for t in os.listdir(f"/proc/{pid}/task"))


def waiting_octets(of):
    """Octets that the kernel has received on the TCP connections of RDS of a host, and nothing has read."""
    rows = [line.split() for line in open(f"/proc/{of}/net/tcp").read().splitlines()[1:]]
    return sum(int(r[4].split(":")[1], 16) for r in rows if r[1].endswith(f":{PORT:04X}") and r[3] == "01")


def carrier_pid(of="self"):
    found = []

    def is_one(): # a new standby has its owner's name for a moment
        found[:] = carriers(of)
        return len(found) == 1
    until("there is no owner, or several", is_one)
    return found[0]


def dead(pid):
    """One that has been killed and still has a name."""
    return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] in "ZX"


def carriers(of="self", name="dapple-rds"):
    """Those in the network namespace of a process, which own connections; or standbys."""
    net, found = os.stat(f"/proc/{of}/ns/net").st_ino, []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{pid}/ns/net").st_ino == net and open(f"/proc/{pid}/comm").read() == name + "\n" and not dead(pid):
                found.append(int(pid))
        except OSError:
            pass
    return found


def end_carriers():
    """Kills the processes of all carriers, also a standby that has just begun and has no name yet."""
    def left():
        found = carriers(name="exe") + carriers(name="rds-standby") + carriers()
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError): # the dead would make each look into /proc longer
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        return found

    def answers(): # while processes begin and end, a look into /proc may miss one
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            return not s.connect_ex(f"\0dapple-rds/{os.geteuid()}")
    until("a carrier does not end", lambda: not left() and not answers())
