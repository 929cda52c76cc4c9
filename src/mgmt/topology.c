/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "mgmt/topology.h"

#include "mgmt/port.h"
#include "mgmt/table.h"
#include "util/alloc.h"

#include <ctype.h>
#include <inttypes.h>

#define LINE_MAX 2048u

/* Codes of speeds by name, fastest first where a name is the beginning of another. */
static const struct speed {
	const char *name;
	uint8_t plain, ext;
} speeds[] = {
	{ "FDR10", FAB_QDR, 0 },	/* a vendor's; shown as QDR */
	{ "SDR", FAB_SDR, 0 }, { "DDR", FAB_DDR, 0 }, { "QDR", FAB_QDR, 0 },
	{ "FDR", FAB_QDR, FAB_FDR }, { "EDR", FAB_QDR, FAB_EDR }, { "HDR", FAB_QDR, FAB_HDR },
	{ "NDR", FAB_QDR, FAB_NDR },
};
#define N_SPEEDS (sizeof(speeds) / sizeof(speeds[0]))

static const struct width {
	const char *name;
	uint8_t code;
} widths[] = { { "12x", FAB_12X }, { "1x", FAB_1X }, { "2x", FAB_2X }, { "4x", FAB_4X }, { "8x", FAB_8X } };
#define N_WIDTHS (sizeof(widths) / sizeof(widths[0]))

/* A link that was read at one end, until all nodes are known. */
struct link {
	struct fab_port *at;
	char *far_id;		/* NULL: a trunk */
	unsigned far_port, line;
	struct link *next;
};

struct reader {
	struct fab *f;
	struct fab_table *by_id;	/* hash of the quoted identifier -> node */
	struct link *links;
	struct fab_node *node;		/* the one whose port lines follow */
	unsigned line;
	char *why;
	/* Of the next node. */
	uint64_t guid, port_guid, system_guid;
	uint32_t vendor, device;
	/* ibsim: GUIDs that count up, by node type. */
	uint64_t next_guid[FAB_ROUTER + 1];
};

static int reject(struct reader *r, const char *text)
{
	snprintf(r->why, FAB_TOPOLOGY_WHY, "line %u %s", r->line, text);
	return -EINVAL;
}

/* --- words of a line --- */

static const char *skip_blanks(const char *s)
{
	while (*s == ' ' || *s == '\t')
		s++;
	return s;
}

/* A quoted text at *at, cut to size. Moves *at behind it. Returns false if there is none. */
static bool take_quoted(const char **at, char *ret, size_t size)
{
	const char *s = skip_blanks(*at), *end;
	size_t n;

	if (*s != '"')
		return false;
	end = strchr(s + 1, '"');
	if (!end)
		return false;
	n = (size_t)(end - s - 1);
	if (n >= size)
		n = size - 1;
	memcpy(ret, s + 1, n);
	ret[n] = '\0';
	*at = end + 1;
	return true;
}

/* "[N]" at *at. */
static bool take_index(const char **at, unsigned *ret)
{
	const char *s = skip_blanks(*at);
	char *end;
	unsigned long n;

	if (*s != '[' || !isdigit((unsigned char)s[1]))
		return false;
	n = strtoul(s + 1, &end, 10);
	if (*end != ']' || n > 255)
		return false;
	*ret = (unsigned)n;
	*at = end + 1;
	return true;
}

/* "(HEX)" at *at: a GUID. Returns 0 if there is none. */
static uint64_t take_guid(const char **at)
{
	char *end;
	uint64_t guid;

	if (**at != '(')
		return 0;
	guid = strtoull(*at + 1, &end, 16);
	if (*end != ')')
		return 0;
	*at = end + 1;
	return guid;
}

/* "H-0002c90000000010": the GUID in an identifier, or 0. */
static uint64_t guid_of_id(const char *id)
{
	char *end;
	uint64_t guid;

	if (!id[0] || !strchr("HSR", id[0]) || id[1] != '-' || strlen(id) != 18)
		return 0;
	guid = strtoull(id + 2, &end, 16);
	return *end ? 0 : guid;
}

/* --- lines before a node --- */

