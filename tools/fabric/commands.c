/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attachments.h"
#include "mgmt/packets.h"
#include "mgmt/port.h"
#include "mgmt/topology.h"
#include "serve.h"
#include "show.h"
#include "util/clock.h"

/* --- arguments --- */

static struct fab_node *find_node(struct serve *s, const char *name, FILE *out)
{
	struct fab_node *n = fab_node_by_name(s->model, name);

	if (!n)
		fprintf(out, "dapple: the fabric \"%s\" has no node \"%s\": nothing is changed; dapple fabric show has "
			"its nodes\n", s->name, name);
	return n;
}

/* NODE/PORT: the port stands behind the last slash, since a node's name may have some. */
static struct fab_port *find_port(struct serve *s, char *word, FILE *out)
{
	char *slash = strrchr(word, '/'), *end;
	struct fab_node *n;
	unsigned long num;

	if (!slash) {
		fprintf(out, "dapple: \"%s\" names no port: nothing is changed; write it as NODE/PORT\n", word);
		return NULL;
	}
	num = strtoul(slash + 1, &end, 10);
	*slash = '\0';
	n = find_node(s, word, out);
	if (n && (*end || end == slash + 1 || num < 1 || num > n->n_ports)) {
		fprintf(out, "dapple: the node \"%s\" has ports 1 to %u and no port %s: nothing is changed; name one of "
			"them\n", word, n->n_ports, slash + 1);
		return NULL;
	}
	return n ? &n->ports[num] : NULL;
}

/* --- link --- */

static int link_errors(struct fab_port *p, const char *value, FILE *out)
{
	char *end;
	double percent = value ? strtod(value, &end) : -1;

	if (!value || end == value || *end || percent < 0 || percent > 100) {
		fprintf(out, "dapple: the rate of errors \"%s\" is no percentage from 0 to 100: the link stays as it is; "
			"write dapple fabric link NODE/PORT errors PERCENT\n", value ? value : "");
		return 2;
	}
	p->fault.errors_ppm = (uint32_t)(percent * 10000 + 0.5);
	fab_touch(p->node->fabric);
	return 0;
}

/* The lowest width and speed that both ends have, or all of them again. */
static void link_slow(struct fab_port *p, bool is_slow)
{
	if (is_slow)
		fab_port_enable(p, FAB_1X, FAB_SDR, 0);
	else
		fab_port_enable(p, 0xff, 7, 15);
}

static int cmd_link(struct serve *s, int n, char **words, FILE *out)
{
	struct fab_port *p = n >= 3 ? find_port(s, words[1], out) : NULL;
	const char *what = n >= 3 ? words[2] : "";

	if (!p)
		return 1;
	if (!p->peer && !p->is_trunk) {
		fprintf(out, "dapple: port %u of node \"%s\" has no link: nothing is changed; name a port that has one\n",
			p->num, p->node->name);
		return 1;
	}
	if (strcmp(what, "down") == 0)
		fab_port_cut(p, true);
	else if (strcmp(what, "up") == 0)
		fab_port_cut(p, false);
	else if (strcmp(what, "flap") == 0)
		fab_port_bounce(p);
	else if (strcmp(what, "slow") == 0)
		link_slow(p, n < 4 || strcmp(words[3], "off") != 0);
	else if (strcmp(what, "overrun") == 0)
		fab_port_overrun(p);
	else if (strcmp(what, "stall") == 0)
		fab_port_stall(p);
	else if (strcmp(what, "errors") == 0)
		return link_errors(p, n > 3 ? words[3] : NULL, out);
	else
		return 2;
	return 0;
}

/* --- nodes --- */

static int add_failed(const char *name, int error, FILE *out)
{
	fprintf(out, "dapple: the node \"%s\" cannot be added (%s): the fabric stays as it is; choose a name that is not "
		"taken, and 1 to 254 ports\n", name, strerror(-error));
	return 1;
}

/* node add NAME SWITCH/PORT: a CA with one port, linked to it. */
static int node_add(struct serve *s, int n, char **words, FILE *out)
{
	struct fab_node_spec spec = { .name = words[2], .type = FAB_CA, .n_ports = 1 };
	struct fab_port *at = n > 3 ? find_port(s, words[3], out) : NULL;
	struct fab_node *node;
	int r;

	if (n > 3 && !at)
		return 1;
	if (at && (at->peer || at->is_trunk)) {
		fprintf(out, "dapple: port %u of node \"%s\" has a link already: no node is added; name a free port\n",
			at->num, at->node->name);
		return 1;
	}
	r = fab_node_add(s->model, &spec, &node);
	if (r < 0)
		return add_failed(words[2], r, out);
	if (at)
		fab_link(at, &node->ports[1]);
	return 0;
}

static int cmd_node(struct serve *s, int n, char **words, FILE *out)
{
	struct fab_node *node;

	if (n >= 3 && strcmp(words[1], "add") == 0)
		return node_add(s, n, words, out);
	if (n != 3 || strcmp(words[1], "remove") != 0)
		return 2;
	node = find_node(s, words[2], out);
	if (!node)
		return 1;
	serve_node_gone(s, node);
	fab_node_remove(node);
	return 0;
}

/* --- edit --- */

