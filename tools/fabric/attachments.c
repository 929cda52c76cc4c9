/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "attachments.h"

#include "desc.h"
#include "device/sysfs/node.h"
#include "device/sysfs/tree.h"
#include "issm.h"
#include "link/fabric/socket.h"
#include "mgmt/mad.h"
#include "util/alloc.h"
#include "util/sys.h"
#include "views.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Messages taken from one attachment before the others have their turn: one system call. */
#define TURN 16
/* Connections accepted in a turn. */
#define ACCEPTS 64

/* One process at a node. */
struct attachment {
	struct attachments *all;
	struct ut_list node;          /* of attachments.all, or .dead */
	struct ut_list at_port;       /* of port->attached, or of itself */
	int fd;
	uint64_t serial;              /* never used again: names it in wishes for views */
	pid_t pid;
	bool greeted;                 /* its hello has come */
	bool dead;
	bool waits_for_room;
	uint32_t events;              /* of a PORT message that waits for room; counts if waits_for_room */
	struct attachments_port *port; /* NULL before the hello, and of one that only looks */
	char name[ATT_NAME_MAX];
	struct agents_agent *agents[ATT_AGENTS_MAX];
};

/* What is known of a port that a process has been attached to. */
struct attachments_port {
	struct ut_list node;          /* of attachments.ports */
	void *port;
	struct ut_list attached;
	struct agents_port agents;
	struct issm_file issm;        /* fd -1: no program has asked for it */
	bool viewed;                  /* its node has a stand-in for /sys, to be kept true */
	uint64_t unread;              /* MADs for a process that did not read */
	unsigned dm;                  /* agents that serve device management */
};

struct attachments {
	struct loop *loop;
	int listener;
	bool listens;                 /* false: out of descriptors, until an attachment ends */
	const struct attachments_ops *ops;
	void *fabric;
	struct ut_list all, dead, ports;
	struct agents agents;
	struct issm issm;
	struct desc desc;
	char socket[ATT_PATH_MAX];
	struct views *views;          /* stand-ins for /sys of nodes */
	char view_dir[ATT_PATH_MAX];
	uint64_t serials;
	uint64_t lost;                /* MADs that came to a port and that no process got */
	struct att_msg turn[TURN];    /* received, and not yet taken */
};

/* --- life --- */

static void listen_again(struct attachments *a)
{
	if (a->listens)
		return;
	loop_set(a->loop, a->listener, EPOLLIN);
	a->listens = true;
}

/* As a target of storage does it at an adapter: a port that has an agent for the class says so in its capabilities. */
static bool serves_dm(const struct agents_agent *g)
{
	return g->mgmt_class == MAD_CLASS_DEV_MGT && g->methods[0] >> MAD_GET & 1;
}

static void drop_agent(struct attachments *a, struct attachment *t, unsigned n)
{
	struct agents_agent *g = t->agents[n];

	if (!g)
		return;
	agents_remove(&a->agents, g);
	t->agents[n] = NULL;
	if (serves_dm(g) && !--t->port->dm)
		a->ops->set_dm(a->fabric, t->port->port, false);
	free(g);
}

/* Ends an attachment; its memory stays until the turn is over. */
static void end(struct attachments *a, struct attachment *t)
{
	if (t->dead)
		return;
	t->dead = true;
	for (unsigned i = 0; i < ATT_AGENTS_MAX; i++)
		drop_agent(a, t, i);
	ut_list_del(&t->at_port);
	ut_list_del(&t->node);
	ut_list_add_tail(&a->dead, &t->node);
	loop_del(a->loop, t->fd);
	ut_close(t->fd);
	listen_again(a);
}

void attachments_settle(struct attachments *a)
{
	struct ut_list *n;

	while ((n = ut_list_pop(&a->dead)))
		free(ut_container(n, struct attachment, node));
}

static void forget_port(struct attachments *a, struct attachments_port *p)
{
	struct attachment *t, *next;

	ut_list_each_safe(t, next, &p->attached, at_port)
		end(a, t);
	issm_remove(&a->issm, &p->issm);
	ut_list_del(&p->node);
	*a->ops->slot(a->fabric, p->port) = NULL;
	free(p);
}

