/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabworld.h"

#include "attach_model.h"
#include "loop.h"
#include "mgmt/port.h"
#include "mgmt/switch.h"
#include "support/check.h"
#include "util/clock.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct child {
	struct fab *f;
	struct attachments *a;
	struct loop *loop;
	int words, answers;
	bool ended;
};

struct command {
	uint32_t word, n;
};

static void deliver(void *ctx, struct fab_port *port, const struct mad *m)
{
	attach_model_deliver(((struct child *)ctx)->a, port, m);
}

static void changed(void *ctx, struct fab_port *port, unsigned what)
{
	struct child *c = ctx;

	if (c->a)
		attach_model_changed(c->a, port, what);
}

static const struct fab_ops ops = { .deliver = deliver, .changed = changed };

static struct fab_node *node(struct child *c, unsigned n)
{
	char name[32];

	snprintf(name, sizeof(name), "node%u", n);
	return fab_node_by_name(c->f, name);
}

static struct fab_port *port(struct child *c, unsigned n)
{
	struct fab_node *x = node(c, n);

	return x ? fab_node_port(x, 1) : NULL;
}

static void activate(struct fab_port *p)
{
	CHECK(fab_port_advance(p, FAB_ARMED) && fab_port_advance(p, FAB_ACTIVE));
}

static void add_node(struct child *c, struct fab_node *sw, unsigned n)
{
	struct fab_node_spec spec = { .type = FAB_CA, .n_ports = 1, .guid = 0x1000 + 16 * n };
	struct fab_node *x;
	char name[32];
	struct fab_port *p;

	snprintf(name, sizeof(name), "node%u", n);
	spec.name = name;
	CHECK(!fab_node_add(c->f, &spec, &x));
	p = fab_node_port(x, 1);
	CHECK(!fab_link(p, fab_node_port(sw, n + 1)));
	wire_set_PORT_INFO_lid(p->info, n + 1);
	wire_set_PORT_INFO_sm_lid(p->info, 1);
	activate(p);
	activate(fab_node_port(sw, n + 1));
}

static void build(struct child *c, unsigned nodes)
{
	struct fab_node_spec spec = { .name = "switch", .type = FAB_SWITCH, .n_ports = nodes, .guid = 0x9000 };
	uint8_t block[FAB_LFT_BLOCK];
	struct fab_node *sw;

	CHECK(!fab_node_add(c->f, &spec, &sw));
	for (unsigned n = 0; n < nodes; n++)
		add_node(c, sw, n);
	for (unsigned b = 0; b <= nodes / FAB_LFT_BLOCK; b++) {
		memset(block, FAB_PORT_NONE, sizeof(block));
		for (unsigned i = 0; i < FAB_LFT_BLOCK; i++)
			if (b * FAB_LFT_BLOCK + i >= 1 && b * FAB_LFT_BLOCK + i <= nodes)
				block[i] = (uint8_t)(b * FAB_LFT_BLOCK + i);
		CHECK(!fab_switch_lft_set(sw->sw, b, block));
	}
	wire_set_SWITCH_INFO_linear_top(sw->sw->info, nodes);
}

static void remove_node(struct child *c, unsigned n)
{
	struct fab_node *x = node(c, n);

	attach_model_removed(c->a, x);
	fab_node_remove(x);
}

static uint64_t attached(struct child *c)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);
	uint64_t lines = 0;

	attachments_print(c->a, to);
	fclose(to);
	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	free(text);
	return lines;
}

