# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Programs that are started for the user: a pair of ends on a fabric of its own, which ends with them, and mpirun, which reaches
# nodes by `dapple fabric agent`.
. "$FABRIC/lib.sh"
needs opensm ibstat ibv_rc_pingpong rping mpirun ip unshare

expect 0 "$DAPPLE" pair --adapter ib -- ibv_rc_pingpong -n 1000
has "1000 iters"
expect 0 "$DAPPLE" pair --adapter ib -- rping -C 5 -v
has "ping data"
"$DAPPLE" pair --adapter ib -- false >"$work/out" 2>&1 && fault "a pair whose ends fail succeeds"
expect 0 "$DAPPLE" fabric list
has "no fabric runs"

# In the foreground: it says that it is up, and nothing else; a signal ends it and its fabric.
says_up() { grep -q "^try: dapple fabric run" "$work/stay"; }
"$DAPPLE" fabric up stay --wait 120 --foreground >"$work/stay" 2>&1 &
pid=$!
until_true says_up || fault "up --foreground does not say that it is up"
on n1 ibstat
kill "$pid"
wait "$pid" || fault "up --foreground ends with $?"
[ "$(wc -l <"$work/stay")" = 2 ] || { cat "$work/stay"; fault "up --foreground says more than two lines"; }
expect 0 "$DAPPLE" fabric list
has "no fabric runs"

unshare -rn true 2>/dev/null || { echo "this machine refuses user and network namespaces"; exit 77; }
up mpi --hosts --nodes 3
# Ranks are told the launcher's place, and run at their own nodes.
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$DAPPLE" fabric run n1 -- timeout 120 mpirun -H n1,n2,n3 -n 3 --mca orte_keep_fqdn_hostnames t \
	--mca plm_rsh_agent "$DAPPLE fabric agent" sh -c 'echo "$(hostname) rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE at $DAPPLE_FABRIC"' >"$work/out" 2>&1 ||
	{ cat "$work/out"; fault "mpirun over nodes"; }
for n in 1 2 3; do
	grep -q "^n$n rank $((n - 1)) of 3 at mpi/n$n$" "$work/out" || { cat "$work/out"; fault "no rank at n$n"; }
done
expect 0 "$DAPPLE" fabric down mpi
finish
