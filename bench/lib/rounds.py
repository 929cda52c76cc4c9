# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Interleaved rounds: each contender once a round, in an order that rotates from round to round.

A contender without a figure keeps the reason; after two failures it is left out, so that a hanging
one does not use up the time of the others.

Contenders that are compared with one another, each with its ends on two processors, have the line (`distance`) read before and
after. Between unequal readings the host has moved the processors, and the contender is measured again. At the end of a round,
so are those whose comparison has no figure at their distance. Both are bounded by SPARE; where the line is constant neither happens.
"""
import itertools
import statistics
import time

from . import distance, start

GIVE_UP = 2
TRIES = 3
SPARE = 30       # most seconds of a round for figures measured again


def pressure():
    """Share of the last ten seconds in which a process waited for a processor, in percent."""
    try:
        with open("/proc/pressure/cpu", encoding="ascii") as f:
            return float(f.readline().split("avg10=")[1].split()[0])
    except (OSError, IndexError, ValueError):
        return None


def new_entry(row):
    """By round: figures and their line. "again" has (round, figures, line) of the end of rounds."""
    return {"unit": row.unit, "tags": sorted(row.tags), "lacks": row.lacks, "seconds": 0.0,
            "rounds": [], "lines": [], "again": [], "failures": []}


class Runner:
    def __init__(self, rows, place, tell, seconds, pairs, read):
        self.out = {r.name: new_entry(r) for r in rows}
        self.able = [r for r in rows if not r.lacks]
        self.place, self.tell, self.read = place, tell, read
        self.until = time.monotonic() + seconds if seconds else None
        there = {r.name for r in self.able if "one-core" not in r.tags}
        self.pairs = [p for p in pairs if there.issuperset(p)]
        self.paired = {name for p in self.pairs for name in p}
        self.spare = SPARE

    def late(self):
        return self.until is not None and time.monotonic() > self.until

    def may_again(self):
        return self.spare > 0 and not self.late()

    def once(self, row):
        """Figures, or None, and their line."""
        entry, began, got = self.out[row.name], time.monotonic(), None
        line = [self.read(self.place)] if row.name in self.paired else None
        try:
            got = row.run(self.place)
        except start.Failed as e:
            entry["failures"].append(str(e))
            self.tell(f"{row.name}: {e}")
        if line:
            line.append(self.read(self.place))
        entry["seconds"] += time.monotonic() - began
        return got, line

    def again(self, row):
        began = time.monotonic()
        got = self.once(row)
        self.spare -= time.monotonic() - began
        return got

    def steady(self, row):
        got, line = self.once(row)
        for _ in range(TRIES - 1):
            if got is None or distance.agree(line) or not self.may_again():
                break
            self.tell(f"{row.name}: measured again: the line took {line[0]:.3f} us before and {line[1]:.3f} after")
            got, line = self.again(row)
        return got, line

    def taken(self, name, n):
        return [s for s in taken(self.out[name]) if s[0] == n]

    def apart(self, pair, n):
        ours, theirs = (self.taken(name, n) for name in pair)
        return ours and theirs and not any(distance.agree(a[2], b[2]) for a in ours for b in theirs)

    def settle(self, n):
        """Measures again the figures that a pair lacks at the present distance."""
        for _ in range(TRIES):
            apart = [p for p in self.pairs if self.apart(p, n)]
            if not apart or not self.may_again():
                return
            now, lacking = [self.read(self.place)], set()
            for pair in apart:
                lacking |= {name for name in pair if not any(distance.agree(s[2], now) for s in self.taken(name, n))} or set(pair)
            self.tell(f"measured again at a line of {now[0] or 0:.3f} us: {', '.join(sorted(lacking))}")
            for r in self.able:
                if r.name in lacking and self.may_again():
                    got, line = self.again(r)
                    if got:
                        self.out[r.name]["again"].append((n, got, line))

    def round(self, n, order):
        self.spare = SPARE
        for r in order:
            entry, got, line = self.out[r.name], None, None
            if self.late():
                entry["lacks"] = "no time was left for it in a quick run"
                continue
            if n < r.most and len(entry["failures"]) < GIVE_UP:
                got, line = self.steady(r)
            entry["rounds"].append(got)
            entry["lines"].append(line)
        self.settle(n)


def run(rows, place, rounds, tell, seconds=None, pairs=(), read=distance.read):
    """{name: entry}; an entry's rounds are {key: figure} or None. After an interrupt: the figures so far.

    No contender starts after SECONDS. PAIRS are names of contenders that are compared.
    """
    runner = Runner(rows, place, tell, seconds, pairs, read)
    able = runner.able
    try:
        for n in range(rounds):
            at = n * len(able) // rounds
            tell(f"round {n + 1} of {rounds}: cpu pressure {pressure()} %")
            runner.round(n, able[at:] + able[:at])
    except KeyboardInterrupt:
        tell("interrupted")
    most = max((len(e["rounds"]) for e in runner.out.values()), default=0)
    for e in runner.out.values():
        e["rounds"] += [None] * (most - len(e["rounds"]))
    return runner.out


def taken(entry):
    """(round, figures, line) of each time that a contender gave figures."""
    first = itertools.zip_longest(range(len(entry["rounds"])), entry["rounds"], entry.get("lines", []))
    return [s for s in itertools.chain(first, entry.get("again", [])) if s[1]]


def samples(entries, name, key=""):
    """(round, figure, line) of each."""
    return [(n, got[key], line) for n, got, line in taken(entries.get(name, {"rounds": []})) if got.get(key) is not None]


def values(entries, name, key=""):
    return [v for _, v, _ in samples(entries, name, key)]


def median(entries, name, key=""):
    got = values(entries, name, key)
    return statistics.median(got) if got else None


def spread(entries, name, key=""):
    """Median, least and most, or None."""
    got = values(entries, name, key)
    return (statistics.median(got), min(got), max(got)) if got else None


def readings(entries):
    """Of the line, in the whole run."""
    return [v for e in entries.values() for _, _, line in taken(e) for v in distance.readings(line)]


def why_missing(entry):
    if entry is None:
        return "not chosen"
    return entry["lacks"] or (entry["failures"][0] if entry["failures"] else "not run")