static const struct setting {
	const char *name;
	uint16_t at;	/* a uint64_t of struct reader; 0: see below */
	uint8_t type;	/* of GUIDs that count up, else 0 */
} settings[] = {
	{ "switchguid", offsetof(struct reader, guid), FAB_SWITCH },
	{ "caguid", offsetof(struct reader, guid), FAB_CA },
	{ "hcaguid", offsetof(struct reader, guid), FAB_CA },
	{ "rtguid", offsetof(struct reader, guid), FAB_ROUTER },
	{ "sysimgguid", offsetof(struct reader, system_guid), 0 },
	{ "vendid", 0, 0 },
	{ "devid", 0, 0 },
};

static int set_number(struct reader *r, const struct setting *s, const char *value, bool counts_up)
{
	char *end;
	uint64_t v = strtoull(value, &end, 0);
	const char *rest = end;

	if (end == value)
		return reject(r, "has no number behind its equals sign");
	if (!s->at) {
		if (s->name[0] == 'v')
			r->vendor = (uint32_t)v & 0xffffff;
		else
			r->device = (uint32_t)v & 0xffff;
		return 0;
	}
	if (counts_up) {
		r->next_guid[s->type] = v;
		return 0;
	}
	memcpy((char *)r + s->at, &v, sizeof(v));
	if (s->type)
		r->port_guid = take_guid(&rest);
	return 0;
}

/* Returns 1 if the line is a setting and was taken, 0 if it is none, or a negative errno. */
static int take_setting(struct reader *r, const char *line)
{
	const char *eq = strchr(line, '=');
	unsigned i;
	int e;

	for (i = 0; eq && i < sizeof(settings) / sizeof(settings[0]); i++) {
		size_t n = strlen(settings[i].name);
		bool counts_up = line[n] == 's';	/* ibsim: switchguids=, hcaguids= */

		if (strncmp(line, settings[i].name, n) != 0 || line + n + counts_up != eq)
			continue;
		e = set_number(r, &settings[i], eq + 1, counts_up);
		return e < 0 ? e : 1;
	}
	return 0;
}

/* --- nodes --- */

static unsigned type_of(const char **at)
{
	static const struct { const char *word; uint8_t type; } types[] = {
		{ "Switch", FAB_SWITCH }, { "Ca", FAB_CA }, { "Hca", FAB_CA }, { "Rt", FAB_ROUTER },
	};
	unsigned i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		size_t n = strlen(types[i].word);

		if (strncmp(*at, types[i].word, n) == 0 && isspace((unsigned char)(*at)[n])) {
			*at += n;
			return types[i].type;
		}
	}
	return 0;
}

static void forget_settings(struct reader *r)
{
	r->guid = r->port_guid = r->system_guid = 0;
	r->vendor = r->device = 0;
}

static void choose_guids(struct reader *r, const char *id, struct fab_node_spec *spec)
{
	spec->guid = r->guid ? r->guid : guid_of_id(id);
	if (!spec->guid && r->next_guid[spec->type]) {
		spec->guid = r->next_guid[spec->type];
		/* ibsim counts a CA's ports as well. */
		r->next_guid[spec->type] += spec->type == FAB_SWITCH ? 1 : spec->n_ports + 1u;
	}
	spec->system_guid = r->system_guid;
	spec->vendor = r->vendor;
	spec->device = r->device;
}

/* The description is the name, unless another node has it, or the identifier is a name itself. */
static int add_node(struct reader *r, struct fab_node_spec *spec, const char *id, const char *description)
{
	int e;

	spec->description = *description ? description : id;
	spec->name = *description && guid_of_id(id) ? description : id;
	if (fab_node_by_name(r->f, spec->name))
		spec->name = id;
	e = fab_node_add(r->f, spec, &r->node);
	if (e == -EINVAL) {
		spec->name = id;
		e = fab_node_add(r->f, spec, &r->node);
	}
	if (e == -EEXIST)
		return reject(r, "has the name or the GUID of another node");
	if (e == -ENOMEM || e == -ENOSPC)
		return reject(r, "exceeds the number of nodes, or the memory");
	if (e < 0)
		return reject(r, "has a node with a name or a number of ports out of range");
	e = fab_table_add(r->by_id, fab_table_hash(id), r->node);
	return e == 0 ? 0 : reject(r, "has the identifier of another node");
}

