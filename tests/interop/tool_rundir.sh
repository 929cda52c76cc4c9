#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The runtime directory: where it is, and when it is refused.
. "$(dirname "$0")/tool_lib.sh"

d=$DAPPLE_RUNTIME_DIR
expect 0 "$TOOL_TREE" rundir; has "$d"
[ "$(stat -c %a "$d")" = 700 ] || fault "mode of a new directory"
chmod 750 "$d"
expect 1 "$TOOL_TREE" rundir; has "open to others"
expect 1 "$DAPPLE" run -- true; has "open to others"
expect 1 "$DAPPLE" doctor; has "remedy: set DAPPLE_RUNTIME_DIR"
rm -rf "$d"; : >"$d"
expect 1 "$TOOL_TREE" rundir; has "not a directory"
rm "$d"; mkdir -m 700 "$work/target"; ln -s "$work/target" "$d"
expect 1 "$TOOL_TREE" rundir; has "not a directory"
expect 1 env DAPPLE_RUNTIME_DIR=relative "$TOOL_TREE" rundir; has "absolute"
expect 1 env DAPPLE_RUNTIME_DIR="$work/none/below" "$TOOL_TREE" rundir; has "cannot be created"
mkdir -m 700 "$work/xdg"
expect 0 env -u DAPPLE_RUNTIME_DIR XDG_RUNTIME_DIR="$work/xdg" "$TOOL_TREE" rundir
has "$work/xdg/dapple"
rm "$d"
expect 0 sh -c "umask 0777; exec $TOOL_TREE rundir"
if [ "$(id -u)" = 0 ]; then
	rm -rf "$d"; mkdir -m 700 "$d"; chown 65534 "$d"
	expect 1 "$TOOL_TREE" rundir; has "belongs to user 65534"; has "set DAPPLE_RUNTIME_DIR"
fi

# Another user has the name in /tmp: a random one replaces it, the same for all processes of this user.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	mkdir "$work/tmp"; chmod 1777 "$work/tmp"
	mkdir -m 700 "$work/tmp/dapple-0" "$work/tmp/dapple-0-0"
	chown 65534 "$work/tmp/dapple-0" "$work/tmp/dapple-0-0"
	for i in 1 2 3 4 5 6 7 8; do
		env -u DAPPLE_RUNTIME_DIR -u XDG_RUNTIME_DIR unshare -m sh -c \
			'exec 9<"$2"; mount --bind "$1" /tmp && exec /proc/self/fd/9 rundir' \
			sh "$work/tmp" "$TOOL_TREE" >"$work/squat$i" 2>&1 &
	done
	wait
	expect 0 sort -u "$work"/squat?; has "/tmp/dapple-0-"
	[ "$(wc -l <"$work/out")" = 1 ] || fault "processes of one user chose different directories"
	[ "$(stat -c %u:%a "$work/tmp/$(basename "$(cat "$work/out")")")" = 0:700 ] || fault "owner or mode"
fi
finish
