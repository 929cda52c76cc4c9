/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef RUN_NETLINK_H
#define RUN_NETLINK_H

/* The few rtnetlink requests that joining two namespaces needs.  A socket
 * speaks for ever to the namespace it was opened in.  0 or negative errno. */

#include <stdbool.h>

int nl_open(void);

/* A veth pair: one end here, the other, of the same name, in the namespace
 * peer_ns. */
int nl_veth(int nl, const char *name, int mtu, int peer_ns);

int nl_link_up(int nl, const char *name);

/* The carrier is there and addresses may be used. */
bool nl_link_running(int nl, const char *name);

/* family AF_INET or AF_INET6; IPv6 without duplicate detection, so that it
 * serves at once. */
int nl_address(int nl, const char *name, int family, const char *address, int prefix);

#endif
