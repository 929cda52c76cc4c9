/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Service IDs of this host's addresses: bound endpoints and listeners. The
 * carrier holds the name (address, service) against other processes; inside this
 * one the table of bound endpoints has it. Several endpoints share a
 * name when all of them allow it and at most one listens.
 */
#include "cm/ibcm/bind.h"

#include "engine/gid.h"
#include "util/ip.h"
#include "wire/sdp_fields.h"

#include <errno.h>
#include <string.h>

static struct ibcm_ep *holder(struct ibcm *cm, const uint8_t addr[16], uint64_t service,
			      const struct ibcm_ep *not)
{
	return ibcm_key_find(cm, IBCM_BY_BIND, addr, service, 0, not);
}

/* True if e may share a name that another endpoint of this process has. */
static bool may_share(const struct ibcm_ep *e, const struct ibcm_ep *other)
{
	return e->ep.opt.reuse && other->ep.opt.reuse && other->state != IBCM_LISTEN;
}

static int take(struct ibcm_ep *e, uint64_t service)
{
	struct ibcm *cm = e->cm;
	struct ibcm_ep *other = holder(cm, e->ep.local.addr, service, e);
	int r;

	if (other && !may_share(e, other))
		return -EADDRINUSE;
	r = other ? 0 : cm->cfg.carrier->claim(cm->dev, e->ep.local.addr, service);
	if (r)
		return r;
	ibcm_key_add(e, IBCM_BY_BIND, e->ep.local.addr, service, 0);
	e->claimed = true;
	e->ep.service = service;
	return 0;
}

void ibcm_unbind(struct ibcm_ep *e)
{
	struct ibcm *cm = e->cm;

	if (!e->claimed)
		return;
	e->claimed = false;
	ut_list_del(&e->key[IBCM_BY_BIND].node);
	if (!holder(cm, e->ep.local.addr, e->ep.service, e))
		cm->cfg.carrier->unclaim(cm->dev, e->ep.local.addr, e->ep.service);
}

static uint32_t ports(const struct ibcm *cm)
{
	return (uint32_t)cm->cfg.port_max - cm->cfg.port_min + 1;
}

static uint32_t gcd(uint32_t a, uint32_t b)
{
	return b ? gcd(b, a % b) : a;
}

/* Every port of the range once, from a random one on in a random stride. */
static int take_any(struct ibcm_ep *e, uint64_t service)
{
	struct ibcm *cm = e->cm;
	uint32_t n = ports(cm), at = ut_rng_below(&cm->rng, n), step;
	int r = -EADDRINUSE;

	do
		step = 1 + ut_rng_below(&cm->rng, n);
	while (gcd(step, n) != 1);
	for (uint32_t i = 0; i < n && r == -EADDRINUSE; i++, at = (at + step) % n)
		r = take(e, service | (cm->cfg.port_min + at));
	return r;
}

static int local_address(struct ibcm *cm, const uint8_t addr[16])
{
	struct ibv_ah_attr ah;

	return cm->cfg.carrier->way(cm->dev, addr, addr, true, &ah) < 0 ? -EADDRNOTAVAIL : 0;
}

static struct ibcm_ep *make(struct cm_port *p, const struct cm_bind *b, int *ret)
{
	struct ibcm *cm = p->manager;
	struct ibcm_ep *e;

	*ret = local_address(cm, b->local.addr);
	if (*ret)
		return NULL;
	e = ibcm_ep_new(cm);
	if (!e) {
		*ret = -ENOMEM;
		return NULL;
	}
	e->ep.local = b->local;
	e->ep.service = b->service;
	e->ep.opt = b->opt;
	return e;
}

int ibcm_bind(struct cm_port *p, const struct cm_bind *b, struct cm_ep **ret)
{
	struct ibcm *cm = p->manager;
	bool ip = ibcm_is_ip(b->service);
	uint16_t port = (uint16_t)b->service;
	struct ibcm_ep *e;
	int r;

	if (ip && port && port < cm->cfg.port_privileged)
		return -EACCES;
	e = make(p, b, &r);
	if (!e)
		return r;
	r = ip && !port ? take_any(e, b->service) : take(e, b->service);
	if (r) {
		ibcm_ep_free(e);
		return r;
	}
	e->ep.local.port = (uint16_t)e->ep.service;
	*ret = &e->ep;
	return 0;
}

