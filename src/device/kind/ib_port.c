/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/kind/ib_port.h"

#include "device/adapter.h"
#include "device/kind/ib_sa.h"
#include "device/why.h"
#include "engine/event.h"
#include "engine/gid.h"
#include "link/fabric/names.h"
#include "proto/ib/ibp.h"
#include "util/alloc.h"
#include "util/fault_calls.h"
#include "util/ip.h"
#include "util/log.h"
#include "util/sys.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define PORT_MS 20000 /* the fabric process sends a port when it has a processor; a stopped one must not stop its visitors for good */
#define PHYS_DISABLED 3
#define MAX_MSG_SZ (1u << 30)

/* From open() to close(). Guarded by dev.lock, but for what open() sets once. */
struct ib_port {
	struct att_place place; /* fixed */
	int fd;                 /* the attachment; -1: the fabric has ended */
	int epfd;               /* the attachment and the timer of sa; -1: none */
	struct att_port now;
	bool active;
	enum { IPOIB_UNKNOWN, IPOIB_ABSENT, IPOIB_THERE } ipoib;
	struct fabric_names *names; /* NULL: connections cannot be made */
	struct ib_sa sa;
};

static struct ib_port *port_of(const struct dev_adapter *a)
{
	return a->port;
}

static void say(const char *sentence)
{
	ut_error("%s", sentence);
	dev_why_keep(UT_SAY_FAILURE, sentence);
}

int dev_ib_place(struct att_place *ret)
{
	char why[ATT_WHY_MAX];
	int r = att_place_of_env(ret, why);

	if (r < 0)
		say(why);
	return r > 0;
}

/* Attaches, and receives the port. Returns a descriptor, or -errno with the sentence said. */
static int attach(const struct att_place *where, struct att_welcome *node, struct att_port *port)
{
	char why[ATT_WHY_MAX];
	struct att_msg m;
	int fd = att_connect(where, DEV_IB_PORT, node, why), r;

	if (fd < 0) {
		say(why);
		return fd;
	}
	r = att_wait(fd, &m, PORT_MS);
	if (r == 1 && m.type == ATT_PORT) {
		*port = m.u.port;
		return fd;
	}
	ut_close(fd);
	ut_error("fabric %s tells nothing of node %s: the adapter cannot be used; end the fabric by dapple fabric down and start "
		 "it again", where->fabric, where->node);
	return r < 0 ? r : -EPROTO;
}

/* --- before anything is open --- */

static int look(struct att_welcome *node, struct att_port *port)
{
	struct att_place where;
	int fd;

	if (!dev_ib_place(&where))
		return -ENODEV;
	fd = attach(&where, node, port);
	if (fd < 0)
		return fd;
	ut_close(fd);
	return 0;
}

int dev_ib_find(struct dev_info *ret, int max)
{
	struct att_welcome node;
	struct att_port port;
	int r = max < 1 ? -ENODEV : look(&node, &port);

	if (r < 0)
		return r == -EMFILE || r == -ENFILE || r == -ENOMEM ? r : 0;
	*ret = (struct dev_info){ .name = "dpl_ib0", .kind = DEV_IB, .node_type = IBV_NODE_CA, .guid = node.node_guid,
				  .image_guid = node.image_guid };
	return 1;
}

static void to_attr(const struct att_port *p, struct ibv_port_attr *ret)
{
	*ret = (struct ibv_port_attr){
		.state = p->state, .phys_state = p->phys_state, .max_mtu = p->mtu_cap, .active_mtu = p->neighbor_mtu,
		.gid_tbl_len = p->guids_n, .port_cap_flags = p->cap_mask, .port_cap_flags2 = p->cap_mask2,
		.max_msg_sz = MAX_MSG_SZ, .pkey_tbl_len = p->pkeys_n, .lid = p->lid, .sm_lid = p->sm_lid, .lmc = p->lmc,
		.max_vl_num = p->vl_cap, .sm_sl = p->sm_sl, .subnet_timeout = p->subnet_timeout,
		.init_type_reply = p->init_type_reply, .active_width = p->width_active,
		.active_speed = p->speed_ext_active ? (uint8_t)(p->speed_ext_active << 4) : p->speed_active,
		.link_layer = IBV_LINK_LAYER_INFINIBAND,
	};
}

