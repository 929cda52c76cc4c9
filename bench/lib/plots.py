#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""plots.py RESULTS.json FOLDER: every plot as SVG and PNG.

A separate program, since matplotlib may belong to another python than the measuring one.
A series without figures is not drawn, nor a panel or a plot without series: they are named.
"""
import json
import os
import statistics
import sys

import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator  # noqa: E402

matplotlib.rcParams.update({"svg.hashsalt": "dapple", "font.size": 9, "axes.grid": True,
                            "grid.alpha": 0.3, "lines.markersize": 4, "legend.fontsize": 7.5})

OURS, LIMIT, PEER = "-", ":", "--"   # line styles of Dapple, limits and peers

# A series: contender, line, name in the legend, prefix of its keys.
LATENCY = {
    "Same host": [
        ("local send latency", OURS, "Dapple Send"), ("local write latency", OURS, "Dapple Write"),
        ("shared write latency", OURS, "Dapple Write, shared registration"),
        ("write by process_vm_writev", LIMIT, "process_vm_writev"),
        ("write by memory descriptor", LIMIT, "/proc/PID/mem"),
        ("UCX tag latency, posix+cma", PEER, "UCX tag"), ("UCX put latency, posix+cma", PEER, "UCX put"),
        ("Open MPI latency, vader", PEER, "Open MPI vader"), ("libfabric latency, shm", PEER, "libfabric shm")],
    "iWARP and TCP": [
        ("iWARP send latency", OURS, "Dapple Send"), ("iWARP write latency", OURS, "Dapple Write"),
        ("TCP, polling", LIMIT, "raw TCP"), ("UCX tag latency, tcp", PEER, "UCX tag"),
        ("Open MPI latency, tcp", PEER, "Open MPI tcp"), ("libfabric latency, tcp", PEER, "libfabric tcp")],
    "RoCE and UDP": [
        ("RoCE send latency", OURS, "Dapple Send"), ("RoCE write latency", OURS, "Dapple Write"),
        ("UDP, polling", LIMIT, "raw UDP"), ("libfabric latency, udp;rxd", PEER, "libfabric udp;rxd")],
}

BANDWIDTH = {
    "Same host": [
        ("local send bandwidth", OURS, "Dapple Send"), ("local write bandwidth", OURS, "Dapple Write"),
        ("shared write bandwidth", OURS, "Dapple Write, shared registration"),
        ("memcpy, shared memfd", LIMIT, "memcpy, shared"), ("process_vm_writev", LIMIT, "process_vm_writev"),
        ("process_vm_readv", LIMIT, "process_vm_readv"),
        ("UCX tag bandwidth, posix+cma", PEER, "UCX tag"), ("UCX put bandwidth, posix+cma", PEER, "UCX put"),
        ("Open MPI bandwidth, vader", PEER, "Open MPI vader")],
    "iWARP and TCP": [
        ("iWARP send bandwidth", OURS, "Dapple Send"), ("iWARP write bandwidth", OURS, "Dapple Write"),
        ("TCP, stream", LIMIT, "raw TCP"), ("UCX tag bandwidth, tcp", PEER, "UCX tag"),
        ("Open MPI bandwidth, tcp", PEER, "Open MPI tcp"), ("iperf3", PEER, "iperf3")],
    "RoCE and UDP": [
        ("RoCE send bandwidth", OURS, "Dapple Send"), ("RoCE write bandwidth", OURS, "Dapple Write"),
        ("UDP, GSO and GRO", LIMIT, "raw UDP, GSO and GRO")],
}

RATE = {"64 B Sends, polling": [(f"{p} rate by queue pairs", OURS, f"Dapple {p}")
                                for p in ("local", "RoCE", "iWARP", "iWARP local")]}

TAIL = {said: [(f"{p} send percentiles, {wait}", OURS, f"Dapple {p}") for p in ("local", "RoCE", "iWARP")]
        for said, wait in (("8 B Send, polling", "polling"), ("8 B Send, events", "events"))}

CONNECTIONS = [(f"{p} connections", OURS, f"Dapple {p}") for p in ("RoCE", "iWARP")]

CPU = {
    "Same host": [
        ("local write bandwidth", OURS, "Dapple Write, polling"),
        ("local send bandwidth", OURS, "Dapple Send, polling"),
        ("local send bandwidth, events", OURS, "Dapple Send, events"),
        ("shared write bandwidth", OURS, "Dapple Write, shared registration"),
        ("memcpy, shared memfd", LIMIT, "memcpy"), ("process_vm_writev", LIMIT, "process_vm_writev")],
    "Wire": [
        ("RoCE write bandwidth", OURS, "Dapple RoCE Write, polling"),
        ("RoCE send bandwidth, events", OURS, "Dapple RoCE Send, events"),
        ("iWARP write bandwidth", OURS, "Dapple iWARP Write, polling"),
        ("iWARP send bandwidth, events", OURS, "Dapple iWARP Send, events"),
        ("TCP, stream", LIMIT, "raw TCP, blocking"), ("UDP, GSO and GRO", LIMIT, "raw UDP, GSO and GRO")],
}


def points(contenders, name, prefix):
    """(x, median, least, most) by x; keys that are no numbers behind the prefix are another measure."""
    by = {}
    for r in contenders.get(name, {}).get("rounds", []):
        for key, v in (r or {}).items():
            rest = key[len(prefix):] if key.startswith(prefix) else None
            if rest is not None and rest.replace(".", "", 1).isdigit() and v > 0:
                by.setdefault(float(rest), []).append(v)
    return [(x, statistics.median(v), min(v), max(v)) for x, v in sorted(by.items())]


def single(contenders, name, prefix):
    """A limit that has no sizes is a level line."""
    got = [r[prefix] for r in contenders.get(name, {}).get("rounds", []) if r and prefix in r]
    return statistics.median(got) if got else None


def size_word(x, _=None):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if x >= unit:
            return f"{x / unit:g} {name}"
    return f"{x:g} B"


def plain(v, _=None):
    return f"{v:g}" if v < 1e6 else f"{v / 1e6:g} M"


def draw(ax, contenders, series, prefix, scale=1.0):
    """Returns the number of series drawn, and the labels of those without figures."""
    drawn, empty = [], []
    for name, style, label in series:
        got = points(contenders, name, prefix)
        level = None if got else single(contenders, name, prefix)
        if got:
            x, mid, low, high = zip(*got)
            mid, low, high = ([v * scale for v in vs] for vs in (mid, low, high))
            line, = ax.plot(x, mid, style, marker="o", label=label, lw=1.8 if style == OURS else 1.1)
            ax.fill_between(x, low, high, color=line.get_color(), alpha=0.12, lw=0)
            drawn.append(set(x))
        elif level:
            ax.axhline(level * scale, ls=style, color="0.3", lw=1.2, label=label)
            drawn.append(set())
        else:
            empty.append(label)
    return sorted(set().union(*drawn)) if drawn else None, empty


def dress(ax, title, xs, xlabel, ylabel, xwords, ylog=True, xlog=True):
    ax.set_title(title)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    if xlog:
        ax.set_xscale("log")
    if ylog:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(FuncFormatter(plain))
        low, high = ax.get_ylim()
        if high / low < 30:
            ax.yaxis.set_minor_formatter(FuncFormatter(plain))
            ax.tick_params(axis="y", which="minor", labelsize=7)
        else:
            ax.yaxis.set_minor_formatter(NullFormatter())
    else:
        ax.set_ylim(bottom=0)
    if xs:
        ax.set_xticks(xs)
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(FuncFormatter(xwords))
        ax.tick_params(axis="x", labelrotation=30)
    # Below and not inside: there is no corner that no line ever crosses.
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.24), ncol=2, frameon=False)


def save(fig, folder, name):
    fig.tight_layout()
    fig.savefig(os.path.join(folder, name + ".svg"), metadata={"Date": None}, bbox_inches="tight")
    fig.savefig(os.path.join(folder, name + ".png"), dpi=110, bbox_inches="tight")
    plt.close(fig)


def figure(contenders, folder, name, panels, xlabel, ylabel, xwords=size_word, prefix="", ylog=True,
           scale=1.0, xlog=True):
    """panels: {title: series}. Only those with a series are given room."""
    able = {t: s for t, s in panels.items()
            if any(points(contenders, n, prefix) for n, _, _ in s)}
    for old in (name + ".svg", name + ".png"):
        if os.path.exists(os.path.join(folder, old)):
            os.unlink(os.path.join(folder, old))
    if not able:
        print(f"{name}: no figures, not drawn")
        return
    fig, axes = plt.subplots(1, len(able), figsize=(max(5.5, 4.4 * len(able)), 5.4), squeeze=False)
    for ax, (title, series) in zip(axes[0], able.items()):
        xs, empty = draw(ax, contenders, series, prefix, scale)
        dress(ax, title, xs, xlabel, ylabel, xwords, ylog, xlog)
        if empty:
            print(f"{name}, {title}: no figures of {', '.join(empty)}")
    save(fig, folder, name)


def percentiles(contenders, folder):
    """Equal steps from one percentile to the next, so that the tail is visible."""
    ranks = ["50", "90", "99", "99.9", "99.99"]

    def even(entry):
        return {**entry, "rounds": [{str(i + 1): r[k] for i, k in enumerate(ranks) if k in r} if r else None
                                    for r in entry["rounds"]]}
    changed = {n: even(e) for n, e in contenders.items() if "percentiles" in n}
    figure(changed, folder, "latency-percentiles", TAIL, "percentile of the messages", "half round trip, us",
           lambda x, _=None: ranks[int(x) - 1] if 1 <= x <= 5 and x == int(x) else "", xlog=False)


def connections(contenders, folder):
    """Two measures of the same rows, so the panels are put together by hand."""
    both = {}
    for name, entry in contenders.items():
        both["rate " + name] = entry
        both["kib " + name] = {**entry, "rounds": [
            {k[3:]: v for k, v in r.items() if k.startswith("kib")} if r else None for r in entry["rounds"]]}
    able = [(kind, title, label) for kind, title, label in
            (("kib ", "Memory of an idle connection", "KiB resident, larger end"),
             ("rate ", "Making them, 64 at a time", "connections per second"))
            if any(points(both, kind + n, "") for n, _, _ in CONNECTIONS)]
    if not able:
        print("cost-by-connections: no figures, not drawn")
        return
    fig, axes = plt.subplots(1, len(able), figsize=(max(5.5, 4.4 * len(able)), 4.4), squeeze=False)
    for ax, (kind, title, label) in zip(axes[0], able):
        xs, _ = draw(ax, both, [(kind + n, s, said) for n, s, said in CONNECTIONS], "")
        dress(ax, title, xs, "connections", label, plain, False)
    save(fig, folder, "cost-by-connections")


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        contenders = json.load(f)["contenders"]
    folder = sys.argv[2]
    figure(contenders, folder, "latency-by-size", LATENCY, "message size", "half round trip, us")
    figure(contenders, folder, "bandwidth-by-size", BANDWIDTH, "message size", "GB/s ($10^9$ bytes per second)")
    figure(contenders, folder, "rate-by-queue-pairs", RATE, "queue pairs, 1,024 messages in flight over all",
           "messages per second, millions", plain, "", False, 1e-6)
    figure(contenders, folder, "cpu-per-byte", CPU, "message size", "processor time of both ends, ns per byte",
           size_word, "cpu")
    percentiles(contenders, folder)
    connections(contenders, folder)


main()