static void sm_changed(void *ctx, struct issm_file *f)
{
	struct attachments *a = ctx;
	struct attachments_port *p = ut_container(f, struct attachments_port, issm);

	a->ops->set_sm(a->fabric, p->port, f->on);
}

/* ops->node() takes a GUID as well. */
static void guid_name(uint64_t guid, char ret[ATT_NAME_MAX])
{
	snprintf(ret, ATT_NAME_MAX, "0x%016" PRIx64, guid);
}

static void description_of(const struct att_welcome *w, char ret[DESC_MAX + 1])
{
	memcpy(ret, w->description, DESC_MAX);
	ret[DESC_MAX] = 0;
}

static void desc_written(void *ctx, uint64_t guid, const char *written)
{
	struct attachments *a = ctx;
	char node[ATT_NAME_MAX], before[DESC_MAX + 1], text[DESC_MAX + 1];
	struct att_welcome w = { 0 };

	guid_name(guid, node);
	if (a->ops->node(a->fabric, node, &w))
		return;
	description_of(&w, before);
	snprintf(text, sizeof(text), "%s", written);
	for (char *c = text; *c; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
	desc_cut_rest(text, before, DEV_NODE_NAME);
	a->ops->rename(a->fabric, node, text);
}

/* Each attachment is a descriptor; the usual soft limit of 1,024 is none of the fabric's. */
static void raise_limit(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur == l.rlim_max)
		return;
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
}

static loop_fn on_issm, on_desc, on_views, on_connect, on_message;

static int open_all(struct attachments *a, const char *dir)
{
	int r;

	if (snprintf(a->socket, sizeof(a->socket), "%s/" ATT_SOCKET, dir) >= (int)sizeof(a->socket))
		return -ENAMETOOLONG;
	if (snprintf(a->view_dir, sizeof(a->view_dir), "%s/view", dir) >= (int)sizeof(a->view_dir))
		return -ENAMETOOLONG;
	if (mkdir(a->view_dir, 0700) && errno != EEXIST)
		return -errno;
	a->views = views_open();
	if (!a->views)
		return -errno;
	r = loop_add(a->loop, views_fd(a->views), EPOLLIN, on_views, a);
	if (r)
		return r;
	r = issm_open(&a->issm, dir, sm_changed, a);
	if (!r)
		r = loop_add(a->loop, a->issm.at.inotify, EPOLLIN, on_issm, a);
	if (r)
		return r;
	r = desc_open(&a->desc, dir, desc_written, a);
	if (!r)
		r = loop_add(a->loop, a->desc.files.inotify, EPOLLIN, on_desc, a);
	if (r)
		return r;
	a->listener = fsk_listen(dir, ATT_SOCKET);
	if (a->listener < 0)
		return a->listener;
	a->listens = true;
	return loop_add(a->loop, a->listener, EPOLLIN, on_connect, a);
}

int attachments_open(struct attachments **ret, struct loop *loop, const char *dir, const struct attachments_ops *ops,
		     void *fabric, char why[ATT_WHY_MAX])
{
	struct attachments *a = ut_zalloc(sizeof(*a));
	int r = -ENOMEM;

	if (a) {
		raise_limit();
		a->loop = loop;
		a->listener = -1;
		watched_none(&a->issm.at);
		watched_none(&a->desc.files);
		a->ops = ops;
		a->fabric = fabric;
		ut_list_init(&a->all);
		ut_list_init(&a->dead);
		ut_list_init(&a->ports);
		ut_list_init(&a->issm.files);
		agents_init(&a->agents);
		r = open_all(a, dir);
		if (!r) {
			*ret = a;
			return 0;
		}
		attachments_close(a);
	}
	snprintf(why, ATT_WHY_MAX,
		 "the fabric cannot listen in %.120s (%s): no process could attach to it; see the limits of open files "
		 "and inotify instances (ulimit -n, fs.inotify)", dir, strerror(-r));
	return r;
}

