#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Asks every conformance program for its list; checks 1 to 100 must all be somewhere.

On RoCE each number has a check or names the suite that has it. On iWARP a number may have
none, when every check of it says why."""
import subprocess
import sys

roce, iwarp, elsewhere, reasons, rows = set(), set(), {}, {}, 0
for exe in sys.argv[1:]:
    for line in subprocess.run([exe, "--list"], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        rows += 1
        head, _, note = line.partition(" # ")
        kind, _, text = note.partition(": ")
        numbers = []
        for word in head.split():
            if not word.isdigit():
                break
            numbers.append(int(word))
        for n in numbers:
            if kind == "elsewhere":
                elsewhere[n] = text
            if kind in ("", "not on iwarp"):
                roce.add(n)
            if kind in ("", "only on iwarp"):
                iwarp.add(n)
            elif kind == "not on iwarp":
                reasons.setdefault(n, set()).add(text)

every = range(1, 101)
missing = [n for n in every if n not in roce and n not in elsewhere]
silent = [n for n in every if n not in iwarp and n not in reasons and n not in elsewhere]
only = sorted(n for n in elsewhere if n not in roce)
without = sorted(n for n in reasons if n not in iwarp)
for text in sorted(set().union(*(reasons[n] for n in without))):
    print("not on iWARP:", ", ".join(str(n) for n in without if text in reasons[n]), "-", text)
print(f"{rows} rows; {len(roce)} of 100 numbers on RoCE, {len(iwarp)} on iWARP, "
      f"{len(only)} elsewhere: " + ", ".join(f"{n} ({elsewhere[n]})" for n in only))
if missing:
    sys.exit("not in any list: " + ", ".join(map(str, missing)))
if silent:
    sys.exit("missing on iWARP without a reason: " + ", ".join(map(str, silent)))
