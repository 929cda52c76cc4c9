# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# RDS over InfiniBand: programs at two nodes that are hosts of their own, by tests/kernel/rds_end.py: messages that come back, many
# messages to several ports, reads and writes of memory in both roles; over RDMA, and over what a socket that has chosen nothing gets.
. "$FABRIC/lib.sh"
needs opensm ip unshare python3
end=$FABRIC/../kernel/rds_end.py

"$DAPPLE" fabric up --wait 120 --hosts rds >"$work/out" 2>&1
r=$?
if [ $r = 77 ]; then tail -n 1 "$work/out"; exit 77; fi
[ $r = 0 ] || { cat "$work/out"; fault "up --hosts: status $r"; finish; }

# address NODE: of its adapter.
address() {
	on "$1" "$DAPPLE" devices >/dev/null
	grep -o '198\.1[89]\.[0-9.]*' "$work/out"
}

# at NODE WORD...: rds_end.py there, on Dapple's sockets.
at() {
	node=$1
	shift
	"$DAPPLE" fabric run "$node" -- "$DAPPLE" run --adapter ib --rds -- python3 "$end" "$@"
}

# pair SERVER-WORDS -- CLIENT-WORDS: one end at n2, which says `ready`, and the other one at n1.
pair() {
	server=''
	while [ "$1" != -- ]; do server="$server $1"; shift; done
	shift
	echo "+$server, $*"
	: >"$work/server" # the end before has said that it is ready
	at n2 $server >"$work/server" 2>&1 &
	pid=$!
	until_true grep -q ready "$work/server"
	timeout 120 "$DAPPLE" fabric run n1 -- "$DAPPLE" run --adapter ib --rds -- python3 "$end" "$@" >"$work/out" 2>&1 ||
		{ tail -n 5 "$work/out"; fault "$*"; }
	wait $pid || { tail -n 5 "$work/server"; fault "$server"; }
}

a1=$(address n1)
a2=$(address n2)
[ -n "$a1" ] && [ -n "$a2" ] && [ "$a1" != "$a2" ] || fault "no addresses"
export RDS_OVER=0
pair echo "$a2" 2000 -- call "$a1" "$a2" 2000
pair drain "$a2" 4 -- flood "$a1" "$a2" 20000 4 16
pair own "$a2" 14 -- use "$a1" "$a2" 14
unset RDS_OVER
pair echo "$a2" 200 -- call "$a1" "$a2" 200

# The same connection in the other direction, and its transport.
export RDS_OVER=0
: >"$work/server"
at n1 own "$a1" 14 >"$work/server" 2>&1 &
pid=$!
until_true grep -q ready "$work/server"
at n2 use "$a2" "$a1" 14 >"$work/out" 2>&1 || { tail -n 5 "$work/out"; fault "use at n2"; }
wait $pid || { tail -n 5 "$work/server"; fault "own at n1"; }
expect 0 "$DAPPLE" fabric down rds
finish