void attachments_close(struct attachments *a)
{
	struct attachment *t, *next;
	struct attachments_port *p, *next_port;

	ut_list_each_safe(p, next_port, &a->ports, node)
		forget_port(a, p);
	ut_list_each_safe(t, next, &a->all, node)
		end(a, t);
	attachments_settle(a);
	agents_fini(&a->agents);
	loop_del(a->loop, a->issm.at.inotify);
	loop_del(a->loop, a->desc.files.inotify);
	loop_del(a->loop, a->views ? views_fd(a->views) : -1);
	loop_del(a->loop, a->listener);
	issm_close(&a->issm);
	desc_close(&a->desc);
	views_close(a->views);
	if (a->view_dir[0])
		dev_tree_remove(a->view_dir);
	if (a->listener >= 0)
		unlink(a->socket);
	ut_close(a->listener);
	free(a);
}

/* --- sending to attached processes --- */

static void refuse(struct attachments *a, struct attachment *t, int err, const char *why)
{
	struct att_msg m = { .type = ATT_WELCOME };

	m.u.welcome.err = err;
	m.u.welcome.version = ATT_VERSION;
	snprintf(m.u.welcome.why, sizeof(m.u.welcome.why), "%s", why);
	att_send(t->fd, &m, 0);
	end(a, t);
}

static void send_port(struct attachments *a, struct attachment *t, uint32_t events)
{
	struct att_msg m = { .type = ATT_PORT };
	int r;

	a->ops->describe(a->fabric, t->port->port, &m.u.port);
	m.u.port.events = events;
	r = att_send(t->fd, &m, 0);
	if (r != -EAGAIN)
		return;
	t->events |= events;
	if (t->waits_for_room)
		return;
	t->waits_for_room = true;
	loop_set(a->loop, t->fd, EPOLLIN | EPOLLOUT);
}

static void send_delayed(struct attachments *a, struct attachment *t)
{
	uint32_t events = t->events;

	t->waits_for_room = false;
	t->events = 0;
	loop_set(a->loop, t->fd, EPOLLIN);
	send_port(a, t, events);
}

/* --- hello --- */

static struct attachments_port *make_port(struct attachments *a, void *port)
{
	struct attachments_port **slot = a->ops->slot(a->fabric, port), *p = *slot;

	if (p)
		return p;
	p = ut_zalloc(sizeof(*p));
	if (!p)
		return NULL;
	p->port = port;
	ut_list_add_tail(&a->ports, &p->node);
	p->issm.fd = -1;
	ut_list_init(&p->attached);
	agents_port_init(&p->agents);
	*slot = p;
	return p;
}

/* One that looks at all ports gets them at once, and stays no longer than it wants. */
static void show_all(struct attachments *a, struct attachment *t, const struct att_msg *welcome)
{
	unsigned n = welcome->u.welcome.ports, first = welcome->u.welcome.first_port;
	struct att_msg m = { .type = ATT_PORT };

	if (att_send(t->fd, welcome, 0))
		return;
	for (unsigned i = first; i < first + n; i++) {
		void *port = a->ops->port(a->fabric, t->name, i);

		if (!port)
			continue;
		a->ops->describe(a->fabric, port, &m.u.port);
		m.u.port.events = 0;
		att_send(t->fd, &m, 0);
	}
}

static void join(struct attachments *a, struct attachment *t, void *port, const struct att_msg *welcome)
{
	t->port = make_port(a, port);
	if (!t->port) {
		refuse(a, t, -ENOMEM, strerror(ENOMEM));
		return;
	}
	ut_list_add_tail(&t->port->attached, &t->at_port);
	att_send(t->fd, welcome, 0);
	send_port(a, t, 0);
}