/* Returns 1 if the line is a node, 0 if it is none, or a negative errno. */
static int take_node(struct reader *r, const char *line)
{
	struct fab_node_spec spec = { 0 };
	char id[FAB_NAME_MAX + 1], description[WIRE_NODE_DESC_LEN + 1] = "";
	const char *at = line, *comment;
	char *end;
	int e;

	spec.type = (enum fab_node_type)type_of(&at);
	if (!spec.type)
		return 0;
	r->node = NULL;
	spec.n_ports = (unsigned)strtoul(at, &end, 10);
	at = end;
	if (spec.n_ports < 1 || spec.n_ports > FAB_PORTS_MAX)
		return reject(r, "has a node with no port, or with more than 254");
	if (!take_quoted(&at, id, sizeof(id)) || !*id)
		return reject(r, "has a node without an identifier in quotes");
	comment = strchr(at, '#');
	if (comment) {
		comment++;
		take_quoted(&comment, description, sizeof(description));
	}
	choose_guids(r, id, &spec);
	e = add_node(r, &spec, id, description);
	forget_settings(r);
	return e < 0 ? e : 1;
}

/* --- ports --- */

/* A rate such as "4xEDR", as a word of the line's comment. */
static bool find_rate(const char *comment, uint8_t *width, const struct speed **speed)
{
	unsigned w, s;

	for (; *comment; comment++) {
		if (comment[-1] != ' ' && comment[-1] != '\t' && comment[-1] != '(')
			continue;
		for (w = 0; w < N_WIDTHS; w++) {
			size_t n = strlen(widths[w].name);

			if (strncmp(comment, widths[w].name, n) != 0)
				continue;
			for (s = 0; s < N_SPEEDS; s++)
				if (strncmp(comment + n, speeds[s].name, strlen(speeds[s].name)) == 0) {
					*width = widths[w].code;
					*speed = &speeds[s];
					return true;
				}
		}
	}
	return false;
}

/* All narrower widths but 2X, which no older port has; all lower speeds. */
static void set_rate(struct fab_port *p, unsigned width, const struct speed *s)
{
	unsigned below = width == FAB_2X ? FAB_2X | FAB_1X : (width | (width - 1)) & 0xfu;

	fab_port_set_abilities(p, below | FAB_1X, (unsigned)(s->plain | (s->plain - 1)) & 7u,
			       s->ext ? (unsigned)(s->ext | (s->ext - 1)) & 15u : 0);
}

/* ibsim: "w=3 s=7 e=1", behind the far port. */
static int take_options(struct reader *r, struct fab_port *p, const char *at)
{
	unsigned w = (unsigned)wire_get_PORT_INFO_width_supported(p->info);
	unsigned s = (unsigned)wire_get_PORT_INFO_speed_supported(p->info);
	unsigned e = (unsigned)wire_get_PORT_INFO_ext_speed_supported(p->info);
	bool any = false;

	for (at = skip_blanks(at); *at && *at != '#'; at = skip_blanks(at)) {
		unsigned *to = *at == 'w' ? &w : *at == 's' ? &s : *at == 'e' ? &e : NULL;
		char *end;
		unsigned long v;

		if (at[1] != '=')
			return any ? reject(r, "has a port option that is none of w=, s=, e=") : 0;
		v = strtoul(at + 2, &end, 0);
		if (!to || end == at + 2 || v > 31)
			return reject(r, "has a port option that is none of w=, s=, e=, or a value above 31");
		*to = (unsigned)v;
		any = true;
		at = end;
	}
	if (any && (w == 0 || (s & ~7u) || (e & ~15u) || (s | e) == 0))
		return reject(r, "has a set of widths or speeds that no port has");
	if (any)
		fab_port_set_abilities(p, w, s, e);
	return 0;
}

static int note_link(struct reader *r, struct fab_port *at, const char *far_id, unsigned far_port)
{
	struct link *l = ut_zalloc(sizeof(*l));

	if (!l)
		return reject(r, "exceeds the memory");
	l->at = at;
	l->far_port = far_port;
	l->line = r->line;
	l->far_id = ut_strdup(far_id);
	l->next = r->links;
	r->links = l;
	return l->far_id ? 0 : reject(r, "exceeds the memory");
}

/* "trunk N" */
static int take_trunk(struct reader *r, struct fab_port *p, const char *id)
{
	unsigned long n = strtoul(id + 6, NULL, 10);

	if (n < 1 || n > FAB_TRUNKS_MAX)
		return reject(r, "has a trunk with a number other than 1 to 250");
	if (p->peer || p->is_trunk)
		return reject(r, "has a port that is linked already");
	p->trunk = (uint8_t)n;
	fab_port_trunk(p, true);
	return 0;
}

