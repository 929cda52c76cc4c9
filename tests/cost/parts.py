# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Runs cost-calls under callgrind and reads the parts that it wrote, one for each counted call.

A part has the instructions of the call (total), its system calls (system), the source files in which an instruction ran
(files: those of functions and of functions inlined into them) and the calls from function to
function (calls: caller's file, callee's file, how often).
"""
import os
import re
import subprocess
import sys
import tempfile

TRIGGER = "desc: Trigger: Client Request: "


class Part:
    def __init__(self, call, number):
        self.call, self.number = call, number
        self.total, self.system, self.files, self.calls = 0, 0, {}, {}


def not_comparable(table):
    """None, or why counts made here may be above those recorded in the table without a fault: another gcc
    inlines other functions, and a newer valgrind lets peers have direct access."""
    with open(table) as f:
        meant = next(line.split()[-1] for line in f if line.startswith("# Recorded with gcc"))
    here = subprocess.run(["cc", "-dumpversion"], capture_output=True, text=True).stdout.strip()
    if here.split(".")[0] == meant:
        return None
    return f"the rows of {os.path.basename(table)} hold for gcc {meant} and its release's valgrind, and cc here is {here}: " \
        "they are not judged"


def read(path):
    """The parts of one file of callgrind, which was written without any compression of names."""
    part, home, now, callee, times = None, None, None, None, 0
    with open(path) as f:
        for line in f:
            line = line.rstrip("\n")
            if line.startswith("part: "):
                part = None
            elif line.startswith(TRIGGER):
                call, number = line[len(TRIGGER):].split()
                part = Part(call, int(number))
                yield part
            elif not part or not line:
                continue
            elif line.startswith("fl="):
                home = now = line[3:]
                callee = None
            elif line.startswith(("fi=", "fe=")):
                now = line[3:]
            elif line.startswith("fn="):
                callee = None
            elif line.startswith(("cfi=", "cfl=")):
                callee = line[4:]
            elif line.startswith("calls="):
                times = int(line[6:].split()[0])
                edge = home, callee or home
                part.calls[edge] = part.calls.get(edge, 0) + times
                callee, times = None, -1  # the next line is the cost of the callee
            elif line[0].isdigit() or line[0] in "+-*":
                if times < 0:
                    times = 0
                    continue
                _, cost, system, *_ = map(int, (line + " 0 0").split())
                part.total += cost
                part.system += system
                part.files[now] = part.files.get(now, 0) + cost


def run(dapple, program, slow, adapter, op, size, count, local=None):
    """All parts of both processes, in no order.

    The clock of libcost-slow keeps the background thread away: it takes over from a thread that polls
    seldom, and under callgrind every thread does. Connections are made by that thread, so there it runs.
    """
    env = {k: v for k, v in os.environ.items() if not k.startswith("DAPPLE_")}
    if local:
        env["DAPPLE_LOCAL"] = local
    whole = "yes" if op == "connect" else "no"
    with tempfile.TemporaryDirectory() as tmp:
        clock = ["env", "LD_PRELOAD=" + slow] if op != "connect" else []
        words = [dapple, "run", "--adapter", adapter, *clock, "valgrind", "--tool=callgrind", "--trace-children=yes",
                 "--collect-atstart=" + whole, "--combine-dumps=yes", "--compress-strings=no",
                 "--compress-pos=no", "--collect-systime=usec", "--callgrind-out-file=" + os.path.join(tmp, "out.%p"),
                 program, op, str(size), str(count)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, env=env)
        if done.returncode:
            sys.exit(f"{' '.join(words)}: exit {done.returncode}\n{done.stderr[-2000:]}")
        return [part for name in sorted(os.listdir(tmp)) for part in read(os.path.join(tmp, name))]


def below_src(path, source):
    """The path below src/ of the tree `source`, or None for a file that is not of the product."""
    found = re.search(r"(?:^|.*/)src/(.*)", os.path.normpath(path or "???"))
    if found and os.path.exists(os.path.join(source, "src", found[1])):
        return found[1]
    return None
