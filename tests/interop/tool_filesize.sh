#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A limit of file sizes (ulimit -f, in blocks of 512 bytes): no program is ended by SIGXFSZ for a file of ours, and a
# sentence says what is refused.
. "$(dirname "$0")/tool_lib.sh"

expect 1 sh -c "ulimit -f 128; '$DAPPLE' doctor | cat >&2; exec '$DAPPLE' doctor >/dev/null"
has "ulimit -f"

# As the program was started, and no further: a server without a client ends by timeout (124).
pong() {
	expect "$1" "$DAPPLE" run -- sh -c "ulimit -f $2; exec timeout 0.3 ibv_rc_pingpong -d $3 -g 1 -p 0"
	hasnt "limit exceeded"
}

pong 1 128 dpl_roce_lo; has "create QP"
pong 1 128 dpl_iw_lo; has "create QP"
expect 0 "$DAPPLE" why
has "dpl_roce_lo cannot be used"; has "dpl_iw_lo cannot be used"; has "ulimit -f unlimited"
# Between: the first files fit and later ones do not.
for blocks in 600 1200 2200; do
	for device in dpl_roce_lo dpl_iw_lo; do
		"$DAPPLE" run -- sh -c "ulimit -f $blocks; exec timeout 0.3 ibv_rc_pingpong -d $device -g 1 -p 0" \
			>"$work/out" 2>&1
		r=$?
		[ $r = 1 ] || [ $r = 124 ] || fault "status $r with $blocks blocks on $device"
	done
done

expect 1 env DAPPLE_LOG=debug:"$work/log" "$DAPPLE" run -- sh -c \
	'ulimit -f 1; exec ibv_rc_pingpong -d dpl_roce_lo -g 1'
[ "$(stat -c %s "$work/log")" -le 512 ] || fault "the log is longer than the limit"
finish
