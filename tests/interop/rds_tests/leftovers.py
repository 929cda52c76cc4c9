# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A test that fails leaves no process behind."""
import os
import subprocess
import sys
import tempfile

from rds_tests.common import RUNNER
from rds_tests.hosts import END, Pair


def test_nothing_left():
    """A test that fails leaves no process: neither hosts, nor ends, nor carriers."""
    mark = f"RDS_MARK={os.getpid()}"
    env = dict(os.environ, RDS_MARK=str(os.getpid()))
    del env["RDS_INSIDE"]
    with tempfile.TemporaryFile("w+") as said: # a pipe would wait for those that are left
        status = subprocess.run([sys.executable, RUNNER, env["RDS_DAPPLE"], "broken"], env=env, stdout=said, stderr=said).returncode
        said.seek(0)
        assert status not in (0, 77) and "broken on purpose" in said.read(), status
    left = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if mark.encode() in open(f"/proc/{pid}/environ", "rb").read().split(b"\0"):
                left.append(open(f"/proc/{pid}/cmdline").read())
        except OSError:
            pass
    assert not left, left


def bad_broken():
    """Fails with everything under way."""
    p = Pair(71)
    p.fault(1, "nak=request op=send every=1")
    subprocess.Popen(p.far + [sys.executable, END, "drain", p.there, "1"], env=dict(os.environ, DAPPLE_RUNTIME_DIR=p.run, RDS_OVER="0"))
    p.keeper.sendto(b"x", (p.there, 4000))
    raise AssertionError("broken on purpose")
