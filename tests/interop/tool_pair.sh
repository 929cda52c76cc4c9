#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# dapple pair: addresses, output, statuses, times, signals.
. "$(dirname "$0")/tool_lib.sh"
pair="$DAPPLE pair --grace 1"
# Both ends by themselves: a second is not enough for one that gets no processor.
patient="$DAPPLE pair --grace 60"

expect 0 $patient -- "$TOOL_END" {port} 0 0 {peer}
has "client| asked 127.0.0.1"; has "server| served x"
has "client| no newline"; has "server| last words"

# server's status, client's status, option, expected
while read s c opt want; do
	[ "$opt" = - ] && opt=
	case "$s $c" in
	*stay*) how=$pair ;;
	*) how=$patient ;;
	esac
	expect "$want" $how $opt -- "$TOOL_END" {port} "$s" "$c" {peer}
done <<END
0 3 - 3
4 0 - 4
stay 0 - 1
0 stay - 1
stay 5 - 5
6 stay - 6
stay 0 --stays 0
stay 7 --stays 7
stay stay --timeout=1 124
END

expect 9 $pair -- sh -c 'exit 9; : {port}'
expect 1 $pair -- sh -c 'exit 0; : {port}'; has "before it listened"
expect 1 $pair --wait 1 -- sh -c 'sleep 60; : {port}'; has "did not listen"
expect 137 $pair -- sh -c 'kill -KILL $$; : {port}'
expect 127 $pair -- "$work/none" {port}

# A signal to us reaches both; none of them survives.
mkfifo "$work/lines"
$pair -- "$TOOL_END" {port} stay stay {peer} >"$work/lines" &
pid=$!
exec 3<"$work/lines"
staying=0
while [ $staying -lt 2 ] && read -r line <&3; do
	case $line in *staying) staying=$((staying + 1)) ;; esac
done
kids=$(cat /proc/$pid/task/$pid/children 2>/dev/null)
kill -TERM $pid
wait $pid
got=$?
[ $got = 143 ] || fault "status $got after TERM"
for k in $kids; do
	[ ! -d /proc/$k ] || fault "process $k is left"
done
exec 3<&-

if command -v qperf >/dev/null; then
	expect 0 $pair --timeout 60 -- qperf -t 1 tcp_lat; has "client| tcp_lat:"
fi
if command -v udpong >/dev/null; then
	expect 0 $pair --timeout 60 -- udpong -T s -C 5 -S 64
fi

# Programs that need no {peer}: who gets which words, and which family of addresses each can do with.
cat >"$work/say" <<'END'
#!/bin/sh
# usage: $SAY
echo "words $*."
END
chmod +x "$work/say"
# say NAME: a stand-in whose ends say their words and exit.
say() {
	sed "s/\$SAY/$2/" "$work/say" >"$work/$1"
	chmod +x "$work/$1"
}
for name in dtest dtestcm dtestx dtestsrq dapltest ib_write_bw; do
	say $name none
	expect_words=$(timeout 60 $DAPPLE pair --wait 1 -- "$work/$name" -T T 2>&1 | sed -n 's/^server| words //p')
	case $name in
	dtestx | dtest | dtestcm | dtestsrq) want="-s -P dapple-roce-lo -T T." ;;
	dapltest) want="-T S -D dapple-roce-lo." ;;
	ib_write_bw) want="-p [0-9]* -T T." ;;
	esac
	printf '%s\n' "$expect_words" | grep -qx -- "$want" || fault "$name: '$expect_words' for '$want'"
done
say cmtime controller_address
timeout 60 $DAPPLE pair --wait 1 -- "$work/cmtime" -c 3 >"$work/out" 2>&1
grep -q "words -L -b 127.0.0.1 -C 127.0.0.1 -p [0-9]* -c 3.$" "$work/out" || fault "newer cmtime: $(cat "$work/out")"
say cmtime mimic_qp_delay_us
expect 77 "$DAPPLE" pair --adapter iwarp --wait 1 -- "$work/cmtime" -c 3; has "cannot run over iWARP"; has "--adapter roce"
say cmtime none
timeout 60 $DAPPLE pair --wait 1 -- "$work/cmtime" -c 3 >"$work/out" 2>&1
grep -q "words -b 0.0.0.0 -p [0-9]* -c 3.$" "$work/out" || fault "cmtime: $(cat "$work/out")"
expect 2 $pair -- srp_daemon -o; has "srp_daemon meets no second program"; has "dapple fabric run NODE"; lines 2
expect 2 $pair -- /usr/bin/ibv_devinfo; has "run it alone, by dapple run"; lines 2
expect 2 $pair -6 -- "$work/dtest"; has "over IPv4 only"
expect 2 $pair -6 -- "$work/dapltest" -T T; has "first 64 bits"
expect 2 $pair -6 -- "$work/ib_write_bw"; has "add it, or leave -6 away"
cat >"$work/ib_write_bw" <<'END'
#!/bin/sh
for last; do :; done
echo "last word $last."
[ "$last" = --ipv6-addr ] && exec "$TOOL_END" "$2" 0 0
exec "$TOOL_END" "$2" 0 0 "$last"
END
for six in "" -6; do
	expect 0 $patient $six -- "$work/ib_write_bw" --ipv6-addr; has "client| last word ::1."
done
# Without the device that is the ends' input.
if unshare -rm true 2>/dev/null; then
	expect 126 unshare -rm sh -c "mount -t tmpfs none /dev && exec $pair -- '$TOOL_END' {port} 0 0 {peer}"
	has "cannot open /dev/null"; has "mknod"
fi
finish
