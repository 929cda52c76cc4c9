#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Prints how many lines of a room the inputs of a fuzz target reach, from `llvm-cov export` on stdin:
lines.py TARGET LEAST FILE...
Files are named from the top of the tree. Exit status: 1 if it is less than LEAST percent."""
import json
import sys


def main():
    target, least, room = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    files = json.load(sys.stdin)["data"][0]["files"]
    total = covered = 0
    rows = []
    for name in room:
        hits = [f for f in files if f["filename"].endswith("/" + name)]
        if not hits:
            print(f"{target}: {name} is not in the program")
            return 1
        lines = hits[0]["summary"]["lines"]
        total += lines["count"]
        covered += lines["covered"]
        rows.append((name, lines["covered"], lines["count"]))
    percent = 100.0 * covered / total
    print(f"{target:12} {percent:5.1f} %  {covered} of {total} lines")
    for name, have, count in rows:
        print(f"    {100.0 * have / count:5.1f} %  {name}")
    if percent < least:
        print(f"failed: the inputs of fuzz-{target} reach less than {least:.0f} % of its room")
    return 0 if percent >= least else 1


sys.exit(main())
