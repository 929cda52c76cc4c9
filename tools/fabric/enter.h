/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Entering a node of a fabric: the place of this process, in its environment, and the namespaces of the node if it has some. */
#ifndef FABRIC_ENTER_H
#define FABRIC_ENTER_H

#include <stddef.h>

/* node: its name, or another word by which the fabric finds it. Called in a process with one thread, before it executes a
 * program. Returns 0, or an exit code after a sentence. */
int enter_node(const char *fabric, const char *node);

/* Writes the node's address as text: that of its namespace. Returns 0, or -1 if the fabric has no namespaces or no such node. */
int enter_address(const char *fabric, const char *node, char *ret, size_t size);

#endif