static int take_link(struct reader *r, struct fab_port *p, const char *at)
{
	char id[FAB_NAME_MAX + 1];
	const struct speed *speed;
	const char *comment;
	unsigned far = 1;
	uint8_t width;

	if (!take_quoted(&at, id, sizeof(id)))
		return reject(r, "has a port without the identifier of the far node in quotes");
	if (strncmp(id, "trunk ", 6) == 0)
		return take_trunk(r, p, id);
	if (*at == '[' && (!take_index(&at, &far) || far == 0))
		return reject(r, "has a far port that is no number from 1 to 254");
	take_guid(&at);
	comment = strchr(at, '#');
	if (comment && find_rate(comment + 1, &width, &speed))
		set_rate(p, width, speed);
	if (take_options(r, p, at) < 0)
		return -EINVAL;
	return note_link(r, p, id, far);
}

static int take_port(struct reader *r, const char *line)
{
	struct fab_port *p;
	const char *at = line;
	unsigned num;
	uint64_t guid;

	if (*at == '@')
		return reject(r, "has an alias of a port (@), which is for modules of ibsim alone");
	if (!take_index(&at, &num))
		return reject(r, "has a port that is no number in brackets");
	if (!r->node)
		return reject(r, "has a port before any node");
	p = fab_node_port(r->node, num);
	if (!p || num == 0)
		return reject(r, "has a port number that the node does not have");
	guid = take_guid(&at);
	if (guid && r->node->type != FAB_SWITCH && fab_port_set_guid(p, guid) < 0)
		return reject(r, "has the port GUID of another node");
	return take_link(r, p, at);
}

static int take_line(struct reader *r, const char *line)
{
	int e;

	if (!*line || *line == '#')
		return 0;
	if (*line == '[' || *line == '@')
		return take_port(r, line);
	e = take_setting(r, line);
	if (e == 0)
		e = take_node(r, line);
	if (e == 0 && (strncmp(line, "include", 7) == 0 || strncmp(line, "do", 2) == 0 || strncmp(line, "module", 6) == 0))
		return reject(r, "is an include, module or do of ibsim, which is not supported");
	/* ibsim and ibnetdiscover have further lines, such as headings, which say nothing of the topology. */
	return e < 0 ? e : 0;
}

/* --- all of it --- */

/* Each link stands at both ends as a rule; one end is enough. */
static int make_link(struct reader *r, const struct link *l)
{
	struct fab_node *n = fab_table_get(r->by_id, fab_table_hash(l->far_id));
	struct fab_port *far;
	int e;

	r->line = l->line;
	if (!n)
		return reject(r, "has a link to a node that the file does not have");
	far = fab_node_port(n, l->far_port);
	if (!far || l->far_port == 0)
		return reject(r, "has a link to a port that the far node does not have");
	if (l->at->peer == far)
		return 0;
	e = fab_link(l->at, far);
	if (e == -EBUSY)
		return reject(r, "has a link to a port that is linked otherwise");
	return e < 0 ? reject(r, "has a link of a port with itself") : 0;
}

static int make_links(struct reader *r)
{
	struct link *l;
	int e = 0;

	for (l = r->links; l && e == 0; l = l->next)
		e = make_link(r, l);
	return e;
}

/* The list is newest first; links are made in the order of the text. */
static void reverse(struct reader *r)
{
	struct link *l = r->links, *next;

	for (r->links = NULL; l; l = next) {
		next = l->next;
		l->next = r->links;
		r->links = l;
	}
}

static void free_links(struct reader *r)
{
	struct link *l, *next;

	for (l = r->links; l; l = next) {
		next = l->next;
		free(l->far_id);
		free(l);
	}
}

static int read_lines(struct reader *r, const char *text, size_t len)
{
	const char *end = text + len;
	char line[LINE_MAX];
	int e = 0;

	while (text < end && e == 0) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((nl ? nl : end) - text);

		r->line++;
		if (n >= sizeof(line))
			return reject(r, "is longer than 2047 bytes");
		memcpy(line, text, n);
		if (n && line[n - 1] == '\r')
			n--;
		line[n] = '\0';
		if (strlen(line) != n)
			return reject(r, "has a NUL byte: the file is no text");
		e = take_line(r, line);
		text += n + 1;
		if (nl)
			text = nl + 1;
	}
	return e;
}

