# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Topologies: what ibnetdiscover prints on a fabric makes the same fabric again; trees, tori, ibsim's files.
. "$FABRIC/lib.sh"
needs opensm ibnetdiscover iblinkinfo

# round NAME ARGUMENT...: up, discover, up from what was printed, discover: the same.
round() {
	name=$1
	shift
	up a "$@"
	first=$("$DAPPLE" fabric show nodes | awk '$2 == "node" { print $1; exit }')
	"$DAPPLE" fabric run "$first" -- ibnetdiscover >"$work/$name.1" || fault "ibnetdiscover on $name"
	expect 0 "$DAPPLE" fabric down a
	up b --topology "$work/$name.1"
	first=$("$DAPPLE" fabric show nodes | awk '$2 == "node" { print $1; exit }')
	"$DAPPLE" fabric run "$first" -- ibnetdiscover >"$work/$name.2" || fault "ibnetdiscover on $name"
	expect 0 "$DAPPLE" fabric down b
	canonical "$work/$name.1" >"$work/x"
	canonical "$work/$name.2" >"$work/y"
	[ -s "$work/x" ] && cmp "$work/x" "$work/y" || fault "$name is another fabric after the round trip"
}

round pair
round tree --tree 4x4x2x2
round torus --torus 3x3:2
cat >"$work/net" <<'EOF'
Switch	8 "Switch1"
[1]	"Hca1"[1]
[4]	"Hca2"[1]	w=2 s=4 e=0

Hca	2 "Hca1"
[1]	"Switch1"[1]

Hca	2 "Hca2"
[1]	"Switch1"[4]
EOF
round net --topology "$work/net"
grep -q '4xQDR' "$work/net.2" || fault "the rate of Hca2's link is not 4xQDR"
finish