static void greet(struct attachments *a, struct attachment *t, const struct att_hello *h)
{
	struct att_msg w = { .type = ATT_WELCOME };
	char why[ATT_WHY_MAX];
	void *port;
	int r;

	if (h->magic != ATT_MAGIC || h->version != ATT_VERSION) {
		refuse(a, t, 0, ""); /* the version in the welcome says it */
		return;
	}
	memcpy(t->name, h->node, sizeof(t->name));
	t->greeted = true;
	r = a->ops->node(a->fabric, t->name, &w.u.welcome);
	if (r) {
		memcpy(why, w.u.welcome.why, sizeof(why));
		refuse(a, t, r, why);
		return;
	}
	w.u.welcome.version = ATT_VERSION;
	/* A switch has port 0 alone; a process that looks at it is attached to that. */
	if (!h->port && w.u.welcome.first_port) {
		show_all(a, t, &w);
		return;
	}
	port = a->ops->port(a->fabric, t->name, h->port);
	if (port) {
		join(a, t, port, &w);
		return;
	}
	snprintf(why, sizeof(why), "node %s has no port %u: this process cannot open it; choose a port that dapple fabric show lists",
		 t->name, h->port);
	refuse(a, t, -EINVAL, why);
}

/* --- requests --- */

static int add_agent(struct attachments *a, struct attachment *t, const struct att_register *r, uint32_t *ret_tid)
{
	struct agents_agent *g;
	int err;

	if (!t->port || t->agents[r->agent])
		return -EINVAL;
	g = ut_zalloc(sizeof(*g));
	if (!g)
		return -ENOMEM;
	*g = (struct agents_agent){
		.owner = t, .id = r->agent, .oui = r->oui, .methods = { r->methods[0], r->methods[1] }, .qpn = r->qpn,
		.mgmt_class = r->mgmt_class, .class_version = r->class_version, .rmpp_version = r->rmpp_version,
	};
	err = agents_add(&a->agents, &t->port->agents, g);
	if (err) {
		free(g);
		return err;
	}
	t->agents[r->agent] = g;
	*ret_tid = g->tid_high;
	if (serves_dm(g) && !t->port->dm++)
		a->ops->set_dm(a->fabric, t->port->port, true);
	return 0;
}

static void take_register(struct attachments *a, struct attachment *t, const struct att_register *r)
{
	struct att_msg m = { .type = ATT_REGISTERED };

	m.u.registered.agent = r->agent;
	m.u.registered.err = add_agent(a, t, r, &m.u.registered.tid_high);
	if (att_send(t->fd, &m, 0))
		end(a, t); /* a process that asks and does not read its answers */
}

static void take_unregister(struct attachments *a, struct attachment *t, uint32_t agent)
{
	struct att_msg m = { .type = ATT_REGISTERED, .u.registered.agent = agent };

	drop_agent(a, t, agent);
	if (att_send(t->fd, &m, 0))
		end(a, t);
}

static void take_mad(struct attachments *a, struct attachment *t, struct att_mad *m)
{
	struct agents_agent *g = t->agents[m->agent];

	if (!g)
		return;
	if (!agents_may_send(g, m->bytes)) {
		t->port->agents.dropped++;
		return;
	}
	a->ops->send(a->fabric, t->port->port, g->qpn, &m->addr, m->bytes);
}

static int issm_of(struct attachments *a, struct attachments_port *p, char path[ATT_PATH_MAX])
{
	struct att_port d;
	int r = 0;

	if (!p)
		return -EINVAL;
	if (p->issm.fd < 0) {
		a->ops->describe(a->fabric, p->port, &d);
		r = issm_add(&a->issm, &p->issm, d.guid);
	}
	return r ? r : issm_path(&a->issm, &p->issm, path);
}

/* --- the stand-in for /sys of a node --- */

static int fill_view(struct attachments *a, const char *node, const struct att_welcome *w, struct dev_node_port *ports)
{
	unsigned n = 0;

	for (unsigned i = w->first_port; i < w->first_port + w->ports; i++) {
		void *port = a->ops->port(a->fabric, node, i);
		struct attachments_port *p = port ? make_port(a, port) : NULL;

		if (!p)
			continue;
		p->viewed = true;
		a->ops->describe(a->fabric, port, &ports[n].port);
		if (issm_of(a, p, ports[n].issm))
			ports[n].issm[0] = 0;
		n++;
	}
	return (int)n;
}

