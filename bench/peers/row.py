# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""One contender.

name    its name in the tables
tags    groups of --only: the tool, and every path whose targets need it
unit    us, GB/s, msg/s, ...; of a row with several measures that of the plain keys
run     gives {key: figure}; the key is a size, a percentile, or "" when there is one figure
lacks   the reason why it cannot run here, or None
most    largest number of rounds in which it takes part
"""
from dataclasses import dataclass
from typing import Callable, Optional

LATENCY_SIZES = ("8", "64", "512", "4096", "32768", "262144")
BANDWIDTH_SIZES = ("512", "4096", "65536", "1048576")


@dataclass
class Row:
    name: str
    tags: frozenset
    unit: str
    run: Callable
    lacks: Optional[str] = None
    most: int = 99


def row(name, tags, unit, run, lacks=None, most=99):
    return Row(name, frozenset(tags.split()), unit, run, lacks, most)
