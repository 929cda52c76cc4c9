/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a process may write on the socket of a fabric (link/fabric/attach.h), and what a fabric process may write to it:
 * any bytes as messages of three connections, in any order, with nodes that are removed meanwhile. Nothing ends the
 * fabric process; refused messages end their connection alone; at the end no agent and no attachment is left.
 *
 * The input: operations of one byte (enum op) and their arguments.
 */
#include "input.h"

#include "attachments.h"
#include "wire/cm_fields.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { CONNECTIONS = 3, NODES = 3, OPS_MAX = 60, FILL_MOST = 2000 };
enum op { CONNECT, RAW, MESSAGE, HELLO, MAD, DELIVER, CHANGED, GONE, DROP, READ, REGISTER, WRITE_FILE, OPEN_FILE, FILL, SHOW, OPS };

static struct input in;
static struct attachments *a;
static char dir[64];
static int conn[CONNECTIONS];
static struct attachments_port *slots[NODES];
static unsigned sends;
static bool dm[NODES];
static struct loop *loop;
static int held = -1; /* the file of a subnet manager, open */

/* --- the model: three nodes of one port; "n0", "n1", "n2", or their GUIDs --- */

static int node(void *f, const char *name, struct att_welcome *ret)
{
	char by_guid[3] = { 'n', (char)strtoull(name, NULL, 16) };

	if (!strncmp(name, "0x", 2))
		name = by_guid;
	if (name[0] != 'n' || name[1] < '0' || name[1] >= '0' + NODES || name[2]) {
		snprintf(ret->why, sizeof(ret->why), "no");
		return -ENODEV;
	}
	ret->node_guid = (uint64_t)name[1];
	ret->node_type = ret->ports = 1;
	memcpy(ret->description, name, 2);
	ret->first_port = name[1] != '2'; /* the last one is a switch */
	return 0;
}

static void *port(void *f, const char *name, unsigned number)
{
	struct att_welcome w = { 0 };

	return !node(f, name, &w) && number == w.first_port ? &slots[name[1] - '0'] : NULL;
}

static struct attachments_port **slot(void *f, void *p)
{
	return p;
}

static void name(void *f, void *p, char ret[ATT_NAME_MAX])
{
	snprintf(ret, ATT_NAME_MAX, "n%d", (int)((struct attachments_port **)p - slots));
}

static void describe(void *f, void *p, struct att_port *ret)
{
	*ret = (struct att_port){ .guid = (uint64_t)((struct attachments_port **)p - slots) + 1, .number = 1, .pkeys_n = 1,
				  .guids_n = 1 };
}

/* A MAD comes back to its port at once: answers and requests to its own agents. */
static void send_mad(void *f, void *p, unsigned qpn, const struct att_addr *to, uint8_t mad[ATT_MAD_LENGTH])
{
	uint8_t copy[ATT_MAD_LENGTH];

	memcpy(copy, mad, sizeof(copy));
	if (sends++ < 1000)
		attachments_deliver(a, p, qpn, to, copy);
}

static void set_sm(void *f, void *p, bool on)
{
}

static void set_dm(void *f, void *p, bool on)
{
	bool *now = &dm[(struct attachments_port **)p - slots];

	REQUIRE(*now != on);
	*now = on;
}

static void rename_node(void *f, const char *of, const char *text)
{
}

static void serve(void)
{
	loop_once(loop, 0);
	attachments_settle(a);
}

static const struct attachments_ops ops = {
	.node = node, .port = port, .slot = slot, .name = name, .describe = describe, .send = send_mad, .set_sm = set_sm,
	.set_dm = set_dm, .rename = rename_node,
};

static void setup(void)
{
	char why[ATT_WHY_MAX];

	snprintf(dir, sizeof(dir), "/tmp/dapple-fuzz-attach-XXXXXX");
	REQUIRE(mkdtemp(dir));
	loop = loop_new();
	REQUIRE(loop && !attachments_open(&a, loop, dir, &ops, NULL, why));
}

