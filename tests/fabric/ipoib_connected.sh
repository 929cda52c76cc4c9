# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# dapple fabric up --connected: packets of 65,520 bytes over RC connections (RFC 4755). Both versions of IP, groups beside them, a
# cable that is pulled, a subnet manager that is replaced, a peer that dies, another partition by datagrams; what tshark reads of it.
. "$FABRIC/lib.sh"
. "$FABRIC/ipoib_lib.sh"
needs opensm saquery ip unshare python3 ping

unshare -rn true 2>/dev/null || { echo "this machine refuses user and network namespaces"; exit 77; }
cat >"$work/partitions.conf" <<-END
	Default=0x7fff, ipoib: ALL=full;
	blue=0x8001, ipoib: ALL=full;
END
"$DAPPLE" fabric up --connected --nodes 3 --wait 120 -- -P "$work/partitions.conf" >"$work/out" 2>&1
r=$?
if [ $r = 77 ] && grep -q "TUN\|/dev/net/tun" "$work/out"; then echo "this machine refuses TUN devices"; exit 77; fi
[ $r = 0 ] || { cat "$work/out"; fault "up --connected: status $r"; finish; }
addresses() {
	for n in 1 2 3; do
		on n$n ip -4 -o addr show ib0
		eval "addr$n=$(awk '{ sub("/.*", "", $4); print $4 }' "$work/out")"
		on n$n ip -6 -o addr show ib0
		eval "local$n=$(awk '$4 ~ /^fe80:/ { sub("/.*", "", $4); print $4; exit }' "$work/out")"
	done
}
addresses
on n1 ip -o link show ib0
has "mtu 65520"
on n1 ping -c 3 -i 0.2 -W 10 -s 100 "$addr2"
has "3 received"
# Not fragmented: longer than any datagram of the subnet.
on n1 ping -c 3 -i 0.2 -W 10 -s 65492 -M "do" "$addr2"
has "3 received"
on n3 ping -6 -c 3 -i 0.2 -W 10 -s 65472 -M "do" "$local1%ib0"
has "3 received"
expect 1 "$DAPPLE" fabric run n1 -- ping -c 1 -W 10 198.18.0.99
has "Unreachable"
stream n1 "$addr1" n3 500
stream n2 "$local2%ib0" n1 100
# Nodes with ib0 register nothing, though connections are made by the RDMA CM.
on n1 saquery SR
hasnt "DAPL Address"
# Another partition has datagrams.
blue_up() { "$DAPPLE" fabric run n1 -- ip -o link show ib0.8001 2>/dev/null | grep -q LOWER_UP; }
until_true blue_up
on n1 ip -o link show ib0.8001
has "mtu 2044"
for n in 1 2; do
	on n$n ip addr add 10.1.0.$n/24 dev ib0.8001
done
stream n1 10.1.0.1 n2 5

# A cable is pulled for longer than retries last, under a stream: the connection ends, and another one is made.
: >"$work/port"
timeout 200 "$DAPPLE" fabric run n2 -- "$python" -c "$serve" "$addr2" >"$work/port" 2>&1 &
server=$!
until_true listens
timeout 190 "$DAPPLE" fabric run n1 -- "$python" -c "$send" "$addr2" "$(cat "$work/port")" 2000 >"$work/client" 2>&1 &
client=$!
expect 0 "$DAPPLE" fabric link n2/1 down
no_carrier() { "$DAPPLE" fabric run n2 -- ip -o link show ib0 | grep -q NO-CARRIER; }
until_true no_carrier
expect 0 "$DAPPLE" fabric link n2/1 up
wait $client
cp "$work/client" "$work/out"
has "same"
wait $server

# The subnet manager is replaced: connections stand, and new ones are made afterwards.
expect 0 "$DAPPLE" fabric sm stop n1
stream n1 "$addr1" n3 50
expect 0 "$DAPPLE" fabric sm start n3
registered() { "$DAPPLE" fabric run n3 -- saquery -g 2>/dev/null | grep -qi 'ff12:401b:ffff::ffff:ffff'; }
until_true registered
stream n3 "$addr3" n2 50

# A peer dies, killed: the others go on, and packets to it are told undeliverable.
dead=$("$DAPPLE" fabric run n2 -- sh -c 'for p in /proc/[0-9]*; do
	[ "$(readlink $p/exe)" = "${1%/*}/lib/dapple-ipoib" ] || [ "$(basename "$(readlink $p/exe)")" = dapple-ipoib ] || continue
	[ "$(readlink $p/ns/net)" = "$(readlink /proc/self/ns/net)" ] && echo "${p#/proc/}"
done' sh "$DAPPLE" 2>/dev/null | head -n 1)
if [ -n "$dead" ]; then
	kill -9 "$dead"
	stream n3 "$addr3" n1 50
	unreachable() { "$DAPPLE" fabric run n1 -- ping -c 1 -W 5 "$addr2" | grep -q "Unreachable"; }
	until_true unreachable
	on n1 ping -c 3 -i 0.2 -W 10 -s 65492 -M "do" "$addr3"
	has "3 received"
else
	fault "no process dapple-ipoib of n2 is found"
fi
expect 0 "$DAPPLE" fabric down

# Hop by hop into a capture: REQ with the service ID of RFC 4755, frames over RC, and nothing malformed.
if command -v tshark >/dev/null; then
	up --connected --nodes 3 --hop --capture "$work/ipoib.pcapng"
	addresses
	on n1 ping -c 3 -i 0.2 -W 10 -s 20000 "$addr2"
	has "3 received"
	expect 0 "$DAPPLE" fabric down
	tshark -r "$work/ipoib.pcapng" -Y 'infiniband.cm.req.serviceid' -T fields -e infiniband.cm.req.serviceid >"$work/out" 2>/dev/null ||
		tshark -r "$work/ipoib.pcapng" -Y 'infiniband.mad.mgmtclass == 7' -V >"$work/out" 2>/dev/null
	grep -qi '1000000000' "$work/out" || { head -c 3000 "$work/out"; fault "no REQ has the service ID of connected mode"; }
	tshark -r "$work/ipoib.pcapng" -Y 'infiniband.bth.opcode <= 4' >"$work/out" 2>/dev/null
	[ "$(wc -l <"$work/out")" -ge 60 ] || fault "$(wc -l <"$work/out") packets are of RC Sends"
	tshark -r "$work/ipoib.pcapng" -Y _ws.malformed >"$work/out" 2>/dev/null
	[ -s "$work/out" ] && { head -20 "$work/out"; fault "tshark calls packets malformed"; }
fi
finish
