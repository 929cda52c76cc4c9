# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Packets of adapters over a trunk: two fabric processes in two network namespaces, one subnet. Programs of the distribution by
# LID and by the RDMA CM, a group, IP over InfiniBand's packets are groups and datagrams as well; the far process is killed under
# traffic and comes back.
. "$FABRIC/lib.sh"
needs opensm sminfo ip ss unshare nsenter ibv_rc_pingpong ibv_ud_pingpong rping ib_write_bw

# Runs itself again in a user and network namespace that may make others.
if [ -z "${TRUNK_INSIDE-}" ]; then
	unshare -rn true 2>/dev/null || { echo "this machine refuses user and network namespaces"; exit 77; }
	TRUNK_INSIDE=1 exec unshare -rn sh "$0"
fi
"$DAPPLE" fabric up --trunk 127.0.0.1:1 --trunk-key /nonexistent --sm none >"$work/out" 2>&1
grep -q libsodium "$work/out" && { echo "this build has no libsodium"; exit 77; }

unshare -n sleep 900 &
there=$!
trap 'kill $there 2>/dev/null; end_fabrics; DAPPLE_RUNTIME_DIR=$work/run2 "$DAPPLE" fabric down lab >/dev/null 2>&1; rm -rf "$work"' EXIT
is_apart() { [ "$(readlink /proc/$there/ns/net)" != "$(readlink /proc/self/ns/net)" ]; }
until_true is_apart
ip link add t0 type veth peer name t1 || { echo "this machine refuses veth pairs"; exit 77; }
ip link set t1 netns $there
ip addr add 10.9.0.1/24 dev t0 && ip link set t0 up && ip link set lo up
nsenter -t $there -n sh -c 'ip addr add 10.9.0.2/24 dev t1; ip link set t1 up; ip link set lo up'
mkdir -m 700 "$work/run2"
head -c 32 /dev/urandom >"$work/key" && chmod 600 "$work/key"
far() { DAPPLE_RUNTIME_DIR="$work/run2" nsenter -t $there -n timeout "${limit-120}" "$DAPPLE" fabric "$@"; }
far_listens() { nsenter -t $there -n ss -Hltn "sport = :$1" | grep -q .; }

up lab --prefix a- --trunk 10.9.0.2:7100 --trunk-key "$work/key"
expect 0 far up lab --prefix b- --trunk 10.9.0.1:7100 --trunk-key "$work/key" --sm none
is_whole() { "$DAPPLE" fabric run a-n1 -- ibnetdiscover -p 2>/dev/null | grep -c '^CA' | grep -qx 4; }
until_true is_whole
far_active() { far run b-n2 -- ibv_devinfo 2>/dev/null | grep -q PORT_ACTIVE; }
until_true far_active
address() { grep -o '198\.1[89]\.[0-9.]*' "$work/out" | head -n 1; }
expect 0 far run b-n2 -- "$DAPPLE" devices
b2=$(address)
on a-n1 "$DAPPLE" devices
[ "$(address)" != "$b2" ] || fault "both fabric processes give the address $b2"

# both PORT COMMAND...: server at b-n2, client at a-n1.
both() {
	port=$1
	shift
	far run b-n2 -- "$@" >"$work/server" 2>&1 &
	server=$!
	until_true far_listens "$port"
	on a-n1 timeout 100 "$@" 10.9.0.2
	wait $server || { cat "$work/server"; fault "the server of $1"; }
}
both 18515 ibv_rc_pingpong -p 18515 -n 300
has "300 iters"
both 18515 ibv_ud_pingpong -p 18515 -n 300
has "300 iters"
both 18515 ibv_rc_pingpong -p 18515 -g 0 -n 100 -s 65536 -c
both 18515 ib_write_bw -p 18515 -s 65536 -n 500
# The RDMA CM: the address of a host behind the trunk.
far run b-n2 -- rping -s -C 20 -v >"$work/server" 2>&1 &
server=$!
far_claims() { nsenter -t $there -n ss -Hxa | grep -q '@dapple-cm/.*/7174 '; }
until_true far_claims
on a-n1 timeout 60 rping -c -C 20 -v -a "$b2"
has "ping data"
wait $server || { cat "$work/server"; fault "the server of rping"; }

