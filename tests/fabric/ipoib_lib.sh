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
