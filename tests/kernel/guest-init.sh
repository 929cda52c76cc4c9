#!/bin/busybox sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# First process of the guest: modules, the host's root read-only below a tmpfs, the network, and
# then the loop that takes commands. Words of the kernel command line: guest=N driver=rxe|siw...
B=/bin/busybox
$B mkdir -p /usr/bin /usr/sbin /etc /newroot /ro /rw /share
$B --install -s /bin
export PATH=/bin:/sbin
# The kernel calls this path itself, for checksums that are loaded already.
ln -sf /bin/true /sbin/modprobe
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
guest=1 driver=rxe
for word in $(cat /proc/cmdline); do
	case $word in
	guest=*) guest=${word#guest=} ;;
	driver=*) driver=${word#driver=} ;;
	esac
done
while read -r m; do
	insmod "/modules/$m" || echo "guest: $m does not load"
done </modules/order

mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=262144 hostroot /ro
mount -t tmpfs tmpfs /rw
mkdir /rw/upper /rw/work
mkdir /extra
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=262144 extra /extra
mount -t overlay -o lowerdir=/extra:/ro,upperdir=/rw/upper,workdir=/rw/work overlay /newroot
mkdir -p /newroot/share /newroot/guest
mount -t 9p -o trans=virtio,version=9p2000.L,cache=none,msize=262144 share /newroot/share
mount -t tmpfs tmpfs /newroot/tmp
mount -t tmpfs tmpfs /newroot/run
mount --move /dev /newroot/dev
mkdir -p /newroot/dev/shm /newroot/dev/pts
mount -t tmpfs tmpfs /newroot/dev/shm
mount -t devpts devpts /newroot/dev/pts
mount --move /proc /newroot/proc
mount --move /sys /newroot/sys
cp /loop /bin/busybox /newroot/guest/

hostname "guest$guest"
exec switch_root /newroot /guest/busybox sh /guest/loop "$guest" "$driver"