int dev_ib_query(const struct dev_info *info, struct ibv_port_attr *ret)
{
	struct att_welcome node;
	struct att_port port;
	int r = look(&node, &port);

	if (r == 0)
		to_attr(&port, ret);
	return r;
}

static void to_gid(const struct att_port *p, unsigned index, uint8_t gid[16])
{
	for (int i = 0; i < 8; i++) {
		gid[i] = (uint8_t)(p->gid_prefix >> (56 - 8 * i));
		gid[8 + i] = (uint8_t)(p->guids[index] >> (56 - 8 * i));
	}
}

/* --- the copy --- */

static void take_gids(struct eng_dev *dev, const struct att_port *p) UT_REQUIRES(dev->lock)
{
	for (unsigned i = 0; i < ENG_GIDS_MAX; i++) {
		struct eng_gid g = { .type = IBV_GID_TYPE_IB };

		if (i < p->guids_n && p->guids[i])
			to_gid(p, i, g.gid.raw);
		eng_gid_set(dev, i, i < p->guids_n && p->guids[i] ? &g : NULL);
	}
}

static void take_values(struct eng_dev *dev, const struct att_port *p) UT_REQUIRES(dev->lock)
{
	struct eng_port *to = &dev->port;

	to->state = p->state;
	to->phys_state = p->phys_state;
	to->max_mtu = p->mtu_cap;
	to->active_mtu = p->neighbor_mtu;
	to->active_width = p->width_active;
	to->active_speed = p->speed_ext_active ? (uint8_t)(p->speed_ext_active << 4) : p->speed_active;
	to->lid = p->lid;
	to->lmc = p->lmc;
	to->sm_lid = p->sm_lid;
	to->sm_sl = p->sm_sl;
	to->subnet_prefix = p->gid_prefix;
	for (unsigned i = 0; i < ENG_PKEYS_MAX; i++)
		to->pkeys[i] = i < p->pkeys_n && i < dev->port.n_pkeys ? p->pkeys[i] : 0;
}

