/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An open port: what the kernel keeps for an open /dev/infiniband/umadN (ib_umad, ib_mad).
 * Its number is a descriptor that poll(2) finds readable when umad_recv() may have work: an epoll set of
 *
 *	the socket to the fabric process     MADs, the end of the fabric
 *	a timer                              retries, time-outs, old RMPP transfers
 *	an event                             MADs that have been read, and wait for umad_recv()
 *
 * There is no thread: calls of the program drive timers and RMPP, as does a call of umad_recv(fd, ..., 0) after poll(2).
 * The timer is set when a deadline comes before the one for which it is set, and else left alone: most MADs are
 * answered long before, and cost no system call for it.
 */
#ifndef ABI_UMAD_FILE_H
#define ABI_UMAD_FILE_H

#include "link/fabric/attach.h"
#include "mgmt/rmpp.h"
#include "util/heap.h"
#include "util/list.h"
#include "util/lock.h"

#include <infiniband/umad.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UMAD_BUCKETS 256

/* An agent of the file; its number is its place. Guarded by the file's lock. */
struct umad_agent {
	bool used;
	bool user_rmpp;               /* segments belong to the program */
	uint8_t qpn, rmpp_version;
	uint32_t tid_high;
	struct rmpp_receiver *rmpp;   /* NULL: RMPP is the program's, or none */
};

/* A MAD that waits for its answer or its ACKs, as on send_list of the kernel. */
struct umad_sent {
	struct ut_list node;          /* of its bucket */
	struct ut_timer timer;
	uint32_t agent;
	uint32_t timeout_ms, retries, retries_left;
	struct ib_user_mad header;    /* the program's; comes back if there is no answer */
	struct att_addr to;
	bool in_segments;
	struct rmpp_send rmpp;        /* if in_segments */
	size_t length;
	uint8_t mad[];
};

/* A MAD for umad_recv(). */
struct umad_ready {
	struct ut_list node;
	size_t length;                /* of mad */
	struct ib_user_mad header;
	uint8_t *mad;                 /* for free() */
};

struct umad_file {
	struct ut_mutex lock;
	/* Immutable. */
	int fd, sock, timer, event;
	/* Of the table of files (umad_file_get). */
	unsigned refs;
	/* lock */
	bool gone;                    /* the fabric process, or the node */
	bool event_set;
	uint64_t timer_at;            /* UT_NEVER: not set */
	struct umad_agent agents[ATT_AGENTS_MAX];
	struct ut_list sent[UMAD_BUCKETS];
	struct ut_heap deadlines;
	struct ut_list ready;
};

/* Takes over sock, an attachment to a port. Returns the number of the file, or a negative errno; sock is closed then. */
int umad_file_open(int sock);
/* Returns the open file with this number, to be put back; NULL: there is none. */
struct umad_file *umad_file_get(int fd);
void umad_file_put(struct umad_file *f);
/* Ends the file. Returns 0 or -EBADF. */
int umad_file_close(int fd);

/* Registers an agent; reg->agent is chosen here. Returns its number or a negative errno. */
int umad_file_register(struct umad_file *f, struct att_register *reg, bool user_rmpp);
/* Returns 0 or -EINVAL. */
int umad_file_unregister(struct umad_file *f, unsigned agent);
/* Sends a MAD of `length` bytes behind the header. Returns 0 or a negative errno, as write(2) on umadN. */
int umad_file_send(struct umad_file *f, const struct ib_user_mad *header, const uint8_t *mad, size_t length);
/*
 * Takes what has come, retries and times out, until a MAD is there, for at most wait_ms (-1: without end), and copies
 * it into buf, of room bytes, header first. Returns its bytes; -EAGAIN: none came; -EINVAL or -ENOSPC: it is longer, and
 * still the first (then the header tells its length, and with -ENOSPC the first segment is there); -EINTR after a
 * signal; -EIO: the fabric is gone. With buf NULL it returns 0 when a MAD is there. A cancellation point.
 */
long umad_file_wait(struct umad_file *f, void *buf, size_t room, int wait_ms);

#endif
