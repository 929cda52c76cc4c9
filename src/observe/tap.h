/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The observer of one adapter: it writes a record for each packet, message, access and frame into a ring. While it is
 * there, a datagram link and the shm channel have operations that write records around their own ones; a protocol
 * calls a link_tap for the rest. Without an observer the operations are the link's, so that nothing is tested or
 * called for it. A link or channel has one overlay at a time, and the one laid last is taken away first.
 *
 * Guarded by the adapter's progress lock.
 */
#ifndef OBSERVE_TAP_H
#define OBSERVE_TAP_H

#include "host/shm/channel.h"
#include "link/link.h"
#include "link/tap.h"
#include "observe/ring.h"

#define OBS_COPY SHM_CHANNEL_MAX /* the longest payload of a record */

struct obs_config {
	uint64_t ring_bytes;
	uint32_t payload; /* octets of payload in each record */
	uint32_t out, in; /* 1: records of what this process sends, receives */
};

struct obs_tap {
	struct link_tap tap; /* for protocols */
	struct obs_config cfg;
	struct obs_ring ring;
	uint8_t *copy; /* OBS_COPY bytes, for payload in memory that may be gone */
	uint16_t port; /* UDP port of the peers; 0: packets are between LIDs */

	struct link *link; /* NULL: no overlay */
	const struct link_ops *link_ops;
	struct link_ops link_over;

	struct shm_channel *chan; /* likewise */
	const struct shm_channel_ops *chan_ops;
	struct shm_channel_ops chan_over;
	struct ut_flow flow; /* of the last reserve() */

	/* Flows of the last messages, and their places in the ring's table; those of OBS_FLOW_APART are in apart. */
	struct ut_flow sent;
	uint8_t received[32]; /* source and destination */
	uint32_t sent_flow, received_flow;
	struct obs_flow apart;

	/* The time of the message that was watched last, and of those of a ring up to a tail. */
	uint64_t sent_at, heard_at, heard_seen;
	const struct shm_rx *heard;
};

/* Makes the observer and its ring. Returns the ring's descriptor, to be passed and closed, or -errno. */
int obs_tap_make(struct obs_tap **ret, const struct obs_config *cfg, const char *adapter);
/* The overlays have been taken away. */
void obs_tap_free(struct obs_tap *t);

void obs_tap_link(struct obs_tap *t, struct link *l);
void obs_tap_channel(struct obs_tap *t, struct shm_channel *c);
/* Takes the overlays away. */
void obs_tap_leave(struct obs_tap *t);

#endif
