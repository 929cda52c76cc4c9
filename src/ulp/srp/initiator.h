/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The initiator of SRP: one session with a target over one RDMA channel. The memory of a command is registered when the
 * command is sent and deregistered when it is done: the target reaches it for that time alone.
 *
 * A session belongs to one thread. That thread submits commands, sleeps by srp_session_sleep() and calls
 * srp_session_progress(), until `done` of the command; or it uses the calls that wait.
 */
#ifndef ULP_SRP_INITIATOR_H
#define ULP_SRP_INITIATOR_H

#include "ulp/srp/chan.h"

#include <sys/uio.h>

#define SRP_PIECES_MAX SRP_DESCRIPTORS_MAX

struct srp_session;

struct srp_conf {
	uint8_t initiator[16];          /* identifier extension, then GUID; all 0: of the adapter's node GUID */
	uint8_t target[16];
	uint16_t depth;                 /* commands under way: 1 to 1,024 */
	uint32_t it_length;             /* longest information unit that is asked for: 64 to 65,536 */
	bool immediate;                 /* data that fits into the command goes there, if the target takes it */
	bool multi;                     /* keep the other channels of this initiator */
	uint16_t pieces_here;           /* descriptors of a list that the command has itself, at most; the rest is in the table */
};

/* 32 commands, 8,260 octets, immediate data: Linux's values. */
extern const struct srp_conf srp_conf_default;

/* A SCSI command, and its outcome. */
struct srp_io {
	uint64_t lun;                   /* as on the wire */
	uint8_t cdb[32];
	uint8_t cdb_len;
	const struct iovec *out, *in;   /* data; their memory is the session's until the command is done */
	unsigned nr_out, nr_in;
	bool done;
	int error;                      /* positive errno: there is no status, as the session has ended or the task was aborted */
	uint8_t status;
	uint8_t sense[SRP_SENSE_MAX];
	uint32_t sense_len;
	uint32_t moved;                 /* octets of data, as the residual says */
	uint64_t tag;
};

struct srp_counts {
	uint64_t commands, responses, direct, indirect, immediate, credit_requests, events, stray;
};

/* What the login has agreed. */
struct srp_agreed {
	uint32_t limit, it_length, ti_length;
	bool immediate;
	enum wire_srp_channels channels;
};

/*
 * Logs in to the target at an address; returns when the session stands, after at most timeout_ms. Returns the session, or
 * NULL: *ret_err is a positive errno, why a sentence. A target that takes shorter information units alone is asked again.
 */
struct srp_session *srp_login(const struct sockaddr *to, const struct srp_conf *conf, int timeout_ms, int *ret_err,
			      char why[ULP_WHY_MAX]);
/* Sends SRP_I_LOGOUT if the session stands, disconnects and frees. Commands without a response are done with an error. */
void srp_logout(struct srp_session *s);

/* Sleeps until srp_session_progress() has something to do, also beside threads that submit; as ulp_poll(). */
int srp_session_sleep(const struct srp_session *s, int timeout_ms);
/* Does what is due. Returns 0, or a negative errno: the session has ended and all commands are done. */
int srp_session_progress(struct srp_session *s);
const char *srp_session_why(const struct srp_session *s);
const struct srp_counts *srp_session_counts(const struct srp_session *s);
const struct srp_agreed *srp_session_agreed(const struct srp_session *s);

/*
 * Submits a command. Returns 0; -EAGAIN: as many are under way as the request limit and the depth allow; -EMSGSIZE: it has
 * too many pieces of data; or another negative errno when the session has ended.
 */
int srp_submit(struct srp_session *s, struct srp_io *io);
/*
 * Submits it and waits; after timeout_ms the task is aborted, and the session ends if that fails. Returns 0 if there is a
 * status, or a negative errno (-ETIMEDOUT: it was aborted).
 */
int srp_execute(struct srp_session *s, struct srp_io *io, int timeout_ms);
/*
 * Aborts a command that is under way, and waits: it is done then, with ETIMEDOUT unless its response has come meanwhile. The
 * session ends, with all commands, if the target neither answers it nor aborts it.
 */
void srp_abort(struct srp_session *s, struct srp_io *io);
/* Sends a task management function and waits. Returns the response code, or a negative errno. */
int srp_manage(struct srp_session *s, enum wire_srp_function function, uint64_t lun, const struct srp_io *task, int timeout_ms);

#endif
