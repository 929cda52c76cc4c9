/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Descriptors of the program. A replay has each recorded number open, because calls that are executed take the lowest
 * free one: as an object of its own where the program maps it, else as a place holder.
 */
#ifndef REPLAY_DESCRIPTORS_H
#define REPLAY_DESCRIPTORS_H

#include <stdbool.h>

enum rp_fd {
	RP_FD_PLACE,  /* a place holder; what comes in by it is in the record */
	RP_FD_NET,    /* the same; a socket of the network: what is sent is a message */
	RP_FD_OUTPUT, /* written to in a replay as well */
	RP_FD_MEMORY, /* private memory in a replay: calls that change it are executed as well */
	RP_FD_FILE,   /* a file that is open for reading, where a replay finds it */
};

enum rp_fd rp_fd_kind(int fd);
void rp_fd_set(int fd, enum rp_fd kind);

/* Replay: the program gets a descriptor of that number. `open` is one of that kind, or -1; it is closed. */
void rp_fd_place(int fd, int open, enum rp_fd kind);

#endif
