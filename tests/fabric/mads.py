#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""
A program at a node that sends MADs of its own making through libibumad, for tests: prints one line of JSON.

    mads.py perf LID [--qkey N] [--pkey-index N]    Get of ClassPortInfo of the PMA: its status, or null if none came
    mads.py guess LID COUNT [--right KEY]           Gets of NodeInfo with COUNT wrong M_Keys: how many were answered
    mads.py flood LID COUNT                         Sends of a vendor class that nothing reads: how many left, seconds
    mads.py noise LID COUNT SEED                    MADs of random bytes, classes and lengths: how many were accepted
    mads.py join MGID [--leave]                     member of a multicast group: the MLID, and the SA's status
    mads.py register ADDRESS [--gid GID] [--nth N]  a service record of DAPL's ATS as gen1's SA client has it: the SA's status
    mads.py resolve ADDRESS|GID [--like gen1|ibal]  the other half of it, by the components that those two ask with
    mads.py target IOC NAME                         serves device management as a storage target does, until it is killed
"""
import argparse
import ctypes
import ipaddress
import json
import random
import struct
import time

SMP, SA, PERF, VENDOR = 0x01, 0x03, 0x04, 0x32
GSI_QKEY = 0x80010000
QKEY_AT = 24    # in struct ib_user_mad
u = ctypes.CDLL("libibumad.so.3", use_errno=True)
for name in ("umad_set_addr", "umad_set_pkey", "umad_status"):
    getattr(u, name).argtypes = [ctypes.c_void_p] + [ctypes.c_int] * {"umad_set_addr": 4, "umad_set_pkey": 1}.get(name, 0)
u.umad_send.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int]
u.umad_recv.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int), ctypes.c_int]


def signed(v):
    return ctypes.c_int(v).value


class Port:
    def __init__(self):
        u.umad_init()
        self.fd = u.umad_open_port(None, 0)
        if self.fd < 0:
            raise SystemExit("umad_open_port failed")
        self.head = u.umad_size()
        self.buf = ctypes.create_string_buffer(self.head + 256)
        self.mad = ctypes.addressof(self.buf) + self.head
        self.agents = {}

    def agent(self, mgmt_class, version=1):
        if mgmt_class not in self.agents:
            oui = (ctypes.c_uint8 * 3)(0, 0x14, 5)
            self.agents[mgmt_class] = u.umad_register_oui(self.fd, mgmt_class, 0, oui, None) if mgmt_class >= 0x30 else \
                u.umad_register(self.fd, mgmt_class, version, 0, None)
        return self.agents[mgmt_class]

    def send(self, agent, mad, lid, qp, qkey=GSI_QKEY, pkey_index=0, timeout=0, length=256):
        ctypes.memset(self.buf, 0, self.head)
        u.umad_set_addr(self.buf, lid, qp, 0, signed(qkey))
        u.umad_set_pkey(self.buf, pkey_index)
        ctypes.memmove(self.mad, bytes(mad).ljust(256, b"\0")[:256], 256)
        return u.umad_send(self.fd, agent, self.buf, length, timeout, 0)

    def ask(self, mgmt_class, mad, lid, qp, version=1, timeout=1000, **kw):
        """Returns the answer's bytes, or None after the time-out."""
        agent = self.agent(mgmt_class, version)
        if self.send(agent, mad, lid, qp, timeout=timeout, **kw) < 0:
            return None
        length = ctypes.c_int(256)
        if u.umad_recv(self.fd, self.buf, ctypes.byref(length), timeout + 2000) < 0 or u.umad_status(self.buf):
            return None
        return ctypes.string_at(self.mad, 256)


def head(mgmt_class, method, attr, modifier=0, tid=1, version=1):
    return bytearray(struct.pack(">BBBBHHQHHI", 1, mgmt_class, version, method, 0, 0, tid, attr, 0, modifier))


def perf(port, args):
    r = port.ask(PERF, head(PERF, 1, 1), args.lid, 1, qkey=args.qkey, pkey_index=args.pkey_index)
    return {"status": r and struct.unpack(">H", r[4:6])[0]}


