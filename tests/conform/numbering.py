#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Asks every conformance program for its list; checks 1 to 100 must all be somewhere."""
import subprocess
import sys

found, elsewhere, rows = set(), {}, 0
for exe in sys.argv[1:]:
    for line in subprocess.run([exe, "--list"], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        rows += 1
        numbers = []
        for word in line.split():
            if not word.isdigit():
                break
            numbers.append(int(word))
        if " # elsewhere: " in line:
            for n in numbers:
                elsewhere[n] = line.split(" # elsewhere: ")[1]
        else:
            found.update(numbers)

missing = [n for n in range(1, 101) if n not in found and n not in elsewhere]
only = sorted(n for n in elsewhere if n not in found)
print(f"{rows} rows; {len(found)} of 100 numbers here, {len(only)} elsewhere: "
      + ", ".join(f"{n} ({elsewhere[n]})" for n in only))
if missing:
    sys.exit("not in any list: " + ", ".join(map(str, missing)))