int fab_topology_read(struct fab *f, const char *text, size_t len, char why[FAB_TOPOLOGY_WHY])
{
	struct reader r = { .f = f, .why = why, .by_id = fab_table_new() };
	int e;

	if (!r.by_id) {
		snprintf(why, FAB_TOPOLOGY_WHY, "no memory");
		return -ENOMEM;
	}
	e = read_lines(&r, text, len);
	reverse(&r);
	if (e == 0)
		e = make_links(&r);
	free_links(&r);
	fab_table_free(r.by_id);
	if (e == 0 && f->n_nodes == 0) {
		snprintf(why, FAB_TOPOLOGY_WHY, "it has no line that begins a node (Switch, Ca, Hca, Rt)");
		return -EINVAL;
	}
	return e;
}

/* --- writing --- */

const char *fab_topology_rate(const struct fab_port *p)
{
	static char text[16];
	unsigned w = (unsigned)wire_get_PORT_INFO_width_active(p->info), i;
	unsigned s = (unsigned)wire_get_PORT_INFO_speed_active(p->info);
	unsigned e = (unsigned)wire_get_PORT_INFO_ext_speed_active(p->info);
	const char *width = "?", *speed = "?";

	for (i = 0; i < N_WIDTHS; i++)
		if (widths[i].code == w)
			width = widths[i].name;
	for (i = 1; i < N_SPEEDS; i++)
		if (speeds[i].ext == e && (e || speeds[i].plain == s))
			speed = speeds[i].name;
	snprintf(text, sizeof(text), "%s%s", width, speed);
	return text;
}

static char id_prefix(const struct fab_node *n)
{
	return n->type == FAB_SWITCH ? 'S' : n->type == FAB_ROUTER ? 'R' : 'H';
}

static int text_length(const struct fab_node *n)
{
	return (int)strnlen((const char *)n->description, sizeof(n->description));
}

static void write_port(const struct fab_port *p, FILE *to)
{
	const struct fab_port *peer = p->peer;
	bool is_end = p->node->type != FAB_SWITCH;

	fprintf(to, "[%u]", p->num);
	if (is_end)
		fprintf(to, "(%" PRIx64 ")", p->guid);
	if (p->is_trunk) {
		fprintf(to, "\t\"trunk %u\"\n", p->trunk);
		return;
	}
	fprintf(to, "\t\"%c-%016" PRIx64 "\"[%u]", id_prefix(peer->node), peer->node->guid, peer->num);
	if (peer->node->type != FAB_SWITCH)
		fprintf(to, "(%" PRIx64 ")", peer->guid);
	fprintf(to, "\t\t# ");
	if (is_end)
		fprintf(to, "lid %u lmc %u ", fab_port_lid(p), fab_port_lmc(p));
	fprintf(to, "\"%.*s\" lid %u %s\n", text_length(peer->node), (const char *)peer->node->description,
		fab_port_lid(fab_port_base(p->peer)), fab_topology_rate(p));
}

static void write_node(const struct fab_node *n, FILE *to)
{
	const char *kind = n->type == FAB_SWITCH ? "switch" : n->type == FAB_ROUTER ? "rt" : "ca";
	unsigned i;

	fprintf(to, "vendid=0x%x\ndevid=0x%x\nsysimgguid=0x%" PRIx64 "\n%sguid=0x%" PRIx64, n->vendor, n->device,
		n->system_guid, kind, n->guid);
	if (n->type == FAB_SWITCH)
		fprintf(to, "(%" PRIx64 ")", n->guid);
	fprintf(to, "\n%s\t%u \"%c-%016" PRIx64 "\"\t\t# \"%.*s\"",
		n->type == FAB_SWITCH ? "Switch" : n->type == FAB_ROUTER ? "Rt" : "Ca", n->n_ports, id_prefix(n), n->guid,
		text_length(n), (const char *)n->description);
	if (n->type == FAB_SWITCH)
		fprintf(to, " base port 0 lid %u lmc %u", fab_port_lid(&n->ports[0]), fab_port_lmc(&n->ports[0]));
	fputc('\n', to);
	for (i = 1; i <= n->n_ports; i++)
		if (n->ports[i].peer || n->ports[i].is_trunk)
			write_port(&n->ports[i], to);
	fputc('\n', to);
}

void fab_topology_write(const struct fab *f, FILE *to)
{
	struct fab_node *n;

	fprintf(to, "#\n# Topology of a soft fabric of dapple, as ibnetdiscover prints it\n#\n\n");
	ut_list_each(n, &f->nodes, link)
		write_node(n, to);
}

/* --- changing a fabric into another --- */

