# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# dapple capture of the InfiniBand adapter, judged by tshark: no frame is malformed, LIDs are those of the fabric, and the
# operations of each program are there, by the fabric process and by shared memory.
. "$FABRIC/lib.sh"
needs opensm tshark ibv_rc_pingpong ib_read_lat rping ss

up capture
for n in n1 n2; do
	on $n ibv_devinfo -v
	sed -n 's/.*port_lid:[ \t]*//p' "$work/out" >>"$work/lids"
done
addr=$("$DAPPLE" fabric run n2 -- "$DAPPLE" devices | grep -o '198\.1[89]\.[0-9.]*')

cat >"$work/both" <<'END'
"$DAPPLE" fabric run n2 -- $1 &
server=$!
n=0
until ss -Hltn "sport = :$3" | grep -q . || ss -Hxa | grep -q "@dapple-cm/.*/$3 "; do
	n=$((n + 1))
	[ $n -lt 1200 ] && kill -0 $server 2>/dev/null || exit 1
	sleep 0.05
done
"$DAPPLE" fabric run n1 -- $2
code=$?
wait $server
exit $code
END

# judge NAME ENVIRONMENT PORT SERVER CLIENT OPCODES WORDS: OPCODES of BTH that must be there, WORDS of comments.
judge() {
	echo "+ $1"
	env $2 DAPPLE="$DAPPLE" timeout 120 "$DAPPLE" capture -o "$work/$1.pcapng" -- sh "$work/both" "$4" "$5" "$3" >"$work/out" 2>&1 ||
		{ cat "$work/out"; fault "$1 fails"; return; }
	tshark -n -r "$work/$1.pcapng" -T fields -e infiniband.bth.opcode -e infiniband.lrh.slid -e infiniband.lrh.dlid \
		-e _ws.malformed -e frame.comment >"$work/fields" 2>"$work/err" || { cat "$work/err"; fault "tshark"; }
	[ -z "$(cut -f 4 "$work/fields" | tr -d '\n')" ] || fault "$1: tshark calls a frame malformed"
	for op in $6; do
		cut -f 1 "$work/fields" | grep -qx "$op" || { fault "$1: no packet of opcode $op"; head -5 "$work/fields"; }
	done
	grep -q "$7" "$work/fields" || { fault "$1: no comment says $7"; head -5 "$work/fields"; }
	cut -f 2 "$work/fields" | grep -qxFf "$work/lids" || { fault "$1: no LID of the fabric"; cat "$work/lids"; head -5 "$work/fields"; }
}

lid_hex() { while read -r l; do echo "$l"; printf '0x%04x\n' "$l"; done; }
lid_hex <"$work/lids" >"$work/both-forms" && mv "$work/both-forms" "$work/lids"
judge ring '' 18515 'ibv_rc_pingpong -n 20' 'ibv_rc_pingpong -n 20 127.0.0.1' '4 17' '(ring)'
judge read '' 18515 'ib_read_lat -n 10 -F' 'ib_read_lat -n 10 -F 127.0.0.1' '12 16' 'shared memory'
judge wire DAPPLE_LOCAL=off 18515 'ibv_rc_pingpong -n 20 -g 0' 'ibv_rc_pingpong -n 20 -g 0 127.0.0.1' '0 1 2 17' ibv_rc_pingpong
judge datagrams '' 18515 'ibv_ud_pingpong -n 20' 'ibv_ud_pingpong -n 20 127.0.0.1' 100 ibv_ud_pingpong
judge manager '' 7174 'rping -s -C 5' "rping -c -C 5 -a $addr" '100 4' rping
tshark -n -r "$work/manager.pcapng" 2>/dev/null | grep -q 'CM: ConnectReply' || fault "no ConnectReply"
expect 0 "$DAPPLE" fabric down capture
finish
