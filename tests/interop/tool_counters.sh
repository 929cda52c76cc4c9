#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The counters that monitoring reads: the octets of a known transfer are in them, on each kind of adapter and path, in
# every view, and for a collector of its own.
. "$(dirname "$0")/tool_lib.sh"

N=200 SIZE=65536 # messages, octets
command -v rping >/dev/null || { echo "rping is missing: see packaging/deps"; exit 77; }
command -v ib_write_bw >/dev/null || { echo "ib_write_bw is missing: see packaging/deps"; exit 77; }

# of ADAPTER FILE: the value, as the preload shows it.
of() {
	"$DAPPLE" run cat "/sys/class/infiniband/dpl_$1_lo/ports/1/$2"
}

# grew NAME OLD NEW LEAST: NEW - OLD is at least LEAST, and at most a fifth more.
grew() {
	got=$(($3 - $2))
	echo "$1: $got (at least $4)"
	[ "$got" -ge "$4" ] || fault "$1 grew by $got, not by $4"
	[ "$got" -le $(($4 + $4 / 5 + 4096)) ] || fault "$1 grew by $got, for $4"
}

"$DAPPLE" devices >/dev/null
for local in on off; do
	for adapter in roce iw; do
		for verb in write read send; do
			out=$(of $adapter counters/port_xmit_data) in=$(of $adapter counters/port_rcv_data)
			cm=; [ $adapter = roce ] || cm=-R
			DAPPLE_LOCAL=$local DAPPLE_DEVICES=dpl_${adapter}_lo expect 0 "$DAPPLE" pair --timeout 60 -- \
				ib_${verb}_bw $cm -F -s $SIZE -n $N -t 32
			# Both ends are on this adapter, so one message is an octet out and an octet in.
			grew "$adapter, local $local, $verb, port_xmit_data" $((out * 4)) \
				$(($(of $adapter counters/port_xmit_data) * 4)) $((N * SIZE))
			grew "$adapter, local $local, $verb, port_rcv_data" $((in * 4)) \
				$(($(of $adapter counters/port_rcv_data) * 4)) $((N * SIZE))
		done
	done
done

# The same number in every view.
want=$(of roce hw_counters/sent_pkts)
[ "$want" -gt 0 ] || fault "sent_pkts is $want"
tree=$(eval "$("$DAPPLE" env)"; echo "$DAPPLE_TREE")
[ "$(cat "$tree/class/infiniband/dpl_roce_lo/ports/1/hw_counters/sent_pkts")" = "$want" ] || fault "the folder has another value"
[ "$("$DAPPLE" run --adapter roce cat /sys/class/infiniband/dpl_roce_lo/ports/1/hw_counters/sent_pkts)" = "$want" ] ||
	fault "the view of one kind has another value"
if "$DAPPLE" run --isolate true >/dev/null 2>&1; then
	[ "$("$DAPPLE" run --isolate cat /sys/class/infiniband/dpl_roce_lo/ports/1/hw_counters/sent_pkts)" = "$want" ] ||
		fault "the namespace has another value"
fi

# A collector, which reads the folder.
exporter=$(command -v prometheus-node-exporter)
if [ -n "$exporter" ]; then
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	"$exporter" --path.sysfs="$tree" --collector.disable-defaults --collector.infiniband --web.listen-address="127.0.0.1:$port" \
		>"$work/exporter" 2>&1 &
	pid=$!
	python3 - "$port" "$(($(of roce counters/port_xmit_data) * 4))" <<'END' || { cat "$work/exporter"; fault "prometheus-node-exporter"; }
import sys, time, urllib.request
end, text = time.time() + 30, ""
while time.time() < end:
    try:
        text = urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/metrics", timeout=5).read().decode()
        break
    except OSError:
        time.sleep(0.05)
lines = dict(l.rsplit(" ", 1) for l in text.split("\n") if l.startswith("node_infiniband"))
sent = [float(v) for k, v in lines.items() if k.startswith("node_infiniband_port_data_transmitted_bytes_total") and "dpl_roce_lo" in k]
assert sent == [float(sys.argv[2])], (sent, sys.argv[2], text[:2000])
print(f"prometheus-node-exporter: {len(lines)} values, {sent[0]:.0f} octets sent")
END
	kill $pid
else
	echo "prometheus-node-exporter is missing: the collector is left out"
fi
finish
