/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How processes of one user on one host reach each other, as DAPPLE_LOCAL says:
 *
 *	(unset)   shared memory, by messages and direct access
 *	off       the wire, as between two hosts
 *
 * and for tests, which want a part of the local path:
 *
 *	packets   RoCE: packets in shared memory, no messages
 *	messages  RoCE: messages, but no process reads or writes the memory of another
 *	streams   iWARP: shared memory also for connections that an application hands over
 *
 * A kind for which a value has no meaning does as if it were unset.
 */
#ifndef DEVICE_KIND_LOCAL_ENV_H
#define DEVICE_KIND_LOCAL_ENV_H

/* Bits of what is allowed. */
enum dev_local {
	DEV_LOCAL_SHM = 1,         /* shared memory at all */
	DEV_LOCAL_MESSAGES = 2,    /* whole messages in it, not packets */
	DEV_LOCAL_DIRECT = 4,      /* the requester executes one-sided operations */
	DEV_LOCAL_HANDED_OVER = 8, /* for handed-over connections, too */
};

/* Returns the bits that DAPPLE_LOCAL allows. A value that is not known is logged, and takes direct access away. */
unsigned dev_local_env(void);

#endif
