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

# A program that we did not write, and its two ends.
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

if [ $# -gt 0 ]; then
	command -v ib_atomic_bw >/dev/null || { echo "skipped: ib_atomic_bw is not installed"; exit 77; }
	ends roce '' ib_atomic_bw -F -n 50
	finish
fi

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

# Its children: the one of fork() goes on with its memory, the one of system() is another program.
"$DAPPLE" record -o order.record -- "$REPLAY_ORDER" >recorded 2>err
replays 5 order.record.1 7
replays 5 order.record.2 3
[ "$(stat -c %a order.record.1)" = 600 ] || fault "others can read the record of a child: $(stat -c %a order.record.1)"
[ ! -e order.record.3 ] || fault "a record of no process"

# Under a debugger: where it crashes, and in a child, which is no process there.
# debug FILE COMMAND...
debug() {
	f=$1
	shift
	printf '%s\n' 'set pagination off' 'set confirm off' "$@" | timeout 200 "$DAPPLE" replay --gdb "$f" >"$work/out" 2>&1
}
if command -v gdb >/dev/null; then
	debug abort.record continue bt
	has "SIGABRT"; has " main ("
	debug order.record.1 'break _exit' continue bt delete continue
	has "Breakpoint"; has " run_child ("; has "exited with code 07"
else
	echo "skipped: gdb is not installed"
fi

# family FILE OUTPUT: all records of a run; what they print together is what the run has printed, line by line.
family() {
	rm -f replayed
	for f in "$1" "$1".*; do
		"$DAPPLE" replay "$f" >>replayed 2>err
		grep -q "1 replay is as recorded" err || fault "$f: $(cat err)"
		echo >>replayed # behind one that ended in a line
	done
	sort "$2" >before
	sort -u replayed | comm -23 before - >lost
	[ ! -s lost ] || fault "$1 lacks lines: $(cat lost)"
}

# A script, whose programs have a record each. SIGTERM must end a child: it has the signals that its parent left it.
cat >script <<'END'
#!/bin/sh
date +%N
sleep 1000 &
kill -TERM $!
wait $!
echo "ended by $?"
random=$(head -c 8 /dev/urandom | od -An -tx1)
echo "$random"
none 2>/dev/null || echo "status $?"
exec date +later-%N
END
chmod +x script
"$DAPPLE" record -o script.record -- ./script >recorded 2>err || fault "the script: $(cat err)"
for text in "ended by 143" "status 127" later-; do
	grep -q "$text" recorded || fault "no \"$text\": $(cat recorded err)"
done
family script.record recorded
n=$(ls script.record* | wc -l)
[ "$n" -ge 5 ] || fault "$n records of a script with six programs"
# The next run takes the names again, and leaves none of this one.
"$DAPPLE" record -o script.record -- "$REPLAY_ORDER" >recorded 2>err
[ "$(ls script.record* | wc -l)" = 3 ] || fault "records of the run before: $(ls script.record*)"

# A process that outlives the run: its record is whole when it has ended.
cat >late <<'END'
#!/bin/sh
{ echo up >began; read line <pipe; echo "late $line"; } >said &
read line <began
echo early
END
chmod +x late
mkfifo pipe began
expect 0 "$DAPPLE" record -o late.record -- ./late
has "still runs"
echo word >pipe
until_true grep -q "late word" said
until_true "$DAPPLE" replay late.record.1
grep -q "1 replay is as recorded.*end with status 0" "$work/last" || fault "a late end: $(cat "$work/last")"

# SIGTERM ends a replay that stands: here, because its output is not read.
gone() {
	! grep -q '^State:[^Z]*$' "/proc/$1/status" 2>/dev/null
}
"$DAPPLE" record -o zeros.record -- head -c 300000 /dev/zero >zeros 2>err || fault "300000 octets: $(cat err)"
mkfifo unread
exec 9<>unread
"$DAPPLE" replay zeros.record >&9 2>err &
replay=$!
until_true grep -q . /proc/$replay/task/$replay/children
program=$(cat /proc/$replay/task/$replay/children)
program=${program% }
until_true grep -q 'SigBlk:.*[4-7c-f]...$' "/proc/$program/status" # SIGTERM is blocked
kill -TERM $replay
until_true gone $replay
until_true gone "$program"
gone $replay || kill -KILL $replay "$program"
wait $replay
status=$?
[ $status = 143 ] || fault "status $status of a replay that SIGTERM ends: $(cat err)"
exec 9<&-

# What a process has from its parent: another stack limit moves all libraries, and an ignored signal has no handler.
for limit in 1024 unlimited; do
	(ulimit -S -s $limit && exec "$DAPPLE" replay --times 2 order.record >replayed 2>err)
	grep -q "2 replays are as recorded" err || fault "stack limit $limit: $(cat err)"
done
(trap '' PIPE USR1; exec "$DAPPLE" replay --times 2 order.record >replayed 2>err)
grep -q "2 replays are as recorded" err || fault "ignored signals: $(cat err)"
(ulimit -S -n 64 && exec "$DAPPLE" replay --times 2 order.record >replayed 2>err)
grep -q "2 replays are as recorded" err || fault "64 descriptors: $(cat err)"
taskset -c "$(taskset -cp $$ | sed 's/.*[ ,-]//')" "$DAPPLE" replay --times 2 order.record >replayed 2>err
grep -q "2 replays are as recorded" err || fault "one processor: $(cat err)"

# Another machine, as far as one kernel goes: a root with the files of dapple and libc alone, at other places, with another
# ld.so.cache; another host name and network. Nothing is there of the program, of its libraries, of /etc, /sys and /tmp. The
# test kernel_replay has another kernel.
mkdir -p tree/dapple/lib tree/proc
cp "$DAPPLE" tree/dapple/dapple
cp "$(dirname "$DAPPLE")/lib/dapple-replay-loader" tree/dapple/lib
: >tree/dapple/lib/libdapple-preload.so # by which dapple knows the folder
for f in $(ldd "$DAPPLE" | grep -o '/[^ ]*'); do
	mkdir -p "tree$(dirname "$f")"
	cp "$f" "tree$f"
done
mkdir -p tree/etc
head -c 65536 /dev/zero >tree/etc/ld.so.cache
cp order.record order.record.1 tree
elsewhere() {
	unshare -Urmnupf sh -c '
		hostname elsewhere
		mount -t proc proc "$1/proc" || exit 77
		exec env -i PATH=/usr/sbin:/usr/bin chroot "$1" /dapple/dapple replay --times 2 "/$2"' sh "$work/tree" "$1" >replayed 2>err
}
for f in order.record order.record.1; do
	elsewhere $f
	[ $? = 77 ] && echo "skipped: another root: $(cat err)" && break
	grep -q "2 replays are as recorded" err || fault "$f in another root: $(cat err)"
done

# The program, its directory and a library that it has opened are gone, or are others.
mkdir there && cp "$REPLAY_ORDER" there/order
cp "$(dirname "$DAPPLE")/lib/libdapple-preload.so" there/lib.so
(cd there && env LD_PRELOAD="$work/there/lib.so" "$DAPPLE" record -o ../there.record -- ./order >/dev/null 2>&1)
cp "$(command -v true)" there/order
: >there/lib.so
"$DAPPLE" replay there.record >replayed 2>err
grep -q "1 replay is as recorded" err || fault "another program: $(cat err)"
rm -r there
"$DAPPLE" replay there.record >replayed 2>err
grep -q "1 replay is as recorded" err || fault "no program: $(cat err)"
if command -v gdb >/dev/null; then
	debug there.record 'break main' continue bt
	has "Breakpoint"; has " main (argc="
fi

# What is refused.
expect 2 "$DAPPLE" record; has "the program to record is missing"
expect 2 "$DAPPLE" record --limit 0 -- true; has "--limit"
expect 2 "$DAPPLE" replay; has "one file of dapple record is wanted"
expect 127 "$DAPPLE" record -- ./none; has "cannot start"
expect 125 "$DAPPLE" replay none; has "it cannot be read"
expect 125 "$DAPPLE" replay recorded; has "it is no record"
head -c 100 order.record >cut.record
expect 125 "$DAPPLE" replay cut.record; has "it is no record"
head -c 100000 order.record >cut.record
expect 125 "$DAPPLE" replay cut.record; has "it is damaged"
expect 125 env DAPPLE_SHARE=1 "$DAPPLE" record -- "$REPLAY_ORDER"; has "DAPPLE_SHARE is set"
expect 125 "$DAPPLE" record -o no/file -- "$REPLAY_ORDER"; has "it cannot be made"
expect 125 "$DAPPLE" record --patience 2 -o polls.record -- "$REPLAY_POLLS"; has "a thread that polls memory cannot be recorded"
[ ! -e polls.record ] || fault "a record of what cannot be replayed"
# Memory of several processes: refused where it is used, and not where it is not.
expect 125 "$DAPPLE" record -o shares.record -- "$REPLAY_SHARES" named; has "it shares memory with other processes (/dev/shm/"
[ ! -e shares.record ] || fault "a record of what cannot be replayed"
for how in child call; do
	expect 125 "$DAPPLE" record -o shares.record -- "$REPLAY_SHARES" $how; has "it shares memory with other processes (that of a process"
	[ ! -e shares.record.1 ] || fault "a record of what cannot be replayed"
	replays 2 shares.record 125
done
for how in untouched unmapped; do
	expect 3 "$DAPPLE" record -o shares.record -- "$REPLAY_SHARES" $how; hasnt "shares memory"
	replays 2 shares.record 3
	replays 2 shares.record.1 3
done
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

# A child that sends, of a parent that waits for it. The server may miss some here, too.
env DAPPLE_FAULT='lose in op=send every=9' $pair --adapter iwarp --record . -- "$REPLAY_BUG" forks '{port}' '{peer}' >"$work/out" 2>&1
cat "$work/out"
for f in server.record server.record.1 client.record client.record.1; do
	"$DAPPLE" replay --times 5 $f >replayed 2>err
	grep -q "5 replays are as recorded" err || fault "$f of two children: $(cat err)"
done
messages=$(sed -n 's/.* events, \([0-9]*\) messages.*/\1/p' err)
[ "${messages:-0}" -gt 60 ] || fault "the child's record has $messages messages"
# Both ends and their launcher, as one run.
"$DAPPLE" record -o whole.record -- $pair --adapter roce -- "$REPLAY_BUG" '{port}' '{peer}' >"$work/out" 2>&1
cat "$work/out"
grep "^[a-z]*|" "$work/out" >recorded
[ "$(ls whole.record* | wc -l)" = 3 ] || fault "records: $(ls whole.record*)"
family whole.record recorded

# A client that takes random octets from the processor, which no system call tells: the first message that differs is named.
$pair --adapter roce --record . -- "$REPLAY_BUG_DIFFERS" '{port}' '{peer}' >"$work/out" 2>&1 # the server may miss some here, too
if grep -q "no random numbers" "$work/out"; then
	echo "skipped: the processor has no random numbers"
else
	expect 125 "$DAPPLE" replay client.record; has "message"; has "differs: octet"; has "was recorded"; has "was: RC_SEND"
fi

# Programs that we did not write, and their two ends, with losses.
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