static int cmd_edit(struct serve *s, const char *input, size_t len, FILE *out)
{
	struct fab *wanted = fab_new(NULL, NULL, 0);
	char why[FAB_TOPOLOGY_WHY];
	int r;

	if (!wanted || !input) {
		fab_free(wanted);
		fprintf(out, "dapple: the topology cannot be read: the fabric stays as it is; name a regular file\n");
		return 1;
	}
	r = fab_topology_read(wanted, input, len, why);
	if (r < 0)
		fprintf(out, "dapple: the topology cannot be used: %s: the fabric stays as it is; correct the file\n", why);
	else
		r = fab_topology_apply(s->model, wanted, serve_node_gone, s);
	fab_free(wanted);
	if (r < 0)
		return 1;
	fprintf(out, "%d changes\n", r);
	return 0;
}

/* --- subnet managers --- */

static int sm_failed(const char *node, int error, FILE *out)
{
	if (error == -EBUSY)
		fprintf(out, "dapple: a subnet manager runs on node \"%s\" already: no second one is started; stop it by "
			"dapple fabric sm stop %s\n", node, node);
	else if (error == -ENOENT)
		fprintf(out, "dapple: opensm is not installed: no subnet manager is started; install the package opensm\n");
	else
		fprintf(out, "dapple: opensm cannot be started (%s): node \"%s\" has no subnet manager; raise the limits "
			"on processes and descriptors\n", strerror(-error), node);
	return 1;
}

static void sm_list(struct serve *s, FILE *out)
{
	unsigned i;
	int status;

	for (i = 0; i < SERVE_SMS_MAX; i++)
		if (s->sms[i])
			fprintf(out, "%s\tprocess %d\t%s\t%s/opensm-%s/opensm.log\n", opensm_node(s->sms[i]),
				(int)opensm_pid(s->sms[i]), opensm_has_ended(s->sms[i], &status) ? "ended" : "running",
				s->dir, opensm_node(s->sms[i]));
}

static int cmd_sm(struct serve *s, int n, char **words, FILE *out)
{
	struct fab_node *node;
	int r;

	if (n == 1) {
		sm_list(s, out);
		return 0;
	}
	if (n < 3)
		return 2;
	node = find_node(s, words[2], out);
	if (!node)
		return 1;
	if (opensm_refused_option(words + 3)) {
		fprintf(out, "dapple: the option %s of opensm makes it a daemon, which this fabric could not end: no subnet "
			"manager is started; leave the option out\n", opensm_refused_option(words + 3));
		return 1;
	}
	if (strcmp(words[1], "start") == 0) {
		r = serve_sm_start(s, node, words + 3);
		return r < 0 ? sm_failed(node->name, r, out) : 0;
	}
	if (strcmp(words[1], "stop") != 0)
		return 2;
	if (serve_sm_stop(s, node->name))
		return 0;
	fprintf(out, "dapple: no subnet manager was started on node \"%s\": none is ended; dapple fabric sm lists them\n",
		node->name);
	return 1;
}

/* --- the rest --- */

/* For `list`: process, nodes, switches, state, SM. */
static int cmd_status(struct serve *s, FILE *out)
{
	const struct fab_node *n;
	unsigned switches = 0;
	struct subnet now;

	ut_list_each(n, &s->model->nodes, link)
		switches += n->type == FAB_SWITCH;
	subnet_count(s->model, NULL, &now);
	fprintf(out, "%d\t%u\t%u\t%u/%u\t%s\t%llu\n", (int)getpid(), s->model->n_nodes - switches, switches, now.active,
		now.linked, s->sms[0] ? opensm_node(s->sms[0]) : "-",
		(unsigned long long)((ut_now() - s->started) / UT_S));
	return 0;
}

/* For `run`: the node's name, and with --hosts the address of its namespace. */
static int cmd_find(struct serve *s, int n, char **words, FILE *out)
{
	struct fab_node *node = n == 2 ? find_node(s, words[1], out) : NULL;

	if (!node)
		return 1;
	fprintf(out, "%s\n", node->name);
	if (s->has_hosts)
		fprintf(out, "hosts %u\n", addr_of(node));
	return 0;
}

int commands_execute(void *arg, int n, char **words, const char *input, size_t len, FILE *out)
{
	struct serve *s = arg;

	if (strcmp(words[0], "down") == 0) {
		s->ending = true;
		return 0;
	}
	if (strcmp(words[0], "status") == 0)
		return cmd_status(s, out);
	if (strcmp(words[0], "find") == 0)
		return cmd_find(s, n, words, out);
	if (strcmp(words[0], "link") == 0)
		return cmd_link(s, n, words, out);
	if (strcmp(words[0], "node") == 0)
		return cmd_node(s, n, words, out);
	if (strcmp(words[0], "edit") == 0)
		return cmd_edit(s, input, len, out);
	if (strcmp(words[0], "sm") == 0)
		return cmd_sm(s, n, words, out);
	if (strcmp(words[0], "show") == 0)
		return show_execute(s, n, words, out);
	fprintf(out, "dapple: the command \"%s\" is unknown to this fabric process: nothing is done; start the fabric anew "
		"with this version of dapple\n", words[0]);
	return 2;
}
