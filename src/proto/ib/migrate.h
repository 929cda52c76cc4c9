/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Automatic path migration (IBTA 17.2.8): a connection has an alternate path in reserve, and both ends change to it when
 * one of them finds no way by the first one.
 *
 *	MIGRATED --modify: an alternate path, REARM--> REARM --a packet of the peer with MigReq 0--> ARMED
 *	ARMED    --retries are over; modify: MIGRATED; a packet with MigReq 1 by the alternate path--> MIGRATED
 *
 * Packets of MIGRATED have MigReq 1, of the other states 0. After a migration there is no alternate path until
 * one is loaded. In states other than MIGRATED all messages follow the full rules (slow.h). Called with the progress lock.
 */
#ifndef PROTO_IB_MIGRATE_H
#define PROTO_IB_MIGRATE_H

#include <stdbool.h>
#include <stdint.h>

struct eng_dev;
struct ibp_qp;
struct ibv_qp_attr;
struct link_rx;

/* The attributes were modified, the state of migration among them. */
void ibp_migration_modified(struct ibp_qp *q);
/* Loads the alternate path of attr into the queue pair `qpn` that is connected to `peer`, and rearms it; one that is ARMED
 * stays so, with the new path. Returns 0; -ENOENT: there is none; -EALREADY: it is its path; -EINVAL: its state forbids it. */
int ibp_migration_load(struct eng_dev *dev, uint32_t qpn, uint32_t peer, const struct ibv_qp_attr *attr);
/* The queue pair begins anew. */
void ibp_migration_reset(struct ibp_qp *q);
/* The retries of the oldest request are over. Returns true if it goes on by the alternate path. */
bool ibp_migrate(struct ibp_qp *q);
/* A packet with this MigReq has come, intact, but perhaps not by the queue pair's path. */
void ibp_migration_asked(struct ibp_qp *q, bool migreq, const struct link_rx *rx);
/* A packet with this MigReq has come by the queue pair's path. */
void ibp_migration_heard(struct ibp_qp *q, bool migreq);

#endif
