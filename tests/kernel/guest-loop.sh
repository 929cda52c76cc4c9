#!/bin/busybox sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# In the guest, as process 1: brings the driver up, then runs what appears in the exchange
# folder. NAME.cmd (a script for sh) and NAME.cell (one for this shell, whose own tools it takes)
# give NAME.out while they run and NAME.rc at their end; several run at once. Starting a program
# costs the emulator a third of a second, so nothing here starts one that busybox has itself.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TERM=dumb
guest=$1 driver=$2

ip link set lo up
ip link set eth0 up
ip addr add "10.77.0.$((guest + 10))/24" dev eth0
/sbin/ip -6 addr add "fd77::$((guest + 10))/64" dev eth0 nodad

case $driver in
rxe) rdma link add rxe0 type rxe netdev eth0 ;;
siw*)
	# the debug kernel has siw in it
	[ ! -e "/share/$driver.ko" ] || insmod "/share/$driver.ko"
	rdma link add siw0 type siw netdev eth0
	;;
none) ;;
esac
ulimit -l unlimited
ulimit -n 65536
# The RDMA stack waits one second for the link address of a peer, and a queue pair that is connected first may wait for
# nothing else: our side is a neighbour before.
for to in 10.77.0.1 fd77::1; do
	n=0
	until ping -c 1 -W 1 "$to" >/dev/null 2>&1 || [ "$n" = 20 ]; do n=$((n + 1)); done
done
uname -r >/share/version
stty -F /dev/ttyS1 -echo
exec 8</dev/ttyS1
touch /share/ready
cd /tmp || exit 1
while :; do
	for c in /share/*.cmd /share/*.cell; do
		[ -e "$c" ] || continue
		n=${c%.*}
		mv "$c" "$n.run"
		(
			case $c in
			*.cmd) /bin/sh "$n.run" 8<&- ;;
			*) (. "$n.run") 8<&- ;;
			esac >"$n.out" 2>&1 </dev/null
			echo $? >"$n.rc.tmp"
			mv "$n.rc.tmp" "$n.rc"
		) &
	done
	# A line there says that something is new; the folder itself tells no changes.
	read -t 2 -r _ <&8 || usleep 50000
done
