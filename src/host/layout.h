/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The layout: the version of what the processes of one host give each other to read. Two releases of Dapple meet on one
 * host where a container has another than the host, or a program still runs beside a newer one.
 *
 *     with the layout of its writer         what carries it
 *     messages of a mailbox                 struct host_message, whose form and place of the layout never change
 *     consumer page, process page, ring     their first words, behind the magic
 *     pipes of streams                      the same, and the magic of the rendezvous (link/local/agree.h)
 *
 * Never changed, whatever the layout: the names of slots, locks and services, the slot's bits in a QPN, the header of a
 * message, and the bodies of the types that host_layout_is_base() names: processes of unequal layouts share an address,
 * keep its order, and pass each other's datagrams on. Besides that they use the wire, and each end says so in one
 * sentence for `dapple why` (host_layout_say). All else that one process reads of another's has the layout's number: a
 * change of any of it is a change of HOST_LAYOUT, and of the table in CHANGELOG.md.
 *
 * 0 was everything before the first release, which carried no number.
 */
#ifndef HOST_LAYOUT_H
#define HOST_LAYOUT_H

#include "host/host.h"

#include <stdbool.h>
#include <stdint.h>

/* Ours. A constant of its own file, so that a test builds a second library with another number. */
extern const uint8_t host_layout;

/* Returns true if messages of this type are read from members of any layout. */
bool host_layout_is_base(unsigned type);
/* Says that a process of another layout is reached by the wire. proto: "UDP" or "TCP"; who: names the process. */
void host_layout_say(const char *who, unsigned theirs, const char *proto);

#endif