/* ask: serial of the attachment that waits for it, or 0. */
static int write_view(struct attachments *a, const char *node, uint64_t ask)
{
	struct att_welcome w = { 0 };
	struct dev_node_port *ports;
	char path[ATT_PATH_MAX], desc[ATT_PATH_MAX], text[DESC_MAX + 1];
	int r = a->ops->node(a->fabric, node, &w);

	if (r)
		return r;
	if (snprintf(path, sizeof(path), "%s/%016" PRIx64, a->view_dir, w.node_guid) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	ports = ut_calloc(w.ports + 1u, sizeof(*ports));
	if (!ports)
		return -ENOMEM;
	r = fill_view(a, node, &w, ports);
	description_of(&w, text);
	if (desc_set(&a->desc, w.node_guid, text, desc))
		desc[0] = 0;
	return views_write(a->views, path, &w, desc, ports, (unsigned)r, ask);
}

/* A tree that cannot be written stays as it was; the next look at it says why. */
static void renew_view(struct attachments *a, struct attachments_port *p)
{
	char node[ATT_NAME_MAX];

	if (!p->viewed)
		return;
	a->ops->name(a->fabric, p->port, node);
	write_view(a, node, 0);
}

static void send_file(struct attachments *a, struct attachment *t, const struct att_msg *m)
{
	if (att_send(t->fd, m, 0))
		end(a, t);
}

static void take_issm(struct attachments *a, struct attachment *t)
{
	struct att_msg m = { .type = ATT_ISSM };

	m.u.file.err = issm_of(a, t->port, m.u.file.path);
	send_file(a, t, &m);
}

/* The answer follows when the tree is written. */
static void take_view(struct attachments *a, struct attachment *t)
{
	struct att_msg m = { .type = ATT_VIEW };

	m.u.file.err = write_view(a, t->name, t->serial);
	if (m.u.file.err)
		send_file(a, t, &m);
}

static void answer_views(struct attachments *a)
{
	struct att_msg m = { .type = ATT_VIEW };
	struct attachment *t, *next;
	uint64_t serial;

	while (views_done(a->views, &serial, &m.u.file.err, m.u.file.path))
		ut_list_each_safe(t, next, &a->all, node)
			if (t->serial == serial)
				send_file(a, t, &m);
}

static void take(struct attachments *a, struct attachment *t, struct att_msg *m)
{
	if (t->greeted == (m->type == ATT_HELLO)) {
		end(a, t); /* the hello comes first, and once */
		return;
	}
	switch (m->type) {
	case ATT_HELLO:
		greet(a, t, &m->u.hello);
		break;
	case ATT_REGISTER:
		take_register(a, t, &m->u.reg);
		break;
	case ATT_UNREGISTER:
		take_unregister(a, t, m->u.unreg.agent);
		break;
	case ATT_MAD:
		take_mad(a, t, &m->u.mad);
		break;
	case ATT_ISSM:
		take_issm(a, t);
		break;
	case ATT_VIEW:
		take_view(a, t);
		break;
	}
}

/* Level-triggered: what is left has the next round. */
static void on_message(void *arg, uint32_t events)
{
	struct attachment *t = arg;
	struct attachments *a = t->all;
	int end_of_them, n;

	if (!t->dead && (events & EPOLLOUT))
		send_delayed(a, t);
	if (t->dead)
		return;
	n = att_receive_some(t->fd, a->turn, TURN, false, &end_of_them);
	for (int i = 0; i < n && !t->dead; i++)
		take(a, t, &a->turn[i]);
	if (end_of_them != -EAGAIN)
		end(a, t);
}

/* --- new ones --- */

static pid_t pid_of(int fd)
{
	struct ucred c = { 0 };
	socklen_t len = sizeof(c);

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &len);
	return c.pid;
}

