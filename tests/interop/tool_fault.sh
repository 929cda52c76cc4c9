#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Rules of faults: for a command, for a running process, and a program under each of the catalogue.
. "$(dirname "$0")/tool_lib.sh"

patient="--timeout 200 --wait 100 --grace 60"
left="--timeout 200 --wait 100 --grace 2" # a server whose client has failed waits for another one

expect 2 "$DAPPLE" fault 'loose nth=3' -- true; has '"loose" is none of a rule'
expect 2 "$DAPPLE" fault 'lose'; has "the program to run"
expect 1 "$DAPPLE" fault --pid 1 lose; has "takes no rules"
expect 0 "$DAPPLE" fault --list; has "rnr-storm"

# Each adapter, each path: the peer's request is refused, and the sentences name the rule.
for adapter in roce iwarp; do
	for way in on off; do
		rm -f "$DAPPLE_RUNTIME_DIR/why"
		# rping ends with 0 after some errors: the sentences tell.
		env DAPPLE_LOCAL=$way "$DAPPLE" fault 'nak=access op=read nth=1' -- \
			"$DAPPLE" pair --adapter $adapter $patient -- rping -V -C 3 >"$work/pair" 2>&1
		expect 0 "$DAPPLE" why; has "of dapple fault has acted"; has "a rule of dapple fault refuses the peer's access"
	done
done

# What the adapter repairs is not noticed.
for rules in 'lose op=send|read|write|ack p=0.1 seed=3' 'rnr op=send first=3' 'delay=2ms every=3' 'nak=sequence every=4' 'corrupt=30:8 op=send every=6'; do
	expect 0 "$DAPPLE" fault "$rules" -- "$DAPPLE" pair --adapter roce $patient -- rping -V -C 5
done
expect 0 "$DAPPLE" fault short=5 -- env DAPPLE_LOCAL=off "$DAPPLE" pair --adapter iwarp $patient -- rping -V -C 5

# Connections: refused, older than the peer knows, half open, late to end.
for adapter in roce iwarp; do
	rm -f "$DAPPLE_RUNTIME_DIR/why"
	expect 255 "$DAPPLE" fault 'reject first=1' -- "$DAPPLE" pair --adapter $adapter $left -- rping -V -C 3
	expect 0 "$DAPPLE" why; has 'the rule "reject first=1" of dapple fault has acted'; has "program at the peer"
done
expect 0 "$DAPPLE" fault 'reject=stale first=1' -- "$DAPPLE" pair --adapter roce $patient -- rping -V -C 3
expect 0 "$DAPPLE" why; has "request was refused (reason 10)"
expect 0 "$DAPPLE" fault 'silence first=2' -- "$DAPPLE" pair --adapter roce $patient -- rping -V -C 3
expect 0 "$DAPPLE" fault 'timewait=1s' -- "$DAPPLE" pair --adapter roce $patient -- rping -V -C 3
expect 255 "$DAPPLE" fault half-open-mpa -- "$DAPPLE" pair --adapter iwarp $left -- rping -V -C 3
expect 0 "$DAPPLE" why; has 'the rule "silence first=2" of dapple fault has acted'; has "the Request did not come"

# Queues: windows of one packet, receives that come late, a completion queue that overruns.
for rules in window=1 'window=1; lose in op=write nth=2' 'slow=2ms op=send first=3'; do
	expect 0 "$DAPPLE" fault "$rules" -- "$DAPPLE" pair --adapter roce $patient -- rping -V -C 5
done
for adapter in roce iwarp; do
	rm -f "$DAPPLE_RUNTIME_DIR/why"
	"$DAPPLE" fault 'overrun op=send nth=2' -- "$DAPPLE" pair --adapter $adapter $left -- rping -V -C 3 >"$work/pair" 2>&1
	expect 0 "$DAPPLE" why; has "completion queue overran"; has 'the rule "overrun op=send nth=2" of dapple fault has acted'
done

# The port: events, its state, and what comes afterwards.
expect 0 "$DAPPLE" fault 'port-down=300ms in op=send nth=2' -- "$DAPPLE" run --adapter roce -- "$FAULT_PORT" dpl_roce_lo
has "port error, then the port is"; has "port active, then the port is active"; has "received again"
expect 0 "$DAPPLE" fault port-down -- "$DAPPLE" pair --adapter roce $patient -- rping -V -C 5

# A rule of another kind of adapters says so.
expect 0 "$DAPPLE" fault window=1 -- "$DAPPLE" pair --adapter iwarp $patient -- rping -V -C 1
expect 0 "$DAPPLE" why; has 'the rule "window=1" of dapple fault is for another kind of adapters'

# A running process gets rules, counts, and loses them.
has_acted() { "$DAPPLE" fault --pid "$pid" --show | grep -q 'every=100: [1-9]'; }
timeout 300 "$DAPPLE" pair --adapter roce --wait 100 -- rping -C 1000000000 >"$work/pair" 2>&1 &
pair=$!
until_true connected
pid=$("$DAPPLE" show qp state RTS | sed -n '1s/.* pid \([0-9]*\) .*/\1/p')
expect 0 "$DAPPLE" fault --pid "$pid" 'rnr op=send every=100'
until_true has_acted
expect 0 "$DAPPLE" fault --pid "$pid" 'lose every=100'; has "queue pairs take shared memory, which has no packets"
expect 0 "$DAPPLE" fault --pid "$pid" --off
expect 0 "$DAPPLE" fault --pid "$pid" --show; lines 0
kill $pair
wait $pair || :

expect 0 "$DAPPLE" fault try --timeout 300 --adapter roce --only lost-acks -- "$DAPPLE" pair $patient -- rping -V -C 3
has "lost-acks          survived"
expect 0 "$DAPPLE" fault try --timeout 300 --only no-region -- "$DAPPLE" pair --wait 100 -- rping -V -C 3
has "failed cleanly"
finish
