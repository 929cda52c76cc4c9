/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/kind/ib_sa.h"

#include "cm/cm.h"
#include "device/adapter.h"
#include "device/cm/cma_host.h"
#include "device/kind/ib_port.h"
#include "device/kind/ib_ways.h"
#include "device/why.h"
#include "link/fabric/names.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/ip.h"
#include "util/log.h"
#include "util/sys.h"
#include "util/syscall.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>

#define AGENT 0
#define CLASS_VERSION 2
#define ANSWER_MS 5000   /* of the fabric process, to a registration */
#define JOIN_MS 20000    /* as the kernel's rdma_cm waits for a group */
#define QKEY_UDP 0x01234567u
#define QKEY_IPOIB 0x0b1bu
#define JOIN_FULL 1      /* JoinState, IBTA 15.2.5.17 */
#define JOIN_SEND_ONLY 4

/* --- the client's operations --- */

static void send_mad(void *ctx, const uint8_t mad[MAD_LEN])
{
	struct ib_sa *sa = ctx;
	struct att_msg m = { .type = ATT_MAD, .u.mad = { .agent = AGENT, .addr = {
		.qpn = 1, .qkey = MAD_QKEY_GSI, .lid = sa->sm_lid, .sl = sa->sm_sl } } };

	memcpy(m.u.mad.bytes, mad, MAD_LEN);
	if (sa->fd >= 0)
		att_send(sa->fd, &m, 0); /* one that is lost is repeated */
}

static struct cm_path to_path(const struct sac_path *p)
{
	return (struct cm_path){
		.slid = p->slid, .dlid = p->dlid, .pkey = p->pkey, .sl = p->sl, .mtu_code = p->mtu, .rate = p->rate,
		.life = p->life, .traffic_class = p->tclass, .hop_limit = p->hop_limit, .flow_label = p->flow_label,
	};
}

static struct cm_group to_group(const struct sac_group *g)
{
	struct cm_group r = {
		.send_only = g->join_state == JOIN_SEND_ONLY, .mlid = g->mlid, .pkey = g->pkey, .qkey = g->qkey,
		.flow_label = g->flow_label, .sl = g->sl, .traffic_class = g->tclass, .hop_limit = g->hop_limit,
	};

	memcpy(r.mgid.raw, g->mgid, 16);
	return r;
}

static void path_found(void *ctx, uint64_t ticket, int status, const struct sac_path *p)
{
	struct cm_path path = to_path(p);
	struct ib_sa *sa = ctx;

	dev_cm_note_path(sa->a, ticket, status, &path);
}

static void group_found(void *ctx, uint64_t ticket, int status, const struct sac_group *g)
{
	struct cm_group group = to_group(g);
	struct ib_sa *sa = ctx;

	dev_cm_note_group(sa->a, ticket, status, &group);
}

/* The subnet's record names a port; connections know it by the address that the fabric has given it. */
static int to_address(struct dev_adapter *a, int status, const struct sac_name *n, uint8_t ret[16])
{
	char text[640], ip[INET6_ADDRSTRLEN], gid[INET6_ADDRSTRLEN];

	eng_dev_held(&a->dev);
	if (status == 0 && dev_ib_addr_of(a, n->gid, ret))
		return 0;
	if (status == -ENOTUNIQ)
		snprintf(text, sizeof(text), "%s: several ports have registered one address by DAPL's Address Translation Service: it "
			 "is not resolved; let all but one of the records of saquery SR be deleted", a->info.name);
	else if (status == 0)
		snprintf(text, sizeof(text), "%s: the port %s that has registered %s by DAPL's Address Translation Service is none of "
			 "this fabric: the address is not resolved; delete the record, which saquery SR shows", a->info.name,
			 ut_ip_text(n->gid, gid), ut_ip_text(n->addr, ip));
	else
		return status;
	ut_warn("%s", text);
	dev_why_keep(UT_SAY_FAILURE, text);
	return status < 0 ? status : -EHOSTUNREACH;
}

static void name_found(void *ctx, uint64_t ticket, int status, const struct sac_name *n)
{
	struct ib_sa *sa = ctx;
	uint8_t addr[16] = { 0 };

	dev_cm_note_name(sa->a, ticket, to_address(sa->a, status, n, addr), addr);
}

static const struct sac_ops ops = { .send = send_mad, .path = path_found, .group = group_found, .name = name_found };

/* --- life --- */

static void set_timer(struct ib_sa *sa)
{
	uint64_t at = sac_deadline(&sa->client);
	struct itimerspec t = { 0 };

	if (at != UT_NEVER) {
		t.it_value.tv_sec = (time_t)(at / UT_S);
		t.it_value.tv_nsec = (long)(at % UT_S);
	}
	timerfd_settime(sa->timer, TFD_TIMER_ABSTIME, &t, NULL);
}

