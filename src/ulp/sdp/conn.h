/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A connection of SDP (IBTA volume 1, annex A4): a stream of octets in each direction over one RC queue pair.
 *
 *   Data          the sender copies into a message (BCopy)
 *   SrcAvail      the sender advertises memory, the receiver fetches it by RDMA Read and answers RdmaRdCompl, or
 *                 asks for Data by SendSm (read zero copy)
 *   SinkAvail     the receiver advertises memory in which its program waits, the sender fills it by RDMA Write and says so by
 *                 RdmaWrCompl (write zero copy); see advert.h for the modes
 *
 * A connection belongs to one thread. That thread waits for sdp_conn_fds() for sdp_conn_wait() milliseconds, and
 * calls sdp_conn_progress(); it then takes what has been received and gives what is to be sent.
 */
#ifndef ULP_SDP_CONN_H
#define ULP_SDP_CONN_H

#include "ulp/conn.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define SDP_CONN_FDS 2
#define SDP_PORT_SPACE 0x0001           /* RDMA_PS_SDP in the kernel */
#define SDP_STAGE (256 * 1024)          /* longest advertisement that is sent, and longest RDMA Read */

struct sdp_conn;

struct sdp_conf {
	uint32_t receive_size;  /* octets of a receive, the base header included: 1,024 to 1 MiB */
	uint32_t receive_max;   /* to which it may grow, by the peer's wish; of the peer's, by ours: at most 1 MiB; 0: never */
	uint16_t depth;         /* receives, and messages under way: 8 to 1,024 */
	uint32_t advertise;     /* memory is advertised from this many octets on; 0: never */
	int advert_ms;          /* an advertisement that is not answered is cancelled after it */
	int keepalive_s;        /* silence after which an RDMA Write of no octets looks for the peer; 0: never */
};

/* 32 KiB, 64 KiB, 64, 64 KiB, 1 s, 2 h: OFED's values. */
extern const struct sdp_conf sdp_conf_default;

struct sdp_counts {
	uint64_t data, sent;                    /* messages with Data, and octets of all kinds, sent */
	uint64_t received;                      /* octets */
	uint64_t src_avail, rd_compl, send_sm, cancelled; /* advertisements sent, and how they ended */
	uint64_t reads;                         /* RDMA Reads of the peer's advertisements */
	uint64_t sink_avail, written, discarded; /* SinkAvails sent, and how they ended; the rest was taken back */
	uint64_t writes, stale, crossed;        /* RDMA Writes into SinkAvails of the peer; those that came too late; those that
						   took the place of a SrcAvail */
	uint64_t mode_changes;                  /* sent */
	uint64_t moves;                         /* of the stream to another connection, by the peer */
	uint64_t longer;                        /* size to which the peer's receives have grown; 0: not */
	uint64_t updates;                       /* Data messages that carried credits alone */
};

/*
 * Connects to a server, from an address with or without a port where `from` is given; returns when the connection stands,
 * after at most timeout_ms. Returns the connection, or NULL: *ret_err is a positive errno, why a sentence.
 */
struct sdp_conn *sdp_connect(const struct sockaddr *from, const struct sockaddr *to, const struct sdp_conf *conf,
			     int timeout_ms, int *ret_err, char why[ULP_WHY_MAX]);
/* Accepts a request with its private data; the identifier becomes the connection's, also on failure. */
struct sdp_conn *sdp_accept(struct rdma_cm_id *id, const void *data, size_t len, const struct sdp_conf *conf,
			    int timeout_ms, char why[ULP_WHY_MAX]);
/* Frees the connection; one that is not over is aborted. */
void sdp_conn_close(struct sdp_conn *c);

void sdp_conn_fds(const struct sdp_conn *c, struct pollfd fds[SDP_CONN_FDS]);
/* Milliseconds until something is due; -1: only the descriptors bring it. */
int sdp_conn_wait(const struct sdp_conn *c);
/* Sleeps for both; as ulp_poll(). */
int sdp_conn_sleep(const struct sdp_conn *c);
/* Does what is due. Returns 0, or a negative errno when the connection has failed; sdp_conn_why() says why. */
int sdp_conn_progress(struct sdp_conn *c);
/*
 * The same for a thread that polls: without looks at the descriptors, so that an end of the connection may stay unseen. Returns 1
 * if something has completed, 0, or a negative errno.
 */
int sdp_conn_poll(struct sdp_conn *c);
const char *sdp_conn_why(const struct sdp_conn *c);
/* The positive errno of that failure, or 0. */
int sdp_conn_failed(const struct sdp_conn *c);

