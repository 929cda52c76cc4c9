#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Which of the recorded failures are shown, and how.
. "$(dirname "$0")/tool_lib.sh"

expect 0 "$DAPPLE" why; has "no failure is recorded"
mkdir -p "$DAPPLE_RUNTIME_DIR" && chmod 700 "$DAPPLE_RUNTIME_DIR"
{
	echo '2020-01-31 12:00:00 17 first: the oldest: refused; say "please"'
	echo '2020-02-01 00:00:00 18 second: in between'
	echo "$(date '+%Y-%m-%d %H:%M:%S') 19 first: the newest"
} >"$DAPPLE_RUNTIME_DIR/why"
expect 0 "$DAPPLE" why; lines 3
expect 0 "$DAPPLE" why -n 1; lines 1; has "the newest"
expect 0 "$DAPPLE" why --program first; lines 2; hasnt "in between"
expect 0 "$DAPPLE" why --pid 18; lines 1; has "in between"
expect 0 "$DAPPLE" why --since 10m; lines 1; has "the newest"
expect 0 "$DAPPLE" why --since "2020-01-31 12:01" --pid 18; lines 1
expect 0 "$DAPPLE" why --since "2020-02-01"; lines 2
expect 0 "$DAPPLE" why --pid 20; has "no such failure"
expect 2 "$DAPPLE" why --since yesterday; has "yesterday"; lines 2
expect 0 "$DAPPLE" why --json
python3 -c 'import json, sys
v = [json.loads(line) for line in open(sys.argv[1])]
assert len(v) == 3 and v[0]["pid"] == 17 and v[0]["program"] == "first", v
assert v[0]["sentence"] == "the oldest: refused; say \"please\"", v' "$work/out" || fault "the JSON"

# Levels: failures first, notices behind them, normal ends on request. Namespaces apart.
net=$(stat -L -c %i /proc/self/ns/net)
{
	echo "2020-03-01 12:00:00 31 end $net third: a normal end"
	echo "2020-03-01 12:00:01 31 notice $net third: a slow way"
	echo "2020-03-01 12:00:02 31 failure $net third: a failure"
	echo "2020-03-01 12:00:03 31 failure 17 third: away: far"
} >"$DAPPLE_RUNTIME_DIR/why"
expect 0 "$DAPPLE" why; lines 3; hasnt "a normal end"
[ "$(sed -n 3p "$work/out")" = "2020-03-01 12:00:01 31 third (notice): a slow way" ] || fault "a notice is not last"
has "2020-03-01 12:00:03 31 third [net 17]: away: far"
has "2020-03-01 12:00:02 31 third: a failure"
expect 0 "$DAPPLE" why --here; lines 2; hasnt "far"
expect 0 "$DAPPLE" why --all --here; lines 3
[ "$(sed -n 3p "$work/out")" = "2020-03-01 12:00:00 31 third (end): a normal end" ] || fault "an end is not last"
expect 0 "$DAPPLE" why -n 1; lines 1; has "far"
expect 0 "$DAPPLE" why --all --json
python3 -c 'import json, sys
v = [json.loads(line) for line in open(sys.argv[1])]
assert [x["level"] for x in v] == ["end", "notice", "failure", "failure"], v
assert v[3]["net"] == 17 and v[3]["sentence"] == "away: far", v' "$work/out" || fault "the JSON of levels"
echo "2020-03-01 12:00:00 31 end $net third: a normal end" >"$DAPPLE_RUNTIME_DIR/why"
expect 0 "$DAPPLE" why; has "no failure is recorded"; has "1 normal ends of connections are: dapple why --all"
echo "2020-03-01 12:00:00 31 third: newest" >"$DAPPLE_RUNTIME_DIR/why"

timeout 60 sh -c '
	"$1" why --follow >"$2" & follow=$!
	until grep -q newest "$2"; do sleep 0.05; done
	echo "2020-02-02 00:00:00 21 third: later" >>"$3"
	until grep -q later "$2"; do sleep 0.05; done
	kill $follow' sh "$DAPPLE" "$work/followed" "$DAPPLE_RUNTIME_DIR/why" || fault "the new line was not shown"
[ "$(wc -l <"$work/followed")" = 2 ] || fault "lines twice: $(cat "$work/followed")"
finish
