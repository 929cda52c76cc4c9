#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# In the guest, as process 1: brings the driver up, then runs what appears in the exchange
# folder. NAME.cmd gives NAME.out while it runs and NAME.rc at its end; several run at once.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TERM=dumb
guest=$1 driver=$2

ip link set lo up
ip link set eth0 up
ip addr add "10.77.0.$((guest + 10))/24" dev eth0
ip -6 addr add "fd77::$((guest + 10))/64" dev eth0 nodad

case $driver in
rxe) rdma link add rxe0 type rxe netdev eth0 ;;
siw*)
	insmod "/share/$driver.ko"
	rdma link add siw0 type siw netdev eth0
	;;
none) ;;
esac
ulimit -l unlimited
ulimit -n 65536
uname -r >/share/version
touch /share/ready
cd /tmp || exit 1
while :; do
	for c in /share/*.cmd; do
		[ -e "$c" ] || continue
		n=${c%.cmd}
		mv "$c" "$n.run"
		(
			sh "$n.run" >"$n.out" 2>&1 </dev/null
			echo $? >"$n.rc.tmp"
			mv "$n.rc.tmp" "$n.rc"
		) &
	done
	# The exchange folder tells no changes; this is the guest's own pace, not a wait for anything.
	usleep 50000 2>/dev/null || busybox usleep 50000
done
