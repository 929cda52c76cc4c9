# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# dapple fabric up --ipoib: IP between nodes over the fabric alone. Addresses, MTU, both versions of IP, groups, streams,
# a cable that is pulled, a subnet manager that is replaced, partitions; a sentence where the machine refuses TUN devices.
. "$FABRIC/lib.sh"
. "$FABRIC/ipoib_lib.sh"
needs opensm saquery ip unshare python3

unshare -rn true 2>/dev/null || { echo "this machine refuses user and network namespaces"; exit 77; }
"$DAPPLE" fabric up --ipoib --sm none >"$work/out" 2>&1
r=$?
if [ $r = 77 ] && grep -q TUN "$work/out"; then echo "this machine refuses TUN devices"; exit 77; fi
if [ $r = 77 ] && grep -q /dev/net/tun "$work/out"; then echo "this machine has no /dev/net/tun"; exit 77; fi
[ $r = 0 ] || { cat "$work/out"; fault "up --ipoib: status $r"; finish; }
# Without a subnet manager there is no broadcast group: the interface is there, without a carrier.
on n1 ip -o link show ib0
has "NO-CARRIER"
expect 0 "$DAPPLE" fabric down

up --ipoib --nodes 3
for n in 1 2 3; do
	on n$n ip -4 -o addr show ib0
	eval "addr$n=$(awk '{ sub("/.*", "", $4); print $4 }' "$work/out")"
	on n$n ip -6 -o addr show ib0
	eval "local$n=$(awk '$4 ~ /^fe80:/ { sub("/.*", "", $4); print $4; exit }' "$work/out")"
done
on n1 ip -o link show ib0
has "mtu 2044"
has "LOWER_UP"
on n1 ip -o link show
[ "$(grep -c . "$work/out")" = 2 ] || fault "n1 has other interfaces than lo and ib0"
# The SA knows the members of the broadcast group.
on n1 saquery -g
grep -qi "ff12:401b:ffff::ffff:ffff" "$work/out" || fault "the SA has no broadcast group"

# Both versions, also packets of the full MTU, and the RDMA CM by the same address.
stream n1 "$addr1" n3 100
stream n2 "$local2%ib0" n1 20
if command -v ping >/dev/null; then
	on n1 ping -c 3 -i 0.2 -W 10 -s 2016 -M "do" "$addr2"
	has "3 received"
	on n3 ping -6 -c 3 -i 0.2 -W 10 "$local1%ib0"
	has "3 received"
	expect 1 "$DAPPLE" fabric run n1 -- ping -c 1 -W 10 198.18.0.99
	has "Unreachable"
fi
if command -v rping >/dev/null; then
	timeout 60 "$DAPPLE" fabric run n2 -- rping -s -C 3 -v >"$work/rping" 2>&1 &
	server=$!
	pings() { timeout 20 "$DAPPLE" fabric run n1 -- rping -c -C 3 -v -a "$addr2" >"$work/out" 2>&1; }
	until_true pings
	has "ping data"
	wait $server
fi

# ssh from node to node, where this user may change users as sshd does.
sshd=$(command -v sshd)
if [ -n "$sshd" ] && command -v ssh-keygen >/dev/null && [ "$(id -u)" = 0 ] && ! grep -q deny /proc/self/setgroups; then
	ssh-keygen -q -t ed25519 -N "" -f "$work/host_key" && ssh-keygen -q -t ed25519 -N "" -f "$work/user_key"
	timeout 100 "$DAPPLE" fabric run n2 -- unshare -m sh -c "mount -t tmpfs none /run && mkdir /run/sshd && exec $sshd -D -e -f /dev/null -p 2222 -o HostKey=$work/host_key \
		-o AuthorizedKeysFile=$work/user_key.pub -o StrictModes=no -o UsePAM=no -o PidFile=$work/sshd.pid" >"$work/sshd" 2>&1 &
	server=$!
	logs_in() {
		timeout 30 "$DAPPLE" fabric run n1 -- ssh -F /dev/null -p 2222 -i "$work/user_key" -o StrictHostKeyChecking=no \
			-o UserKnownHostsFile=/dev/null -o BatchMode=yes "$addr2" 'hostname; head -c 5000000 /dev/zero | cksum' >"$work/out" 2>&1
	}
	until_true logs_in
	has n2
	has "$(head -c 5000000 /dev/zero | cksum)"
	kill "$(cat "$work/sshd.pid")"
	wait $server
fi

# A group: members get what a sender that is none sends.
member='import socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 5555))
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("239.1.2.3") + socket.inet_aton(sys.argv[1]))
print("joined", flush=True)
print(s.recv(99).decode())'
sender='import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(sys.argv[1]))
s.sendto(b"to the group", ("239.1.2.3", 5555))'
for n in 2 3; do
	eval "address=\$addr$n"
	timeout 60 "$DAPPLE" fabric run n$n -- "$python" -c "$member" "$address" >"$work/member$n" 2>&1 &
