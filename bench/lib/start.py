# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Starts one end or two, collects their output, and ends them.

Every program gets a session of its own, and with it a share of the processors (sched_autogroup):
beside a build with equal rights a benchmark would measure the build.
"""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time


class Failed(Exception):
    """A contender gave no figure; the text is the reason."""


class Place:
    """The build, the folders, and the processors of the two ends."""

    def __init__(self, build, quick=False):
        self.build = os.path.realpath(build)
        self.here = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
        self.quick = quick
        cpus = sorted(os.sched_getaffinity(0))
        self.cpus = (cpus[0], cpus[1] if len(cpus) > 1 else cpus[0])
        self.most = 120        # most seconds for a program
        self.raised = None     # True if the share of the processors could be raised

    def dapple(self):
        return os.path.join(self.build, "dapple")

    def limit(self, name):
        return os.path.join(self.build, "bench", "limits", name)

    def program(self, *parts):
        return os.path.join(self.build, "bench", *parts)

    def env(self, more=None, one_core=False):
        pair = (self.cpus[0],) * 2 if one_core else self.cpus
        path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
        return {**os.environ, "PATH": path, "BENCH_CPUS": f"{pair[0]} {pair[1]}", **(more or {})}


def have(program):
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def spawn(place, words, env, **more):
    try:
        p = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace",
                             start_new_session=True, **more)
    except OSError as e:
        raise Failed(f"{words[0]}: {e.strerror}") from e
    try:
        with open(f"/proc/{p.pid}/autogroup", "w", encoding="ascii") as f:
            f.write("-10")
        place.raised = True
    except OSError:
        place.raised = bool(place.raised)
    return p


def end(p):
    """Ends the whole session of a program, which may have exited already."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(p.pid, signal.SIGKILL)
    if not p.stdout.closed:
        p.communicate()


def last_words(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:160] if lines else "no output"


def one(place, words, env=None, timeout=60):
    timeout = min(timeout, place.most)
    p = spawn(place, words, env or place.env())
    try:
        out, _ = p.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Failed(f"{os.path.basename(words[0])}: no end after {timeout} s") from None
    finally:
        end(p)
    if p.returncode:
        raise Failed(f"{os.path.basename(words[0])}: status {p.returncode}: {last_words(out)}")
    return out


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def listens(port):
    want = f":{port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError), open(table, encoding="ascii") as f:
            for line in f:
                fields = line.split()
                if len(fields) > 3 and fields[1].endswith(want) and fields[3] == "0A":
                    return True
    return False


def two(place, server, client, port, env=None, timeout=60):
    """Output of the client. Each on its processor; the server must listen on the TCP port."""
    env = env or place.env()
    s = spawn(place, ["taskset", "-c", str(place.cpus[1])] + server, env)
    try:
        until = time.monotonic() + 10
        while not listens(port):
            if s.poll() is not None:
                raise Failed(f"{server[0]}: {last_words(s.communicate()[0])}")
            if time.monotonic() > until:
                raise Failed(f"{server[0]}: does not listen")
            time.sleep(0.01)
        return one(place, ["taskset", "-c", str(place.cpus[0])] + client, env, timeout)
    finally:
        with contextlib.suppress(subprocess.TimeoutExpired):
            s.wait(2)
        end(s)


def figures(text):
    """Parses the output of the programs of this folder: a figure, or lines of a name and a figure."""
    out = {}
    for line in text.splitlines():
        words = line.split()
        try:
            if len(words) == 1:
                out[""] = float(words[0])
            elif len(words) == 2:
                out[words[0]] = float(words[1])
        except ValueError:
            continue
    if not out:
        raise Failed("no figure in: " + last_words(text))
    return out
