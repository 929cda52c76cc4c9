#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Each mistake of a wrong program is found at its line, and right programs give no report.
. "$(dirname "$0")/tool_lib.sh"

command -v addr2line >/dev/null || { echo "addr2line is not installed (package binutils)"; exit 77; }
src=$(dirname "$0")/check_wrong.c
expect 1 "$DAPPLE" check -- "$CHECK_WRONG"
sed -n 's/.*check_wrong\.c:\([0-9]*\): check_wrong\[.* \[\([a-z-]*\); .*/\1 \2/p' "$work/out" | sort >"$work/found"
grep -n '/\* wrong: ' "$src" | sed 's,:.*/\* wrong: \(.*\) \*/, \1,' | while read -r line kinds; do
	for kind in $kinds; do echo "$line $kind"; done
done | sort >"$work/wanted"
diff "$work/wanted" "$work/found" || fault "other mistakes or lines"
# Forms, and suppressions.
expect 1 "$DAPPLE" check --format github -- "$CHECK_WRONG"; has "::error file="; has "title=dapple check freed-in-flight::"
expect 1 "$DAPPLE" check --format junit -o "$work/junit.xml" -- "$CHECK_WRONG"
python3 -c 'import sys, xml.etree.ElementTree as t
r = t.parse(sys.argv[1]).getroot()
assert r.tag == "testsuite" and int(r.get("failures")) == len(r.findall("testcase/failure")) >= 8, r.attrib' "$work/junit.xml" || fault "the JUnit report"
echo '*' >"$work/all"
expect 0 "$DAPPLE" check --suppressions "$work/all" -- "$CHECK_WRONG"; has "0 mistakes, 8 suppressed"
expect 2 "$DAPPLE" check; has "the program to check is missing"
expect 3 "$DAPPLE" check -- sh -c 'exit 3'; has "0 mistakes"
for adapter in roce iwarp; do
	expect 0 "$DAPPLE" check -- "$DAPPLE" pair --wait 100 --grace 60 --adapter $adapter -- rping -V -C 3; has "dapple check: 0 mistakes"
done
finish
