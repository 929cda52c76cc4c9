/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses and ports by DAPL's Address Translation Service: what the subnet administrator of a node answers. */
#ifndef FABRIC_RESOLVE_H
#define FABRIC_RESOLVE_H

/* Prints address and GID of a registered port; the word is either, asked for from this node. Returns an exit code, after a
 * sentence if it is not 0. */
int resolve_name(const char *fabric, const char *node, const char *word);

#endif
