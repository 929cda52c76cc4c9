#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Objects, rates and counters of running programs: dapple show, top, stats.
. "$(dirname "$0")/tool_lib.sh"

json() {
	python3 -c 'import json, sys
v = json.loads(open(sys.argv[1]).read())
'"$1" "$work/out" || fault "the JSON: $1"
}

expect 0 "$DAPPLE" show qp; lines 0
expect 0 "$DAPPLE" show -j qp; has "[]"
expect 0 "$DAPPLE" stats; has "no running program"
expect 2 "$DAPPLE" show; has "an object is missing"
expect 2 "$DAPPLE" show qp type; has "has no value"
expect 1 "$DAPPLE" show --pid 1 qp; has "shows no objects"

# Adapters are there without a program.
expect 0 "$DAPPLE" show link
names=$(sed 's,^link \([^/]*\)/1 state .*,\1,' "$work/out" | sort | tr '\n' ' ')
[ "$names" = "$("$DAPPLE" devices | sed -n 's/^\(dpl_[^ ]*\).*/\1/p' | sort | tr '\n' ' ')" ] || fault "the links are $names"
expect 0 "$DAPPLE" show link link dpl_roce_lo; lines 1; has "state ACTIVE physical_state LINK_UP netdev lo"

for adapter in roce iwarp; do
	[ $adapter = roce ] && dev=dpl_roce_lo way=ring || { dev=dpl_iw_lo; way=pipe; }
	timeout 300 "$DAPPLE" pair --wait 100 --adapter $adapter -- rping -C 1000000000 >"$work/pair" 2>&1 &
	pair=$!
	until_true connected
	expect 0 "$DAPPLE" show qp state RTS; lines 2; has "link $dev/1 lqpn "; has "type RC state RTS"; has "comm rping"; hasnt " way "
	expect 0 "$DAPPLE" show -d qp state RTS; has " way $way"; has " peer 127.0.0.1 "
	expect 0 "$DAPPLE" show qp link $dev/- type RC state RTS; lines 2
	expect 0 "$DAPPLE" show qp type UD,UC state RTS; lines 0
	expect 0 "$DAPPLE" show -j -d qp state RTS
	json "assert len(v) == 2 and all(q['ifname'] == '$dev' and q['port'] == 1 and q['lqpn'] > 1 and q['sq-max'] > 0 for q in v), v"
	expect 0 "$DAPPLE" show cq; has "dev $dev cqn "; has " cqe "
	expect 0 "$DAPPLE" show mr; has "dev $dev mrn "; has " mrlen "
	expect 0 "$DAPPLE" show cm_id state CONNECT; lines 2; has "ps TCP"; has "src-addr 127.0.0.1:"
	expect 0 "$DAPPLE" show cm_id state LISTEN; has "src-addr 0.0.0.0:"; has " dst-addr 0.0.0.0:0"
	pid=$("$DAPPLE" show qp state RTS | sed -n '1s/.* pid \([0-9]*\) .*/\1/p')
	expect 0 "$DAPPLE" show --pid "$pid" qp state RTS; lines 1

	# Each message of rping is a request and a receive at both ends.
	expect 0 "$DAPPLE" top --once -d 0.5; has "2 processes, "; has "$dev"; has " $way"
	expect 0 "$DAPPLE" top --once --json -d 0.5
	json "
q = [q for q in v['qps'] if q['state'] == 'RTS']
assert v['processes'] == 2 and len(q) == 2, v
assert all(x['sends-per-s'] > 0 and x['receives-per-s'] > 0 and len(x['history']) == 1 for x in q), q
assert sum(a['per-s'].get('tx_pkts', 0) for a in v['adapters']) > 0, v"
	expect 0 "$DAPPLE" stats; has "$dev of rping["; has "packets sent"
	expect 0 "$DAPPLE" stats --prometheus
	python3 -c 'import re, sys
seen = {}
for line in open(sys.argv[1]):
    if line.startswith("#"):
        assert re.fullmatch(r"# (HELP dapple_\w+ .+|TYPE dapple_\w+ (counter|gauge))\n", line), line
        continue
    m = re.fullmatch(r"(dapple_\w+)(\{(\w+=\"[^\"]*\",?)+\})? (\d+)\n", line)
    assert m, line
    assert (m[1], m[2]) not in seen, line
    seen[m[1], m[2]] = int(m[4])
assert sum(v for (n, _), v in seen.items() if n == "dapple_tx_pkts_total") > 0, seen' "$work/out" || fault "the text for Prometheus"
	if [ $adapter = roce ]; then
		expect 0 "$DAPPLE" top --once --json --latency -d 0.5
		json "
q = [q for q in v['qps'] if q['state'] == 'RTS' and 'p99-us' in q]
assert q and all(0 < x['p50-us'] <= x['p99-us'] < 1e7 for x in q), v"
	fi
	kill $pair
	wait $pair || :
done
# Datagrams.
by_ring() { "$DAPPLE" show -d qp type UD state RTS | grep -q " way ring reason - "; }
timeout 300 "$DAPPLE" pair --wait 100 --adapter roce -- ibv_ud_pingpong -g 0 -n 1000000000 >"$work/pair" 2>&1 &
pair=$!
until_true by_ring
kill $pair
wait $pair || :
# The wire, and why.
timeout 300 env DAPPLE_LOCAL=off "$DAPPLE" pair --wait 100 --adapter roce -- rping -C 1000000000 >"$work/pair" 2>&1 &
pair=$!
until_true connected
expect 0 "$DAPPLE" show -d qp state RTS; has " way wire reason off "
kill $pair
wait $pair || :
finish
