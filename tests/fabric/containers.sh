# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Two containers that share the runtime directory and nothing else: user, pid, mount, network and IPC namespaces of their own.
# One has the fabric process, programs of the other are at its nodes; a fabric that ends tells the other container.
. "$FABRIC/lib.sh"
needs opensm sminfo ibnetdiscover ibping unshare

container="unshare -rmpinf --kill-child --mount-proc"
apart() { $container "$@"; }
apart true 2>/dev/null || { echo "this machine refuses user, pid and mount namespaces"; exit 77; }

# The first container: its process 1 waits for the fabric process, which is killed with it.
$container sh -c '"$DAPPLE" fabric up lab --wait 120 && sleep 3600' >"$work/first" 2>&1 &
first=$!
trap 'kill -9 $first 2>/dev/null; end_fabrics; rm -rf "$work"' EXIT
is_up() { grep -q "with opensm on n1" "$work/first"; }
until_true is_up || { cat "$work/first"; finish; }

# The second one, by the directory alone.
expect 0 apart "$DAPPLE" fabric list
has "lab"
expect 0 apart "$DAPPLE" fabric run n2 -- sminfo
has "SMINFO_MASTER"
expect 0 apart "$DAPPLE" fabric run n2 -- ibnetdiscover -p
[ "$(grep -c '^CA' "$work/out")" = 2 ] || fault "the second container does not see two adapters"
expect 0 apart "$DAPPLE" fabric link s1/2 down
expect 0 apart "$DAPPLE" fabric link s1/2 up
expect 1 apart "$DAPPLE" fabric up lab
has "runs already"

# A server in one, its client in the other.
lid=$(apart "$DAPPLE" fabric show nodes | awk '$1 == "n1" { print $3 }')
$container "$DAPPLE" fabric run n1 -- ibping -S >"$work/server" 2>&1 &
server=$!
answers() { apart "$DAPPLE" fabric run n2 -- ibping -c 1 "$lid" | grep -q "1 received"; }
until_true answers
kill -9 $server 2>/dev/null

# It ends from the second container, which waits for the end.
expect 0 apart "$DAPPLE" fabric down lab
expect 0 apart "$DAPPLE" fabric list
has "no fabric runs"

# A first container that is killed leaves nothing that stops the next fabric.
kill -9 $first 2>/dev/null
wait $first 2>/dev/null
$container sh -c '"$DAPPLE" fabric up lab --sm none && sleep 3600' >"$work/first" 2>&1 &
first=$!
is_there() { grep -q "without a subnet manager" "$work/first"; }
until_true is_there
kill -9 $first
is_empty() { apart "$DAPPLE" fabric list | grep -q "no fabric runs"; }
until_true is_empty
expect 0 "$DAPPLE" fabric up lab --sm none
expect 0 "$DAPPLE" fabric down lab
finish
