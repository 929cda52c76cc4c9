# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Alternate paths of rdma_cm's connections, and their migration (IBTA 12.8, 17.2.8): two LIDs a port lead over two spines. The
# alternate path comes with the REQ, by a LAP of the client, or by one of the server. Then the cable of the path in use is
# out, and no subnet manager routes anew: when the requester's retries are over, both ends change to the other path, and no byte is lost.
. "$FABRIC/lib.sh"
needs opensm ibtracert ss tshark

port=7000
claims() { ss -Hxa | grep -q "@dapple-cm/.*/$port "; }
client_says() { grep -q "^$1 " "$work/client" || ! kill -0 $client 2>/dev/null; }
up_again() { [ "$("$DAPPLE" fabric show links | grep -c ' active ')" = 8 ]; }
master() { "$DAPPLE" fabric run n4 -- sminfo 2>/dev/null | grep -q MASTER; }

# begin HOW: both ends; the client has connected, and has an alternate path.
begin() {
	port=$((port + 1))
	timeout 200 "$DAPPLE" fabric run n3 -- "$PATH_ENDS" serve $port >"$work/server" 2>"$work/server.err" &
	server=$!
	until_true claims
	timeout 200 "$DAPPLE" fabric run n1 -- "$PATH_ENDS" "$1" "$addr3" $port >"$work/client" 2>"$work/client.err" &
	client=$!
}

end_well() {
	wait $client
	c=$?
	wait $server
	s=$?
	[ $c = 0 ] && [ $s = 0 ] || { cat "$work/client" "$work/client.err" "$work/server" "$work/server.err"; fault "$1: client $c, server $s"; }
	[ "$(tail -n 1 "$work/client")" = "$(tail -n 1 "$work/server")" ] || fault "$1: the ends have counted other numbers of messages"
}

# fabric OPTION...
fabric() {
	expect 0 "$DAPPLE" fabric up --wait 120 --tree 2x2x2 "$@" -- -l 1
	on n3 "$DAPPLE" devices
	addr3=$(grep -o '198\.1[89]\.[0-9.]*' "$work/out" | head -n 1)
}

# migrate HOW: the cable of the path in use is taken out, and put in again afterwards.
migrate() {
	how=$1
	begin "$how"
	until_true client_says armed
	set -- $(grep '^armed' "$work/client")
	[ $# = 3 ] || { fault "$how: no alternate path"; end_well "$how"; return; }
	slid=$2 dlid=$3
	# The path in use is that of the other low bit.
	spine=$("$DAPPLE" fabric run n1 -- ibtracert $((slid ^ 1)) $((dlid ^ 1)) 2>/dev/null | grep -o 'spine[12]' | head -n 1)
	other=$("$DAPPLE" fabric run n1 -- ibtracert "$slid" "$dlid" 2>/dev/null | grep -o 'spine[12]' | head -n 1)
	[ -n "$spine" ] && [ -n "$other" ] && [ "$spine" != "$other" ] || fault "$how: paths by $spine and $other"
	expect 0 "$DAPPLE" fabric sm stop n1
	expect 0 "$DAPPLE" fabric link "$spine/1" down
	end_well "$how"
	for end in client server; do
		[ "$(grep -c '^migrated' "$work/$end")" = 1 ] || { cat "$work/$end"; fault "$how: the $end does not migrate once"; }
	done
	grep -qx "migrated $slid $dlid" "$work/client" || fault "$how: the client is on another path than $slid $dlid"
	grep -qx "migrated $dlid $slid" "$work/server" || fault "$how: the server is on another path than $dlid $slid"
	expect 0 "$DAPPLE" fabric link "$spine/1" up
	expect 0 "$DAPPLE" fabric sm start n1 -l 1
	until_true master
	until_true up_again
}

# By shared memory.
fabric
begin refused
end_well refused
grep -q migrated "$work/client" "$work/server" && fault "a migration without an alternate path"
"$DAPPLE" why >"$work/out" 2>&1
has "no alternate path was loaded (status 5)"

migrate later
expect 0 "$DAPPLE" fabric down

# By the fabric process, through each switch.
export DAPPLE_LOCAL=off
fabric --hop --capture "$work/fabric.pcapng"
for how in first later back; do
	migrate $how
done
expect 0 "$DAPPLE" fabric down
tshark -n -r "$work/fabric.pcapng" -Y 'infiniband.mad.mgmtclass == 7' -T fields -e infiniband.mad.attributeid -e _ws.malformed >"$work/mads" 2>"$work/err" ||
	{ cat "$work/err"; fault tshark; }
for id in 0x0019 0x001a; do
	[ "$(cut -f 1 "$work/mads" | grep -cx "$id")" -ge 2 ] || { sort "$work/mads" | uniq -c; fault "few messages of attribute $id in the capture"; }
done
[ -z "$(cut -f 2 "$work/mads" | tr -d '\n')" ] || fault "tshark calls a message malformed"
finish
