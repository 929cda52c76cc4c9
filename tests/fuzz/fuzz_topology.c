/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Any bytes as a topology. What can be read is written, read again and is the same; a fault has a sentence. Applied to
 * another fabric it makes that one equal.
 */
#include "input.h"

#include "mgmt/fabric.h"
#include "mgmt/topology.h"

static void gone(void *arg, struct fab_node *n)
{
	(void)arg;
	(void)n;
}

static char *write_text(const struct fab *f, size_t *len)
{
	char *text;
	FILE *out = open_memstream(&text, len);

	REQUIRE(out);
	fab_topology_write(f, out);
	fclose(out);
	return text;
}

static unsigned links(const struct fab *f)
{
	const struct fab_node *n;
	unsigned i, count = 0;

	ut_list_each(n, &f->nodes, link)
		for (i = 1; i <= n->n_ports; i++)
			count += n->ports[i].peer != NULL;
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fab *f = fab_new(NULL, NULL, 1), *again = fab_new(NULL, NULL, 1), *other = fab_new(NULL, NULL, 1);
	char why[FAB_TOPOLOGY_WHY] = "", *text;
	size_t len;

	REQUIRE(f && again && other);
	if (fab_topology_read(f, (const char *)data, size, why) < 0) {
		REQUIRE(*why);
	} else {
		text = write_text(f, &len);
		if (fab_topology_read(again, text, len, why) < 0) {
			fprintf(stderr, "%s\n%s", why, text);
			abort();
		}
		REQUIRE(again->n_nodes == f->n_nodes && links(again) == links(f));
		REQUIRE(fab_topology_apply(other, f, gone, NULL) >= 0);
		REQUIRE(other->n_nodes == f->n_nodes && links(other) == links(f));
		REQUIRE(fab_topology_apply(other, f, gone, NULL) == 0);
		free(text);
	}
	fab_free(f);
	fab_free(again);
	fab_free(other);
	return 0;
}
