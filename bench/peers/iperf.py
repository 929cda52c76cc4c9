# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""iperf3 over TCP; its JSON has the receiver's figures."""
import json

from lib import start
from .row import row


def run(place):
    out = {}
    for size in ("65536", "1048576"):
        port = str(start.free_port())
        text = start.two(place, ["iperf3", "-s", "-1", "-p", port],
                         ["iperf3", "-c", "127.0.0.1", "-p", port, "-l", size, "-t", "1", "-J"],
                         int(port), timeout=20)
        try:
            out[size] = json.loads(text)["end"]["sum_received"]["bits_per_second"] / 8e9
        except (ValueError, KeyError):
            raise start.Failed("no JSON: " + start.last_words(text)) from None
    return out


def rows(place):
    lacks = None if start.have("iperf3") else "iperf3 is not installed"
    return [row("iperf3", "iperf iwarp", "GB/s", run, lacks)]
