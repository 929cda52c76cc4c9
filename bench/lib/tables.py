# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Results as Markdown."""
from . import distance, rounds


def short(v):
    if v is None:
        return "-"
    if v == 0:
        return "0"
    if abs(v) >= 1e5:
        return f"{v / 1e6:.3g} M"
    return f"{v:.3g}" if abs(v) < 1000 else f"{v:,.0f}"


def grid(head, lines):
    out = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    out += ["| " + " | ".join(str(c).replace("|", "/") for c in line) + " |" for line in lines]
    return "\n".join(out)


def weather(meta, judged):
    before, after = meta["pressure"]
    said = (f"{meta['rounds']} interleaved rounds on processors {meta['cpus'][0]} and {meta['cpus'][1]} "
            f"of {meta['machine']}, Linux {meta['kernel']}. Processes waited for a processor "
            f"{short(before)} % of the time before and {short(after)} % after the run; the bench's "
            f"own share of the processors could {'' if meta['raised'] else 'not '}be raised.")
    if meta.get("line"):
        low, high = meta["line"]
        kept, left = (sum(t.get(what, 0) for t in judged if "at" in t or t.get("left")) for what in ("rounds", "left"))
        said += f" A bare cache line took {low:.3f} to {high:.3f} us" + (
            ": the host moved the processors. A ratio is of one distance, named by its line; "
            f"of {kept + left} there would be, {left} were left out, since a round had no figures of one distance."
            if left or not distance.agree([low, high]) else ".")
    return said


def depends(rows):
    """True if the ratios of these rows are of more than one distance."""
    return len(distance.groups([d["line"] for r in rows for d in r.get("at", ())])) > 1


def ratio(row, several):
    """With the line of each distance, if there were several."""
    def one(r):
        return f"{r['ratio']:.2f} ({r['least']:.2f}, {r['most']:.2f})"
    if not several or "at" not in row:
        return one(row)
    return "; ".join(f"{one(d)} at {d['line']:.2f} us" for d in row["at"])


def of_targets(judged):
    lines, several = [], depends(judged)
    for t in judged:
        limit = f"{t['direction']} {t['factor']:g}"
        best = t.get("best", t["against"])
        called = t["against"] + (f" ({best})" if best != t["against"] else "")
        if t["verdict"] == "no figure":
            lines.append((t["path"], t["what"], called, "-", limit, f"no figure: {t['why']}"))
        else:
            lines.append((t["path"], t["what"], called, ratio(t, several), limit, t["verdict"]))
    return grid(("path", "measure", "against", "ratio (least, most)", "target", "verdict"), lines)


def keys_of(entry):
    got = [k for r in entry["rounds"] if r for k in r]
    return list(dict.fromkeys(got))


def of_contenders(entries):
    lines = []
    for name, e in entries.items():
        for key in keys_of(e):
            mid, low, high = rounds.spread(entries, name, key)
            unit = "ns/B of CPU time" if key.startswith("cpu") and e["unit"] == "GB/s" else \
                "ms/s of CPU time" if key == "cpu" else "KiB" if key.startswith("kib") else e["unit"]
            lines.append((name, key.removeprefix("cpu").removeprefix("kib"), unit, short(mid),
                          short(low), short(high)))
    return grid(("contender", "size or count", "unit", "median", "least", "most"), lines)


def of_missing(entries):
    """Contenders without a figure in some round, each with the reason."""
    lines = []
    for name, e in entries.items():
        if e["lacks"]:
            lines.append((name, "skipped", e["lacks"]))
        elif not any(e["rounds"]):
            lines.append((name, "failed", rounds.why_missing(e)))
        elif e["failures"]:
            lines.append((name, f"failed in {len(e['failures'])} rounds", e["failures"][0]))
    return lines


def counts(entries, judged):
    skipped = sum(1 for e in entries.values() if e["lacks"])
    failed = sum(1 for e in entries.values() if not e["lacks"] and not any(e["rounds"]))
    by = {v: sum(1 for t in judged if t["verdict"] == v) for v in ("met", "missed", "no figure")}
    return (f"{len(entries) - skipped - failed} contenders measured, {failed} failed, {skipped} skipped; "
            f"targets: {by['met']} met, {by['missed']} missed, {by['no figure']} without a figure")


def whole(results):
    entries, judged = results["contenders"], results["targets"]
    parts = [weather(results["meta"], judged), counts(entries, judged) + "."]
    if judged:
        parts.append(of_targets(judged))
    absent = of_missing(entries)
    if absent:
        parts.append(grid(("contender", "", "reason"), absent))
    return parts, of_contenders(entries)
