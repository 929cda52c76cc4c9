#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The entries that need no configuration, and what takes their place: registry_builtin.sh FAKE.
# DAPPLE is the launcher, LIST the program that lists.
set -u
fake=$1

if [ "${2-}" != inside ]; then
	unshare -Urnm ip link set lo up 2>/dev/null || { echo "no namespaces here"; exit 77; }
	work=$(mktemp -d) || exit 1
	trap 'rm -rf "$work"' EXIT
	mkdir -m 700 "$work/run"
	export DAPPLE_RUNTIME_DIR="$work/run" WORK="$work" DAPPLE LIST
	unset DAPPLE_TREE DAPPLE_ADAPTER LD_PRELOAD LD_LIBRARY_PATH DAT_OVERRIDE
	unshare -Urnm sh -c 'ip link set lo up && exec "$DAPPLE" run sh "$0" "$1" inside' "$0" "$fake"
	exit $?
fi

faults=0
# expect LINES: the listing has exactly these, in this order.
expect() {
	"$LIST" libdat2.so.2 >"$WORK/out" 2>"$WORK/err" || faults=1
	printf '%s\n' "$@" | sed '/^$/d' | cmp -s - "$WORK/out" ||
		{ echo "FAULT: not as expected:"; cat "$WORK/out" "$WORK/err"; faults=1; }
	[ ! -s "$WORK/err" ] || { echo "FAULT: it printed"; cat "$WORK/err"; faults=1; }
}

# The entries of lo. Names for IPv6 are there where lo has an address of it.
v6=
grep -qs . /proc/net/if_inet6 && v6=y
builtin() {
	printf '%s\n' "$1 2.0 threadsafe"
	[ -z "$v6" ] || printf '%s\n' "$1-6 2.0 threadsafe"
}
roce=$(builtin dapple-roce-lo)
iw=$(builtin dapple-iw-lo)

conf=/etc/dat.conf
if [ -e $conf ]; then
	: >"$WORK/empty"
	mount --bind "$WORK/empty" $conf || exit 1
	expect "$roce" "$iw"

	# The file comes first, and wins on equal names: so much so that a version that the
	# adapter's entry would serve is not found.
	printf '%s\n' "other u2.0 nonthreadsafe default $fake dapl.2.0 x \"\"" \
		"dapple-iw-lo u2.1 nonthreadsafe default $fake dapl.2.0 openfail \"\"" >"$WORK/conf"
	mount --bind "$WORK/conf" $conf || exit 1
	expect "other 2.0 nonthreadsafe" "dapple-iw-lo 2.1 nonthreadsafe" "$roce" \
		"$(printf '%s\n' "$iw" | sed 1d)"
	"$LIST" libdat2.so.2 dapple-iw-lo dapple-roce-none other >"$WORK/out"
	grep -q "open dapple-iw-lo: DAT_INVALID_ADDRESS" "$WORK/out" &&
		grep -q "open dapple-roce-none: DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REG" "$WORK/out" &&
		grep -q "open other: DAT_SUCCESS" "$WORK/out" ||
		{ echo "FAULT: opens:"; cat "$WORK/out"; faults=1; }
else
	expect "$roce" "$iw"
fi
if [ -n "$v6" ]; then
	"$LIST" libdat2.so.2 dapple-roce-lo-6 dapple-iw-lo-6 dapple-roce-lo-4 >"$WORK/out"
	for name in dapple-roce-lo-6 dapple-iw-lo-6; do
		grep -q "open $name: DAT_SUCCESS" "$WORK/out" || { echo "FAULT: $name:"; cat "$WORK/out"; faults=1; }
	done
	grep -q "open dapple-roce-lo-4: DAT_PROVIDER_NOT_FOUND" "$WORK/out" || { echo "FAULT: -4 exists"; faults=1; }
fi
# Nothing when the file is named.
export DAT_OVERRIDE="$WORK/named"
printf '%s\n' "one u2.0 nonthreadsafe default $fake dapl.2.0 x \"\"" >"$DAT_OVERRIDE"
expect "one 2.0 nonthreadsafe"
rm "$DAT_OVERRIDE"
expect ""
exit $faults
