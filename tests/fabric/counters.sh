# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Counters of ports are true for data that goes by memory too: each port on the way between two nodes counts the packets and octets
# of it, as those that cross the fabric process. Read by perfquery while the programs run, and after their end.
. "$FABRIC/lib.sh"
needs opensm perfquery ibqueryerrors ibv_devinfo ib_write_bw ib_read_bw ib_send_bw ss

up counters --tree 2x2x1
# value LID FIELD: of PortCountersExtended.
value() { "$DAPPLE" fabric run n1 -- perfquery -x "$1" 1 2>/dev/null | awk -F'[:.]+' -v f="$2" '$1 == f { print $2 }'; }
listens() { ss -Hltn "sport = :18515" | grep -q .; }

# judge WORDS PACKETS SENDER RECEIVER COMMAND: octets / 4 and packets that the sender's link carries; other traffic adds a little.
judge() {
	words=$1 packets=$2 from=$3 to=$4
	shift 4
	echo "+ $*"
	expect 0 "$DAPPLE" fabric run n1 -- ibqueryerrors --clear-counts --clear-errors
	"$DAPPLE" fabric run n1 -- "$@" >"$work/server" 2>&1 &
	server=$!
	until_true listens
	expect 0 "$DAPPLE" fabric run n3 -- "$@" 127.0.0.1
	wait $server || { cat "$work/server"; fault "the server ends with an error"; }
	for at in "lid $from Xmit" "lid $to Rcv"; do
		set -- $at
		for field in Data Pkts; do
			most=$words
			[ $field = Data ] || most=$packets
			got=$(value "$2" "Port$3$field")
			[ "${got:-0}" -ge "$most" ] && [ "$got" -le $((most + most / 20 + 20000)) ] ||
				fault "Port$3$field of LID $2: $got, not $most"
		done
	done
}
lid() { "$DAPPLE" fabric run "$1" -- ibv_devinfo -v | sed -n 's/.*port_lid:[ \t]*//p'; }
n1=$(lid n1) n3=$(lid n3)
# 64 KiB are 16 packets: LRH, BTH, ICRC of each, and one RETH (Write) or an AETH at either end (Read, which perftest counts once).
judge $((1000 * (16 * 6 + 4 + 16384))) 16000 "$n3" "$n1" ib_write_bw -F -s 65536 -n 1000
judge $((1000 * (16 * 6 + 1 + 16384))) 16000 "$n1" "$n3" ib_read_bw -F -s 65536 -n 1000
judge $((20000 * (6 + 16))) 20000 "$n3" "$n1" ib_send_bw -F -s 64 -n 20000
judge $((2000 * (6 + 2 + 256))) 2000 "$n3" "$n1" ib_send_bw -F -c UD -s 1024 -n 2000

# The switches between them count the same, on both sides of each link.
expect 0 "$DAPPLE" fabric run n1 -- ibqueryerrors --counters --data
cp "$work/out" "$work/all"
least=$((2000 * 264))
awk -v least=$least '{ for (i = 1; i < NF; i++) if ($i == "[PortXmitData" && $(i + 2) >= least) n++ } END { exit n < 4 }' "$work/all" ||
	{ cat "$work/all"; fault "fewer than four ports have sent what went from n3 to n1"; }

# While a program runs.
"$DAPPLE" fabric run n1 -- ib_send_bw -F -s 64 -D 8 >"$work/server" 2>&1 &
server=$!
until_true listens
"$DAPPLE" fabric run n3 -- ib_send_bw -F -s 64 -D 8 127.0.0.1 >"$work/client" 2>&1 &
client=$!
moves() {
	now=$(value "$n3" PortXmitPkts)
	[ "${now:-0}" -gt $((${before:-0} + 10000)) ] || return 1
	before=$now
}
for _ in 1 2 3; do until_true moves || fault "PortXmitPkts stands while messages go"; done
wait $client || { cat "$work/client"; fault "the client ends with an error"; }
wait $server
expect 0 "$DAPPLE" fabric down counters
finish
