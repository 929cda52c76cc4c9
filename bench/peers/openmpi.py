# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Open MPI by bench-mpi (mpi_pingpong.c), over vader and over tcp."""
import os

from lib import start
from .row import BANDWIDTH_SIZES, LATENCY_SIZES, row

BTLS = [("vader", "self,vader", "local"), ("tcp", "self,tcp", "iwarp")]
TESTS = [("latency", "lat", LATENCY_SIZES, "us"), ("rate", "rate", ("64",), "msg/s"),
         ("bandwidth", "bw", BANDWIDTH_SIZES, "GB/s")]


def runs(btl, test, sizes):
    def run(place):
        env = place.env({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        return start.figures(start.one(
            place, ["mpirun", "-n", "2", "--oversubscribe", "--bind-to", "none", "--mca", "plm",
                    "isolated", "--mca", "pml", "ob1", "--mca", "btl", btl,
                    "-x", "BENCH_CPUS", place.program("peers", "bench-mpi"), test, ",".join(sizes)],
            env, timeout=60))
    return run


def rows(place):
    lacks = None
    if not start.have("mpirun"):
        lacks = "mpirun is not installed (openmpi-bin)"
    elif not os.path.exists(place.program("peers", "bench-mpi")):
        lacks = "there was no mpicc to build bench-mpi (libopenmpi-dev)"
    return [row(f"Open MPI {name}, {label}", f"mpi {path} curve", unit, runs(btl, test, sizes), lacks)
            for label, btl, path in BTLS for name, test, sizes, unit in TESTS]
