/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A client of subnet administration (IBTA vol 1, chapter 15): path records, membership of multicast groups, and addresses by
 * DAPL's Address Translation Service. Pure: MADs and time in, MADs and answers out.
 *
 *	path   Get(PathRecord) by both GIDs and the P_Key; one question for all that ask the same at once; the answer
 *	       is kept while `generation` stands, which the caller moves with each change of the fabric
 *	join   Set(MCMemberRecord) for the first user of a group, Delete for the last; all groups are joined again when a
 *	       subnet manager asks for it (ClientReregister), since a new one knows none
 *	name   Set(ServiceRecord) of the port's own address, again as groups; Get(ServiceRecord) of the port that has an
 *	       address, and of the address that a port has. A record stays when its registrant ends, as its address does
 *
 * A question is repeated until its time is over: MADs are lost, and an SA may be BUSY. The caller guards all of it by one
 * lock, and gets answers from inside sac_receive(), sac_run() and sac_end().
 */
#ifndef MGMT_SA_CLIENT_H
#define MGMT_SA_CLIENT_H

#include "mgmt/mad.h"
#include "util/list.h"

#include <stdbool.h>
#include <stdint.h>

#define SAC_PATHS 256u          /* kept */
#define SAC_REPEAT_MS 500u      /* between two copies of a question */

/* Of a path between two ports. */
struct sac_path {
	uint16_t slid, dlid, pkey;
	uint8_t sl, mtu, rate, life, hop_limit, tclass;
	uint32_t flow_label;
};

/* Of a group, as a member has it. */
struct sac_group {
	uint8_t mgid[16];
	uint32_t qkey, flow_label;
	uint16_t mlid, pkey;
	uint8_t sl, mtu, rate, tclass, hop_limit, join_state; /* join_state: 1 full, 4 send-only (15.2.5.17) */
	bool joins_only;          /* in a join: a group that is not there is not made */
	bool is_exact;            /* in a join: one that is made has all of these, and not what the SA chooses */
};

/* An address and the port that has registered it. IPv4 addresses are mapped ones. */
struct sac_name {
	uint8_t addr[16], gid[16];
};

struct sac_ops {
	/* Sends a MAD to the SA. A failure counts as a loss. */
	void (*send)(void *ctx, const uint8_t mad[MAD_LEN]);
	/* Answers, each ticket once: 0 or a negative errno. -EHOSTUNREACH: the SA knows none. */
	void (*path)(void *ctx, uint64_t ticket, int status, const struct sac_path *p);
	void (*group)(void *ctx, uint64_t ticket, int status, const struct sac_group *g);
	/* -ENOTUNIQ too: several ports have registered it. */
	void (*name)(void *ctx, uint64_t ticket, int status, const struct sac_name *n);
};

struct question;
struct sac {
	const struct sac_ops *ops;
	void *ctx;
	struct ut_list questions, members;
	uint32_t tid_high, tid;   /* of transaction IDs: the agent's, and a count */
	struct sac_name own;      /* registered; no GID: none */
	uint16_t own_pkey;
	struct question *registering;
	uint64_t generation;      /* of the paths kept */
	unsigned n_kept, next_kept;
	struct {
		uint8_t sgid[16], dgid[16];
		uint16_t pkey;
		struct sac_path path;
	} kept[SAC_PATHS];
};

void sac_init(struct sac *s, const struct sac_ops *ops, void *ctx);
/* Ends all questions with this negative errno, and forgets groups and paths. */
void sac_end(struct sac *s, int status);
/* The same without an answer: those that asked are gone. */
void sac_fini(struct sac *s);
/* The agent of these transaction IDs is registered. */
void sac_agent(struct sac *s, uint32_t tid_high);

/* Finds a path. Returns 0 with one that is kept, -EINPROGRESS: ops->path() answers the ticket within timeout_ms; -ENOMEM. */
int sac_path(struct sac *s, const uint8_t sgid[16], const uint8_t dgid[16], uint16_t pkey, uint64_t generation,
	     int timeout_ms, uint64_t ticket, uint64_t now, struct sac_path *ret);
/* Adds a user to a group: mgid, qkey, pkey and join_state count (of joins_only: mgid and join_state; of is_exact: all but
 * mlid); an MGID of zeros asks for a new group. Returns 0 with the
 * group if the port is a member, -EINPROGRESS: ops->group() answers; -ENOMEM. Each success is undone by sac_leave(). */
int sac_join(struct sac *s, const uint8_t port_gid[16], const struct sac_group *want, int timeout_ms, uint64_t ticket,
	     uint64_t now, struct sac_group *ret);
/* Takes a user away. tell: the last one tells the SA; no other process of the port is a member. */
void sac_leave(struct sac *s, const uint8_t mgid[16], uint8_t join_state, bool tell, uint64_t now);
/* Registers the port's address, from here on. One address; the same one again is nothing. */
void sac_register(struct sac *s, const struct sac_name *own, uint16_t pkey, uint64_t now);
/* Looks for the other half of a name: by its address, or (by_gid) by its GID. Returns -EINPROGRESS: ops->name() answers; or
 * -ENOMEM. */
int sac_find_name(struct sac *s, const struct sac_name *half, bool by_gid, int timeout_ms, uint64_t ticket, uint64_t now);
/* A subnet manager asks clients to register again, or the port has come up. */
void sac_reregister(struct sac *s, const uint8_t port_gid[16], uint64_t now);

/* A MAD for the agent has come. */
void sac_receive(struct sac *s, const uint8_t mad[MAD_LEN], uint64_t now);
/* Repeats the requests whose time has come, and ends those that were repeated often enough. */
void sac_run(struct sac *s, uint64_t now);
/* Returns when that is next, or UT_NEVER. */
uint64_t sac_deadline(const struct sac *s);

#endif
