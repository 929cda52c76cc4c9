/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Descriptors that come with a message on a unix socket (SCM_RIGHTS, unix(7)). */
#ifndef HOST_RIGHTS_H
#define HOST_RIGHTS_H

struct msghdr;

/* The i-th goes to to[i] if that is -1. All others are closed: a stranger may send any number. */
void link_rights_take(struct msghdr *m, int *to, unsigned n);

#endif
