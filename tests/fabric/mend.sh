# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Traffic over a fabric that breaks and is mended: a switch that goes away, a subnet manager that is killed and replaced, links
# that flap. Reliable connections go on, and bytes are checked.
. "$FABRIC/lib.sh"
needs opensm sminfo perfquery ibtracert rping ss

# Two leaves with two nodes each, two spines.
up --tree 2x2x2
on n3 "$DAPPLE" devices
addr3=$(grep -o '198\.1[89]\.[0-9.]*' "$work/out" | head -n 1)
claims() { ss -Hxa | grep -q "@dapple-cm/.*/7174 "; }

# begin COUNT: rping from n1 to n3, each ping compared with its pong. The RDMA CM's retries last some 20 s, as path records say.
begin() {
	timeout 200 "$DAPPLE" fabric run n3 -- rping -s -V -S 4096 -C "$1" >"$work/server" 2>&1 &
	server=$!
	until_true claims
	timeout 200 "$DAPPLE" fabric run n1 -- rping -c -V -S 4096 -C "$1" -a "$addr3" >"$work/client" 2>&1 &
	client=$!
	until_true moves
}

# Packets of data that have arrived at n3.
received() { "$DAPPLE" fabric run n1 -- perfquery "$(lid n3)" 1 2>/dev/null | awk -F: '/PortRcvPkts/ { gsub(/\./, "", $2); print $2 }'; }
lid() { "$DAPPLE" fabric show nodes | awk -v n="$1" '$1 == n { print $3 }'; }
# With DAPPLE_LOCAL=off packets take the fabric, whose ports count them.
export DAPPLE_LOCAL=off
moves() {
	first=$(received)
	until_more "$first"
}
until_more() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ "$(received)" -gt "$(($1 + 100))" ] && return 0
		sleep 0.05
	done
	return 1
}
end_well() {
	wait $client
	c=$?
	wait $server
	s=$?
	[ $c = 0 ] && [ $s = 0 ] || { cat "$work/client" "$work/server"; fault "$1: client $c, server $s"; }
	cat "$work/client" "$work/server" >"$work/out"
	hasnt "mismatch"
	hasnt "error"
}

# The subnet manager is killed, and another one takes over.
begin 6000
expect 0 "$DAPPLE" fabric sm stop n1
until_true moves
expect 0 "$DAPPLE" fabric sm start n2
master() { "$DAPPLE" fabric run n4 -- sminfo 2>/dev/null | grep -q MASTER; }
until_true master
end_well "a subnet manager that is replaced"

# The spine of the route goes away: OpenSM finds another route, and packets take it.
begin 6000
route() { "$DAPPLE" fabric run n1 -- ibtracert "$(lid n1)" "$(lid n3)" 2>/dev/null; }
spine=$(route | grep -o 'spine[12]' | head -n 1)
[ -n "$spine" ] || { route; fault "no spine on the route"; }
expect 0 "$DAPPLE" fabric node remove "$spine"
rerouted() { route | grep -o 'spine[12]' | grep -qv "$spine"; }
until_true rerouted
until_true moves
end_well "a switch that goes away"

# Links flap: each packet that is lost is sent again.
begin 6000
for port in n1/1 n3/1 n1/1; do
	expect 0 "$DAPPLE" fabric link $port flap
	until_true all_active
	until_true moves
done
end_well "links that flap"
finish
