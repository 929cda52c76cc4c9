# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Two fabric processes in two network namespaces, joined by a trunk: one subnet under one OpenSM. A key that differs,
# an end that is killed and comes back.
. "$FABRIC/lib.sh"
needs opensm sminfo ibnetdiscover ip unshare nsenter

# Runs itself again in a user and network namespace that may make others.
if [ -z "${TRUNK_INSIDE-}" ]; then
	unshare -rn true 2>/dev/null || { echo "this machine refuses user and network namespaces"; exit 77; }
	TRUNK_INSIDE=1 exec unshare -rn sh "$0"
fi
"$DAPPLE" fabric up --trunk 127.0.0.1:1 --trunk-key /nonexistent --sm none >"$work/out" 2>&1
grep -q libsodium "$work/out" && { echo "this build has no libsodium"; exit 77; }
grep -q "cannot be opened" "$work/out" || fault "a key that is not there"

# The other namespace lives in a sleeping process.
unshare -n sleep 600 &
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
head -c 32 /dev/urandom >"$work/other" && chmod 600 "$work/other"
far() { DAPPLE_RUNTIME_DIR="$work/run2" nsenter -t $there -n "$DAPPLE" fabric "$@"; }

nodes() { "$DAPPLE" fabric run a-n1 -- ibnetdiscover -p 2>/dev/null | grep -c '^CA'; }
is_nodes() { [ "$(nodes)" = "$1" ]; }
up lab --prefix a- --trunk 10.9.0.2:7100 --trunk-key "$work/key"
expect 0 far up lab --prefix b- --trunk 10.9.0.1:7100 --trunk-key "$work/key" --sm none
until_true is_nodes 4
# A program at the other end reaches the SM over the trunk.
far_master() { far run b-n2 -- sminfo | grep -q MASTER; }
until_true far_master
expect 0 "$DAPPLE" fabric show
has "peer heard"

# Killed: the links go down, and come back with the next process.
pid=$(far list | awk 'NR == 2 { print $2 }')
kill -9 "$pid"
until_true is_nodes 2
expect 0 far up lab --prefix b- --trunk 10.9.0.1:7100 --trunk-key "$work/key" --sm none
until_true is_nodes 4
expect 0 far down lab

# Another key: refused and counted, nothing joins.
expect 0 far up lab --prefix b- --trunk 10.9.0.1:7100 --trunk-key "$work/other" --sm none
forged() { "$DAPPLE" fabric show | grep -q 'peer silent, [1-9][0-9]* forged'; }
until_true forged
is_nodes 2 || fault "a node behind a trunk of another key is seen"
chmod 644 "$work/other"
expect 0 far down lab
expect 1 far up lab --trunk 10.9.0.1:7100 --trunk-key "$work/other" --sm none
has "other users"
finish
