/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory of the program that peers read and write. Its pages are exchanged for those of one memfd of the process, in which a page has the place of its
 * address, as long as a region has them:
 *
 *   program's pages   | page | page | page |       the carrier maps the same places of the memfd
 *   memfd             | page | page | page |
 *
 * So a region is one piece of the memfd whatever regions share its pages. Octets that another thread writes to these pages in the moment of the exchange, or
 * of the way back, are lost; RDS_GET_MR is for memory at rest. A child of fork() gets private pages: those that belong to regions whole
 * show the octets of the fork, and later ones, until the child writes to them; the others are copied.
 */
#ifndef ULP_RDS_PRELOAD_MEMORY_H
#define ULP_RDS_PRELOAD_MEMORY_H

#include <stdint.h>

/*
 * Exchanges the pages of [addr, addr + len), unless they are. Returns the memfd, which stays this file's, or a negative errno: -EFAULT: there is no
 * memory that may be written; -EOPNOTSUPP: it is shared with other processes already, or it is the stack.
 */
int rds_memory_share(uint64_t addr, uint64_t len);
/* The region of this cookie has these octets now. Returns 0 or -ENOMEM. */
int rds_memory_enter(uint64_t cookie, uint64_t addr, uint64_t len);
/* It has not been made after all: pages of no other region become private again. */
void rds_memory_restore(uint64_t addr, uint64_t len);
/* The region of this key has ended; the same. A key that is not known does nothing. */
void rds_memory_leave(uint32_t key);

#endif
