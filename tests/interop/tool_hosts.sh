#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# dapple pair --hosts: two namespaces and a cable, as whoever runs this and,
# if that is root, as an ordinary user too.
. "$(dirname "$0")/tool_lib.sh"

look='cat /sys/class/net/none /proc/net/dev 2>/dev/null; id -u; exec "$0" "$@"'
probe() {
	"$@" "$DAPPLE" pair --hosts --mtu 4200 -- true {port} >"$work/out" 2>&1
	[ $? != 77 ] || { cat "$work/out"; return 77; }
	expect 0 "$@" "$DAPPLE" pair --hosts --mtu 4200 -- \
		sh -c "$look" "$TOOL_END" {port} 0 0 {peer}
	has "client| asked 10.77.0.1"; has "eth0:"; has "server| $uid"; has "client| $uid"
	expect 3 "$@" "$DAPPLE" pair --hosts -- "$TOOL_END" {port} 0 3 {peer}
	left=$("$@" ls "$DAPPLE_RUNTIME_DIR" | grep -c '^net-')
	[ "$left" -le 1 ] || fault "$left trees are left"
}

uid=$(id -u)
probe env || exit 77
if [ "$uid" = 0 ] && command -v setpriv >/dev/null; then
	rm -rf "$DAPPLE_RUNTIME_DIR"
	chmod 755 "$work"
	mkdir -m 700 "$DAPPLE_RUNTIME_DIR"
	chown 65534 "$DAPPLE_RUNTIME_DIR"
	uid=65534
	if setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$DAPPLE"; then
		probe setpriv --reuid 65534 --regid 65534 --clear-groups || echo "refused for user 65534"
	else
		echo "user 65534 cannot reach the build: that part is skipped"
	fi
fi
finish
