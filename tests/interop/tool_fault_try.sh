#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A right program and two wrong ones under all of the catalogue: what `dapple fault try` says of each.
. "$(dirname "$0")/tool_lib.sh"

# try MANNER ADAPTER STATUS TIMEOUT [OPTION...]
try() {
	manner=$1 adapter=$2 status=$3 limit=$4
	shift 4
	expect "$status" "$DAPPLE" fault try --compare --timeout "$limit" --adapter "$adapter" "$@" -- \
		"$DAPPLE" pair --wait 100 -- "$FAULT_PROGRAMS" "$manner" '{port}' '{peer}'
}

# row NAME OUTCOME
row() {
	grep -q "^$1  *$2 " "$work/out" || fault "$manner, $adapter, $1: not $2"
}

for adapter in roce iwarp; do
	try right $adapter 0 200
	for name in access-refused request-refused overrun refused-connection no-region no-queue-pair; do
		row $name "failed cleanly"
	done
	row peer-dies "was killed"
	if [ $adapter = iwarp ]; then
		row short-sends survived
		for name in half-open-mpa no-receive terminate; do row $name "failed cleanly"; done
	else
		row peer-fails "failed cleanly"
		for name in lost-requests lost-acks lost-last-ack duplicates duplicate-atomic reordering damage slow-network slow-receiver \
			tiny-window lost-handshake sequence-naks rnr-storm stale-connection late-timewait; do
			row $name survived
		done
	fi
	# What one that looks at no completion prints is not what it was sent; one that waits for good ones waits for ever.
	for name in access-refused request-refused; do
		try blind $adapter 1 200 --only $name; row $name corrupted
		try stuck $adapter 1 20 --only $name; row $name hung
	done
done
finish
