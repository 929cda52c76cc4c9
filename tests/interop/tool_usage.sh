#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Usage errors give 2 and help; help and version give 0.
. "$(dirname "$0")/tool_lib.sh"

expect 2 "$DAPPLE"; has "usage: dapple"
expect 2 "$DAPPLE" nonsense; has "nonsense"; lines 2
expect 0 "$DAPPLE" version; has "dapple "
expect 0 "$DAPPLE" --help; has "pair"
expect 0 "$DAPPLE" --version; has "dapple "
for c in run env pair doctor devices why capture plot fault show top stats explain; do
	expect 0 "$DAPPLE" $c --help; has "usage: dapple $c"
	expect 2 "$DAPPLE" $c --nonsense; has "nonsense"; has "dapple $c --help says more"; lines 2
done
expect 2 "$DAPPLE" run
expect 2 "$DAPPLE" run --adapter
expect 2 "$DAPPLE" run --adapter token-ring -- true
expect 2 "$DAPPLE" run --isolate=yes -- true
expect 2 "$DAPPLE" env more
expect 2 "$DAPPLE" pair
expect 2 "$DAPPLE" pair --timeout x -- true {port}
expect 2 "$DAPPLE" pair --mtu 9000 -- true {port}
expect 2 "$DAPPLE" pair -- true; has "{peer}"
expect 0 "$DAPPLE" pair --list; has "qperf"
for a in iw iwarp; do
	expect 0 "$DAPPLE" run --adapter $a -- true
done
for a in ib; do
	expect 1 "$DAPPLE" run --adapter $a -- true; has "at nodes of a fabric"
done
expect 127 "$DAPPLE" run -- "$work/no-such-program"
expect 126 "$DAPPLE" run -- "$work"
expect 5 "$DAPPLE" run -- sh -c 'exit 5'
finish
