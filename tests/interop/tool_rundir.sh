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
	expect 1 "$TOOL_TREE" rundir; has "belongs to user 65534"
fi
finish
