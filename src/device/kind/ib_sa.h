/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Subnet administration for the RDMA CM of an InfiniBand adapter: a client (mgmt/sa_client.h) whose MADs take the
 * adapter's attachment to its port (ib_port.h), as those of an umad program would.
 *
 *	call                 dev_ib_path(), dev_ib_join(), dev_ib_ask_addr()  -> MAD, -EINPROGRESS; or a path that is kept
 *	background thread    MAD of the SA -> dev_ib_sa_came() -> dev_cm_note_path(), _group(), _name() -> event
 *	timer                repeats and time-outs
 *
 * dev.lock is held unless stated otherwise.
 */
#ifndef DEVICE_KIND_IB_SA_H
#define DEVICE_KIND_IB_SA_H

#include "link/fabric/attach.h"
#include "mgmt/sa_client.h"

struct cm_group;
struct cm_path;
struct dev_adapter;
struct link_end;

struct ib_sa {
	struct dev_adapter *a;
	int fd;      /* the attachment; the port's. -1: it has ended */
	int timer;   /* readable when dev_ib_sa_run() is due; -1: none */
	uint16_t sm_lid;
	uint8_t sm_sl;
	struct sac client;
};

/* Makes the timer. Returns 0 or a negative errno. */
int dev_ib_sa_open(struct ib_sa *sa, struct dev_adapter *a);
void dev_ib_sa_close(struct ib_sa *sa);
/* Registers an agent on an attachment. Waits for the answer; *port becomes a newer one that comes before it. Returns 0,
 * or a negative errno: paths and groups cannot be asked for. */
int dev_ib_sa_attach(struct ib_sa *sa, int fd, struct att_port *port);
/* The attachment has ended: all questions end. */
void dev_ib_sa_lose(struct ib_sa *sa);
/* The port has changed. */
void dev_ib_sa_port(struct ib_sa *sa, const struct att_port *port);
void dev_ib_sa_came(struct ib_sa *sa, const struct att_mad *m);
void dev_ib_sa_run(struct ib_sa *sa);

/* Slots of dev_kind_row. Called without dev.lock. */
int dev_ib_path(struct dev_adapter *a, const struct link_end *src, const struct link_end *dst, int timeout_ms,
		uint64_t ticket, struct cm_path *ret);
int dev_ib_join(struct dev_adapter *a, const struct cm_group *want, uint64_t ticket, struct cm_group *ret);
void dev_ib_leave(struct dev_adapter *a, const struct cm_group *g);
int dev_ib_ask_addr(struct dev_adapter *a, const uint8_t addr[16], int timeout_ms, uint64_t ticket);
/* The same; dev.lock is held. */
void dev_ib_announce(struct dev_adapter *a);

#endif