static uint64_t obey(struct child *c, const struct command *cmd)
{
	struct fab_port *p = port(c, cmd->n);

	switch (cmd->word) {
	case FABWORLD_CUT:
		fab_port_cut(p, true);
		return 0;
	case FABWORLD_MEND:
		fab_port_cut(p, false);
		activate(p);
		activate(p->peer);
		return 0;
	case FABWORLD_SENT:
		return p->count.c[FAB_C_XMIT_PKTS];
	case FABWORLD_IS_SM:
		return attachments_is_sm(c->a, p) + (wire_get_PORT_INFO_capability_mask(p->info) & FAB_CAP_SM);
	case FABWORLD_DROPPED:
		return attachments_dropped(c->a, p);
	case FABWORLD_REMOVE:
		remove_node(c, cmd->n);
		return 0;
	case FABWORLD_LID:
		wire_set_PORT_INFO_lid(p->info, 100 + cmd->n);
		attach_model_changed(c->a, p, FAB_CHANGED_LID);
		return 0;
	case FABWORLD_ATTACHED:
		return attached(c);
	}
	return 0;
}

static void on_word(void *arg, uint32_t events)
{
	struct child *c = arg;
	struct command cmd;
	uint64_t r;

	if (read(c->words, &cmd, sizeof(cmd)) != sizeof(cmd)) {
		c->ended = true;
		return;
	}
	r = obey(c, &cmd);
	CHECK(write(c->answers, &r, sizeof(r)) == sizeof(r));
}

static void serve(const char *dir, unsigned nodes, int words, int answers)
{
	struct child c = { 0 };
	char why[ATT_WHY_MAX];
	uint64_t ready = 1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	c.f = fab_new(&ops, &c, 1);
	CHECK(c.f);
	build(&c, nodes);
	c.loop = loop_new();
	c.words = words;
	c.answers = answers;
	CHECK(c.loop && !loop_add(c.loop, words, EPOLLIN, on_word, &c));
	CHECK_MSG(!attach_model_open(&c.a, c.loop, dir, c.f, why), "%s", why);
	CHECK(write(answers, &ready, sizeof(ready)) == sizeof(ready));
	while (!c.ended) {
		loop_once(c.loop, UINT64_MAX);
		attachments_settle(c.a);
	}
	attachments_close(c.a);
	loop_free(c.loop);
	fab_free(c.f);
}

void fabworld_start(struct fabworld *w, unsigned nodes)
{
	int words[2], answers[2];
	char dir[100];
	uint64_t ready;

	snprintf(w->dir, sizeof(w->dir), "/tmp/dapple-fabworld-XXXXXX");
	CHECK(mkdtemp(w->dir));
	setenv("DAPPLE_RUNTIME_DIR", w->dir, 1);
	snprintf(dir, sizeof(dir), "%s/fabric", w->dir);
	CHECK(!mkdir(dir, 0700));
	snprintf(dir, sizeof(dir), "%s/fabric/test", w->dir);
	CHECK(!mkdir(dir, 0700));
	CHECK(!pipe(words) && !pipe(answers));
	fflush(stdout);
	w->pid = fork();
	CHECK(w->pid >= 0);
	if (!w->pid) {
		close(words[1]);
		close(answers[0]);
		serve(dir, nodes, words[0], answers[1]);
		_exit(0);
	}
	close(words[0]);
	close(answers[1]);
	w->words = words[1];
	w->answers = answers[0];
	CHECK(read(w->answers, &ready, sizeof(ready)) == sizeof(ready));
}

void fabworld_kill(struct fabworld *w)
{
	if (w->pid <= 0)
		return;
	kill(w->pid, SIGKILL);
	waitpid(w->pid, NULL, 0);
	w->pid = 0;
}

void fabworld_stop(struct fabworld *w)
{
	char cmd[100];

	fabworld_kill(w);
	close(w->words);
	close(w->answers);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", w->dir);
	CHECK(!system(cmd));
}

void fabworld_be(unsigned n)
{
	char place[32];

	snprintf(place, sizeof(place), "test/node%u", n);
	setenv("DAPPLE_FABRIC", place, 1);
}

uint64_t fabworld_ask(struct fabworld *w, enum fabworld_word word, unsigned n)
{
	struct command cmd = { word, n };
	uint64_t r;

	CHECK(write(w->words, &cmd, sizeof(cmd)) == sizeof(cmd));
	CHECK(read(w->answers, &r, sizeof(r)) == sizeof(r));
	return r;
}
