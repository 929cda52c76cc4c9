# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# DAPL's Address Translation Service: nodes register their addresses with the SA, and find ports that others have registered;
# again with a new subnet manager. Registrants and resolvers that are none of ours are mads.py, in the forms of gen1 and IBAL.
. "$FABRIC/lib.sh"
needs opensm saquery rping python3
python=$(command -v python3)
mads() {
	node=$1
	shift
	"$DAPPLE" fabric run "$node" -- "$python" "$FABRIC/mads.py" "$@" >"$work/out" 2>&1
	cat "$work/out"
}

up ats --nodes 4
for n in 1 2 3 4; do
	on n$n "$DAPPLE" devices
	eval "addr$n=$(grep -o '198\.1[89]\.[0-9.]*' "$work/out")"
	on n$n cat /sys/class/infiniband/dpl_ib0/ports/1/gids/0
	eval "gid$n=$(cat "$work/out")"
done
# A program that does not connect registers nothing.
on n1 ibv_devinfo
on n1 saquery SR
hasnt "DAPL Address"
# A listener does.
serve() {
	timeout 300 "$DAPPLE" fabric run n2 -- rping -s -P -v >"$work/server" 2>&1 &
	server=$!
}
serve
registered() { "$DAPPLE" fabric run n1 -- saquery SR 2>/dev/null | grep -q "DAPL Address Translation Service"; }
until_true registered
on n1 saquery SR
has "0x10000ce100415453"
has "0xFFFF"
ends() { "$DAPPLE" fabric run n1 -- timeout 60 rping -c -C 3 -v -a "$1" >"$work/out" 2>&1 && grep -q "ping data" "$work/out"; }
until_true ends "$addr2"

# Both ways, as others ask.
for like in gen1 ibal; do
	mads n3 resolve "$addr2" --like $like
	has '"status": 0'
	has "$("$python" -c 'import ipaddress, sys; print(ipaddress.ip_address(sys.argv[1]))' "$gid2")"
done
mads n3 resolve "$gid2"
has "\"address\": \"$addr2\""
mads n3 resolve 10.1.1.1
has '"status": 768'
expect 0 "$DAPPLE" fabric resolve n1 "$addr2"
has "$addr2 fe80::"
cut -d ' ' -f 2 "$work/out" >"$work/gid"
expect 0 "$DAPPLE" fabric resolve n3 "$(cat "$work/gid")"
has "$addr2 $(cat "$work/gid")"
expect 1 "$DAPPLE" fabric resolve n3 10.1.1.1
has "no port has registered 10.1.1.1"
expect 2 "$DAPPLE" fabric resolve n3 n2

# An address that the fabric does not know, registered by a program that is none of ours: rping and a DAT program find it.
refused() { expect 255 env DAPPLE_LOG=warn "$DAPPLE" fabric run n1 -- timeout 60 rping -c -C 3 -a "$1"; }
refused 10.1.1.2
has "RDMA_CM_EVENT_ADDR_ERROR"
mads n2 register 10.1.1.2 --nth 1
has '"status": 0'
on n1 timeout 60 rping -c -C 3 -v -a 10.1.1.2
has "ping data"
kill $server
wait $server
if command -v dapltest >/dev/null; then
	timeout 120 "$DAPPLE" fabric run n2 -- dapltest -T S -D dapple-ib-0 >"$work/dapl" 2>&1 &
	dapl=$!
	transfers() { "$DAPPLE" fabric run n1 -- timeout 60 dapltest -T T -D dapple-ib-0 -s 10.1.1.2 -i 100 client SR 256 server SR 256 >"$work/out" 2>&1 && grep -q "Total" "$work/out"; }
	until_true transfers
	on n1 timeout 60 dapltest -T Q -D dapple-ib-0 -s 10.1.1.2
	wait $dapl
fi
serve

# Two ports with one address, and a port that is nowhere: a sentence.
mads n3 register 10.1.1.2 --nth 1
refused 10.1.1.2
has "several ports have registered one address"
expect 1 "$DAPPLE" fabric resolve n1 10.1.1.2
has "several ports"
mads n4 register 10.1.1.9 --nth 2
expect 0 "$DAPPLE" fabric node remove n4
refused 10.1.1.9
has "is none of this fabric"

# The subnet manager is replaced: a program that runs registers again.
expect 0 "$DAPPLE" fabric sm stop n1
expect 0 "$DAPPLE" fabric sm start n3
until_true registered
mads n1 resolve "$addr2"
has '"status": 0'
until_true ends "$addr2"
kill $server
wait $server
expect 0 "$DAPPLE" fabric down

# Nodes with IP over InfiniBand register nothing: their addresses are found by ARP.
if "$DAPPLE" fabric up --ipoib --wait 120 >"$work/out" 2>&1; then
	timeout 60 "$DAPPLE" fabric run n2 -- rping -s -P >/dev/null 2>&1 &
	server=$!
	on n2 ip -4 -o addr show ib0
	addr2=$(awk '{ sub("/.*", "", $4); print $4 }' "$work/out")
	until_true ends "$addr2"
	on n1 saquery SR
	hasnt "DAPL Address"
	kill $server
	wait $server
fi
finish