done
have_joined() { grep -q joined "$work/member2" && grep -q joined "$work/member3"; }
until_true have_joined
# n1 sends until both have it, since the SA's answers take their time.
got() { "$DAPPLE" fabric run n1 -- "$python" -c "$sender" "$addr1"; grep -q "to the group" "$work/member2" && grep -q "to the group" "$work/member3"; }
until_true got

# A cable is pulled and put in again under a stream: TCP goes on.
: >"$work/port"
timeout 120 "$DAPPLE" fabric run n2 -- "$python" -c "$serve" "$addr2" >"$work/port" 2>&1 &
server=$!
until_true listens
timeout 110 "$DAPPLE" fabric run n1 -- "$python" -c "$send" "$addr2" "$(cat "$work/port")" 500 >"$work/client" 2>&1 &
client=$!
expect 0 "$DAPPLE" fabric link n2/1 down
no_carrier() { "$DAPPLE" fabric run n2 -- ip -o link show ib0 | grep -q NO-CARRIER; }
until_true no_carrier
expect 0 "$DAPPLE" fabric link n2/1 up
wait $client
cp "$work/client" "$work/out"
has "same"
wait $server

# The subnet manager ends, and another one takes over: streams go on meanwhile, and members are registered anew.
expect 0 "$DAPPLE" fabric sm stop n1
stream n1 "$addr1" n2 20
expect 0 "$DAPPLE" fabric sm start n3
registered() { "$DAPPLE" fabric run n3 -- saquery -g 2>/dev/null | grep -qi 'ff12:401b:ffff::ffff:ffff'; }
until_true registered
stream n3 "$addr3" n2 20
expect 0 "$DAPPLE" fabric down

# Refused: what, and what permits it; nothing is left.
unshare -r sh -c 'echo 0 >/proc/sys/user/max_net_namespaces && exec "$DAPPLE" fabric up --ipoib' >"$work/out" 2>&1
r=$?
[ $r = 77 ] || { cat "$work/out"; fault "up --ipoib without network namespaces: status $r, not 77"; }
has "network namespace"
if unshare -rm sh -c 'mount --bind /dev/null /dev/net/tun' 2>/dev/null; then
	unshare -rm sh -c 'mount --bind /dev/null /dev/net/tun && exec "$DAPPLE" fabric up --ipoib' >"$work/out" 2>&1
	r=$?
	[ $r = 77 ] || { cat "$work/out"; fault "up --ipoib without /dev/net/tun: status $r, not 77"; }
	has "TUN device"
fi
expect 0 "$DAPPLE" fabric list
has "no fabric runs"

# Partitions: an interface for each that has a broadcast group.
cat >"$work/partitions.conf" <<-END
	Default=0x7fff, ipoib: ALL=full;
	blue=0x8001, ipoib: ALL=full;
END
up --ipoib -- -P "$work/partitions.conf"
blue_up() { "$DAPPLE" fabric run n1 -- ip -o link show ib0.8001 2>/dev/null | grep -q LOWER_UP; }
until_true blue_up
for n in 1 2; do
	on n$n ip addr add 10.1.0.$n/24 dev ib0.8001
done
stream n1 10.1.0.1 n2 5
expect 0 "$DAPPLE" fabric down

# Hop by hop into a capture, which tshark reads: ARP with addresses of 20 octets, ICMP, neighbour discovery.
if command -v tshark >/dev/null && command -v ping >/dev/null; then
	up --ipoib --hop --capture "$work/ipoib.pcapng"
	on n2 ip -6 -o addr show ib0
	local2=$(awk '$4 ~ /^fe80:/ { sub("/.*", "", $4); print $4; exit }' "$work/out")
	on n2 ip -4 -o addr show ib0
	addr2=$(awk '{ sub("/.*", "", $4); print $4 }' "$work/out")
	on n1 ping -c 3 -i 0.2 -W 10 "$addr2"
	on n1 ping -6 -c 3 -i 0.2 -W 10 "$local2%ib0"
	expect 0 "$DAPPLE" fabric down
	for filter in 'arp.hw.type == 32 && arp.hw.size == 20' icmp 'icmpv6.type == 135' 'icmpv6.type == 136'; do
		tshark -r "$work/ipoib.pcapng" -Y "$filter" >"$work/out" 2>/dev/null
		[ -s "$work/out" ] || fault "no packet is $filter"
	done
	tshark -r "$work/ipoib.pcapng" -Y _ws.malformed >"$work/out" 2>/dev/null
	[ -s "$work/out" ] && { cat "$work/out"; fault "tshark calls packets malformed"; }
fi
finish
