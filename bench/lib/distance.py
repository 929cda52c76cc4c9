# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""How far the two processors are from each other, as the time of a bare cache line (bench-line), in us.

The host of a virtual machine moves its processors within seconds: to two threads of one core, to two cores. Memory that
both ends share is up to seven times slower at one moment than at another, so that figures are compared only at equal distance.
The line of a figure is the list of the readings around it, or None where none was taken.
"""
import os

from . import start

FACTOR = 1.5          # readings of one distance differ by less
ROUNDS = "100000"     # some 10 to 40 ms


def read(place):
    """None without the program, and where both ends share a processor."""
    program = place.limit("bench-line")
    if place.cpus[0] == place.cpus[1] or not os.path.exists(program):
        return None
    try:
        return start.figures(start.one(place, [program, "one", "pause", ROUNDS], timeout=10))[""]
    except start.Failed:
        return None


def readings(*lines):
    return [v for line in lines for v in line or () if v]


def agree(*lines):
    """Figures without a reading agree with all."""
    got = readings(*lines)
    return not got or max(got) <= FACTOR * min(got)


def level(*lines):
    """One number for lines that agree; 0 where there is no reading."""
    got = readings(*lines)
    return sum(got) / len(got) if got else 0.0


def groups(levels):
    """The distances among the levels: (least, most) of each, nearest first."""
    out = []
    for v in sorted(levels):
        if out and v <= FACTOR * out[-1][1]:
            out[-1] = (out[-1][0], v)
        else:
            out.append((v, v))
    return out