def guess(port, args):
    answered = 0
    for i in range(args.count):
        mad = head(SMP, 1, 0x11, tid=i + 1) + struct.pack(">Q", 0x1234567 + i)
        answered += port.ask(SMP, mad, args.lid, 0, qkey=0, timeout=60) is not None
    right = port.ask(SMP, head(SMP, 1, 0x11, tid=0x999) + struct.pack(">Q", args.right), args.lid, 0, qkey=0)
    return {"answered": answered, "right": right is not None}


def flood(port, args):
    agent = port.agent(VENDOR)
    begun, left = time.monotonic(), 0
    for i in range(args.count):
        left += port.send(agent, head(VENDOR, 3, 1, tid=i + 1), args.lid, 1) == 0
    return {"left": left, "seconds": time.monotonic() - begun}


def noise(port, args):
    rng = random.Random(args.seed)
    agents = [port.agent(c) for c in (SMP, PERF, VENDOR)]
    left = 0
    for _ in range(args.count):
        mad = bytearray(rng.randbytes(256))
        if rng.random() < 0.7:
            mad[0:3] = bytes((1, rng.choice((SMP, 0x81, SA, PERF, 5, 6, 7, VENDOR, rng.randrange(256))), rng.choice((1, 2))))
            mad[3] = rng.choice((1, 2, 3, 5, 6, 7, 0x81, 0x12, 0x92, rng.randrange(256)))
            mad[16:18] = struct.pack(">H", rng.choice((0x10, 0x11, 0x12, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1b, 0x20, 0xff)))
        lid = rng.choice((args.lid, 0xffff, 0, 0xc000, rng.randrange(1, 64)))
        left += port.send(rng.choice(agents), mad, lid, rng.choice((0, 1, 1, 77)), rng.choice((GSI_QKEY, 0, 5)),
                          rng.choice((0, 0, 1, 99)), 0, rng.choice((256, 256, 36, 24, 8, 255))) == 0
    return {"left": left}


def own_port():
    """LID of the subnet manager, and the port's GID."""
    with open("/sys/class/infiniband/dpl_ib0/ports/1/sm_lid") as f:
        sm = int(f.read(), 16)
    with open("/sys/class/infiniband/dpl_ib0/ports/1/gids/0") as f:
        return sm, ipaddress.IPv6Address(f.read().strip()).packed


ATS_ID, ATS_NAME = 0x10000CE100415453, b"DAPL Address Translation Service"
ENDLESS = 0xFFFFFFFF


def service(port, method, mask, ident=0, gid=bytes(16), data8=bytes(16)):
    """ServiceRecord (15.2.5.14) of ATS, with the default P_Key and an endless lease."""
    mad = head(SA, method, 0x31, version=2)
    mad += bytes(12) + struct.pack(">QHHQ", 0, 0, 0, mask)
    mad += struct.pack(">Q16sHHI16s64s16s", ident, gid, 0xFFFF, 0, ENDLESS, bytes(16), ATS_NAME, data8)
    r = port.ask(SA, mad, own_port()[0], 1, version=2, timeout=5000)
    return {"status": r and struct.unpack(">H", r[4:6])[0], "gid": r and str(ipaddress.IPv6Address(r[64:80])),
            "address": r and (str(ipaddress.IPv4Address(r[180:184])) if r[168:180] == bytes(12) else
                              str(ipaddress.IPv6Address(r[168:184]))),
            "lid": own_port()[0]}


def data8_of(address):
    return ipaddress.ip_address(address).packed.rjust(16, b"\0")


def register(port, args):
    gid = ipaddress.IPv6Address(args.gid).packed if args.gid else own_port()[1]
    return service(port, 2, 0x57, ATS_ID + (args.nth << 32), gid, data8_of(args.address))


def resolve(port, args):
    if args.address.startswith("fe80"):
        return service(port, 1, 0x43, ATS_ID, gid=ipaddress.IPv6Address(args.address).packed)
    # IBAL's DAPL: any service ID, and P_Key, lease and name as well; gen1: ID, name and all octets of the address.
    mask = {"gen1": 0x7FFFC1, "ibal": 1 << 2 | 1 << 4 | 1 << 6 | 0xFFFF << 7}[args.like]
    return service(port, 1, mask, ATS_ID, data8=data8_of(args.address))