static void cleanup(void)
{
	attachments_close(a);
	loop_free(loop);
	rmdir(dir);
}

/* --- processes --- */

static void open_connection(int i)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/" ATT_SOCKET, dir);
	close(conn[i]);
	conn[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	REQUIRE(conn[i] >= 0 && !connect(conn[i], (struct sockaddr *)&sun, sizeof(sun)));
}

static void hello(struct att_msg *m)
{
	m->type = ATT_HELLO;
	m->u.hello = (struct att_hello){ .magic = ATT_MAGIC, .version = ATT_VERSION, .port = in8(&in) % 2 };
	snprintf(m->u.hello.node, sizeof(m->u.hello.node), "n%d", in8(&in) % NODES);
}

/* Nearly what an agent of a program is: of subnet management, of the other classes, of a vendor. */
static void reg(struct att_msg *m)
{
	static const uint8_t classes[] = { 1, 3, 4, 6, 0x32, 0x81, 0, 7 };

	m->type = ATT_REGISTER;
	m->u.reg = (struct att_register){ .agent = in8(&in) % 8, .mgmt_class = classes[in8(&in) % 8], .class_version = 1 };
	m->u.reg.qpn = m->u.reg.mgmt_class != 1 && m->u.reg.mgmt_class != 0x81;
	m->u.reg.oui = m->u.reg.mgmt_class == 0x32 ? 0x1405 : 0;
	m->u.reg.methods[0] = in8(&in);
	m->u.reg.rmpp_version = in8(&in) & 1;
}

static void mad(struct att_msg *m)
{
	m->type = ATT_MAD;
	m->u.mad.agent = in8(&in) % 4;
	wire_set_MAD_base_version(m->u.mad.bytes, 1);
	in_fill(&in, m->u.mad.bytes + 1, 39);
	/* Transaction IDs of the first agents. */
	if (in8(&in) & 1)
		wire_set_MAD_tid(m->u.mad.bytes, (uint64_t)(in8(&in) % 8) << 32);
}

static void write_message(enum op op)
{
	struct att_msg m = { 0 };
	int i = in8(&in) % CONNECTIONS;
	size_t len = in16(&in) % (sizeof(m) + 64);
	static uint8_t raw[sizeof(m) + 64];

	if (op == RAW) {
		in_fill(&in, raw, sizeof(raw));
		(void)!send(conn[i], raw, len, MSG_NOSIGNAL);
		return;
	}
	if (op == HELLO) {
		hello(&m);
	} else if (op == MAD) {
		mad(&m);
	} else if (op == REGISTER) {
		reg(&m);
	} else {
		m.type = in8(&in) % (ATT_TYPES + 1);
		in_fill(&in, &m.u, sizeof(m.u) < 64 ? sizeof(m.u) : 64);
	}
	(void)!send(conn[i], &m, att_length(m.type), MSG_NOSIGNAL);
}

/* What the fabric process has written is never refused by its own rules. */
static void read_message(int i)
{
	struct att_msg m;
	int r = att_receive(conn[i], &m, true);

	REQUIRE(r != -EPROTO);
}

/* Bytes of the input into a file of the fabric's directory, which a program at a node has by another name. */
static void write_file(void)
{
	char path[256];
	uint8_t text[80] = { 0 };
	int fd;

	snprintf(path, sizeof(path), "%s/desc/%016x", dir, '0' + in8(&in) % 4);
	in_fill(&in, text, in8(&in) % sizeof(text));
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | (in8(&in) & 1 ? O_CREAT : 0), 0600);
	if (fd >= 0) {
		(void)!write(fd, text, sizeof(text));
		close(fd);
	}
}

/* A subnet manager at a port holds the file of its port, or leaves. */
static void open_file(void)
{
	char path[256];

	close(held);
	snprintf(path, sizeof(path), "%s/issm/%016x", dir, in8(&in) % (NODES + 2));
	held = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
}

