# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# For the tests of IP over InfiniBand: streams between nodes, compared by their hash.

python=$(command -v python3)
serve='import socket, sys, hashlib
s = socket.create_server(("::" if ":" in sys.argv[1] else sys.argv[1], 0), family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
print(s.getsockname()[1], flush=True)
c, peer = s.accept()
h = hashlib.sha256()
while data := c.recv(65536):
    h.update(data)
c.sendall(h.hexdigest().encode())'
send='import socket, sys, hashlib
n = int(sys.argv[3])
c = socket.create_connection((sys.argv[1], int(sys.argv[2])), 60)
h = hashlib.sha256()
block = bytes(range(256)) * 256
for i in range(n):
    c.sendall(block)
    h.update(block)
c.shutdown(socket.SHUT_WR)
print("same" if c.recv(100).decode() == h.hexdigest() else "different")'
listens() { [ -s "$work/port" ]; }
# stream SERVER ADDRESS CLIENT BLOCKS: 64 KiB blocks, compared by their hash.
stream() {
	: >"$work/port"
	timeout 120 "$DAPPLE" fabric run "$1" -- "$python" -c "$serve" "$2" >"$work/port" 2>&1 &
	server=$!
	until_true listens
	on "$3" timeout 100 "$python" -c "$send" "$2" "$(cat "$work/port")" "$4"
	has "same"
	wait $server
}

# Addresses of ib0 at three nodes: addr1 to addr3, and those of the link, local1 to local3.
addresses() {
	for n in 1 2 3; do
		on n$n ip -4 -o addr show ib0
		eval "addr$n=$(awk '{ sub("/.*", "", $4); print $4 }' "$work/out")"
		on n$n ip -6 -o addr show ib0
		eval "local$n=$(awk '$4 ~ /^fe80:/ { sub("/.*", "", $4); print $4; exit }' "$work/out")"
	done
}

# stream_over_cut N SECONDS: a stream of N from n1 to n2, with the cable of n2 pulled and put in again.
no_carrier() { "$DAPPLE" fabric run n2 -- ip -o link show ib0 | grep -q NO-CARRIER; }
stream_over_cut() {
	: >"$work/port"
	timeout "$2" "$DAPPLE" fabric run n2 -- "$python" -c "$serve" "$addr2" >"$work/port" 2>&1 &
	server=$!
	until_true listens
	timeout $(($2 - 10)) "$DAPPLE" fabric run n1 -- "$python" -c "$send" "$addr2" "$(cat "$work/port")" "$1" >"$work/client" 2>&1 &
	client=$!
	expect 0 "$DAPPLE" fabric link n2/1 down
	until_true no_carrier
	expect 0 "$DAPPLE" fabric link n2/1 up
	wait $client
	cp "$work/client" "$work/out"
	has "same"
	wait $server
}