/* Room for as many MADs as an adapter has receives posted to a management queue pair. */
static void widen(int fd)
{
	int bytes = 512 * 1024;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

static void admit(struct attachments *a, int fd)
{
	struct attachment *t = ut_zalloc(sizeof(*t));

	if (!t || loop_add(a->loop, fd, EPOLLIN, on_message, t)) {
		free(t);
		ut_close(fd);
		return;
	}
	widen(fd);
	t->all = a;
	t->fd = fd;
	t->serial = ++a->serials;
	t->pid = pid_of(fd);
	ut_list_init(&t->at_port);
	ut_list_add_tail(&a->all, &t->node);
}

static void on_connect(void *arg, uint32_t events)
{
	struct attachments *a = arg;

	for (unsigned i = 0; i < ACCEPTS; i++) {
		int fd = fsk_accept(a->listener);

		if (fd >= 0) {
			admit(a, fd);
			continue;
		}
		if (fd == -EACCES)
			continue;
		if (fd != -EAGAIN) {
			loop_set(a->loop, a->listener, 0);
			a->listens = false;
		}
		return;
	}
}

static void on_issm(void *arg, uint32_t events)
{
	issm_serve(&((struct attachments *)arg)->issm);
}

static void on_desc(void *arg, uint32_t events)
{
	desc_serve(&((struct attachments *)arg)->desc);
}

static void on_views(void *arg, uint32_t events)
{
	answer_views(arg);
}

/* --- from the model --- */

static enum agents_outcome hand_over(struct attachments_port *p, struct agents_agent *g, const struct att_addr *from,
				     const uint8_t *mad)
{
	struct attachment *t = g->owner;
	struct att_msg m = { .type = ATT_MAD };

	m.u.mad.agent = g->id;
	m.u.mad.addr = *from;
	memcpy(m.u.mad.bytes, mad, ATT_MAD_LENGTH);
	if (!att_send(t->fd, &m, 0))
		return AGENTS_TAKEN;
	p->unread++;
	return AGENTS_DROPPED;
}

enum agents_outcome attachments_deliver(struct attachments *a, void *port, unsigned qpn, const struct att_addr *from,
					uint8_t mad[ATT_MAD_LENGTH])
{
	struct attachments_port *p = *a->ops->slot(a->fabric, port);
	struct agents_port none;
	struct agents_agent *g;
	enum agents_outcome r;

	if (!p)
		agents_port_init(&none);
	r = agents_route(&a->agents, p ? &p->agents : &none, qpn, mad, &g);
	if (r == AGENTS_TAKEN)
		r = hand_over(p, g, from, mad);
	a->lost += r == AGENTS_DROPPED;
	return r;
}

void attachments_changed(struct attachments *a, void *port, uint32_t events)
{
	struct attachments_port *p = *a->ops->slot(a->fabric, port);
	struct attachment *t, *next;

	if (!p)
		return;
	ut_list_each_safe(t, next, &p->attached, at_port)
		send_port(a, t, events);
	if (events & ATT_NODE_GONE)
		forget_port(a, p);
	else
		renew_view(a, p);
}

/* --- for show --- */

bool attachments_is_sm(const struct attachments *a, void *port)
{
	struct attachments_port *p = *a->ops->slot(a->fabric, port);

	return p && p->issm.fd >= 0 && p->issm.on;
}

uint64_t attachments_dropped(const struct attachments *a, void *port)
{
	struct attachments_port *p = *a->ops->slot(a->fabric, port);

	return p ? p->agents.dropped + p->unread : 0;
}

uint64_t attachments_lost(const struct attachments *a)
{
	return a->lost;
}

static void print_agents(const struct attachment *t, FILE *to)
{
	const char *gap = "";

	for (unsigned i = 0; i < ATT_AGENTS_MAX; i++) {
		const struct agents_agent *g = t->agents[i];

		if (!g)
			continue;
		fprintf(to, "%s0x%02x%s", gap, g->mgmt_class, g->methods[0] || g->methods[1] ? " serves" : "");
		gap = ", ";
	}
}

void attachments_print(const struct attachments *a, FILE *to)
{
	const struct attachment *t;

	ut_list_each(t, &a->all, node) {
		struct att_port d = { 0 };

		if (!t->port)
			continue;
		a->ops->describe(a->fabric, t->port->port, &d);
		fprintf(to, "%d\t%s/%u\t", (int)t->pid, t->name, d.number);
		print_agents(t, to);
		fputs("\n", to);
	}
}
