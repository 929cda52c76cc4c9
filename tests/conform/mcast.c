/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Multicast: receivers of a group, attach and detach. */
#include "conf.h"

#include <string.h>
#include <unistd.h>

/* A group of 239.255/16; the process number keeps parallel runs apart. */
static union ibv_gid group(unsigned seed)
{
	union ibv_gid g = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 239, [13] = 255,
				     [14] = seed >> 8, [15] = seed } };

	return g;
}

static struct cf_opt ud(void)
{
	struct cf_opt o = cf_opt();

	o.type = IBV_QPT_UD;
	return o;
}

static struct ibv_ah *group_ah(struct ibv_pd *pd, const union ibv_gid *g)
{
	struct ibv_ah_attr a = cf_ah_attr();
	struct ibv_ah *ah;

	a.grh.dgid = *g;
	a.grh.hop_limit = 1;
	ah = ibv_create_ah(pd, &a);
	if (!ah)
		CF_DIE("no address handle for a group: %s", strerror(errno));
	cf_keep((cf_undo)ibv_destroy_ah, ah, "ibv_destroy_ah");
	return ah;
}

static void shout(struct cf_side *a, struct ibv_ah *ah, uint64_t id, uint32_t len)
{
	cf_post(a, .op = IBV_WR_SEND, .id = id, .len = len, .ah = ah, .qpn = 0xffffff,
		.qkey = a->o.qkey);
	cf_wc(a->scq, id, SUCCESS);
}

static void members(void)
{
	struct cf_opt o = ud();
	struct cf_side a, b, c;
	union ibv_gid g = group(getpid());
	struct ibv_ah *ah;

	cf_pair(&a, &b, &o);
	cf_side_again(&c, &b);
	cf_up(&c, IBV_QPS_RTS, NULL);
	ah = group_ah(a.pd, &g);
	CF_OK(ibv_attach_mcast(b.qp, &g, 0));
	CF_OK(ibv_attach_mcast(c.qp, &g, 0));
	CF_OK(ibv_attach_mcast(c.qp, &g, 0)); /* twice is once */
	CF_OK(ibv_attach_mcast(a.qp, &g, 0));
	for (int i = 0; i < 2; i++) {
		cf_recv(&a, i, 0, 2000);
		cf_recv(&b, i, 2000 * i, 2000);
		cf_recv(&c, i, 8000 + 2000 * i, 2000);
	}
	cf_fill(a.buf + 10000, 500, 1);
	cf_post(&a, .op = IBV_WR_SEND, .id = 9, .off = 10000, .len = 500, .ah = ah, .qpn = 0xffffff,
		.qkey = o.qkey);
	cf_wc(a.scq, 9, SUCCESS);
	CF_EQ(cf_wc(b.rcq, 0, SUCCESS).src_qp, a.qp->qp_num);
	cf_wc(c.rcq, 0, SUCCESS);
	cf_wc(a.rcq, 0, SUCCESS); /* the sender is a member too */
	cf_verify(b.buf + 40, 500, 1);
	cf_verify(c.buf + 8040, 500, 1);
	cf_quiet(b.rcq);
	cf_quiet(c.rcq);
	/* Destroy waits for detach. */
	CF_ERR(ibv_destroy_qp(b.qp), EBUSY);
	CF_OK(ibv_detach_mcast(b.qp, &g, 0));
	CF_ERR(ibv_detach_mcast(b.qp, &g, 0), EINVAL);
	shout(&a, ah, 10, 100);
	cf_wc(c.rcq, 1, SUCCESS);
	cf_quiet(b.rcq);
	CF_OK(ibv_detach_mcast(c.qp, &g, 0));
	CF_OK(ibv_detach_mcast(a.qp, &g, 0));
}

static void refusals(void)
{
	struct cf_opt o = ud();
	struct cf_side a, rc;
	union ibv_gid g = group(1), bad = cf.gid;

	cf_side(&a, &o);
	bad = cf.gid; /* not a group */
	CF_ERR(ibv_attach_mcast(a.qp, &g, 0), EINVAL); /* RESET */
	cf_up(&a, IBV_QPS_RTS, NULL);
	CF_ERR(ibv_attach_mcast(a.qp, &bad, 0), EINVAL);
	o.type = IBV_QPT_RC;
	cf_side(&rc, &o);
	cf_move(&rc, IBV_QPS_INIT, NULL);
	CF_ERR(ibv_attach_mcast(rc.qp, &g, 0), EINVAL);
}

/* Q_Keys are looked at for groups as well; other groups are not heard. */
static void strangers(void)
{
	struct cf_opt o = ud();
	struct cf_side a, b;
	union ibv_gid g = group(getpid()), h = group(getpid() + 1);

	cf_pair(&a, &b, &o);
	CF_OK(ibv_attach_mcast(b.qp, &g, 0));
	cf_recv(&b, 1, 0, 2000);
	shout(&a, group_ah(a.pd, &h), 2, 10);
	cf_post(&a, .op = IBV_WR_SEND, .id = 3, .len = 20, .ah = group_ah(a.pd, &g),
		.qpn = 0xffffff, .qkey = o.qkey ^ 2);
	cf_wc(a.scq, 3, SUCCESS);
	shout(&a, group_ah(a.pd, &g), 4, 30);
	CF_EQ(cf_wc(b.rcq, 1, SUCCESS).byte_len, 70);
	CF_OK(ibv_detach_mcast(b.qp, &g, 0));
}

static void listener(struct cf_party *p)
{
	struct cf_opt o = ud();
	struct cf_side s;
	union ibv_gid mine = group(getpid()), g;

	cf_side(&s, &o);
	cf_up(&s, IBV_QPS_RTS, NULL);
	cf_swap(p, &mine, &g, sizeof(g));
	if (p->first)
		g = mine;
	CF_OK(ibv_attach_mcast(s.qp, &g, 0));
	cf_recv(&s, 1, 0, 2000);
	cf_recv(&s, 2, 2000, 2000);
	cf_meet(p);
	if (p->first)
		shout(&s, group_ah(s.pd, &g), 3, 111);
	CF_EQ(cf_wc(s.rcq, 1, SUCCESS).byte_len, 151);
	cf_meet(p);
	if (!p->first)
		shout(&s, group_ah(s.pd, &g), 3, 112);
	CF_EQ(cf_wc(s.rcq, 2, SUCCESS).byte_len, 152);
	cf_meet(p);
	CF_OK(ibv_detach_mcast(s.qp, &g, 0));
}

static void two_processes(void)
{
	cf_processes(listener, listener);
}

const struct cf_check cf_checks[] = {
	{ "67", "two members and the sender, twice attached, destroy", CF_UD | CF_MCAST, members },
	{ "67", "attach refused: type, state, address", CF_UD | CF_MCAST, refusals },
	{ "67", "other groups and Q_Keys are not heard", CF_UD | CF_MCAST, strangers },
	{ "67", "members in two processes", CF_UD | CF_MCAST, two_processes },
	{ 0 },
};
