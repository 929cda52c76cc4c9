# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What was measured on each make of processor: a record each in docs/performance, a column each in docs/performance.md.

A run writes the record of its own processor alone, and in it the rows that it measured: rows of a run of
another commit, and the records of other processors, stay. A target counts as met where it is met on each
processor that has a figure, at each distance of its processors; what a row must reach is today's targets, whenever it was measured.
"""
import glob
import json
import os
import re

from . import tables, targets

FIELDS = ("ratio", "least", "most", "rounds", "line", "best")


def path_of(folder, machine):
    return os.path.join(folder, re.sub("[^a-z0-9]+", "-", machine.lower()).strip("-") + ".json")


def key_of(row):
    return f"{row['path']}: {row['what']}: {row['against']}"


def load(folder):
    """The records, by the names of their processors."""
    records = []
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path, encoding="utf-8") as f:
            records.append(json.load(f))
    return records


def write(folder, record):
    with open(path_of(folder, record["processor"]), "w", encoding="utf-8") as f:
        json.dump(record, f, indent=1, sort_keys=True)
        f.write("\n")


def row_of(judged):
    """What the record keeps: also of each distance, under "at"."""
    row = {f: round(judged[f], 4) if f != "best" else judged[f] for f in FIELDS if f in judged}
    return {**row, "at": [row_of(d) for d in judged["at"]]} if "at" in judged else row


def store(folder, processor, run, weather, judged):
    """run: date and commit. Only rows with figures are taken."""
    path = path_of(folder, processor)
    record = {"processor": processor, "runs": {}, "rows": {}}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            record = json.load(f)
    for t in judged:
        if "ratio" in t:
            record["rows"][key_of(t)] = {"best": t["against"], **row_of(t), "run": run}
    record["runs"][run] = weather
    used = {row["run"] for row in record["rows"].values()}
    record["runs"] = {r: w for r, w in record["runs"].items() if r in used}
    write(folder, record)


def drawn(folder, processor, run):
    """The plots are of this run from now on."""
    for record in load(folder):
        if record["processor"] == processor or "plots" in record:
            record["plots"] = run if record["processor"] == processor else None
            write(folder, {k: v for k, v in record.items() if v is not None})


def cell(row, target, several):
    return tables.ratio(row, several) + " " + targets.verdict(row, target["direction"], target["factor"]) if row else "-"


def whole(rows, target):
    """The verdict over all processors with a figure."""
    said = {targets.verdict(r, target["direction"], target["factor"]) for r in rows if r}
    return "no figure" if not said else "missed" if "missed" in said else "met"


def rows_of(records):
    """(target, [row of each record or None]) in the order of targets.py."""
    for path, what, _, _, against, direction, factor in targets.TARGETS:
        target = {"path": path, "what": what, "against": against, "direction": direction, "factor": factor}
        yield target, [r["rows"].get(key_of(target)) for r in records]


def parts(records):
    """The generated part of docs/performance.md, as paragraphs."""
    lines, verdicts = [], []
    several = [tables.depends(r["rows"].values()) for r in records]
    for target, rows in rows_of(records):
        verdicts.append(whole(rows, target))
        best = " / ".join(dict.fromkeys(r["best"] for r in rows if r and r["best"] != target["against"]))
        lines.append((target["path"], target["what"], target["against"] + (f" ({best})" if best else ""),
                      f"{target['direction']} {target['factor']:g}", *[cell(r, target, s) for r, s in zip(rows, several)], verdicts[-1]))
    runs = [f"- **{r['processor']}**, {run}: {weather}" for r in records for run, weather in sorted(r["runs"].items())]
    count = ", ".join(f"{verdicts.count(v)} {v}" for v in ("met", "missed", "no figure"))
    head = ("path", "measure", "against", "target", *[f"{r['processor']}: ratio (least, most)" for r in records], "on each")
    return ["\n".join(runs), f"Targets, each met only if it is on each processor that has a figure, at each distance: {count}.",
            tables.grid(head, lines),
            *[f"Plots of {r['processor']}, {r['plots']}:" for r in records if "plots" in r]]
