/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The standby: a second process of the carrier that has a copy of each descriptor which may not be closed by the end of the owner, and does
 * nothing else. When the owner is killed it becomes the owner, with a standby of its own.
 *
 *   carrier --fork()--> standby                    descriptors: listener for requests, ends of programs' sockets,
 *   is the owner <--descriptors by a socket pair-->  TCP connections and listeners
 *   killed        --end of the socket pair-->        owner; forks the next standby, then opens its adapters
 *
 * It has no thread, and has not called verbs: the fork() is one of a process with one thread. If the standby itself is killed, the owner goes on
 * without one. If owners die one right after the other - of what they find in the memory - the last standby goes, too. SIGTERM ends both.
 */
#ifndef ULP_RDS_STANDBY_H
#define ULP_RDS_STANDBY_H

#include "ulp/preload/name.h"

#include <stdbool.h>
#include <stdint.h>

enum rds_standby_kind {
	RDS_STANDBY_SOCK = 1,           /* key: number of the socket */
	RDS_STANDBY_TCP,                /* key: row of the connection */
	RDS_STANDBY_LISTENER,           /* addr */
};

/*
 * Forks the standby and returns in the owner: at once with false, or with true in what was the standby and has to take over. The owner's
 * orderly end needs rds_standby_dismiss() before.
 */
bool rds_standby_fork(void);
void rds_standby_dismiss(void);

/* Gives the standby a copy of a descriptor, in the place of one before; has it close that (fd: -1). */
void rds_standby_keep(enum rds_standby_kind kind, uint64_t key, const struct rsp_addr *addr, int fd);
/* The descriptor that the dead owner has left, which is the caller's then; or -1. The standby of the caller has a copy. */
int rds_standby_take(enum rds_standby_kind kind, uint64_t key, const struct rsp_addr *addr);
/* Closes those that nothing has taken, here and in the standby. */
void rds_standby_close_rest(void);

#endif