def join(port, args):
    """MCMemberRecord (15.2.5.17): MGID, PortGID and JoinState, by the SA at the SM's LID."""
    sm, gid = own_port()
    mask = 1 << 0 | 1 << 1 | 1 << 16
    mad = head(SA, 0x15 if args.leave else 2, 0x38, version=2)
    mad += bytes(12) + struct.pack(">QHHQ", 0, 0, 0, mask)
    mad += ipaddress.IPv6Address(args.mgid).packed + gid
    mad += bytes(16) + bytes((1,)) + bytes(3)   # Q_Key to HopLimit are the group's; Scope and JoinState
    r = port.ask(SA, mad, sm, 1, version=2, timeout=5000)
    return {"status": r and struct.unpack(">H", r[4:6])[0], "mlid": r and struct.unpack(">H", r[56 + 36:56 + 38])[0]}


def dm_attribute(attr, args):
    """IOUnitInfo, IOControllerProfile and ServiceEntries (16.3.3) of one controller with one service; None: no such one."""
    if attr == 1:
        return bytes((1, 1)) + bytes(70)
    if attr == 0x10:
        return struct.pack(">HBB", 1, 1, 0) + bytes((0x10,)) + bytes(127)
    if attr == 0x11:
        return struct.pack(">QIIHHIIHHHHIHBBIIBBB9s64s", args.ioc, 0xda00 << 8, 0x42, 1, 0, 0, 0, 0x0100, 0x609e, 0x108, 1, 0, 64, 0,
                           4, 8192, 65536, 0, 0, 1, bytes(9), args.name.encode())
    if attr == 0x12:
        return struct.pack(">40sQ", f"SRP.T10:{args.ioc:016x}".encode(), args.ioc)
    return None


def target(port, args):
    mask = (ctypes.c_long * 2)(1 << 1 | 1 << 2, 0)
    agent = u.umad_register(port.fd, 6, 1, 0, mask)
    if agent < 0:
        raise SystemExit("umad_register failed")
    print(json.dumps({"agent": agent}), flush=True)
    while True:
        length = ctypes.c_int(256)
        if u.umad_recv(port.fd, port.buf, ctypes.byref(length), -1) < 0:
            return {"ended": True}
        mad = bytearray(ctypes.string_at(port.mad, 256))
        data = dm_attribute(struct.unpack(">H", mad[16:18])[0], args)
        mad[3] = 0x81
        mad[4:6] = struct.pack(">H", 0 if data else 0x0c)
        mad[64:] = (data or b"").ljust(192, b"\0")
        ctypes.memmove(port.mad, bytes(mad), 256)
        # The address is that of the request, but for the Q_Key, which receivers do not see.
        struct.pack_into(">I", port.buf, QKEY_AT, GSI_QKEY)
        u.umad_send(port.fd, agent, port.buf, 256, 0, 0)


def main():
    p = argparse.ArgumentParser()
    subs = p.add_subparsers(dest="what", required=True)
    for name, words in (("perf", ["lid"]), ("guess", ["lid", "count"]), ("flood", ["lid", "count"]), ("noise", ["lid", "count", "seed"]),
                        ("join", [])):
        s = subs.add_parser(name)
        for w in words:
            s.add_argument(w, type=int)
        s.add_argument("--qkey", type=int, default=GSI_QKEY)
        s.add_argument("--pkey-index", type=int, default=0)
        s.add_argument("--right", type=int, default=0)
        if name == "join":
            s.add_argument("mgid")
            s.add_argument("--leave", action="store_true")
    for name in ("register", "resolve"):
        s = subs.add_parser(name)
        s.add_argument("address")
        s.add_argument("--gid")
        s.add_argument("--nth", type=int, default=0)
        s.add_argument("--like", choices=("gen1", "ibal"), default="gen1")
    s = subs.add_parser("target")
    s.add_argument("ioc", type=lambda x: int(x, 16))
    s.add_argument("name")
    args = p.parse_args()
    print(json.dumps(globals()[args.what](Port(), args)))


main()
