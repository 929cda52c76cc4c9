# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# dapple fabric: up to down, what ends a fabric, what a killed one leaves, links and nodes that change under OpenSM.
. "$FABRIC/lib.sh"
needs opensm ibstat sminfo saquery smpquery perfquery

# Two nodes, a switch, OpenSM on the first.
up
has "with opensm on n1"
has "2 nodes, 1 switch, "
on n1 perfquery "$("$DAPPLE" fabric show nodes | awk '$1 == "n2" { print $3 }')"
has "PortXmitPkts"
expect 0 "$DAPPLE" fabric show
has "4 of 4 linked ports active, 0 ports without LID"
expect 0 "$DAPPLE" fabric list
has "4 of 4"
on n2 sminfo
has "SMINFO_MASTER"
on n2 ibstat dpl_ib0
has "State: Active"
on n2 saquery
[ "$(grep -c 'NodeRecord dump' "$work/out")" = 3 ] || fault "saquery does not show three nodes"
expect 1 "$DAPPLE" fabric up
has "runs already"
expect 1 "$DAPPLE" fabric run nosuch -- true
has "no node"
expect 1 "$DAPPLE" fabric link n1/9 down
has "ports 1 to 1"
expect 2 "$DAPPLE" fabric link n1/1 sideways
expect 2 "$DAPPLE" fabric nonsense

# A link goes down: OpenSM learns it by a trap and drops the node; and up again.
nodes() { "$DAPPLE" fabric run n1 -- saquery | grep -c 'NodeRecord dump'; }
is_nodes() { [ "$(nodes)" = "$1" ]; }
expect 0 "$DAPPLE" fabric link s1/2 down
until_true is_nodes 2
expect 0 "$DAPPLE" fabric link s1/2 up
until_true is_nodes 3
until_true all_active
expect 0 "$DAPPLE" fabric link s1/2 flap
until_true all_active
expect 0 "$DAPPLE" fabric link s1/2 slow
expect 0 "$DAPPLE" fabric show links
has "1xSDR"
expect 0 "$DAPPLE" fabric link s1/2 slow off
until_true all_active

# A node comes and goes.
expect 0 "$DAPPLE" fabric node add n3 s1/5
until_true is_nodes 4
until_true all_active
on n3 sminfo
expect 1 "$DAPPLE" fabric node add n3 s1/6
expect 0 "$DAPPLE" fabric node remove n3
until_true is_nodes 3

# Counters are those of the MADs: what the switch received at its port the node has sent.
on n2 perfquery
expect 0 "$DAPPLE" fabric show errors
expect 0 "$DAPPLE" fabric show svg
python3 - "$work/out" <<'EOF' || fault "the SVG lacks nodes or links"
import sys
import xml.etree.ElementTree as tree
svg = tree.parse(sys.argv[1]).getroot()
count = lambda tag: len(svg.findall("{http://www.w3.org/2000/svg}" + tag))
titles = [t.text for t in svg.iter("{http://www.w3.org/2000/svg}title")]
sys.exit(not (count("rect") == 3 and count("line") == 2 and all("active 4xEDR" in t for t in titles)))
EOF
expect 0 "$DAPPLE" fabric show drawing
has "[n2] lid"
has "1--s1/2 4xEDR"
expect 0 "$DAPPLE" fabric show topology
cp "$work/out" "$work/topology"
expect 0 "$DAPPLE" fabric edit "$work/topology"
has "0 changes"
expect 0 "$DAPPLE" fabric down
expect 0 "$DAPPLE" fabric list
has "no fabric runs"
expect 1 "$DAPPLE" fabric show
has "does not run"

# Killed: its programs end, its OpenSM ends, and the next one starts as if it had not been.
up one --sm none
pid=$("$DAPPLE" fabric list | awk 'NR == 2 { print $2 }')
kill -9 "$pid"
# Ended; perhaps not yet reaped, where process 1 does not do it.
is_gone() { [ ! -e "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status"; }
until_true is_gone "$pid"
expect 0 "$DAPPLE" fabric list
has "no fabric runs"
up one --sm none
expect 0 "$DAPPLE" fabric down one
up two
pid=$("$DAPPLE" fabric list | awk 'NR == 2 { print $2 }')
sm=$("$DAPPLE" fabric sm | awk '{ print $3 }')
kill -9 "$pid"
until_true is_gone "$sm"
up two
expect 0 "$DAPPLE" fabric sm stop n1
expect 0 "$DAPPLE" fabric sm start n2
sm_is() { "$DAPPLE" fabric run n1 -- sminfo | grep -q "$1"; }
until_true sm_is MASTER
expect 0 "$DAPPLE" fabric down two

# Data hop by hop has queues.
up hop --hop --sm none
expect 0 "$DAPPLE" fabric show queues
has "credits"
expect 0 "$DAPPLE" fabric down hop

# An opensm that sweeps once; one that would leave; nodes that no path joins to it.
up once -- -o
expect 0 "$DAPPLE" fabric down once
expect 1 "$DAPPLE" fabric up -- -B
has "leave the option out"
cat >"$work/islands" <<'EOF'
Switch	8 "S1"
[1]	"H1"[1]
[2]	"H2"[1]

Switch	8 "S2"
[1]	"H3"[1]

Hca	1 "H1"
[1]	"S1"[1]

Hca	1 "H2"
[1]	"S1"[2]

Hca	1 "H3"
[1]	"S2"[1]
EOF
up islands --topology "$work/islands"
has "2 ports have a link, but no path from H1"
expect 0 "$DAPPLE" fabric down islands

# Wrong arguments end with a sentence and leave nothing.
expect 2 "$DAPPLE" fabric up --tree 3
expect 1 "$DAPPLE" fabric up --topology /nonexistent
expect 1 "$DAPPLE" fabric up --sm nosuch
expect 0 env PATH=/nonexistent "$DAPPLE" fabric list
has "no fabric runs"
finish
