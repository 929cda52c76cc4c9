# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Open MPI by bench-mpi (mpi_pingpong.c), over vader and over tcp, and by UCX over the verbs of Dapple's RoCE adapters."""
import os

from lib import start
from .row import BANDWIDTH_SIZES, LATENCY_SIZES, row

BTLS = [("vader", "self,vader", "local library"), ("tcp", "self,tcp", "iwarp")]
OVER_DAPPLE = [("latency", "lat", ("8", "32768"), "us"), ("bandwidth", "bw", ("4096", "65536", "1048576"), "GB/s")]
TESTS = [("latency", "lat", LATENCY_SIZES, "us"), ("rate", "rate", ("64",), "msg/s"),
         ("bandwidth", "bw", BANDWIDTH_SIZES, "GB/s")]


def mpirun(place, below, how, test, sizes, **env):
    return start.figures(start.one(
        place, [*below, "mpirun", "-n", "2", "--oversubscribe", "--bind-to", "none", "--mca", "plm", "isolated", *how,
                "-x", "BENCH_CPUS", place.program("peers", "bench-mpi"), test, ",".join(sizes)],
        place.env({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **env}), timeout=60))


def runs(btl, test, sizes):
    return lambda place: mpirun(place, [], ["--mca", "pml", "ob1", "--mca", "btl", btl], test, sizes)


def over_dapple(test, sizes):
    return lambda place: mpirun(place, [place.dapple(), "run", "--adapter", "roce", "--"],
                                ["--mca", "pml", "ucx", "--mca", "osc", "ucx", "--mca", "btl", "self"], test, sizes, UCX_TLS="rc_v,self")


def rows(place):
    lacks = None
    if not start.have("mpirun"):
        lacks = "mpirun is not installed (openmpi-bin)"
    elif not os.path.exists(place.program("peers", "bench-mpi")):
        lacks = "there was no mpicc to build bench-mpi (libopenmpi-dev)"
    built = None if os.path.exists(place.dapple()) else "dapple was not built"
    ours = [row(f"Open MPI {name}, UCX over Dapple", "mpi local library", unit, over_dapple(test, sizes), lacks or built)
            for name, test, sizes, unit in OVER_DAPPLE]
    return ours + [row(f"Open MPI {name}, {label}", f"mpi {path} curve", unit, runs(btl, test, sizes), lacks)
            for label, btl, path in BTLS for name, test, sizes, unit in TESTS]
