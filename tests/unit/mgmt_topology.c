/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Topologies as text: both formats, round trips, faults with their line, changing one fabric into another. */
#include "mgmt_util.h"

#include "mgmt/topology.h"

static struct fab *read_text(const char *text)
{
	struct fab *f = fab_new(NULL, NULL, 1);
	char why[FAB_TOPOLOGY_WHY] = "";

	CHECK_MSG(fab_topology_read(f, text, strlen(text), why) == 0, "%s", why);
	return f;
}

static void read_fault(const char *text, const char *want)
{
	struct fab *f = fab_new(NULL, NULL, 1);
	char why[FAB_TOPOLOGY_WHY] = "";

	CHECK(fab_topology_read(f, text, strlen(text), why) < 0);
	CHECK_MSG(strstr(why, want), "\"%s\" is not in \"%s\"", want, why);
	fab_free(f);
}

static const char discovered[] =
	"#\n# Topology file: generated on Sat Nov 28 03:00:04 2026\n#\n"
	"# Initiated from node 0002c90000000010 port 0002c90000000011\n\n"
	"vendid=0x2c9\ndevid=0xbd36\nsysimgguid=0x2c90000000001\nswitchguid=0x2c90000000001(2c90000000001)\n"
	"Switch\t36 \"S-0002c90000000001\"\t\t# \"leaf 1\" base port 0 lid 6 lmc 0\n"
	"[1]\t\"H-0002c90000000010\"[1](2c90000000012) \t\t# \"node 1\" lid 4 4xQDR\n"
	"[36]\t\"H-0002c90000000020\"[2](2c90000000022) \t\t# \"node 2\" lid 5 12xHDR\n\n"
	"vendid=0x2c9\ndevid=0x673c\nsysimgguid=0x2c90000000013\ncaguid=0x2c90000000010\n"
	"Ca\t2 \"H-0002c90000000010\"\t\t# \"node 1\"\n"
	"[1](2c90000000012) \t\"S-0002c90000000001\"[1]\t\t# lid 4 lmc 0 \"leaf 1\" lid 6 4xQDR\n\n"
	"caguid=0x2c90000000020\n"
	"Ca\t2 \"H-0002c90000000020\"\t\t# \"node 2\"\n"
	"[2](2c90000000022) \t\"S-0002c90000000001\"[36]\t\t# lid 5 lmc 0 \"leaf 1\" lid 6 12xHDR\n";

static char *write_text(const struct fab *f)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	fab_topology_write(f, out);
	fclose(out);
	return text;
}

static void test_discovered(void)
{
	struct fab *f = read_text(discovered), *again;
	struct fab_node *sw = fab_node_by_name(f, "leaf 1"), *n1 = fab_node_by_name(f, "node 1");
	char *text, *text2;

	CHECK(f->n_nodes == 3 && sw && n1 && sw->type == FAB_SWITCH && sw->guid == 0x2c90000000001);
	CHECK(n1->system_guid == 0x2c90000000013 && n1->device == 0x673c && n1->ports[1].guid == 0x2c90000000012);
	CHECK(sw->ports[1].peer == &n1->ports[1] && fab_port_rate(&sw->ports[1]) == 400);
	CHECK(fab_port_rate(&sw->ports[36]) == 6000 && strcmp(fab_topology_rate(&sw->ports[36]), "12xHDR") == 0);
	CHECK(fab_node_by_name(f, "H-0002c90000000010") == n1);
	text = write_text(f);
	again = read_text(text);
	text2 = write_text(again);
	CHECK_MSG(strcmp(text, text2) == 0, "%s\n---\n%s", text, text2);
	fab_free(f);
	fab_free(again);
	free(text);
	free(text2);
}