/* More messages than a socket has room for, to a process that does not read. */
static void fill(void)
{
	struct att_addr from = { .lid = 1, .qpn = 1 };
	unsigned n = in8(&in) % NODES, class = in8(&in) % 8;

	for (int i = 0; i < FILL_MOST; i++) {
		uint8_t bytes[ATT_MAD_LENGTH] = { 1, (uint8_t)class, 1, 3 };

		attachments_deliver(a, &slots[n], 1, &from, bytes);
		if (i % 16 == 0)
			attachments_changed(a, &slots[n], ATT_LID_CHANGE);
	}
}

static void show(void)
{
	static FILE *nowhere;
	unsigned n = in8(&in) % NODES;

	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	REQUIRE(nowhere);
	attachments_print(a, nowhere);
	REQUIRE(!attachments_dropped(a, &slots[n]) || slots[n]);
	REQUIRE(!attachments_is_sm(a, &slots[n]) || slots[n]);
	attachments_lost(a);
}

static void deliver(void)
{
	struct att_addr from = { .lid = 1, .qpn = 1 };
	uint8_t bytes[ATT_MAD_LENGTH] = { 1 };
	unsigned n = in8(&in) % NODES, qpn = in8(&in) % 3;

	in_fill(&in, bytes, 40);
	attachments_deliver(a, &slots[n], qpn, &from, bytes);
}

static void step(void)
{
	enum op op = in8(&in) % OPS;
	int i;

	switch (op) {
	case CONNECT:
		open_connection(in8(&in) % CONNECTIONS);
		break;
	case DELIVER:
		deliver();
		break;
	case CHANGED:
		attachments_changed(a, &slots[in8(&in) % NODES], 1u << in8(&in) % 8);
		break;
	case GONE:
		attachments_changed(a, &slots[in8(&in) % NODES], ATT_NODE_GONE);
		break;
	case DROP:
		i = in8(&in) % CONNECTIONS;
		close(conn[i]);
		conn[i] = -1;
		break;
	case READ:
		read_message(in8(&in) % CONNECTIONS);
		break;
	case WRITE_FILE:
		write_file();
		break;
	case OPEN_FILE:
		open_file();
		break;
	case FILL:
		fill();
		break;
	case SHOW:
		show();
		break;
	default:
		write_message(op);
		break;
	}
	serve();
}

/* The messages alone, in both directions. */
static void parse(const uint8_t *data, size_t size)
{
	struct att_msg m = { 0 };

	memcpy(&m, data, size < sizeof(m) ? size : sizeof(m));
	for (int from_fabric = 0; from_fabric < 2; from_fabric++)
		if (!att_parse(&m, size, from_fabric))
			REQUIRE(size == att_length(m.type) && size <= sizeof(m));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool ready;
	uint8_t mad[ATT_MAD_LENGTH] = { 1 };
	struct att_addr from = { .lid = 1 };

	if (!ready) {
		setup();
		atexit(cleanup);
		ready = true;
	}
	parse(data, size);
	in = (struct input){ data, data + size };
	sends = 0;
	for (int i = 0; i < CONNECTIONS; i++) {
		conn[i] = -1;
		open_connection(i);
	}
	for (unsigned i = 0; i < OPS_MAX && in.at < in.end; i++)
		step();
	for (int i = 0; i < CONNECTIONS; i++)
		close(conn[i]);
	close(held);
	held = -1;
	/* Accepts what waits, and sees the ends. */
	for (int i = 0; i < OPS_MAX / 16 + 2; i++)
		serve();
	for (int i = 0; i < NODES; i++) {
		attachments_changed(a, &slots[i], ATT_NODE_GONE);
		REQUIRE(!slots[i] && !dm[i]);
	}
	wire_set_MAD_mgmt_class(mad, 4);
	wire_set_MAD_method(mad, 3);
	REQUIRE(attachments_deliver(a, &slots[0], 1, &from, mad) == AGENTS_DROPPED);
	return 0;
}