/* The addresses of both ends, as a socket names them. */
void sdp_conn_names(const struct sdp_conn *c, struct sockaddr_storage *ret_local, struct sockaddr_storage *ret_peer);

/* --- sending --- */

/* Room for the next octets, or NULL: there is none now. With `large`, room for an advertisement if it may be sent. */
uint8_t *sdp_send_room(struct sdp_conn *c, bool large, size_t *ret_len);
/* Sends octets that were written to the room, with no other call between; the last one is urgent with `oob`. */
int sdp_send(struct sdp_conn *c, const uint8_t *room, size_t len, bool oob);
/*
 * Sends octets of the program's memory without a copy, if they may go now. Returns true if they go: they stay as they are until
 * sdp_send_is_busy() is false, or the region is deregistered. mr is of this connection's domain and permits the peer to read.
 */
bool sdp_send_from(struct sdp_conn *c, const uint8_t *at, uint32_t len, const struct ibv_mr *mr);
bool sdp_send_is_busy(const struct sdp_conn *c);
/*
 * Takes back what has not gone of sdp_send_from(). It has ended when sdp_send_is_busy() is false; sdp_send_gone() then says how
 * many octets the peer has.
 */
void sdp_send_stop(struct sdp_conn *c);
uint32_t sdp_send_gone(const struct sdp_conn *c);
/* Octets of the peer's memory that a Read under way fetches. */
uint32_t sdp_conn_fetches(const struct sdp_conn *c);
/* True if sdp_send_from() would send. */
bool sdp_send_may_begin(const struct sdp_conn *c);
/* True if the peer is of this host, as far as the last octets tell: many go faster by the stage than from the program's memory. */
bool sdp_send_is_local(const struct sdp_conn *c);
/* True if the peer has memory advertised: octets go there without waiting for it. */
bool sdp_conn_takes_writes(const struct sdp_conn *c);
/* The program will send no more: DisConn follows the last octets. */
void sdp_send_end(struct sdp_conn *c);

/* --- receiving --- */

/* Octets that have been received, or NULL: none now. With *ret_oob the last one is urgent. */
const uint8_t *sdp_received(const struct sdp_conn *c, size_t *ret_len, bool *ret_oob);
void sdp_received_take(struct sdp_conn *c, size_t len);
/*
 * Memory in which the program waits for octets, so that they come there without a copy: sdp_received() then gives octets that
 * lie in it. mr is of this connection's domain and permits the peer to write. The memory is in use until sdp_is_wanting() is
 * false, which it becomes by the first octets that come, in this memory or elsewhere, and at the latest by
 * their deregistration and sdp_conn_close(). One at a time.
 */
void sdp_want(struct sdp_conn *c, uint8_t *at, uint32_t len, const struct ibv_mr *mr);
/* The same without SinkAvail: octets that the peer advertises are read to this memory, which can be taken back at any time. */
void sdp_want_reads(struct sdp_conn *c, uint8_t *at, uint32_t len, const struct ibv_mr *mr);
bool sdp_is_wanting(const struct sdp_conn *c);
/* Asks for the memory back. sdp_is_wanting() says when it is, and the octets that came meanwhile count. */
void sdp_want_no_more(struct sdp_conn *c);
/* The domain of the connection, for those regions; they are deregistered before sdp_conn_close(). */
struct ibv_pd *sdp_conn_domain(const struct sdp_conn *c);
/* True behind the last octets of a peer that will send no more. */
bool sdp_received_end(const struct sdp_conn *c);

/* --- the move --- */

/*
 * Moves the stream to another owner (suspend.h), who listens at this port in the port space of SDP, and accepts there: sends what has been
 * given, and no more. True of sdp_is_moved(): the peer is about to connect there. Octets that have come until then are taken here, by
 * sdp_received(); then comes sdp_conn_close(). A stream whose directions
 * have both ended is over instead. The other end of a move has nothing to do; its descriptors for sdp_conn_fds() stay.
 */
void sdp_suspend(struct sdp_conn *c, uint16_t port);
bool sdp_is_moved(const struct sdp_conn *c);

/* --- the end --- */

/* Both directions have ended in order, or this end has left, and the queue pair is disconnected. */
bool sdp_is_over(const struct sdp_conn *c);
/*
 * The program will send no more, and goes: behind the last octets and DisConn, once the peer's adapter has them, the connection is over, without
 * the peer's end. The peer has all, but what it sends is lost.
 */
void sdp_leave(struct sdp_conn *c);
/* Ends the connection at once: the peer sees a reset. */
void sdp_abort(struct sdp_conn *c);

const struct sdp_counts *sdp_conn_counts(const struct sdp_conn *c);

#endif
