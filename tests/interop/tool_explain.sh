#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Each failure's sentence names a page, which dapple explain prints; the captures that the pages name are understood.
. "$(dirname "$0")/tool_lib.sh"

expect 0 "$DAPPLE" explain --list; has "RX_KEY           the peer's rkey names no memory here"
n=$(wc -l <"$work/out")
[ "$n" -ge 60 ] || fault "$n pages"
expect 0 "$DAPPLE" explain rx_key; has "# RX_KEY: the peer's rkey names no memory here"; has "1. The region was deregistered"
expect 0 "$DAPPLE" explain 1; has "# LOC_LEN: "
expect 2 "$DAPPLE" explain; has "the name of a failure is missing"
expect 2 "$DAPPLE" explain NOTHING; has "no failure is called \"NOTHING\""

# Wrong filters are usage errors, and a process that is none is not.
"$DAPPLE" explain --list | sed 's/ .*//' | while read -r name; do
	"$DAPPLE" explain "$name" | sed -n "s/^    dapple capture --filter '\{0,1\}\([^']*\)'\{0,1\} -- COMMAND$/\1/p" | sed 's/QPN/0x12/' >"$work/filter"
	[ -s "$work/filter" ] || { echo "$name has no filter"; exit 1; }
	"$DAPPLE" capture --filter "$(cat "$work/filter")" --pid 1 >"$work/said" 2>&1
	[ $? = 1 ] || { echo "$name: filter $(cat "$work/filter")"; cat "$work/said"; exit 1; }
done || fault "a page's filter"

# A refused connection, a refused call and a verdict.
"$DAPPLE" run --adapter roce -- rping -c -a 127.0.0.1 -p 1 -C 1 >/dev/null 2>&1
expect 0 "$DAPPLE" why; has "; dapple explain CONNECTION says more"
"$DAPPLE" fault 'nak=access op=read nth=1' -- "$DAPPLE" pair --adapter roce --wait 100 --grace 60 -- rping -V -C 3 >/dev/null 2>&1
expect 0 "$DAPPLE" why; has "; dapple explain RULE_ACCESS says more"; has "; dapple explain REM_ACCESS says more"
has "by dapple fault --off; dapple explain ENVIRONMENT says more"
finish