int dev_ib_sa_open(struct ib_sa *sa, struct dev_adapter *a)
{
	sa->a = a;
	sa->fd = -1;
	sa->timer = ut_timerfd();
	sac_init(&sa->client, &ops, sa);
	return sa->timer < 0 ? -errno : 0;
}

void dev_ib_sa_close(struct ib_sa *sa)
{
	sa->fd = -1;
	sac_fini(&sa->client);
	if (sa->timer >= 0)
		ut_close(sa->timer);
	sa->timer = -1;
}

int dev_ib_sa_attach(struct ib_sa *sa, int fd, struct att_port *port)
{
	struct att_msg m = { .type = ATT_REGISTER, .u.reg = { .agent = AGENT, .qpn = 1, .mgmt_class = MAD_CLASS_SA,
							       .class_version = CLASS_VERSION } };
	int r = att_send(fd, &m, ANSWER_MS);

	while (r >= 0 && (r = att_wait(fd, &m, ANSWER_MS)) == 1) {
		if (m.type == ATT_PORT)
			*port = m.u.port;
		if (m.type != ATT_REGISTERED)
			continue;
		if (m.u.registered.err)
			return m.u.registered.err;
		sac_agent(&sa->client, m.u.registered.tid_high);
		sa->fd = fd;
		return 0;
	}
	return r < 0 ? r : -EPROTO;
}

void dev_ib_sa_lose(struct ib_sa *sa)
{
	sa->fd = -1;
	sac_end(&sa->client, -ENODEV);
	set_timer(sa);
}

static const uint8_t *port_gid(const struct ib_sa *sa)
{
	eng_dev_held(&sa->a->dev);
	return sa->a->dev.port.gids[0].gid.raw;
}

void dev_ib_sa_port(struct ib_sa *sa, const struct att_port *port)
{
	sa->sm_lid = port->sm_lid;
	sa->sm_sl = port->sm_sl;
	if (port->events & (ATT_CLIENT_REREGISTER | ATT_PORT_ACTIVE | ATT_SM_CHANGE | ATT_LID_CHANGE))
		sac_reregister(&sa->client, port_gid(sa), ut_now());
	set_timer(sa);
}

void dev_ib_sa_came(struct ib_sa *sa, const struct att_mad *m)
{
	if (m->agent == AGENT)
		sac_receive(&sa->client, m->bytes, ut_now());
	set_timer(sa);
}

void dev_ib_sa_run(struct ib_sa *sa)
{
	sac_run(&sa->client, ut_now());
	set_timer(sa);
}

/* --- calls of the RDMA CM --- */

static bool is_ready(struct dev_adapter *a, const struct ib_sa *sa)
{
	eng_dev_held(&a->dev);
	return sa && sa->fd >= 0 && sa->sm_lid && a->dev.port.state == IBV_PORT_ACTIVE && dev_ib_names(a);
}

static int ask_path(struct dev_adapter *a, const struct link_end *dst, int timeout_ms, uint64_t ticket, struct cm_path *ret)
{
	struct ib_sa *sa = dev_ib_sa(a);
	struct sac_path p;
	uint8_t dgid[16];
	int r;

	eng_dev_held(&a->dev);
	if (!is_ready(a, sa))
		return -ENETDOWN;
	r = dev_ib_gid_of(a, dst->addr, dgid);
	if (r < 0)
		return r;
	r = sac_path(&sa->client, port_gid(sa), dgid, a->dev.port.pkeys[0], fabric_names_generation(dev_ib_names(a)),
		     timeout_ms, ticket, ut_now(), &p);
	if (r == 0)
		*ret = to_path(&p);
	set_timer(sa);
	return r;
}

int dev_ib_path(struct dev_adapter *a, const struct link_end *src, const struct link_end *dst, int timeout_ms,
		uint64_t ticket, struct cm_path *ret)
{
	int r;

	ut_lock(&a->dev.lock);
	r = ask_path(a, dst, timeout_ms, ticket, ret);
	eng_dev_unlock(&a->dev);
	return r;
}

/* --- addresses --- */

static int ask_addr(struct dev_adapter *a, const uint8_t addr[16], int timeout_ms, uint64_t ticket)
{
	struct ib_sa *sa = dev_ib_sa(a);
	struct sac_name half = { .gid = { 0 } };
	int r;

	eng_dev_held(&a->dev);
	if (!is_ready(a, sa))
		return -EHOSTUNREACH;
	memcpy(half.addr, addr, 16);
	r = sac_find_name(&sa->client, &half, false, timeout_ms, ticket, ut_now());
	set_timer(sa);
	return r;
}