static void raise(struct eng_dev *dev, uint32_t events) UT_REQUIRES(dev->lock)
{
	static const struct {
		uint32_t bit;
		enum ibv_event_type type;
	} rows[] = {
		{ ATT_LID_CHANGE, IBV_EVENT_LID_CHANGE },
		{ ATT_PKEY_CHANGE, IBV_EVENT_PKEY_CHANGE },
		{ ATT_SM_CHANGE, IBV_EVENT_SM_CHANGE },
		{ ATT_CLIENT_REREGISTER, IBV_EVENT_CLIENT_REREGISTER },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (events & rows[i].bit)
			eng_async_port(dev, rows[i].type);
}

static void take(struct dev_adapter *a, const struct att_port *p) UT_EXCLUDES(a->dev.lock)
{
	struct ib_port *port = port_of(a);
	bool was_active;

	ut_lock(&a->dev.lock);
	was_active = port->active;
	port->now = *p;
	port->active = p->state == IBV_PORT_ACTIVE;
	take_values(&a->dev, p);
	take_gids(&a->dev, p);
	dev_ib_sa_port(&port->sa, p);
	if (a->wired)
		ibp_port_changed(&a->dev);
	raise(&a->dev, p->events);
	if (port->active != was_active)
		eng_async_port(&a->dev, port->active ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
	a->port_up = port->active;
	eng_dev_unlock(&a->dev);
}

/* The fabric process has ended, or the node was removed. */
static void lose(struct dev_adapter *a) UT_EXCLUDES(a->dev.lock)
{
	struct ib_port *port = port_of(a);
	bool was_active;
	char text[512];

	ut_close(port->fd);
	port->fd = -1;
	snprintf(text, sizeof(text), "%s: node %s of fabric %s is gone: the adapter sends and receives nothing; end this program, "
		 "start the fabric by dapple fabric up, and the program again", a->info.name, port->place.node,
		 port->place.fabric);
	ut_warn("%s", text);
	dev_why_keep(UT_SAY_FAILURE, text);
	ut_lock(&a->dev.lock);
	was_active = port->active;
	port->active = a->port_up = false;
	a->gone = true;
	dev_ib_sa_lose(&port->sa);
	port->now.state = a->dev.port.state = IBV_PORT_DOWN;
	port->now.phys_state = a->dev.port.phys_state = PHYS_DISABLED;
	if (was_active)
		eng_async_port(&a->dev, IBV_EVENT_PORT_ERR);
	eng_async_port(&a->dev, IBV_EVENT_DEVICE_FATAL);
	eng_dev_unlock(&a->dev);
}

/* --- slots --- */

static void take_mad(struct dev_adapter *a, const struct att_mad *m) UT_EXCLUDES(a->dev.lock)
{
	ut_lock(&a->dev.lock);
	dev_ib_sa_came(&port_of(a)->sa, m);
	eng_dev_unlock(&a->dev);
}

static void run_timers(struct dev_adapter *a) UT_EXCLUDES(a->dev.lock)
{
	ut_lock(&a->dev.lock);
	dev_ib_sa_run(&port_of(a)->sa);
	eng_dev_unlock(&a->dev);
}

int dev_ib_refresh(struct dev_adapter *a)
{
	struct ib_port *port = port_of(a);
	struct att_msg m;
	int r;

	run_timers(a);
	if (port->fd < 0)
		return 0;
	while ((r = att_receive(port->fd, &m, true)) == 1) {
		if (m.type == ATT_MAD)
			take_mad(a, &m.u.mad);
		if (m.type != ATT_PORT || m.u.port.number != DEV_IB_PORT)
			continue;
		take(a, &m.u.port);
		if (m.u.port.events & ATT_NODE_GONE)
			break;
	}
	if (r != -EAGAIN)
		lose(a);
	return 0;
}

int dev_ib_port_fd(struct dev_adapter *a)
{
	return port_of(a)->epfd;
}

struct ib_sa *dev_ib_sa(const struct dev_adapter *a)
{
	return a->port ? &port_of(a)->sa : NULL;
}

struct fabric_names *dev_ib_names(const struct dev_adapter *a)
{
	return port_of(a)->names;
}

/* Returns 1 with the address of the port that was asked with, or 0. */
static int port_address(struct fabric_names *names, struct dev_nl_addr *ret)
{
	struct fabric_peer self;

	if (fabric_names_find(names, 0, fabric_names_guid(names), &self) < 0 || !self.ip)
		return 0;
	*ret = (struct dev_nl_addr){ .ifindex = 0 };
	memset(ret->addr + 10, 0xff, 2);
	for (int i = 0; i < 4; i++)
		ret->addr[12 + i] = (uint8_t)(self.ip >> (24 - 8 * i));
	return 1;
}

static struct fabric_names *open_names(const struct att_place *at)
{
	const struct fabric_place where = { .fabric = at->fabric, .node = at->node, .port = DEV_IB_PORT };
	struct fabric_names *names;
	char why[FABRIC_WHY_MAX];

	if (fabric_names_open(&where, &names, why) == 0)
		return names;
	say(why);
	return NULL;
}

/* dapple-ipoib's interfaces, and the kernel's, are ib0, ib1, ... */
static bool is_ipoib(uint32_t ifindex)
{
	char name[IF_NAMESIZE];

	return if_indextoname(ifindex, name) && !strncmp(name, "ib", 2);
}

static bool find_ipoib(const uint8_t addr[16])
{
	struct dev_nl_addr *v = NULL;
	bool found = false;
	int n = dev_nl_addrs(&v);

	for (int i = 0; i < n && !found; i++)
		found = ut_ip_same(v[i].addr, addr) && is_ipoib(v[i].ifindex);
	free(v);
	return found;
}

/* The port's address. Without one the adapter works, and the RDMA CM does not. */
static void learn_address(struct dev_adapter *a)
{
	struct ib_port *port = port_of(a);

	port->names = open_names(&port->place);
	a->n_addrs = port->names ? port_address(port->names, a->addrs) : 0;
}

bool dev_ib_has_ipoib(struct dev_adapter *a)
{
	struct ib_port *port = port_of(a);

	if (port->ipoib == IPOIB_UNKNOWN)
		port->ipoib = a->n_addrs && find_ipoib(a->addrs[0].addr) ? IPOIB_THERE : IPOIB_ABSENT;
	return port->ipoib == IPOIB_THERE;
}

int dev_ib_addrs(const struct dev_info *info, struct dev_nl_addr *ret)
{
	struct fabric_names *names;
	struct att_place where;
	int n;

	if (!dev_ib_place(&where))
		return 0;
	names = open_names(&where);
	n = names ? port_address(names, ret) : 0;
	fabric_names_close(names);
	return n;
}

/* What the background thread waits for. Without it the adapter works; it learns of no change. */
static void watch(struct dev_adapter *a)
{
	struct epoll_event e = { .events = EPOLLIN };
	struct ib_port *port = port_of(a);
	int r = dev_ib_sa_open(&port->sa, a);

	if (r == 0)
		r = dev_ib_sa_attach(&port->sa, port->fd, &port->now);
	port->sa.sm_lid = port->now.sm_lid;
	port->sa.sm_sl = port->now.sm_sl;
	port->epfd = ut_epoll();
	if (port->epfd < 0 || ut_epoll_add(port->epfd, port->fd, &e) < 0 ||
	    (port->sa.timer >= 0 && ut_epoll_add(port->epfd, port->sa.timer, &e) < 0))
		r = -errno;
	if (r < 0)
		ut_warn("%s: cannot watch its port (%s): changes of the fabric are not noticed, and connections cannot be made; "
			"raise the limit on descriptors", a->info.name, strerror(-r));
}

static void close_all(struct ib_port *port)
{
	if (port->fd >= 0)
		ut_close(port->fd);
	port->fd = -1;
	if (port->epfd >= 0)
		ut_close(port->epfd);
	port->epfd = -1;
	dev_ib_sa_close(&port->sa);
	fabric_names_close(port->names);
	port->names = NULL;
}

int dev_ib_open(struct dev_adapter *a)
{
	struct ib_port *port = ut_zalloc(sizeof(*port));
	struct att_welcome node;

	if (!port)
		return -ENOMEM;
	port->fd = dev_ib_place(&port->place) ? attach(&port->place, &node, &port->now) : -ENODEV;
	if (port->fd < 0) {
		int r = port->fd;

		free(port);
		return r;
	}
	a->port = port;
	watch(a);
	a->port_up = port->active = port->now.state == IBV_PORT_ACTIVE;
	eng_dev_held(&a->dev); /* no other thread knows it yet */
	a->dev.port.link_layer = IBV_LINK_LAYER_INFINIBAND;
	a->dev.port.n_gids = port->now.guids_n < ENG_GIDS_MAX ? port->now.guids_n : ENG_GIDS_MAX;
	a->dev.port.n_pkeys = (uint8_t)(port->now.pkeys_n < ENG_PKEYS_MAX ? port->now.pkeys_n : ENG_PKEYS_MAX);
	a->dev.attr.orig_attr.max_pkeys = a->dev.port.n_pkeys;
	take_values(&a->dev, &port->now);
	take_gids(&a->dev, &port->now);
	learn_address(a);
	return 0;
}

void dev_ib_close(struct dev_adapter *a)
{
	struct ib_port *port = port_of(a);

	close_all(port);
	free(port);
	a->port = NULL;
}

void dev_ib_port_forget(struct dev_adapter *a)
{
	close_all(port_of(a));
}

/* The inherited connection is the parent's. */
void dev_ib_forked(struct dev_adapter *a)
{
	struct ib_port *port = port_of(a);
	struct att_welcome node;

	if (port->fd < 0)
		return;
	close_all(port);
	port->fd = attach(&port->place, &node, &port->now);
	if (port->fd < 0)
		return;
	watch(a);
	learn_address(a);
}

int dev_ib_query_port(struct eng_dev *dev, struct ibv_port_attr *ret) UT_NO_TSA
{
	/* Any thread may ask, one that holds the progress lock too: values that change meanwhile are old or new ones. */
	to_attr(&port_of(dev_adapter_of(dev))->now, ret);
	return 0;
}
