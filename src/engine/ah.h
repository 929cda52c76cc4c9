/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address vectors and address handles (IBTA 11.2.2): how a datagram, or a connection, reaches its peer. */
#ifndef ENGINE_AH_H
#define ENGINE_AH_H

#include <infiniband/verbs.h>
#include <stdint.h>

struct eng_pd;

/* As copied from an address handle into every UD work request. Two are compared as bytes. */
struct eng_av {
	/* Of the GRH; without meaning if is_global is 0, which it never is on RoCE. */
	uint8_t dgid[16];
	uint32_t flow_label;
	uint8_t sgid_index, traffic_class, hop_limit;
	/* Of the LRH (InfiniBand links). */
	uint8_t sl;
	uint8_t port_num;
	uint8_t is_global;
	uint16_t dlid;
	uint8_t src_path_bits; /* the source LID is the port's with these low LMC bits */
	uint8_t static_rate;   /* enum ibv_rate */
	uint8_t pad[2];
};
_Static_assert(sizeof(struct eng_av) == 32, "address vectors are copied into every UD entry");

struct eng_ah {
	struct eng_pd *pd;
	struct eng_av av;
};

/* Returns 0, -EINVAL (no such port, or an address that the protocol cannot use), -ENODATA (no such GID) or
 * -ENOMEM. */
int eng_ah_create(struct eng_pd *pd, const struct ibv_ah_attr *attr, struct eng_ah **ret);
void eng_ah_destroy(struct eng_ah *ah);
void eng_av_from_attr(struct eng_av *av, const struct ibv_ah_attr *attr);
void eng_av_to_attr(const struct eng_av *av, struct ibv_ah_attr *attr);

#endif
