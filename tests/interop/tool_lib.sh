# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# For the tests of the dapple command.  Sets a private runtime directory and
# removes it.  Uses DAPPLE, TOOL_END, TOOL_TREE from the build.

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export DAPPLE_RUNTIME_DIR="$work/run"
unset DAPPLE_TREE DAPPLE_ADAPTER LD_PRELOAD LD_LIBRARY_PATH
faults=0

fault() {
	echo "FAULT: $*"
	faults=$((faults + 1))
}

# expect STATUS COMMAND...: runs it; its output is in $work/out.
expect() {
	want=$1
	shift
	echo "+ $*"
	"$@" >"$work/out" 2>&1
	got=$?
	cat "$work/out"
	[ "$got" = "$want" ] || fault "status $got, not $want: $*"
}

# has TEXT: the last output holds it.
has() {
	grep -qF -- "$1" "$work/out" || fault "the output has no \"$1\""
}

# lines N: the last output has N lines.
lines() {
	[ "$(wc -l <"$work/out")" = "$1" ] || fault "$(wc -l <"$work/out") lines of output, not $1"
}

hasnt() {
	! grep -qF -- "$1" "$work/out" || fault "the output has \"$1\""
}

# until_true COMMAND...: waits until it succeeds, by what it looks at: at most 60 s.
until_true() {
	n=0
	while ! "$@" >"$work/last" 2>&1; do
		n=$((n + 1))
		[ $n -lt 600 ] || { cat "$work/last"; fault "never true: $*"; return 1; }
		sleep 0.1
	done
}

# The two ends of the only connection are in RTS.
connected() {
	[ "$("$DAPPLE" show qp state RTS 2>/dev/null | wc -l)" = 2 ]
}

finish() {
	[ "$faults" = 0 ] || { echo "$faults faults"; exit 1; }
	exit 0
}
