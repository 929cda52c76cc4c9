# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# SDP over InfiniBand: programs with sockets of family 27, and servers and clients of TCP, at a node that is a host of its own.
. "$FABRIC/lib.sh"
needs opensm ip unshare python3
interop=$FABRIC/../interop

"$DAPPLE" fabric up --wait 120 --hosts sdp >"$work/out" 2>&1
r=$?
if [ $r = 77 ]; then tail -n 1 "$work/out"; exit 77; fi
[ $r = 0 ] || { cat "$work/out"; fault "up --hosts: status $r"; finish; }
on n1 "$DAPPLE" devices
SERVER_ADDRESS=$(grep -o '198\.1[89]\.[0-9.]*' "$work/out")
export SERVER_ADDRESS

# row PROGRAM ARGUMENT...: one that says 77 is skipped.
skipped=0
row() {
	echo "+ $*"
	"$DAPPLE" fabric run n1 -- "$@" >"$work/out" 2>&1
	case $? in
	0) grep '^ok' "$work/out" ;;
	77) skipped=$((skipped + 1)); tail -n 1 "$work/out" ;;
	*) tail -n 20 "$work/out"; fault "$*" ;;
	esac
}

row "$interop/sdp-family" "$DAPPLE" ib
row "$interop/sdp-family" "$DAPPLE" ib --sdp-own
for server in http nginx redis iperf3 sshd java; do
	row "$interop/rsockets-servers" "$DAPPLE" --adapter ib --sdp $server
	row "$interop/rsockets-servers" "$DAPPLE" --adapter ib --sdp-own $server
done
expect 0 "$DAPPLE" fabric down sdp
echo "$skipped skipped"
finish
