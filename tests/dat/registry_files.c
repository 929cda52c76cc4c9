/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "registry_files.h"

#include "support/check.h"

#include <unistd.h>

static char folder[64], trace_path[96], conf_path[96];
static pid_t owner;

static void clean(void)
{
	if (getpid() != owner)
		return;
	unlink(trace_path);
	unlink(conf_path);
	rmdir(folder);
}

static void make_folder(void)
{
	if (folder[0])
		return;
	strcpy(folder, "/tmp/dat-registry-XXXXXX");
	CHECK(mkdtemp(folder));
	snprintf(trace_path, sizeof(trace_path), "%s/trace", folder);
	snprintf(conf_path, sizeof(conf_path), "%s/dat.conf", folder);
	owner = getpid();
	atexit(clean);
	CHECK(!setenv("FAKE_DAPL_TRACE", trace_path, 1));
	CHECK(!setenv("DAT_OVERRIDE", conf_path, 1));
}

void registry_conf(const char *fake, const char *text)
{
	FILE *f;

	make_folder();
	unlink(trace_path);
	unlink(conf_path);
	if (!text)
		return;
	f = fopen(conf_path, "w");
	CHECK(f);
	for (const char *at = text; *at;) {
		if (strncmp(at, "FAKE", 4) == 0) {
			fputs(fake, f);
			at += 4;
		} else {
			fputc(*at++, f);
		}
	}
	CHECK(!fclose(f));
}

char *registry_trace(void)
{
	FILE *f = fopen(trace_path, "r");
	char *text = calloc(1, 1 << 20);

	CHECK(text);
	if (!f)
		return text;
	CHECK(fread(text, 1, (1 << 20) - 1, f) < (1 << 20) - 1);
	fclose(f);
	unlink(trace_path);
	return text;
}
