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
[ "$(grep -Ec '^::error file=.*check_wrong\.c,line=[0-9]+,title=dapple check [a-z-]+::.+; .+$' "$work/out")" = 8 ] || fault "the annotations"
expect 1 "$DAPPLE" check --format junit -o "$work/junit.xml" -- "$CHECK_WRONG"
python3 -c 'import sys, xml.etree.ElementTree as t
r = t.parse(sys.argv[1]).getroot()
assert r.tag == "testsuite" and int(r.get("failures")) == len(r.findall("testcase/failure")) >= 8, r.attrib' "$work/junit.xml" || fault "the JUnit report"
echo '*' >"$work/all"
expect 0 "$DAPPLE" check --suppressions "$work/all" -- "$CHECK_WRONG"; has "0 mistakes, 8 suppressed"
# Of one kind; of one kind in a file; in a function; nothing for another file or function. A # begins a comment.
printf 'outside-region # known\n\n' >"$work/some"
expect 1 "$DAPPLE" check --suppressions "$work/some" -- "$CHECK_WRONG"; has "5 mistakes, 3 suppressed"; hasnt "[outside-region;"
echo 'freed-* */check_wrong.c' >"$work/some"
expect 1 "$DAPPLE" check --suppressions "$work/some" -- "$CHECK_WRONG"; has "7 mistakes, 1 suppressed"; hasnt "[freed-in-flight;"
echo '* */check_wrong.c main' >"$work/some"
expect 0 "$DAPPLE" check --suppressions "$work/some" -- "$CHECK_WRONG"; has "0 mistakes, 8 suppressed"
printf '* */other.c\n* * other\n' >"$work/some"
expect 1 "$DAPPLE" check --suppressions "$work/some" -- "$CHECK_WRONG"; has "8 mistakes, 0 suppressed"
expect 1 "$DAPPLE" check --suppressions "$work/none" -- "$CHECK_WRONG"; has "it cannot be read"
expect 1 "$DAPPLE" check -o "$work/no/file" -- "$CHECK_WRONG"; has "it cannot be written"
# A suppressed report is none in the other forms either.
expect 0 "$DAPPLE" check --format github --suppressions "$work/all" -- "$CHECK_WRONG"; hasnt "::error"
expect 0 "$DAPPLE" check --format junit --suppressions "$work/all" -o "$work/junit.xml" -- "$CHECK_WRONG"
grep -q 'tests="1" failures="0"' "$work/junit.xml" || fault "the JUnit report without mistakes"
# The program's own status goes first, with mistakes too.
expect 7 "$DAPPLE" check -- sh -c "'$CHECK_WRONG'; exit 7"; has "8 mistakes"
expect 143 "$DAPPLE" check -- sh -c 'kill $$'
# Signals end the program, and the reports are printed.
expect 1 "$DAPPLE" check -- sh -c "'$CHECK_WRONG'; kill -INT \$PPID; exit 0"; has "8 mistakes"
expect 143 "$DAPPLE" check -- sh -c "'$CHECK_WRONG'; kill -TERM \$PPID; while :; do sleep 1; done"; has "8 mistakes"
expect 2 "$DAPPLE" check --device nothing -- true; has "must be rxe, siw, mlx5, irdma or efa"
expect 2 "$DAPPLE" check --format xml -- true; has "must be text, github or junit"
expect 2 "$DAPPLE" check; has "the program to check is missing"
expect 3 "$DAPPLE" check -- sh -c 'exit 3'; has "0 mistakes"
for adapter in roce iwarp; do
	expect 0 "$DAPPLE" check -- "$DAPPLE" pair --wait 100 --grace 60 --adapter $adapter -- rping -V -C 3; has "dapple check: 0 mistakes"
done
finish
