#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The list of adapters, for people and as JSON, and what changes in it.
. "$(dirname "$0")/tool_lib.sh"

expect 0 "$DAPPLE" devices; has "NAME"; has "dpl_roce_lo"; has "active"; has "127.0.0.1"
expect 0 "$DAPPLE" devices --adapter iwarp; hasnt "dpl_roce_lo"; has "dpl_iw_lo"
expect 0 "$DAPPLE" devices --json
python3 - "$work/out" <<'EOF' || fault "the JSON"
import json, sys
lo = {d["name"]: d for d in json.load(open(sys.argv[1]))}["dpl_roce_lo"]
assert lo["interface"] == "lo" and lo["state"] == "active", lo
assert {"address": "127.0.0.1", "gid_index": 0} in lo["addresses"], lo
EOF

# An address more is a list more. In a namespace of its own, where that is allowed.
if unshare -rn true 2>/dev/null; then
	timeout 60 unshare -rn sh -c '
		ip link set lo up
		"$1" devices --watch >"$2" & watch=$!
		until grep -q 127.0.0.1 "$2"; do sleep 0.05; done
		ip address add 198.51.100.7/32 dev lo
		until grep -q 198.51.100.7 "$2"; do sleep 0.05; done
		kill $watch' sh "$DAPPLE" "$work/watched" || fault "the change was not shown"
else
	echo "no namespace: --watch is not tried"
fi
finish