int dev_ib_ask_addr(struct dev_adapter *a, const uint8_t addr[16], int timeout_ms, uint64_t ticket)
{
	int r;

	ut_lock(&a->dev.lock);
	r = ask_addr(a, addr, timeout_ms, ticket);
	eng_dev_unlock(&a->dev);
	return r;
}

void dev_ib_announce(struct dev_adapter *a)
{
	struct ib_sa *sa = dev_ib_sa(a);
	struct sac_name self;

	eng_dev_held(&a->dev);
	if (!sa || sa->fd < 0 || a->n_addrs != 1 || dev_ib_has_ipoib(a))
		return;
	memcpy(self.addr, a->addrs[0].addr, 16);
	memcpy(self.gid, port_gid(sa), 16);
	sac_register(&sa->client, &self, a->dev.port.pkeys[0] | 0x8000, ut_now());
	set_timer(sa);
}

/* --- groups --- */

/* An IPv6 group of this form is an MGID that the SA has given (IBTA 4.1.1: transient, with the signature of IB). */
static bool is_mgid(const uint8_t addr[16])
{
	return addr[0] == 0xff && (addr[1] & 0xf0) == 0x10 && addr[2] == 0xa0 && addr[3] == 0x1b;
}

/* The MGID of an IP group (RFC 4391, 4), link-local scope. Groups of the UDP port space have a signature of their own,
 * as rdma_cm's in the kernel: they are none of IPoIB's. */
static void to_mgid(const uint8_t addr[16], enum cm_ps ps, uint16_t pkey, uint8_t mgid[16])
{
	bool v4 = ut_ip_is_v4(addr);

	if (is_mgid(addr) || ut_ip_is_any(addr)) {
		memcpy(mgid, addr, 16);
		return;
	}
	memset(mgid, 0, 16);
	mgid[0] = 0xff;
	mgid[1] = 0x12;
	mgid[2] = v4 ? 0x40 : 0x60;
	mgid[3] = ps == CM_PS_UDP ? 0x01 : 0x1b;
	mgid[4] = (uint8_t)(pkey >> 8);
	mgid[5] = (uint8_t)pkey;
	memcpy(mgid + (v4 ? 12 : 6), addr + (v4 ? 12 : 6), v4 ? 4 : 10);
	if (v4)
		mgid[12] &= 0x0f;
}

static int ask_group(struct dev_adapter *a, const struct cm_group *want, uint64_t ticket, struct cm_group *ret)
{
	struct ib_sa *sa = dev_ib_sa(a);
	struct sac_group g = { .qkey = want->ps == CM_PS_IPOIB ? QKEY_IPOIB : QKEY_UDP,
			       .join_state = want->send_only ? JOIN_SEND_ONLY : JOIN_FULL }, got;
	int r;

	eng_dev_held(&a->dev);
	if (!is_ready(a, sa))
		return -ENETDOWN;
	if (!ut_ip_is_group(want->addr) && !ut_ip_is_any(want->addr))
		return -EINVAL;
	g.pkey = a->dev.port.pkeys[0] | 0x8000;
	to_mgid(want->addr, want->ps, g.pkey, g.mgid);
	r = sac_join(&sa->client, port_gid(sa), &g, JOIN_MS, ticket, ut_now(), &got);
	if (r == 0)
		*ret = to_group(&got);
	set_timer(sa);
	return r;
}

int dev_ib_join(struct dev_adapter *a, const struct cm_group *want, uint64_t ticket, struct cm_group *ret)
{
	int r;

	ut_lock(&a->dev.lock);
	r = ask_group(a, want, ticket, ret);
	eng_dev_unlock(&a->dev);
	return r;
}

/* Other processes of the port may be members still: the SA knows ports alone. */
static bool is_last(struct dev_adapter *a, const struct cm_group *g) UT_REQUIRES(a->dev.lock)
{
	unsigned slot = a->dev.qpn_fixed >> PKT_SLOT_SHIFT;
	uint32_t others = 0;

	return dev_ib_names(a) && fabric_names_members(dev_ib_names(a), g->mgid.raw, slot, &others) == 0 && !others;
}

void dev_ib_leave(struct dev_adapter *a, const struct cm_group *g)
{
	struct ib_sa *sa;

	ut_lock(&a->dev.lock);
	sa = dev_ib_sa(a);
	if (sa) {
		sac_leave(&sa->client, g->mgid.raw, g->send_only ? JOIN_SEND_ONLY : JOIN_FULL, is_last(a, g), ut_now());
		set_timer(sa);
	}
	eng_dev_unlock(&a->dev);
}
