# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# DAPL over InfiniBand: Debian's programs on our provider and on Debian's three, each end on a node that is a host of its own.
. "$FABRIC/lib.sh"
needs opensm ss dtest dtestx dtestcm dtestsrq dapltest ip unshare
unshare -rn true 2>/dev/null || { echo "this machine refuses user and network namespaces"; exit 77; }
"$DAPPLE" fabric up --hosts --wait 120 >"$work/out" 2>&1
r=$?
if [ $r = 77 ] && grep -q bridge "$work/out"; then echo "this machine refuses bridges"; exit 77; fi
[ $r = 0 ] || { cat "$work/out"; fault "up --hosts: status $r"; finish; }
on n2 ip -4 -o addr show eth0
addr=$(awk '{ sub("/.*", "", $4); print $4 }' "$work/out")
export DAPL_SCM_NETDEV=eth0

# over PROVIDER: the IA's name in $ia, and what the registry needs.
over() {
	unset DAT_OVERRIDE
	ia=ofa-v2-test
	case $1 in
	own) ia=dapple-ib-0; return ;;
	cma) line='libdaplofa.so.2 dapl.2.0 "eth0 0"' ;;
	scm) line='libdaploscm.so.2 dapl.2.0 "dpl_ib0 1"' ;;
	ucm) line='libdaploucm.so.2 dapl.2.0 "dpl_ib0 1"' ;;
	esac
	ls /usr/lib/*/"${line%% *}" >/dev/null 2>&1 || { echo "skip: ${line%% *} is not installed"; return 1; }
	echo "$ia u2.0 nonthreadsafe default $line \"\"" >"$work/dat.conf"
	export DAT_OVERRIDE="$work/dat.conf"
}

# The server waits for its client: by TCP, or it says so.
waits() { grep -q "ready on port\|Service Point Ready\|waiting for" "$work/server" || "$DAPPLE" fabric run n2 -- ss -Hltn 'sport = :15828' | grep -q .; }

# try SIGN SERVER... -- CLIENT...: both ends; SIGN is what the client says at a good end.
try() {
	sign=$1
	shift
	server=
	while [ "$1" != -- ]; do
		server="$server $1"
		shift
	done
	shift
	timeout 60 "$DAPPLE" fabric run n2 -- $server >"$work/server" 2>&1 &
	pid=$!
	until_true waits || { kill $pid; wait $pid; return 1; }
	timeout 60 "$DAPPLE" fabric run n1 -- "$@" >"$work/client" 2>&1
	c=$?
	wait $pid
	[ $c = 0 ] && grep -q "$sign" "$work/client"
}

# both PROVIDER SIGN TOOL OPTION...: AGAIN names a tool that may fail once for a reason of its own.
both() {
	provider=$1 sign=$2
	shift 2
	echo "+ $provider: $*"
	try "$sign" "$@" -P "$ia" -- "$@" -P "$ia" -h "$addr" && return
	for i in 1 2 3 4 5; do
		[ "${AGAIN-}" = "$1" ] || break
		echo "again: $1"
		try "$sign" "$@" -P "$ia" -- "$@" -P "$ia" -h "$addr" && return
	done
	tail -n 5 "$work/server" "$work/client"
	fault "$provider: $*"
}

for p in own cma scm ucm; do
	over $p || continue
	both $p PASSED dtest -b 4096 -B 10
	# Debian's oscm tells its address before it listens, and tries a refused connection again with an older protocol, which its
	# own server refuses: dtestx is tried a few times.
	AGAIN=
	[ $p = scm ] && AGAIN=dtestx
	both $p PASSED dtestx
	both $p TOTAL dtestcm
	# oucm takes the address for a LID there.
	[ $p = ucm ] || both $p Complete dtestsrq
done
# dapltest's own server ends when it is told to.
over own
timeout 120 "$DAPPLE" fabric run n2 -- dapltest -T S -D "$ia" >"$work/server" 2>&1 &
pid=$!
until_true waits
on n1 timeout 60 dapltest -T T -D "$ia" -s "$addr" -i 100 client SR 256 server SR 256 client RW 4096 server RR 4096
has "Total RDMA Read"
on n1 timeout 60 dapltest -T P -D "$ia" -s "$addr" -i 200 -p 8 RW 4096
on n1 timeout 60 dapltest -T Q -D "$ia" -s "$addr"
wait $pid
on n1 timeout 60 dapltest -T L -D "$ia" -m 50
finish
