# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Interleaved rounds: each contender once a round, in an order that rotates from round to round.

A contender without a figure keeps the reason; after two failures it is left out, so that a hanging
one does not use up the time of the others.
"""
import statistics
import time

from . import start

GIVE_UP = 2


def pressure():
    """Share of the last ten seconds in which a process waited for a processor, in percent."""
    try:
        with open("/proc/pressure/cpu", encoding="ascii") as f:
            return float(f.readline().split("avg10=")[1].split()[0])
    except (OSError, IndexError, ValueError):
        return None


def new_entry(row):
    return {"unit": row.unit, "tags": sorted(row.tags), "lacks": row.lacks, "seconds": 0.0,
            "rounds": [], "failures": []}


def once(row, place, entry, tell):
    began = time.monotonic()
    try:
        got = row.run(place)
    except start.Failed as e:
        got = None
        entry["failures"].append(str(e))
        tell(f"{row.name}: {e}")
    entry["seconds"] += time.monotonic() - began
    entry["rounds"].append(got)


def run(rows, place, rounds, tell, seconds=None):
    """{name: entry}; an entry's rounds are {key: figure} or None. After an interrupt: the figures so far.

    No contender starts after SECONDS.
    """
    out = {r.name: new_entry(r) for r in rows}
    try:
        run_all([r for r in rows if not r.lacks], out, place, rounds, tell,
                time.monotonic() + seconds if seconds else None)
    except KeyboardInterrupt:
        tell("interrupted")
    most = max((len(e["rounds"]) for e in out.values()), default=0)
    for e in out.values():
        e["rounds"] += [None] * (most - len(e["rounds"]))
    return out


def run_all(able, out, place, rounds, tell, until):
    for n in range(rounds):
        at = n * len(able) // rounds
        tell(f"round {n + 1} of {rounds}: cpu pressure {pressure()} %")
        for r in able[at:] + able[:at]:
            entry = out[r.name]
            if until and time.monotonic() > until:
                entry["lacks"] = "no time was left for it in a quick run"
            elif n < r.most and len(entry["failures"]) < GIVE_UP:
                once(r, place, entry, tell)
            else:
                entry["rounds"].append(None)


def values(entries, name, key=""):
    """By round, None where there is no figure."""
    return [r.get(key) if r else None for r in entries.get(name, {}).get("rounds", [])]


def median(entries, name, key=""):
    got = [v for v in values(entries, name, key) if v is not None]
    return statistics.median(got) if got else None


def spread(entries, name, key=""):
    """Median, least and most, or None."""
    got = [v for v in values(entries, name, key) if v is not None]
    return (statistics.median(got), min(got), max(got)) if got else None


def why_missing(entry):
    if entry is None:
        return "not chosen"
    return entry["lacks"] or (entry["failures"][0] if entry["failures"] else "not run")
