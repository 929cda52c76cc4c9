#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Pictures of captures and of statistics are SVG, and show what was in them.
. "$(dirname "$0")/tool_lib.sh"

# picture FILE EXPRESSION: the drawing is sound XML, and the expression on its texts and numbers of shapes holds.
picture() {
	python3 -c 'import re, sys
import xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
assert root.tag == "{http://www.w3.org/2000/svg}svg", root.tag
texts = [e.text or "" for e in root.iter("{http://www.w3.org/2000/svg}text")]
points = len(list(root.iter("{http://www.w3.org/2000/svg}circle")))
lines = len(list(root.iter("{http://www.w3.org/2000/svg}polyline")))
again = sum(int(m[1]) for t in texts for m in [re.match(r"(\d+) sent again", t)] if m)
for e in root.iter():
    for name in ("cx", "cy", "x", "y"):
        assert -1 <= float(e.get(name, 0)) <= 2000, (e.tag, e.attrib)
assert "-0" not in texts, texts
assert '"$2"', (points, lines, again, texts)' "$1" || fault "the picture $1: $2"
}

expect 2 "$DAPPLE" plot
expect 1 "$DAPPLE" plot "$work/none"; has "cannot be read"
echo nothing >"$work/text"
expect 1 "$DAPPLE" plot "$work/text"; has "cannot be plotted"

expect 0 "$DAPPLE" capture -o "$work/roce.pcapng" -- "$DAPPLE" pair --wait 100 --grace 60 --adapter roce -- rping -V -C 10
expect 0 "$DAPPLE" plot -o "$work/roce.svg" "$work/roce.pcapng"
picture "$work/roce.svg" 'points > 50 and lines >= 4 and again == 0 and any("requests" in t for t in texts)'
# What is sent again is seen.
expect 0 "$DAPPLE" fault 'lose in op=send|read|write every=9' -- "$DAPPLE" capture -o "$work/lossy.pcapng" -- \
	"$DAPPLE" pair --wait 100 --grace 60 --adapter roce -- rping -V -C 10
expect 0 "$DAPPLE" plot -o "$work/lossy.svg" "$work/lossy.pcapng"
picture "$work/lossy.svg" 'again >= 1'
expect 0 "$DAPPLE" capture -o "$work/iwarp.pcapng" -- "$DAPPLE" pair --wait 100 --grace 60 --adapter iwarp -- rping -V -C 10
"$DAPPLE" plot "$work/iwarp.pcapng" >"$work/iwarp.svg" || fault "plot to the standard output"
picture "$work/iwarp.svg" 'points > 30 and again == 0'
# A file that was cut off, inside a block, is drawn as far as it goes.
head -c $(($(wc -c <"$work/roce.pcapng") / 2 | 1)) "$work/roce.pcapng" >"$work/cut.pcapng"
expect 0 "$DAPPLE" plot -o "$work/cut.svg" "$work/cut.pcapng"
picture "$work/cut.svg" 'points > 0'

printf '%s\n' '{"processes":1,"qps":[{"pid":7,"comm":"a","lqpn":18,"sends-per-s":10.0,"receives-per-s":5.0}],"adapters":[]}' \
	'{"processes":1,"qps":[{"pid":7,"comm":"a","lqpn":18,"sends-per-s":20.0,"receives-per-s":5.0}],"adapters":[]}' >"$work/top.json"
expect 0 "$DAPPLE" plot -o "$work/top.svg" "$work/top.json"
picture "$work/top.svg" 'lines == 1 and any("a[7] QP 0x000012" in t for t in texts)'
finish
