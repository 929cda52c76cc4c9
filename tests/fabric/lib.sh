# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# For the tests of soft fabrics.  A private runtime directory; fabrics that are left are ended.

. "$FABRIC/../interop/tool_lib.sh"
trap 'end_fabrics; rm -rf "$work"' EXIT
unset DAPPLE_FABRIC
export PATH="$PATH:/usr/sbin:/sbin"

end_fabrics() {
	for dir in "$work"/run/fabric/*/; do
		[ -d "$dir" ] && "$DAPPLE" fabric down "$(basename "$dir")" >/dev/null 2>&1
	done
}

# needs PROGRAM...: skips the test if one is missing.
needs() {
	for program in "$@"; do
		command -v "$program" >/dev/null || { echo "$program is not installed"; exit 77; }
	done
}

mkdir -m 700 -p "$work/run"

# up ARGUMENT...: starts a fabric; busy machines get time.
up() {
	expect 0 "$DAPPLE" fabric up --wait 120 "$@"
}

# on NODE COMMAND...: on a node of the only fabric.
on() {
	node=$1
	shift
	expect 0 "$DAPPLE" fabric run "$node" -- "$@"
}

# All linked ports of the only fabric are ACTIVE.
all_active() {
	"$DAPPLE" fabric list | awk 'NR == 2 { exit !($5 == $7 && $5 > 0) }'
}

# The topology that OpenSM's tools see, without what differs by the place they look from.
canonical() {
	sed 's/[ \t]*#.*//; /^$/d' "$1" | awk '/^\[/ { port[++n] = node " " $0; next } { node = /^(Switch|Ca|Rt)/ ? $0 : node; print }
		END { for (i = 1; i <= n; i++) print port[i] }' | LC_ALL=C sort
}
