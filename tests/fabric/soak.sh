# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# A soak over InfiniBand: RC messages of random lengths through the fabric process, then through shared memory, all bytes checked,
# while links flap at random. SOAK_SECONDS bounds each of the two, SOAK_MESSAGES as well; SOAK_SEED repeats lengths and the order of flaps.
. "$FABRIC/lib.sh"
needs opensm ss python3
seconds=${SOAK_SECONDS-${CONFORM_SECONDS-60}} messages=${SOAK_MESSAGES-10000000}
seed=${SOAK_SEED-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
echo "SOAK_SEED=$seed SOAK_SECONDS=$seconds SOAK_MESSAGES=$messages"
up soak --tree 2x2x2
on n3 "$DAPPLE" devices
addr3=$(grep -o '198\.1[89]\.[0-9.]*' "$work/out" | head -n 1)
python=$(command -v python3)
# Flaps cables of the two nodes and of the spines, one to four within some seconds, until the process ends. Then OpenSM gets time: it
# has the subnet up some six seconds after the last flap, and never while they go on.
flaps='import os, random, subprocess, sys, time
r = random.Random(int(sys.argv[1]))
n = 0
while os.path.exists(f"/proc/{sys.argv[3]}"):
    port = r.choice(("n1/1", "n3/1", "spine1/1", "spine1/2", "spine2/1", "spine2/2"))
    if subprocess.run([sys.argv[2], "fabric", "link", port, "flap"], capture_output=True).returncode:
        sys.exit(f"link {port} does not flap")
    n += 1
    time.sleep(r.uniform(0.1, 2) if r.random() < 0.6 else r.uniform(5, 25))
print(n, "flaps")'
serves() { grep -q listens "$work/server"; }
for way in off on; do
	[ $way = off ] && export DAPPLE_LOCAL=off || unset DAPPLE_LOCAL
	echo "+ DAPPLE_LOCAL ${DAPPLE_LOCAL-as it is}"
	: >"$work/server"
	timeout $((seconds + 300)) "$DAPPLE" fabric run n3 -- "$SOAK_ENDS" serve "$addr3" 7500 >"$work/server" 2>&1 &
	server=$!
	until_true serves
	timeout $((seconds + 300)) "$DAPPLE" fabric run n1 -- "$SOAK_ENDS" send "$addr3" 7500 "$seconds" "$messages" "$seed" >"$work/client" 2>&1 &
	client=$!
	"$python" -c "$flaps" "$seed" "$DAPPLE" $client || fault "the links do not flap"
	wait $client
	c=$?
	[ $c = 0 ] || kill $server
	wait $server
	s=$?
	cat "$work/client" "$work/server"
	[ $c = 0 ] && [ $s = 0 ] || fault "client $c, server $s"
	sent=$(awk '/^sent/ { print $2 }' "$work/client") received=$(awk '/^received/ { print $2 }' "$work/server")
	[ "${sent:-0}" -gt 0 ] && [ "$sent" = "$received" ] || fault "sent $sent, received $received"
done
finish
