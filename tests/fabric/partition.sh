# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A P_Key that the subnet manager takes from a port while messages go: they count as lost, as packets are that a port refuses, so the
# connection ends in RETRY_EXC; both by memory and through the fabric process. The default partition of the same ports goes on.
. "$FABRIC/lib.sh"
needs opensm ibstat ibv_devinfo ib_send_bw perfquery ss

# conf GUID...: the partition 0x0001 with these ports.
conf() {
	echo "Default=0x7fff, ipoib : ALL=full, ALL_SWITCHES=full, SELF=full;"
	printf 'Apart=0x0001 : '
	for guid in "$@"; do printf '%s=full, ' "$guid"; done
	echo "SELF=full;"
}
up partition --nodes 3 --sm none
guid() { "$DAPPLE" fabric run "$1" -- ibstat | sed -n 's/.*Port GUID: *//p'; }
n2=$(guid n2) n3=$(guid n3)
expect 0 "$DAPPLE" fabric down
[ ${#n2} = 18 ] && [ ${#n3} = 18 ] || { echo "GUIDs: $n2 $n3"; fault "no GUID of a port"; finish; }
conf "$n2" "$n3" >"$work/both"
conf "$n2" >"$work/one"

# index NODE: of the P_Key 0x8001 in the port's table.
index() { "$DAPPLE" fabric run "$1" -- sh -c 'for i in 0 1 2 3 4 5 6 7; do echo "$i $(cat /sys/class/infiniband/dpl_ib0/ports/1/pkeys/$i)"; done' | awk '$2 == "0x8001" { print $1; exit }'; }
listens() { ss -Hltn "sport = :$port" | grep -q .; }
lid() { "$DAPPLE" fabric run "$1" -- ibv_devinfo | sed -n 's/.*port_lid:[ \t]*//p'; }
sent() { "$DAPPLE" fabric run n1 -- perfquery -x "$(lid n3)" 1 2>/dev/null | awk -F'[:.]+' '$1 == "PortXmitPkts" { print $2 }'; }
moves() { [ "$(sent)" -gt 20000 ]; }
gone() { [ -z "$(index n3)" ]; }

# begin PORT INDEX2 INDEX3: a stream from n3 to n2; sets client and server.
begin() {
	port=$1
	timeout 100 "$DAPPLE" fabric run n2 -- ib_send_bw -F -D 60 -p "$port" --pkey_index "$2" >"$work/server$port" 2>&1 &
	server=$!
	until_true listens
	timeout 100 "$DAPPLE" fabric run n3 -- ib_send_bw -F -D 60 -p "$port" --pkey_index "$3" 127.0.0.1 >"$work/client$port" 2>&1 &
	client=$!
}

for local in on off; do
	[ $local = off ] && export DAPPLE_LOCAL=off || unset DAPPLE_LOCAL
	cp "$work/both" "$work/partitions"
	rm -f "$work/run/why"*
	up partition --nodes 3 -- -P "$work/partitions"
	a=$(index n2) b=$(index n3)
	[ -n "$a" ] && [ -n "$b" ] || { fault "no P_Key 0x8001 at both ports"; break; }
	begin 18515 "$a" "$b"
	apart=$client apart_server=$server
	until_true moves
	cp "$work/one" "$work/partitions"
	expect 0 "$DAPPLE" fabric sm stop n1
	expect 0 "$DAPPLE" fabric sm start n1
	until_true gone
	wait $apart && fault "messages go on without the P_Key"
	kill $apart_server 2>/dev/null
	wait $apart_server
	on n3 "$DAPPLE" why
	has "ib_send_bw: the peer did not answer within the timeout and all retries"
	# The default partition is as before.
	timeout 60 "$DAPPLE" fabric run n2 -- ib_send_bw -F -n 1000 -p 18516 >"$work/server" 2>&1 &
	server=$! port=18516
	until_true listens
	on n3 ib_send_bw -F -n 1000 -p 18516 127.0.0.1
	wait $server || fault "the default partition is cut too"
	expect 0 "$DAPPLE" fabric down
done
finish
