#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A hundred different recorded runs end as they ended when they are replayed: both ends of each row of replay_runs.tbl, good
# ones and failing ones.
. "$(dirname "$0")/tool_lib.sh"

table=$(dirname "$0")/replay_runs.tbl
case $table in /*) ;; *) table=$PWD/$table ;; esac
cd "$work" || exit 1
"$DAPPLE" record -o first.record -- true >out 2>&1
if grep -q "the kernel refuses" out; then
	cat out
	exit 77
fi

row=0 runs=0 failing=0 skipped=0
grep '|' "$table" | grep -v '^#' >rows
while IFS='|' read -r adapter rules words; do
	row=$((row + 1))
	adapter=${adapter% } words=${words# }
	program=${words%% *}
	rules=$(echo "$rules" | sed "s/^ *//; s/ *$//; s/SEED/$row/g; s/^-$//")
	if ! command -v "$program" >/dev/null; then
		echo "skipped: $program is not installed"
		skipped=$((skipped + 1))
		continue
	fi
	rm -f ./*.record*
	env ${rules:+"DAPPLE_FAULT=$rules"} "$DAPPLE" pair --adapter "$adapter" --timeout 60 --record . -- $words >out 2>&1 </dev/null
	for end in server client; do
		f=$end.record
		if [ ! -e $f ]; then
			fault "row $row, $rules $words: no record of the $end: $(cat out)"
			continue
		fi
		timeout 100 "$DAPPLE" replay $f >replayed 2>err </dev/null
		status=$?
		said=$(grep "1 replay is as recorded" err)
		[ -n "$said" ] || fault "row $row, $rules $words, $end: status $status: $(cat err)"
		echo "$adapter, ${rules:-no fault}: $words: $end${said#dapple: $f: 1 replay is as recorded}"
		runs=$((runs + 1))
		case $said in *"end with status 0") ;; *) failing=$((failing + 1)) ;; esac
		tail -c +1 $f | md5sum >>sums
	done
done <rows
different=$(sort -u sums | wc -l)
echo "$runs runs, $different different ones, of which $failing fail; $skipped rows skipped"
[ "$runs" = "$different" ] || fault "of $runs records $different differ"
[ $skipped -gt 0 ] || [ $runs -ge 100 ] || fault "$runs runs, not 100"
[ $failing -ge 5 ] || fault "$failing failing runs, not 5"
finish