# Killed under traffic: the retries of the end whose message is under way come to their end, the other end polls on, as it does on
# hardware, until its time is over. The next process carries packets again.
limit=40
far run b-n2 -- stdbuf -oL ibv_rc_pingpong -p 18515 -n 100000000 >"$work/server" 2>&1 &
server=$!
until_true far_listens 18515
timeout 40 "$DAPPLE" fabric run a-n1 -- stdbuf -oL ibv_rc_pingpong -p 18515 -n 100000000 10.9.0.2 >"$work/client" 2>&1 &
client=$!
begun() { grep -q 'remote address' "$work/client"; }
until_true begun
kill -9 "$(far list | awk 'NR == 2 { print $2 }')"
wait $client $server
grep -q 'retry counter exceeded' "$work/client" "$work/server" || { cat "$work/client" "$work/server"; fault "neither end says why"; }
limit=120
expect 0 far up lab --prefix b- --trunk 10.9.0.1:7100 --trunk-key "$work/key" --sm none
until_true is_whole
until_true far_active
both 18515 ibv_rc_pingpong -p 18515 -n 300
has "300 iters"
on a-n1 "$DAPPLE" fabric show
expect 0 far down lab
expect 0 "$DAPPLE" fabric down lab

# IP over InfiniBand between the hosts of both: one broadcast group.
command -v ping >/dev/null && [ -c /dev/net/tun ] || finish
"$DAPPLE" fabric up lab --prefix a- --trunk 10.9.0.2:7100 --trunk-key "$work/key" --ipoib --wait 120 >"$work/out" 2>&1
r=$?
[ $r = 77 ] && finish
[ $r = 0 ] || { cat "$work/out"; fault "up --ipoib --trunk: $r"; finish; }
expect 0 far up lab --prefix b- --trunk 10.9.0.1:7100 --trunk-key "$work/key" --sm none --ipoib
until_true is_whole
b_is_up() { far run b-n1 -- ip -o link show ib0 2>/dev/null | grep -q LOWER_UP; }
until_true b_is_up
expect 0 far run b-n1 -- ip -4 -o addr show ib0
b1=$(address)
pings() { timeout 60 "$DAPPLE" fabric run a-n2 -- ping -c 3 -i 0.2 -W 5 "$b1" >"$work/out" 2>&1; }
until_true pings
cat "$work/out"
expect 0 far down lab
expect 0 "$DAPPLE" fabric down lab

# One end takes connections (RFC 4755), the other has datagrams alone: the first keeps to datagrams towards it, and its host
# learns the length of the way.
expect 0 "$DAPPLE" fabric up lab --prefix a- --trunk 10.9.0.2:7100 --trunk-key "$work/key" --connected --wait 120
expect 0 far up lab --prefix b- --trunk 10.9.0.1:7100 --trunk-key "$work/key" --sm none --ipoib
until_true is_whole
until_true b_is_up
expect 0 far run b-n1 -- ip -4 -o addr show ib0
b1=$(address)
until_true pings
on a-n2 ip -o link show ib0
has "mtu 65520"
on a-n2 ip -4 -o addr show ib0
a2=$(address)
expect 0 far run b-n1 -- ping -c 3 -i 0.2 -W 5 -s 2016 -M "do" "$a2"
has "3 received"
expect 1 "$DAPPLE" fabric run a-n2 -- ping -c 3 -i 0.2 -W 5 -s 9000 -M "do" "$b1"
has "mtu = 2044"
# A stream of TCP, whose first segments are too long.
python=$(command -v python3)
. "$FABRIC/ipoib_lib.sh"
: >"$work/port"
far run b-n1 -- "$python" -c "$serve" "$b1" >"$work/port" 2>&1 &
server=$!
until_true listens
on a-n2 timeout 100 "$python" -c "$send" "$b1" "$(cat "$work/port")" 50
has "same"
wait $server
expect 0 far down lab
finish