static void test_net_file(void)
{
	struct fab *f = read_text("switchguids=0x100\nhcaguids=0x200\n"
				  "Switch 8 \"Sw1\"\n[1] \"Hca1\"[1] w=2 s=1 e=0\n[2] \"Hca2\"\n\n"
				  "Hca 2 \"Hca1\"\n[1] \"Sw1\"[1]\n\nHca 1 \"Hca2\" # \"with a text\"\n[1] \"Sw1\"[2]\n");
	struct fab_node *sw = fab_node_by_name(f, "Sw1"), *h1 = fab_node_by_name(f, "Hca1");

	CHECK(sw && h1 && sw->guid == 0x100 && h1->guid == 0x200 && fab_node_by_name(f, "Hca2")->guid == 0x203);
	CHECK(fab_port_rate(&sw->ports[1]) == 100 && fab_port_rate(&sw->ports[2]) == 1000);
	CHECK(memcmp(fab_node_by_name(f, "Hca2")->description, "with a text", 11) == 0);
	fab_free(f);
	/* The same text twice gives the same GUIDs, though it names none. */
	f = read_text("Hca 1 \"x\"\n");
	sw = fab_node_by_name(f, "x");
	CHECK(sw->guid >> 40 == 0x0200da);
	fab_free(f);
	f = read_text("Hca 1 \"y\"\nHca 1 \"x\"\n");
	CHECK(fab_node_by_name(f, "x")->guid >> 40 == 0x0200da);
	fab_free(f);
}

static void test_faults(void)
{
	char longest[4096];

	read_fault("", "no line that begins a node");
	read_fault("[1] \"x\"[1]\n", "line 1 has a port before any node");
	read_fault("Switch 0 \"s\"\n", "line 1 has a node with no port");
	read_fault("Switch 255 \"s\"\n", "more than 254");
	read_fault("Switch 4 s\n", "without an identifier");
	read_fault("Switch 4 \"s\"\nSwitch 4 \"s\"\n", "line 2 has the name or the GUID of another node");
	read_fault("Switch 4 \"s\"\n[5] \"t\"[1]\n", "line 2 has a port number that the node does not have");
	read_fault("Switch 4 \"s\"\n[1] \"t\"[1]\n", "line 2 has a link to a node that the file does not have");
	read_fault("Switch 4 \"s\"\n[1] \"s\"[9]\n", "does not have");
	read_fault("Switch 4 \"s\"\n[1] \"s\"[1]\n", "with itself");
	read_fault("Switch 4 \"s\"\n[1] \"s\"[2]\n[3] \"s\"[2]\n", "line 3 has a link to a port that is linked otherwise");
	read_fault("Switch 4 \"s\"\n[1] \"s\"[2] w=99\n", "above 31");
	read_fault("Switch 4 \"s\"\n[1] \"s\"[2] w=0 s=0 e=0\n", "that no port has");
	read_fault("Switch 4 \"s\"\n[1] \"trunk 300\"\n", "a trunk with a number other");
	read_fault("Switch 4 \"s\"\n[1] nothing\n", "without the identifier of the far node");
	read_fault("include \"other\"\nSwitch 1 \"s\"\n", "not supported");
	read_fault("vendid=\nSwitch 1 \"s\"\n", "has no number");
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	read_fault(longest, "longer than");
}

static unsigned n_gone;

static void gone(void *arg, struct fab_node *n)
{
	n_gone++;
}

static void test_apply(void)
{
	struct fab *f = read_text("Switch 4 \"s\"\n[1] \"a\"[1]\n[2] \"b\"[1]\nHca 1 \"a\"\nHca 1 \"b\"\n");
	struct fab *w = read_text("Switch 4 \"s\"\n[3] \"a\"[1]\n[2] \"c\"[1]\nHca 1 \"a\" # \"new text\"\nHca 1 \"c\"\n");
	struct fab_node *s = fab_node_by_name(f, "s"), *a = fab_node_by_name(f, "a");

	/* b goes, a moves, c comes, a is described anew. */
	CHECK(fab_topology_apply(f, w, gone, NULL) == 6 && n_gone == 1);
	CHECK(s == fab_node_by_name(f, "s") && s->ports[3].peer == &a->ports[1] && !s->ports[1].peer);
	CHECK(!fab_node_by_name(f, "b") && s->ports[2].peer == &fab_node_by_name(f, "c")->ports[1]);
	CHECK(memcmp(a->description, "new text", 8) == 0);
	CHECK(fab_topology_apply(f, w, gone, NULL) == 0);
	fab_free(f);
	fab_free(w);
}

int main(void)
{
	test_discovered();
	test_net_file();
	test_faults();
	test_apply();
	return 0;
}
