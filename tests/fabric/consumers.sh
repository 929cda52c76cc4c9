# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Storage, a machine that moves, and MPI over InfiniBand: programs that have their own ways on other adapters (tests/interop), here
# with the server, or each rank, at a node of its own. MPI_RING: the MPI program.
. "$FABRIC/lib.sh"
needs opensm
interop=$FABRIC/../interop

# row NAME PROGRAM ARGUMENT...: one that says 77 is skipped.
skipped=0
row() {
	echo "+ $*"
	"$DAPPLE" fabric run n1 -- "$@" >"$work/out" 2>&1
	case $? in
	0) ;;
	77) skipped=$((skipped + 1)); tail -n 1 "$work/out" ;;
	*) tail -n 20 "$work/out"; fault "$*" ;;
	esac
}

up consumers
on n2 "$DAPPLE" devices
SERVER_ADDRESS=$(grep -o '198\.1[89]\.[0-9.]*' "$work/out")
SERVER_AT="$DAPPLE fabric run n2 --"
export SERVER_ADDRESS SERVER_AT
if command -v fio >/dev/null; then
	for way in write read send verify; do row "$interop/fio-rdma" $way 16m 4k; done
fi
command -v tgtd >/dev/null && command -v iscsi-perf >/dev/null && row "$interop/iser" 2
row "$interop/qemu-migrate" running
row "$interop/qemu-migrate" paused pin-all
expect 0 "$DAPPLE" fabric down consumers

# Sixteen ranks at sixteen nodes of a fat tree, while OpenSM sweeps; then ranks of one node.
mpirun=$(command -v mpirun.openmpi || command -v mpirun)
if [ -n "$mpirun" ] && [ -x "${MPI_RING-}" ] && unshare -rn true 2>/dev/null; then
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	up mpi --hosts --tree 4x4x2
	all=$(seq -s, -f n%g 1 16)
	row timeout 600 "$mpirun" -H "$all" -n 16 --mca orte_keep_fqdn_hostnames t --mca plm_rsh_agent "$DAPPLE fabric agent" --mca pml ucx --mca osc ucx \
		--mca btl self -x UCX_TLS=rc,self "$MPI_RING"
	has "16 ranks"
	row timeout 600 "$mpirun" --oversubscribe -n 4 --mca pml ucx --mca osc ucx --mca btl self --mca plm isolated -x UCX_TLS=ud,self "$MPI_RING"
	has "4 ranks"
	expect 0 "$DAPPLE" fabric down mpi
fi
echo "$skipped skipped"
finish
