#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Programs that look for themselves see the tree, and nothing else changes.
. "$(dirname "$0")/tool_lib.sh"

"$DAPPLE" run -- true
expect 0 "$DAPPLE" run -- ls /sys/class/infiniband; has dpl_roce_lo
# From here on a tree with devices of the test's own.
export DAPPLE_TREE="$work/tree"
expect 0 "$TOOL_TREE" "$DAPPLE_TREE" race
expect 0 "$TOOL_TREE" "$DAPPLE_TREE" 2
run="$DAPPLE run --"

expect 0 $run ls -lR /sys/class/infiniband /sys/class/infiniband_verbs /sys/class/infiniband_mad \
	/dev/infiniband; has dpl_t1; has uverbs1; has umad0; hasnt "cannot"
expect 0 $run find /sys/class/infiniband; has /sys/class/infiniband/dpl_t0/ports/1/gids/0
expect 0 $run cat /sys/class/infiniband/dpl_t0/ports/1/gids/0
has 0000:0000:0000:0000:0000:ffff:7f00:0001
expect 0 $run bash -c 'cd /sys/class/infiniband && for d in *; do [ -d $d ] && cat $d/ports/1/state; done'
has "4: ACTIVE"
expect 0 $run sh -c 'echo /sys/class/infiniband/*; test -c /dev/infiniband/uverbs0'; has dpl_t1
expect 0 $run stat -c %F /dev/infiniband/uverbs1; has "character special file"
expect 0 $run ls /sys/class/net/lo/device/infiniband; has dpl_t0
expect 1 $run test -e /dev/infiniband/uverbs7
expect 0 $run test -d /sys/class/net/lo
expect 1 $run test -e /sys/class/infinibandits
expect 1 $run test -e /sys/class/infiniband/dpl_t2
if command -v /usr/bin/python3 >/dev/null; then
	expect 0 $run /usr/bin/python3 -c '
import os
p = "/sys/class/infiniband"
assert sorted(os.listdir(p)) == ["dpl_t0", "dpl_t1"]
assert os.access("/dev/infiniband/uverbs0", os.R_OK | os.W_OK)
assert open(p + "/dpl_t1/node_type").read() == "1: CA\n"
r = os.open("/", os.O_RDONLY)
assert "dpl_t0" in os.listdir(os.open("sys/class/infiniband", os.O_RDONLY, dir_fd=r))
try:
    open(p + "/none"); assert 0
except FileNotFoundError: pass
for bad in (None,):
    try: os.open(bad, 0); assert 0
    except TypeError: pass
'
fi
# RDMA netlink, as iproute2 asks it.
if command -v rdma >/dev/null; then
	expect 0 $run rdma link show; has "link dpl_t0/1 "; has "link dpl_t1/1 "; has "netdev lo"; has "state ACTIVE"
	expect 0 $run rdma link show dpl_t1/1; has "link dpl_t1/1 "; hasnt dpl_t0
	expect 0 $run rdma -j link; has '"ifname":"dpl_t0"'; has '"netdev":"lo"'
	expect 0 $run rdma dev; has ": dpl_t0: node_type "; has node_guid; lines 2
	expect 0 $run rdma system show; has "netns exclusive"
	$run rdma resource show >"$work/out" 2>&1 && fault "rdma resource succeeds"
	has "not supported"
	# Another file may take the number of a closed socket.
	/usr/bin/python3 -c pass && expect 0 $run /usr/bin/python3 -c '
import socket, os
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 20); n = s.fileno(); s.close()
a, b = socket.socketpair(); os.dup2(a.fileno(), n)
socket.socket(fileno=n).sendmsg([b"octets"]); assert b.recv(9) == b"octets"
'
else
	echo "rdma of iproute2 is not installed: that part is skipped"
fi
# Everything else answers as without: content, errors, modes.
for c in 'ls -la /usr' 'stat -c %n%i%s /etc/passwd /sys /dev' 'realpath /sys/class/net/lo' 'cat /none' \
	'ls /sys/class'; do
	sh -c "$c" >"$work/a" 2>&1
	env -u DAPPLE_TREE LD_PRELOAD="$(dirname "$DAPPLE")/lib/libdapple-preload.so" sh -c "$c" >"$work/b" 2>&1
	cmp "$work/a" "$work/b" || fault "$c answers differently"
done
printf '%s\n' '#include <fcntl.h>' '#include <unistd.h>' '#include <stdlib.h>' \
	'int main(void){char*p=malloc(8);free(p);' \
	'return open("/sys/class/infiniband/dpl_t0/node_type",O_RDONLY)<0||access("/dev/infiniband/uverbs0",6)||open("/tmp",O_TMPFILE|O_RDWR,0600)<0;}' \
	>"$work/asan.c"
if cc -D_GNU_SOURCE -O2 -fsanitize=address -o "$work/asan" "$work/asan.c" 2>/dev/null; then
	expect 0 $run "$work/asan"
else
	echo "no compiler with the address sanitizer: that part is skipped"
fi

# The same tree in a namespace, where the user may have one.
"$DAPPLE" run --isolate -- true >"$work/out" 2>&1
case $? in
0)
	expect 0 "$DAPPLE" run --isolate -- ls -lL /sys/class/infiniband /dev/infiniband; has dpl_t1
	expect 0 "$DAPPLE" run --isolate -- test -c /dev/infiniband/uverbs0
	expect 0 "$DAPPLE" run --isolate -- sh -c "a=\$(readlink /proc/self/ns/mnt)
		b=\$($DAPPLE run --isolate -- readlink /proc/self/ns/mnt); [ \$a = \$b ]"
	# A second launcher, from outside, joins the first.
	mkfifo "$work/go" "$work/told"
	"$DAPPLE" run --isolate -- sh -c "readlink /proc/self/ns/mnt >$work/told; read x <$work/go" &
	read first <"$work/told"
	second=$("$DAPPLE" run --isolate -- readlink /proc/self/ns/mnt)
	[ "$first" = "$second" ] || fault "two namespaces: $first $second"
	echo >"$work/go"
	wait
	;;
77) cat "$work/out" ;;
*) cat "$work/out"; fault "--isolate" ;;
esac
finish
