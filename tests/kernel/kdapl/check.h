/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Checks of a test module: loading makes them all; the parameters `checks` and `failures` tell how many there were and how
 * many failed, the kernel's log which. `ia` is the adapter.
 */
#ifndef KDAPL_CHECK_H
#define KDAPL_CHECK_H

#include <kdat/kdat.h>
#include <linux/delay.h>
#include <linux/module.h>

static char *ia_name = "dapple-kdat-rxe0";
static int checks, failures;
module_param_named(ia, ia_name, charp, 0444);
module_param(checks, int, 0444);
module_param(failures, int, 0444);

#define OK 0u
#define BAD(type, sub) DAT_ERROR(DAT_##type, DAT_##sub)
#define ARG(n) BAD(INVALID_PARAMETER, INVALID_ARG##n)
#define HANDLE(kind) BAD(INVALID_HANDLE, INVALID_HANDLE_##kind)
#define STATE(s) BAD(INVALID_STATE, INVALID_STATE_##s)
#define IS(call, want) check(__LINE__, #call, call, want)
#define TRUE(x) check(__LINE__, #x, (x) ? 0 : 1, 0)
#define NONE DAT_COMPLETION_DEFAULT_FLAG

/* Returns whether it holds. */
static bool check(int line, const char *what, DAT_RETURN got, DAT_RETURN want)
{
	checks++;
	if (got == want)
		return true;
	failures++;
	pr_err("%s: line %d: %s gave %08x, expected %08x\n", KBUILD_MODNAME, line, what, got, want);
	return false;
}

/* Waits for the next event of an EVD without upcall; its number, or 0. */
static DAT_EVENT_NUMBER next(DAT_EVD_HANDLE evd, DAT_EVENT *ev)
{
	int i;

	for (i = 0; i < 6000; i++) {
		if (!dat_evd_dequeue(evd, ev))
			return ev->event_number;
		msleep(10);
	}
	return 0;
}

#endif
