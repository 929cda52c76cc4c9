/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The datagram with which a member asks which slot is at an index. It goes from an
 * address to itself through the steering program; the opcode is in the
 * manufacturer's range and its QPN is 0, so that a foreign receiver drops it.
 *
 *	byte 0		0xff
 *	bytes 1..4	magic
 *	bytes 5..7	0
 *	byte 8		index asked for
 *	byte 9		slot whose mailbox wants the answer
 *	bytes 10..17	nonce of the search (host order: it never leaves the host)
 */
#ifndef LINK_UDP_PROBE_H
#define LINK_UDP_PROBE_H

#define UDP_PROBE_OPCODE 0xffu
#define UDP_PROBE_MAGIC 1
#define UDP_PROBE_MAGIC_TEXT "dpl?"
#define UDP_PROBE_INDEX 8
#define UDP_PROBE_SLOT 9
#define UDP_PROBE_NONCE 10
#define UDP_PROBE_BYTES 18

#endif
