# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The generated part of docs/performance.md, between two markers, and its plots, which are of the last run."""
import glob
import os
import shutil
import subprocess
import sys

from . import columns, tables

BEGIN = "<!-- bench: begin (written by `make bench-docs`) -->"
END = "<!-- bench: end -->"


def replaced(page, text):
    """The page with TEXT between the markers, which must be there once and in order."""
    head, found, rest = page.partition(BEGIN)
    _, found_end, tail = rest.partition(END)
    if not found or not found_end or BEGIN in tail or END in head:
        sys.exit("bench: docs/performance.md needs the two markers once each")
    return head + BEGIN + "\n\n" + text + "\n\n" + END + tail


def title_of(name):
    return name.replace("-", " ").capitalize()


def commit_of(root):
    """Short name of the commit, and whether files differ from it; None without git."""
    def git(*words):
        done = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else None
    try:
        name = git("rev-parse", "--short=8", "HEAD")
        return name and name + (", changed" if git("status", "--porcelain", "--untracked-files=no") else "")
    except OSError:
        return None


def update(root, out, results, without_plots):
    folder = os.path.join(root, "docs", "performance")
    meta = results["meta"]
    run = f"{meta['date']}, commit {meta['commit'] or 'unknown'}"
    columns.store(folder, meta["processor"], run, tables.weather(meta, results["targets"]), results["targets"])
    if not without_plots:
        columns.drawn(folder, meta["processor"], run)
    parts = columns.parts(columns.load(folder))
    if not without_plots:
        os.makedirs(folder, exist_ok=True)
        for old in glob.glob(os.path.join(folder, "*.svg")) + glob.glob(os.path.join(folder, "*.png")):
            os.unlink(old)
        for new in glob.glob(os.path.join(out, "*.svg")) + glob.glob(os.path.join(out, "*.png")):
            shutil.copy(new, folder)
    names = sorted(os.path.basename(p)[:-4] for p in glob.glob(os.path.join(folder, "*.svg")))
    pictures = [f"![{title_of(n)}](performance/{n}.svg)" for n in names]
    page = os.path.join(root, "docs", "performance.md")
    with open(page, encoding="utf-8") as f:
        text = replaced(f.read(), "\n\n".join(parts + pictures))
    with open(page, "w", encoding="utf-8") as f:
        f.write(text)
    print(f"docs/performance.md and {len(names)} plots were written")
