# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# dapple fabric up --hosts: each node is a host with its own network namespace, name and address; a sentence where the machine
# refuses.
. "$FABRIC/lib.sh"
needs opensm sminfo ip unshare python3 ss ibv_rc_pingpong

unshare -rn true 2>/dev/null || { echo "this machine refuses user and network namespaces"; exit 77; }
"$DAPPLE" fabric up --hosts --sm none >"$work/out" 2>&1
r=$?
if [ $r = 77 ] && grep -q bridge "$work/out"; then echo "this machine refuses bridges"; exit 77; fi
[ $r = 0 ] || { cat "$work/out"; fault "up --hosts: status $r"; finish; }
expect 0 "$DAPPLE" fabric down

up --hosts --nodes 3
own=$(readlink /proc/self/ns/net)
for n in 1 2 3; do
	on n$n hostname
	has "n$n"
	on n$n readlink /proc/self/ns/net
	[ "$(cat "$work/out")" != "$own" ] || fault "n$n is in the network namespace of the caller"
	cp "$work/out" "$work/ns$n"
	on n$n ip -4 addr show eth0
	cp "$work/out" "$work/addr$n"
	on n$n sminfo
	has "SMINFO_MASTER"
done
cmp -s "$work/ns1" "$work/ns2" && fault "n1 and n2 share a namespace"
on n2 readlink /proc/self/ns/net
cmp -s "$work/out" "$work/ns2" || fault "the second program at n2 is in another namespace than the first"

# The address is that of the RDMA CM, and reaches the node over the bridge.
addr() { awk '$1 == "inet" { sub("/.*", "", $2); print $2 }' "$work/addr$1"; }
serve='import socket, sys
s = socket.create_server((sys.argv[1], 0))
print(s.getsockname()[1], flush=True)
c, peer = s.accept()
c.sendall(peer[0].encode())'
"$DAPPLE" fabric run n1 -- python3 -c "$serve" "$(addr 1)" >"$work/port" 2>&1 &
listens() { [ -s "$work/port" ]; }
until_true listens
on n3 python3 -c 'import socket, sys
print(socket.create_connection((sys.argv[1], int(sys.argv[2])), 30).recv(99).decode())' "$(addr 1)" "$(cat "$work/port")"
has "$(addr 3)"
on n2 "$DAPPLE" devices
has "$(addr 2)"

# Their programs are on one machine: messages go through shared memory, although each node has names of sockets of its own.
"$DAPPLE" fabric run n1 -- ibv_rc_pingpong -c >"$work/server" 2>&1 &
server=$!
listens() { "$DAPPLE" fabric run n1 -- ss -Hltn 'sport = :18515' 2>/dev/null | grep -q .; }
until_true listens
on n3 "$DAPPLE" capture -o "$work/pingpong.pcapng" -- ibv_rc_pingpong -c "$(addr 1)"
wait $server || { cat "$work/server"; fault "ibv_rc_pingpong at n1 failed"; }
grep -aq 'by shared memory' "$work/pingpong.pcapng" || fault "ibv_rc_pingpong from n3 to n1 did not go through shared memory"

# The adapter of its interface, where it is asked for, is in the node's /sys too.
export DAPPLE_ADAPTER=roce
on n2 ls /sys/class/infiniband
has "dpl_roce_eth0"
on n2 ibv_devinfo -d dpl_roce_eth0
unset DAPPLE_ADAPTER
on n2 ls /sys/class/infiniband
has "dpl_ib0"

# From a node to another one, as mpirun does it.
on n1 "$DAPPLE" fabric agent n2 'hostname; id -u'
has "n2"
[ "$(sed -n 2p "$work/out")" = "$(id -u)" ] || fault "the user is another one on a node"

# A node that comes later, and one that is made anew.
expect 0 "$DAPPLE" fabric node add n4 s1/10
on n4 hostname
has "n4"
expect 0 "$DAPPLE" fabric node remove n4
expect 0 "$DAPPLE" fabric node add n4 s1/10
on n4 ip -4 addr show eth0
has "198.18."
expect 0 "$DAPPLE" fabric down

# Refused: what, and what permits it; nothing is left.
unshare -r sh -c 'echo 0 >/proc/sys/user/max_net_namespaces && exec "$DAPPLE" fabric up --hosts' >"$work/out" 2>&1
r=$?
[ $r = 77 ] || { cat "$work/out"; fault "up --hosts without network namespaces: status $r, not 77"; }
has "network namespace"
expect 0 "$DAPPLE" fabric list
has "no fabric runs"
finish