int ibcm_create(struct cm_port *p, const struct cm_bind *b, struct cm_ep **ret)
{
	struct ibcm *cm = p->manager;
	struct ibcm_ep *e;
	int r;

	e = make(p, b, &r);
	if (!e)
		return r;
	if (!e->ep.local.port)
		e->ep.local.port = (uint16_t)(cm->cfg.port_min + ut_rng_below(&cm->rng, ports(cm)));
	*ret = &e->ep;
	return 0;
}

int ibcm_listen(struct cm_ep *ep, int backlog)
{
	struct ibcm_ep *e = ibcm_of(ep), *other;

	if (e->state != IBCM_IDLE || !e->claimed)
		return -EINVAL;
	/* A listener is the first of those that share its name. */
	other = holder(e->cm, ep->local.addr, ep->service, e);
	if (other && other->state == IBCM_LISTEN)
		return -EADDRINUSE;
	e->backlog = backlog > 0 && backlog < (int)IBCM_BACKLOG_MAX ? (uint32_t)backlog
								    : IBCM_BACKLOG_MAX;
	ibcm_enter(e, IBCM_LISTEN);
	ibcm_key_first(e, IBCM_BY_BIND);
	return 0;
}

struct ibcm_ep *ibcm_listener(struct ibcm *cm, const struct gsi_rx *rx, uint64_t service,
			      bool *ret_passed)
{
	struct ibcm_ep *e = holder(cm, rx->dst, service, NULL);

	*ret_passed = false;
	if (e && e->state == IBCM_LISTEN)
		return e;
	if (!rx->raw || !rx->raw->passed)
		*ret_passed = cm->cfg.carrier->pass_on(cm->dev, rx, service) == 1;
	return NULL;
}

/* --- service IDs and the IP CM header --- */

/*
 * The RDMA IP CM service (annex A11): a range of service IDs whose requests
 * begin their private data with the IP addresses and the sender's port. GIDs of
 * RoCE are addresses too, so both must say the same; a header that names
 * different ones is refused.
 */

bool ibcm_is_ip(uint64_t service)
{
	uint64_t space = service >> 16;

	return space == CM_PS_SDP || space == CM_PS_TCP || space == CM_PS_UDP || space == CM_PS_IB ||
	       space == CM_PS_IPOIB;
}

unsigned ibcm_header(uint64_t service)
{
	return ibcm_is_ip(service) && service >> 16 != CM_PS_SDP ? IBCM_IP_HEADER : 0;
}

/* IPv4 in the last four bytes, the rest zero. */
static void put_addr(uint8_t to[16], const uint8_t addr[16], bool v4)
{
	memcpy(to, addr, 16);
	if (v4)
		memset(to, 0, 12);
}

void ibcm_ip_build(uint8_t *h, const struct link_end *src, const struct link_end *dst)
{
	bool v4 = ut_ip_is_v4(dst->addr);
	uint8_t addr[16];

	memset(h, 0, WIRE_IP_CM_LEN);
	wire_set_IP_CM_ip_version(h, v4 ? 4 : 6);
	wire_set_IP_CM_src_port(h, src->port);
	put_addr(addr, src->addr, v4);
	wire_set_IP_CM_src_addr(h, addr);
	put_addr(addr, dst->addr, v4);
	wire_set_IP_CM_dst_addr(h, addr);
}

static bool same(const uint8_t *in, const uint8_t addr[16], bool v4)
{
	return v4 ? !memcmp(in + 12, addr + 12, 4) : !memcmp(in, addr, 16);
}

static bool fits(const uint8_t *src, const uint8_t *dst, unsigned version, const struct gsi_rx *rx)
{
	bool v4 = version == 4;

	return (v4 || version == 6) && v4 == ut_ip_is_v4(rx->dst) && v4 == ut_ip_is_v4(rx->src) &&
	       same(src, rx->src, v4) && same(dst, rx->dst, v4);
}

bool ibcm_ip_check(uint64_t service, const uint8_t *data, const struct gsi_rx *rx, uint16_t *ret_port)
{
	if (service >> 16 == CM_PS_SDP) {
		*ret_port = (uint16_t)wire_get_SDP_HELLO_port(data);
		return fits(wire_get_SDP_HELLO_src_addr(data), wire_get_SDP_HELLO_dst_addr(data),
			    (unsigned)wire_get_SDP_HELLO_ip_version(data), rx);
	}
	*ret_port = (uint16_t)wire_get_IP_CM_src_port(data);
	return !wire_get_IP_CM_version_major(data) &&
	       fits(wire_get_IP_CM_src_addr(data), wire_get_IP_CM_dst_addr(data),
		    (unsigned)wire_get_IP_CM_ip_version(data), rx);
}
