#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Recorded runs, run again without their peer: the same output, status and messages each time. With an argument the quick
# part alone.
. "$(dirname "$0")/tool_lib.sh"

cd "$work" || exit 1
"$DAPPLE" record -o first.record -- "$REPLAY_ORDER" >first 2>"$work/out"
if grep -q "the kernel refuses" "$work/out"; then
	cat "$work/out"
	exit 77
fi

# replays N FILE STATUS: so many, each as recorded.
replays() {
	expect "$3" "$DAPPLE" replay --times "$1" "$2"
	if [ "$1" = 1 ]; then has "1 replay is as recorded"; else has "$1 replays are as recorded"; fi
}

# Threads, times, signals, children. No two runs are the same, all replays of each are.
for i in 1 2 3; do
	"$DAPPLE" record -o order.record -- "$REPLAY_ORDER" >recorded 2>err
	status=$?
	cat err
	grep -q "run it again by: dapple replay order.record" err || fault "no record"
	"$DAPPLE" replay order.record >replayed 2>err
	[ $? = $status ] || fault "status $?, not $status: $(cat err)"
	cmp recorded replayed || fault "another output"
	cp recorded "sum.$i"
	replays 5 order.record $status
done
[ "$(cat sum.1)" != "$(cat sum.2)" ] || fault "the program has one sum alone: $(cat sum.1)"
[ "$(stat -c %a order.record)" = 600 ] || fault "others can read the record: $(stat -c %a order.record)"
"$DAPPLE" record -o abort.record -- "$REPLAY_ORDER" abort >/dev/null 2>&1
[ $? = 134 ] || fault "status $? of SIGABRT"
replays 1 abort.record 134; has "SIGABRT"

# What is refused.
expect 2 "$DAPPLE" record; has "the program to record is missing"
expect 2 "$DAPPLE" record --limit 0 -- true; has "--limit"
expect 2 "$DAPPLE" replay; has "one file of dapple record is wanted"
expect 127 "$DAPPLE" record -- ./none; has "cannot start"
expect 125 "$DAPPLE" replay none; has "it cannot be read"
expect 125 "$DAPPLE" replay recorded; has "it is no record"
head -c 1048600 order.record >cut.record
expect 125 "$DAPPLE" replay cut.record; has "it is no record"
printf '#!/bin/sh\n' >script
chmod +x script
expect 125 "$DAPPLE" record -- ./script; has "is a script"
expect 125 env DAPPLE_SHARE=1 "$DAPPLE" record -- "$REPLAY_ORDER"; has "DAPPLE_SHARE is set"
expect 125 "$DAPPLE" record -o no/file -- "$REPLAY_ORDER"; has "it cannot be made"
expect 125 "$DAPPLE" record --patience 2 -o polls.record -- "$REPLAY_POLLS"; has "a thread that polls memory cannot be recorded"
[ ! -e polls.record ] || fault "a record of what cannot be replayed"
# A record that is full does not end its program.
"$DAPPLE" record --limit 1 -o full.record -- "$REPLAY_ORDER" >recorded 2>err
[ $? -lt 64 ] || fault "the program did not go on: $(cat err)"
grep -q "at its limit" err || fault "no word of the limit: $(cat err)"
[ "${1:-}" ] && finish

# A bug of an application, found under losses: missed once, missed in each of 100 replays, without the peer.
pair="$DAPPLE pair --timeout 200 --wait 100 --grace 60"
n=0
while [ $n -lt 10 ]; do
	n=$((n + 1))
	env DAPPLE_FAULT='lose in op=send every=9' $pair --adapter roce --record . -- "$REPLAY_BUG" '{port}' '{peer}' >"$work/out" 2>&1
	cat "$work/out"
	grep -q "server| missed" "$work/out" && break
done
has "server| missed"
missed=$(sed -n 's/^server| \(missed.*\)/\1/p' "$work/out")
expect 1 "$DAPPLE" replay server.record; has "$missed"; has "as recorded"
replays 100 server.record 1
replays 20 client.record 0

# A changed client: the first message that differs is named. Both are of the same build, one constant apart.
cp "$REPLAY_BUG_BEFORE" bug
$pair --adapter roce --record . -- ./bug '{port}' '{peer}' >"$work/out" 2>&1 # the server may miss some here, too
cp "$REPLAY_BUG_DIFFERS" bug
expect 125 "$DAPPLE" replay client.record; has "message"; has "differs: octet"; has "is 0x5b, and 0x5a was recorded"
# Another one is refused.
cp "$REPLAY_ORDER" bug
expect 125 "$DAPPLE" replay client.record; has "nothing is replayed"

# Programs that we did not write, and their two ends, with losses.
# ends ADAPTER RULES NAME...
ends() {
	adapter=$1 rules=$2
	shift 2
	rm -f server.record client.record
	expect 0 env ${rules:+"DAPPLE_FAULT=$rules"} "$DAPPLE" pair --adapter "$adapter" --timeout 200 --wait 100 --grace 60 --record . -- "$@"
	for end in server client; do
		"$DAPPLE" replay $end.record >one 2>err || fault "$end of $*: $(cat err)"
		"$DAPPLE" replay $end.record >two 2>err || fault "$end of $*: $(cat err)"
		cmp one two || fault "$end of $*: another output"
		grep -q "1 replay is as recorded" err || fault "$end of $*: $(cat err)"
	done
}
loses='lose in op=send|read|write p=0.05 seed=5; lose out op=ack every=7'
for program in ibv_rc_pingpong rping ib_send_bw; do
	command -v $program >/dev/null || { echo "skipped: $program is not installed"; continue; }
	case $program in
	rping)
		ends roce '' rping -V -C 5
		ends roce "$loses" rping -V -C 10
		ends iwarp '' rping -V -C 5
		ends iwarp 'short=7' rping -V -C 5
		;;
	ib_send_bw)
		for p in ib_send_bw ib_write_bw ib_read_bw ib_atomic_bw ib_send_lat; do
			ends roce '' $p -F -n 200
		done
		ends roce "$loses" ib_send_bw -F -n 200
		ends iwarp '' ib_send_bw -R -F -n 200
		;;
	*)
		for p in ibv_rc_pingpong ibv_ud_pingpong ibv_srq_pingpong; do
			ends roce '' $p -n 100
		done
		ends roce "$loses" ibv_rc_pingpong -n 100
		;;
	esac
done
finish
