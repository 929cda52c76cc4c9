# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Debian's ibacm on two nodes that are hosts of their own: ib_acme verifies its paths with the SA, and rdma_getaddrinfo() takes its
# route data, also while no subnet manager runs; then an ibacm that is killed, silent, or answers nonsense.
. "$FABRIC/lib.sh"
needs opensm ibacm ib_acme rdma_client rdma_server ucmatose unshare ip python3
unshare -rnm true 2>/dev/null || { echo "this machine refuses user, network and mount namespaces"; exit 77; }
"$DAPPLE" fabric up acm --hosts --wait 120 >"$work/out" 2>&1
r=$?
if [ $r = 77 ] && grep -q bridge "$work/out"; then echo "this machine refuses bridges"; exit 77; fi
[ $r = 0 ] || { cat "$work/out"; fault "up --hosts: status $r"; finish; }
provider=$(dirname "$(ls /usr/lib/*/ibacm/libibacmp.so | head -n 1)")
python=$(command -v python3)

# own_run NODE COMMAND: on a node, with a /run of its own, since ibacm writes its port there.
own_run() {
	node=$1
	shift
	timeout 300 "$DAPPLE" fabric run "$node" -- unshare -m sh -c "mount -t tmpfs none /run && $*"
}
for n in 1 2; do
	on n$n ip -4 -o addr show eth0
	eval "addr$n=$(awk '{ sub("/.*", "", $4); print $4 }' "$work/out")"
	eval "addr=\$addr$n"
	cat >"$work/opts$n" <<-END
		log_file $work/acm$n.log
		log_level 2
		lock_file $work/acm$n.pid
		server_mode loop
		server_port 6125
		addr_prot acm
		route_prot sa
		acme_plus_kernel_only no
		support_ips_in_addr_cfg 1
		provider_lib_path $provider
	END
	printf '%s dpl_ib0 1 default\nnode%s dpl_ib0 1 default\n' "$addr" $n >"$work/addr$n"
	# exec: the process that is killed below is ibacm itself.
	own_run n$n "echo \$\$ >$work/pid$n && exec ibacm -P -O $work/opts$n -A $work/addr$n" >"$work/ibacm$n" 2>&1 &
done
serves() { grep -q "listen active" "$work/acm1.log" && grep -q "listen active" "$work/acm2.log"; }
until_true serves
verified() { own_run n1 "echo 6125 >/run/ibacm-tcp.port && ib_acme -S 127.0.0.1 -f i -s $addr1 -d $addr2 -v" >"$work/out" 2>&1; }
until_true verified
cat "$work/out"
has "SA verification: success"

# client SETTING: rdma_client with this value of DAPPLE_IBACM against a server of its own. Its status.
client() {
	timeout 100 "$DAPPLE" fabric run n2 -- rdma_server -s "$addr2" -p 7471 >"$work/server" 2>&1 &
	server=$!
	until_true listens_at_7471
	DAPPLE_LOG=warn DAPPLE_IBACM=$1 timeout 90 "$DAPPLE" fabric run n1 -- rdma_client -s "$addr2" -p 7471 >"$work/out" 2>&1
	status=$?
	[ $status = 0 ] || kill $server
	wait $server
	cat "$work/out"
	return $status
}
listens_at_7471() { ss -Hxa | grep -q "@dapple-cm/.*/7471 "; } # a fabric's names are in the namespace of its process
answers() { grep -c "acm_resolve_response: client .* status 0x0" "$work/acm1.log"; }
before=$(answers)
client 6125 || fault "rdma_client with route data of ibacm"
hasnt "ibacm"
[ "$(answers)" -gt "$before" ] || fault "ibacm was not asked"
before=$(answers)
# By the file that ibacm leaves: the place where the distribution's librdmacm looks.
timeout 100 "$DAPPLE" fabric run n2 -- ucmatose >"$work/server" 2>&1 &
server=$!
until_true listens_at_7471
own_run n1 "echo 6125 >/run/ibacm.port && exec timeout 60 ucmatose -s $addr2" >"$work/out" 2>&1 || { cat "$work/out"; fault "ucmatose with route data of ibacm"; }
wait $server
[ "$(answers)" -gt "$before" ] || fault "ibacm was not asked by its file"

# Without a subnet manager the paths that ibacm has kept are all there is.
expect 0 "$DAPPLE" fabric sm stop n1
client 6125 || fault "rdma_client with kept route data, while no subnet manager runs"
client off && fault "rdma_client resolves a route without ibacm and without a subnet manager"
expect 0 "$DAPPLE" fabric sm start n1
managed() { "$DAPPLE" fabric run n1 -- saquery -g >/dev/null 2>&1; }
until_true managed

# Killed: refused at once, a sentence, and the SA instead.
kill "$(cat "$work/pid1")"
gone() { ! kill -0 "$(cat "$work/pid1")" 2>/dev/null; }
until_true gone
client 6125 || fault "rdma_client after ibacm was killed"
has "ibacm at 127.0.0.1:6125 gives no usable answer (Connection refused)"
# Hostile ones at a socket: silent, garbage, a message of another question, one that promises more than it sends, paths of nowhere.
hostile='import os, socket, struct, sys
how, path = sys.argv[1:]
s = socket.socket(socket.AF_UNIX)
s.bind(path)
s.listen(5)
print("listens", flush=True)
while True:
    c, _ = s.accept()
    ask = c.recv(4096)
    tid = ask[8:16]
    head = lambda n, t=tid, status=0: struct.pack("=BBB3xH", 1, 1, status, n) + t
    if how == "silent":
        hold = c
    elif how == "garbage":
        c.sendall(os.urandom(4096))
    elif how == "other":
        c.sendall(head(16, bytes(8)))
    elif how == "short":
        c.sendall(head(160) + bytes(20))
        c.close()
    elif how == "long":
        c.sendall(head(65535 - 65519 % 72) + bytes(65000))
    elif how in ("path", "flags"):
        c.sendall(head(88) + struct.pack("=IHH", 0x2b if how == "path" else 0x17, 0x10, 0) + os.urandom(64))
    elif how == "none":
        c.sendall(head(16, status=3))'
listens() { grep -q listens "$work/hostile"; }
for how in none silent garbage other short long flags path; do
	rm -f "$work/sock"
	: >"$work/hostile"
	"$python" -c "$hostile" $how "$work/sock" >"$work/hostile" 2>&1 &
	pid=$!
	until_true listens
	begun=$(date +%s)
	echo "+ $how"
	client "$work/sock"
	status=$?
	[ $(($(date +%s) - begun)) -lt 60 ] || fault "$how: $(($(date +%s) - begun)) s"
	case $how in
	none) [ $status = 0 ] || fault "ibacm without data"; hasnt "ibacm" ;;
	path) ;; # a path is used or refused: neither end hangs
	*) [ $status = 0 ] || fault "$how"; has "gives no usable answer" ;;
	esac
	kill $pid
	wait $pid
done
kill "$(cat "$work/pid2")"
wait
finish
