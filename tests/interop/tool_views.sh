#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# One list of adapters in every view: the library's, `dapple devices`, and /sys/class and /dev as the preload, a
# namespace and a program that lists by itself show them, with all adapters, one kind, and one name.
. "$(dirname "$0")/tool_lib.sh"

# list COMMAND...: names of adapters that the command prints, in one line.
list() {
	"$@" 2>/dev/null | grep -oE 'dpl_(roce|iw)_[a-z0-9]+' | sort -u | tr '\n' ' '
}

# same NAMES VIEW COMMAND...
same() {
	want=$1 view=$2
	shift 2
	got=$(list "$@")
	echo "$view: $got"
	[ "$got" = "$want" ] || fault "$view shows \"$got\", not \"$want\""
}

isolate=yes
"$DAPPLE" run --isolate true >/dev/null 2>&1 || { isolate=; echo "this machine refuses namespaces: --isolate is left out"; }

# views NAMES OPTIONS...: all of them.
views() {
	names=$1
	shift
	same "$names" "devices $*" "$DAPPLE" devices "$@"
	same "$names" "preload $*, ls" "$DAPPLE" run "$@" ls /sys/class/infiniband
	same "$names" "preload $*, python" "$DAPPLE" run "$@" python3 -c 'import os; print(os.listdir("/sys/class/infiniband"))'
	same "$names" "preload $*, uverbs" "$DAPPLE" run "$@" sh -c 'cat /sys/class/infiniband_verbs/uverbs*/ibdev'
	same "$names" "preload $*, umad" "$DAPPLE" run "$@" sh -c 'cat /sys/class/infiniband_mad/umad*/ibdev'
	! command -v ibv_devices >/dev/null || same "$names" "library $*" "$DAPPLE" run "$@" ibv_devices
	! command -v ibstat >/dev/null || same "$names" "libibumad $*" "$DAPPLE" run "$@" ibstat -l
	n=$(echo "$names" | wc -w)
	got=$("$DAPPLE" run "$@" ls /dev/infiniband | grep -c uverbs)
	[ "$got" = "$n" ] || fault "/dev/infiniband with $* has $got uverbs, not $n"
	[ -n "$isolate" ] || return
	same "$names" "namespace $*" "$DAPPLE" run --isolate "$@" ls /sys/class/infiniband
	got=$("$DAPPLE" run --isolate "$@" ls /dev/infiniband | grep -c uverbs)
	[ "$got" = "$n" ] || fault "/dev/infiniband of the namespace with $* has $got uverbs, not $n"
}

all=$(list "$DAPPLE" devices)
roce=$(echo "$all" | tr ' ' '\n' | grep roce | tr '\n' ' ')
iw=$(echo "$all" | tr ' ' '\n' | grep iw | tr '\n' ' ')
[ -n "$roce" ] && [ -n "$iw" ] || fault "the list has not both kinds: $all"
views "$all"
views "$roce" --adapter roce
views "$iw" --adapter iwarp
# The other kind, from within.
same "$iw" "nested" "$DAPPLE" run --adapter roce "$DAPPLE" run --adapter iwarp ls /sys/class/infiniband
# A name; the environment that is for eval; and a tree of the user's stays what it is.
export DAPPLE_DEVICES=dpl_iw_lo
views "dpl_iw_lo "
unset DAPPLE_DEVICES
same "$roce" "env" sh -c 'eval "$("$0" env --adapter roce)"; ls /sys/class/infiniband' "$DAPPLE"
mkdir -p "$work/own/class/infiniband/dpl_roce_x"
DAPPLE_TREE="$work/own" same "dpl_roce_x " "own tree" "$DAPPLE" run --adapter iwarp ls /sys/class/infiniband

# hwloc takes the device for one of the machine's, where it is.
if command -v lstopo-no-graphics >/dev/null; then
	same "$roce" "lstopo" "$DAPPLE" run --adapter roce lstopo-no-graphics --no-legend --only osdev
else
	echo "lstopo-no-graphics is missing (package hwloc-nox): hwloc is left out"
fi
finish
