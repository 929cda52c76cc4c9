/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/srp/program/nbd.h"
#include "ulp/srp/program/id.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLUGIN "nbdkit-srp-plugin.so"
#define OWN_WORDS 12

static int failed(const char *what, const char *why, const char *remedy)
{
	fprintf(stderr, "dapple srp: %s: %s: no disk is served; %s\n", what, why, remedy);
	return 1;
}

/* The plugin beside this program. Returns false if it is not there. */
static bool find_plugin(char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - sizeof(PLUGIN) - 1);
	char *slash;

	if (n <= 0)
		return false;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	memcpy(slash + 1, PLUGIN, sizeof(PLUGIN));
	return !access(path, R_OK);
}

static bool is_set(const uint8_t id[16])
{
	static const uint8_t none[16];

	return memcmp(id, none, 16) != 0;
}

static char *word(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static char *word(const char *fmt, ...)
{
	char *text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	return n < 0 ? NULL : text;
}

/* nbdkit, the plugin, its parameters, and the user's words, of which a second --ipaddr counts. */
static void fill(char **argv, const struct srp_options *o, char *plugin)
{
	char text[SRP_ID_TEXT_MAX];

	*argv++ = word("nbdkit");
	*argv++ = word("--ipaddr=127.0.0.1");
	if (o->read_only)
		*argv++ = word("--readonly");
	*argv++ = plugin;
	*argv++ = word("to=%s", o->place);
	*argv++ = word("target=%s", srp_id_text(text, o->target));
	if (is_set(o->disk.session.initiator))
		*argv++ = word("initiator=%s", srp_id_text(text, o->disk.session.initiator));
	*argv++ = word("lun=%u", (unsigned)(o->disk.lun >> 48) & 0x3fff);
	*argv++ = word("timeout=%d", o->disk.timeout_ms / 1000);
	*argv++ = word("reconnect=%d", o->disk.reconnect_ms / 1000);
	*argv++ = word("depth=%u", o->disk.session.depth);
	for (char **at = o->rest; *at; at++)
		*argv++ = *at;
	*argv = NULL;
}

int srp_nbd(const struct srp_options *o)
{
	char plugin[PATH_MAX], **argv;
	size_t n = 0;

	while (o->rest[n])
		n++;
	argv = calloc(n + OWN_WORDS, sizeof(*argv));
	if (!argv)
		return failed(PLUGIN, strerror(ENOMEM), "end other programs");
	if (!find_plugin(plugin))
		return failed(PLUGIN, "it is not beside dapple-srp", "install Dapple again, or nbdkit-plugin-dev and build the tree");
	fill(argv, o, plugin);
	execvp("nbdkit", argv);
	return failed("nbdkit", strerror(errno), "install it (Debian: apt install nbdkit)");
}
