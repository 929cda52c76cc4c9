/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/show.h"

#include "device/adapter.h"
#include "device/cm/cma_host.h"
#include "device/process.h"
#include "engine/show.h"
#include "util/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define COMM 64

enum what { QP, CQ, MR, COUNTERS, TOP, CM_ID, WHATS };

static const char *const words[WHATS] = { "qp", "cq", "mr", "counters", "top", "cm_id" };

/* A value has no blank and no control character. */
static void name_of_program(char comm[COMM])
{
	snprintf(comm, COMM, "%s", program_invocation_short_name);
	for (char *p = comm; *p; p++)
		if (*p <= ' ' || *p == 0x7f)
			*p = '_';
	if (!*comm)
		strcpy(comm, "-");
}

static void show_adapter(struct dev_adapter *a, enum what what, const struct eng_show_who *who, FILE *out)
{
	ut_lock(&a->dev.lock);
	if (what == QP || what == TOP)
		eng_show_qps(&a->dev, who, out);
	if (what == CQ)
		eng_show_cqs(&a->dev, who, out);
	if (what == MR)
		eng_show_mrs(&a->dev, who, out);
	if (what == COUNTERS || what == TOP)
		eng_show_counters(&a->dev, out);
	eng_dev_unlock(&a->dev);
}

void dev_show(const char *what, FILE *out)
{
	char comm[COMM];
	struct eng_show_who who = { .pid = (int)getpid(), .comm = comm };
	struct dev_adapter *a;
	int i = 0;

	while (i < WHATS && strcmp(words[i], what) != 0)
		i++;
	if (i == WHATS) {
		fprintf(out, "error: this version knows no such objects\n");
		return;
	}
	name_of_program(comm);
	fprintf(out, "ok\n");
	if (i == TOP || i == COUNTERS)
		fprintf(out, "time %" PRIu64 " pid %d comm %s\n", ut_now(), who.pid, who.comm);
	if (i == CM_ID) {
		dev_cm_show(&who, out);
		return;
	}
	ut_list_each(a, &dev_process_adapters, node)
		show_adapter(a, (enum what)i, &who, out);
}
