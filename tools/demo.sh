#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Runs Debian's own verbs programs between two processes of a machine without RDMA hardware.
# tools/demo.sh [BUILD]; exit 0 if every step worked.
set -u
build=${1:-build}
dapple=$build/dapple
failed=0

step() {
	printf '\n# %s\n$ %s\n' "$1" "$2"
	sh -c "$2" || { printf 'demo: exit %d from: %s\n' $? "$2"; failed=$((failed + 1)); }
}

[ -x "$dapple" ] || { echo "demo: $dapple is not built: run make"; exit 1; }
if [ "$(id -u)" -eq 0 ]; then who="as root, which is not needed"; else who="as $(id -un)"; fi
echo "Running $who. RDMA hardware or kernel devices here: $(ls /sys/class/infiniband 2>/dev/null | wc -l)."

step "the software adapters" "$dapple devices"
step "as a verbs program sees them" "$dapple run -- ibv_devices"
step "two processes, reliable connection, every byte checked" \
	"$dapple pair -- ibv_rc_pingpong -g 0 -c"
step "two processes, RDMA writes of 64 KiB" "$dapple pair -- ib_write_bw -s 65536"
step "two processes, send latency of 8 bytes" "$dapple pair -- ib_send_lat -s 8"

echo
[ $failed -eq 0 ] || { echo "demo: $failed steps failed; see $dapple doctor and $dapple why"; exit 1; }
echo "demo: all steps worked"
