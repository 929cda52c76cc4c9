# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The contenders. A module per tool has their commands and parsers, as rows."""
import importlib

MODULES = ("limits", "dapple", "ucx", "openmpi", "libfabric", "iperf", "streams")


def contenders(place):
    out = []
    for name in MODULES:
        out += importlib.import_module("peers." + name).rows(place)
    names = [c.name for c in out]
    assert len(names) == len(set(names)), "two contenders of one name"
    return out
