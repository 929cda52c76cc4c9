/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fft.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ends.h"

static const struct group {
	const char *name, *title;
	const struct fft_case *cases;
} groups[] = {
	{ "hwconn", "Hardware connection", fft_hwconn },
	{ "endpoint", "Endpoint", fft_endpoint },
	{ "pz", "Protection zone", fft_pz },
	{ "mem", "Memory", fft_mem },
	{ "connmgt", "Connection management", fft_connmgt },
	{ "queryinfo", "Queryinfo", fft_queryinfo },
};

bool fft_is(DAT_RETURN r, DAT_RETURN type, DAT_RETURN subtype, const char *what)
{
	if (DAT_GET_TYPE(r) == type && (type == DAT_SUCCESS || (r & DAT_CLASS_ERROR)) &&
	    (!subtype || DAT_GET_SUBTYPE(r) == subtype))
		return true;
	dtl_complain("%s gave %s (0x%08x), expected type 0x%x subtype 0x%x", what, dtl_strerror(r),
		     (unsigned)r, (unsigned)type, (unsigned)subtype);
	return false;
}

bool fft_unsupported(DAT_RETURN r)
{
	return DAT_GET_TYPE(r) == DAT_MODEL_NOT_SUPPORTED ||
	       DAT_GET_TYPE(r) == DAT_GET_TYPE(DAT_NOT_IMPLEMENTED);
}

static enum fft_result run_here(const struct fft_case *c, const char *name)
{
	struct dtl_ia ia;
	enum fft_result result;

	if (dtl_ia_open(&ia, name) != 0)
		return FFT_FAIL;
	result = c->run(&ia);
	if (result == FFT_FAIL)
		dat_ia_close(ia.ia, DAT_CLOSE_ABRUPT_FLAG);
	else if (dtl_ia_close(&ia) != 0)
		result = FFT_FAIL;
	return result;
}

#ifdef __KERNEL__
#define run_once run_here
#else
/* In a child process: a crash of the provider fails the case, and the others still run. */
static enum fft_result run_once(const struct fft_case *c, const char *name)
{
	pid_t child = fork();
	int status;

	if (child < 0) {
		dtl_complain("cannot start a process for the case (%s): the case fails; raise the limit on "
			     "processes (ulimit -u)", strerror(errno));
		return FFT_FAIL;
	}
	if (child == 0)
		_exit(run_here(c, name));
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return FFT_FAIL;
	if (WIFEXITED(status) && WEXITSTATUS(status) <= FFT_UNSUPP)
		return WEXITSTATUS(status);
	dtl_complain("the provider crashed in this case: signal %d", WTERMSIG(status));
	return FFT_FAIL;
}

/* Cases may be given by number, or as the old tool's caseN. */
#endif

static bool wanted(const struct dtt_options *o, int nr)
{
	int i;

	for (i = 0; i < o->n_names; i++) {
		const char *s = o->names[i];

		if (strncmp(s, "case", 4) == 0)
			s += 4;
		if (atoi(s) == nr && (*s >= '0' && *s <= '9'))
			return true;
	}
	return o->n_names == 0;
}

static int run_group(const struct dtt_options *o, const struct group *g)
{
	static const char *const words[] = { "PASS", "FAIL", "UNSUPP" };
	int nr, bad = 0, ran = 0;
	uint32_t i;

	for (nr = 0; g->cases[nr].text; nr++) {
		enum fft_result result = FFT_PASS;

		if (!wanted(o, nr))
			continue;
		printf("Function feature: %-32s case: %d\nDescription: %s\n", g->title, nr,
		       g->cases[nr].text);
		fflush(stdout);
		for (i = 0; i < o->plan.iterations && result == FFT_PASS; i++)
			result = run_once(&g->cases[nr], o->ia);
		printf("Result: %s\n", words[result]);
		bad |= result == FFT_FAIL;
		ran++;
	}
	if (!ran)
		dtl_complain("-f %s: it has cases 0 to %d only: no case ran; give numbers among these", g->name, nr - 1);
	return bad || !ran ? -1 : 0;
}

int dtt_fft(const struct dtt_options *o)
{
	size_t i;

	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (strcmp(groups[i].name, o->feature) == 0)
			return run_group(o, &groups[i]);
	dtl_complain("-f %s: the feature is unknown: no case ran; use hwconn, endpoint, pz, mem, connmgt or "
		     "queryinfo",
		     o->feature);
	return -1;
}
