/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The standby: a second process of the carrier that has a copy of each descriptor which may not be closed by the end of the owner, and does
 * nothing else. When one of the two is killed, the other one makes it anew.
 *
 *   carrier --posix_spawn()--> standby: this program from its begin, with the descriptors of the memory and the listener for requests
 *   is the owner --descriptors by a socket pair--> ends of programs' sockets, TCP connections and listeners
 *   killed       --end of the socket pair-->       owner; starts the next standby, then opens its adapters
 *   owner        <--end of the socket pair--       killed
 *     \--posix_spawn()--> standby, which is given all descriptors again
 *
 * The owner has threads, so it does not fork(): each standby is a new program. Descriptors wait for it in the socket pair, so it has them even
 * if the owner is killed before it has begun. If owners die one right after the other - of what they find in the memory - the last standby
 * goes, too. SIGTERM ends both.
 */
#ifndef ULP_RDS_STANDBY_H
#define ULP_RDS_STANDBY_H

#include "ulp/rds/record.h"

#include <stdbool.h>
#include <stdint.h>

enum rds_standby_kind {
	RDS_STANDBY_SOCK = 1,           /* key: number of the socket */
	RDS_STANDBY_TCP,                /* key: row of the connection */
	RDS_STANDBY_LISTENER,           /* addr */
};

/* The owner's orderly end needs it before. */
void rds_standby_dismiss(void);

/* Descriptors of a standby, and the word on its command line. */
#define RDS_STANDBY_WORD "standby"
enum { RDS_STANDBY_PAIR_FD = RDS_LISTEN_FD + 1, RDS_STANDBY_STORE_FD, RDS_STANDBY_MAPS_FD, RDS_STANDBY_FDS };

/* In the standby: stands by. Returns when the owner has been killed and it has to take over. */
void rds_standby_begin(void);
/* The owner: starts a standby; the one before has ended, or there was none. maps_fd: of the congestion maps. Returns 0 or a negative errno. */
int rds_standby_renew(int maps_fd);
/* The owner: a descriptor that is readable when the standby has ended; -1: there is none. */
int rds_standby_fd(void);

/* Gives the standby a copy of a descriptor, in the place of one before; has it close that (fd: -1). Returns 0 or -ENOMEM: then it is as before. */
int rds_standby_keep(enum rds_standby_kind kind, uint64_t key, const struct rsp_addr *addr, int fd);
/* The descriptor that the dead owner has left, which is the caller's then; or -1. The standby of the caller has a copy. */
int rds_standby_take(enum rds_standby_kind kind, uint64_t key, const struct rsp_addr *addr);
/* Gives back what rds_standby_take() gave: the descriptor stays open here and in the standby, and can be taken again, also by the next owner. */
void rds_standby_leave(enum rds_standby_kind kind, uint64_t key, const struct rsp_addr *addr);
/* Closes those that nothing has taken, here and in the standby. */
void rds_standby_close_rest(void);

#endif
