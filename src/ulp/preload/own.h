/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections of SDP in the process of their program, for `dapple run --sdp-own`. Two libraries:
 *
 *   libdapple-sdp-preload.so        libdapple-sdp.so, opened at the first socket that goes by SDP
 *   calls of libc   --------------> relay's threads, direct calls (own.c) <---> peer
 *      \--- the program's stream --/
 *
 * The descriptor stays an end of a stream of the kernel, as with the carrier (name.h), and the relay's thread stands where the carrier
 * does. A call of the program for octets goes to the connection directly, while the stream is empty in its direction; whatever
 * the connection does not take or give at once goes by the stream, so that waiting, time-outs, signals, readiness and descriptors
 * elsewhere are the kernel's. A process that forks shares its connections: from then on they go by the stream alone. Listeners
 * of a process that forks move to the carrier.
 */
#ifndef ULP_PRELOAD_OWN_H
#define ULP_PRELOAD_OWN_H

#include "ulp/preload/request.h"

#include <stdatomic.h>
#include <sys/uio.h>

struct sdp_relay;

struct rsp_own {
	/* Serves a request in a thread, which answers by the socket and closes it. Returns 0 or a negative errno. */
	int (*serve)(int sock, const struct rsp_request *q, const int *fds, int nr);
	/* The connection whose end of the stream has this name, from now on that of the program's descriptor; or NULL. */
	struct sdp_relay *(*find)(const struct sockaddr_un *un, socklen_t len, int fd);
	/*
	 * Octets directly. Returns true if the call has ended with *ret octets; false if *ret of them have gone and the rest is the
	 * stream's.
	 */
	bool (*receive)(struct sdp_relay *r, int fd, const struct iovec *iov, int nr, int flags, ssize_t *ret);
	bool (*send)(struct sdp_relay *r, int fd, const struct iovec *iov, int nr, int flags, ssize_t *ret);
	/* The stream alone from now on. */
	void (*share)(struct sdp_relay *r);
	/* A lease may be in force; the program looks at descriptors now, so that the relay goes on at once. */
	const atomic_bool *leased;
	void (*release)(void);
	/* Before fork(): all are shared. The next listener that is to move to the carrier, or false; *ret_fd is the caller's. */
	void (*before_fork)(void);
	bool (*next_listener)(struct rsp_request *ret, int *ret_fd);
	/* In the child: it has none. */
	void (*in_child)(void);
	/* The process ends: what it has sent is delivered, within bounds. */
	void (*leave)(void);
};

/* What libdapple-sdp.so exports. Each of its threads calls begin(): its own calls for octets are the kernel's. */
const struct rsp_own *rsp_own(void (*begin)(void));

#endif