static int remove_nodes(struct fab *f, const struct fab *wanted, void (*gone)(void *arg, struct fab_node *n), void *arg)
{
	struct fab_node *n, *tmp, *w;
	int changes = 0;

	ut_list_each_safe(n, tmp, &f->nodes, link) {
		w = fab_node_by_guid(wanted, n->guid);
		if (w && w->guid == n->guid && w->type == n->type && w->n_ports == n->n_ports)
			continue;
		gone(arg, n);
		fab_node_remove(n);
		changes++;
	}
	return changes;
}

/* Returns the port of f that is this port of the wanted fabric. */
static struct fab_port *counterpart(const struct fab *f, const struct fab_port *w)
{
	struct fab_node *n = w ? fab_node_by_guid(f, w->node->guid) : NULL;

	return n ? &n->ports[w->num] : NULL;
}

static int unlink_ports(struct fab *f, const struct fab *wanted)
{
	struct fab_node *n;
	int changes = 0;
	unsigned i;

	ut_list_each(n, &f->nodes, link) {
		const struct fab_node *w = fab_node_by_guid(wanted, n->guid);

		for (i = 1; w && i <= n->n_ports; i++) {
			struct fab_port *p = &n->ports[i];

			if (p->peer && p->peer != counterpart(f, w->ports[i].peer)) {
				fab_unlink(p);
				changes++;
			}
		}
	}
	return changes;
}

static int add_missing(struct fab *f, const struct fab_node *w, struct fab_node **ret)
{
	char description[WIRE_NODE_DESC_LEN + 1] = "";
	struct fab_node_spec spec = { .name = w->name, .description = description,
				      .type = (enum fab_node_type)w->type, .n_ports = w->n_ports, .guid = w->guid,
				      .system_guid = w->system_guid, .port_guid = w->ports[1].guid,
				      .vendor = w->vendor, .device = w->device, .revision = w->revision };
	unsigned i;
	int r;

	memcpy(description, w->description, WIRE_NODE_DESC_LEN);
	r = fab_node_add(f, &spec, ret);
	for (i = 1; r == 0 && i <= w->n_ports; i++) {
		const uint8_t *info = w->ports[i].info;

		fab_port_set_abilities(&(*ret)->ports[i], (unsigned)wire_get_PORT_INFO_width_supported(info),
				       (unsigned)wire_get_PORT_INFO_speed_supported(info),
				       (unsigned)wire_get_PORT_INFO_ext_speed_supported(info));
		if (w->type != FAB_SWITCH)
			fab_port_set_guid(&(*ret)->ports[i], w->ports[i].guid);
	}
	return r;
}

/* What a node that stays may change. Returns the number of changes. */
static int renew_node(struct fab_node *n, const struct fab_node *w)
{
	char text[WIRE_NODE_DESC_LEN + 1] = "";
	int changes = 0;

	if (memcmp(n->description, w->description, sizeof(n->description)) != 0) {
		memcpy(text, w->description, WIRE_NODE_DESC_LEN);
		fab_node_describe(n, text);
		changes++;
	}
	if (n->system_guid != w->system_guid) {
		fab_node_set_image(n, w->system_guid);
		changes++;
	}
	return changes;
}

static int add_nodes(struct fab *f, const struct fab *wanted)
{
	struct fab_node *w, *n;
	int changes = 0, r;

	ut_list_each(w, &wanted->nodes, link) {
		n = fab_node_by_guid(f, w->guid);
		if (n) {
			changes += renew_node(n, w);
			continue;
		}
		r = add_missing(f, w, &n);
		if (r < 0)
			return r;
		changes++;
	}
	return changes;
}

static int link_ports(struct fab *f, const struct fab *wanted)
{
	struct fab_node *w;
	int changes = 0;
	unsigned i;

	ut_list_each(w, &wanted->nodes, link)
		for (i = 1; i <= w->n_ports; i++) {
			struct fab_port *a = counterpart(f, &w->ports[i]), *b = counterpart(f, w->ports[i].peer);

			if (a && b && !a->peer && fab_link(a, b) == 0)
				changes++;
		}
	return changes;
}

int fab_topology_apply(struct fab *f, const struct fab *wanted, void (*gone)(void *arg, struct fab_node *n), void *arg)
{
	int changes = remove_nodes(f, wanted, gone, arg), r;

	changes += unlink_ports(f, wanted);
	r = add_nodes(f, wanted);
	if (r < 0)
		return r;
	return changes + r + link_ports(f, wanted);
}
