# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What a capture file says without tshark: ICRCs, which tshark does not check,
and the FPDUs of an MPA stream, so that we know how many tshark should have seen."""
import collections
import struct
import zlib

ROCE_PORT = 4791
PROBE = b"\xffdpl?"

Frame = collections.namedtuple("Frame", "nr at ip l4 proto payload")


def read_pcap(path):
    """(file header, [[record header, bytes], ...])"""
    with open(path, "rb") as f:
        head, out = f.read(24), []
        if struct.unpack("<I", head[:4])[0] not in (0xA1B2C3D4, 0xA1B23C4D):
            raise ValueError(f"{path} is no little-endian pcap file")
        while len(record := f.read(16)) == 16:
            out.append([record, bytearray(f.read(struct.unpack("<I", record[8:12])[0]))])
    return head, out


def write_pcap(path, head, records):
    with open(path, "wb") as f:
        f.write(head)
        for record, data in records:
            f.write(record + data)


def frames(records):
    """UDP and TCP frames; at, ip and l4 are offsets into the bytes of the frame."""
    for nr, (_, data) in enumerate(records, 1):
        kind = struct.unpack_from(">H", data, 12)[0]
        if kind == 0x0800:
            l4, proto = 14 + (data[14] & 15) * 4, data[23]
            end = 14 + struct.unpack_from(">H", data, 16)[0]
        elif kind == 0x86DD:
            l4, proto = 54, data[20]
            end = 54 + struct.unpack_from(">H", data, 18)[0]
        else:
            continue
        if proto not in (6, 17):
            continue
        at = l4 + (8 if proto == 17 else (data[l4 + 12] >> 4) * 4)
        yield Frame(nr, at, 14, l4, proto, bytes(data[at:end]))


def is_roce(data, f):
    return f.proto == 17 and struct.unpack_from(">H", data, f.l4 + 2)[0] == ROCE_PORT


def icrc_good(data, f):
    """The fields that routers may change count as ones (IB annex A17)."""
    b = bytearray(data[f.ip:f.at + len(f.payload)])
    l4, bth = f.l4 - f.ip, f.at - f.ip
    if b[0] >> 4 == 4:
        b[1] = b[8] = b[10] = b[11] = 0xFF
    else:
        b[0] |= 0x0F
        b[1:4] = b"\xff\xff\xff"
        b[7] = 0xFF
    b[l4 + 6:l4 + 8] = b"\xff\xff"
    b[bth + 4] = 0xFF
    return zlib.crc32(b"\xff" * 8 + b[:-4]) == struct.unpack("<I", b[-4:])[0]


def tcp_streams(records):
    """{(ip addresses, ports): bytes} of each direction, holes not allowed."""
    parts = collections.defaultdict(dict)
    first = {}
    for f in frames(records):
        if f.proto != 6:
            continue
        data = records[f.nr - 1][1]
        key = bytes(data[f.l4 - (8 if data[f.ip] >> 4 == 4 else 32):f.l4 + 4])
        seq = struct.unpack_from(">I", data, f.l4 + 4)[0]
        if data[f.l4 + 13] & 2:
            first[key] = seq + 1
        elif f.payload:
            if key not in first:
                raise ValueError(f"frame {f.nr}: the capture lacks the begin of its TCP stream")
            parts[key][(seq - first[key]) & 0xFFFFFFFF] = f.payload
    for key, pieces in parts.items():
        whole = b""
        for at in sorted(pieces):
            if at > len(whole):
                raise ValueError(f"octets {len(whole)}..{at} of a TCP stream are missing")
            whole += pieces[at][len(whole) - at:]
        yield key, whole


CRC_TABLE = []
for _i in range(256):
    for _ in range(8):
        _i = (_i >> 1) ^ (0x82F63B78 if _i & 1 else 0)
    CRC_TABLE.append(_i)


def crc32c(data):
    c = 0xFFFFFFFF
    for x in data:
        c = CRC_TABLE[(c ^ x) & 255] ^ (c >> 8)
    return c ^ 0xFFFFFFFF


class Walk:
    """Walks the FPDUs of one direction."""

    def __init__(self, data, markers):
        self.data, self.markers = data, markers
        self.at = self.count = 0
        self.opcodes = set()
        self.length_at = None

    def marker(self):
        """The markers at this place; returns their octets."""
        if not self.markers or self.at % 512:
            return b""
        m = self.data[self.at:self.at + 4]
        back = 0 if self.length_at is None else self.at - self.length_at
        if m != struct.pack(">HH", 0, back):
            raise ValueError(f"marker at {self.at} is {m.hex()}, not back by {back}")
        self.at += 4
        return m

    def take(self, n):
        """(n octets of the FPDU, the same with markers as the CRC counts them)"""
        plain = counted = b""
        while len(plain) < n:
            counted += self.marker()
            if self.length_at is None:
                self.length_at = self.at
            room = 512 - self.at % 512 if self.markers else n
            piece = self.data[self.at:self.at + min(room, n - len(plain))]
            if not piece:
                raise ValueError(f"the stream ends within an FPDU, at {self.at}")
            plain, counted, self.at = plain + piece, counted + piece, self.at + len(piece)
        return plain, counted

    def fpdu(self):
        self.length_at = None
        head, counted = self.take(2)
        length = struct.unpack(">H", head)[0]
        ulpdu, more = self.take((2 + length + 3) // 4 * 4 - 2)
        self.opcodes.add(ulpdu[1] & 15)
        counted += more + self.marker()
        crc = struct.unpack("<I", self.data[self.at:self.at + 4])[0]
        if crc != crc32c(counted):
            raise ValueError(f"CRC of the FPDU before octet {self.at} is wrong")
        self.at += 4
        self.count += 1


def mpa_fpdus(records):
    """(How many FPDUs there are, their opcodes); ValueError says what is wrong with one."""
    streams = dict(tcp_streams(records))
    count, opcodes = 0, set()
    for key, data in streams.items():
        if not data.startswith(b"MPA ID Re"):
            raise ValueError("a TCP stream does not begin with an MPA frame")
        half = (len(key) - 4) // 2
        back = key[half:2 * half] + key[:half] + key[-2:] + key[-4:-2]
        # Markers go to the end that asked for them.
        walk = Walk(data[20 + struct.unpack(">H", data[18:20])[0]:], streams[back][16] & 0x80)
        while walk.at < len(walk.data):
            walk.fpdu()
        count += walk.count
        opcodes |= walk.opcodes
    return count, opcodes
