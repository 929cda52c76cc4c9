/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/devices.h"

/* dapple devices: the adapters that ibv_get_device_list() returns to a program here. */

static const char *kind_name(enum dev_kind kind)
{
	switch (kind) {
	case DEV_ROCE:
		return "roce";
	case DEV_IWARP:
		return "iwarp";
	case DEV_IB:
		return "ib";
	}
	return "?";
}

int run_cmd_devices(int argc, char **argv)
{
	struct run_opts o = { .command = "devices", .argv = argv, .argc = argc, .index = 1 };
	const char *name;
	struct dev_info *list;
	int n, i, r;

	while ((name = run_opts_next(&o))) {
		if (strcmp(name, "adapter") != 0)
			return run_usage_error("devices", "option \"%s\" is unknown", name);
		name = run_opts_value(&o);
		if (!name)
			return RUN_EXIT_USAGE;
		r = run_adapter_check("devices", name);
		if (r != 0)
			return r;
		if (setenv("DAPPLE_ADAPTER", name, 1) < 0)
			abort();
	}
	if (o.index < argc)
		return run_usage_error("devices", "argument \"%s\" is unexpected", argv[o.index]);
	n = dev_list(&list);
	if (n < 0) {
		run_say("cannot list the adapters (%s): none is shown; see dapple doctor", strerror(-n));
		return 1;
	}
	for (i = 0; i < n; i++)
		printf("%-24s %-6s %-16s %016" PRIx64 "\n", list[i].name, kind_name(list[i].kind),
		       list[i].ifname, list[i].guid);
	if (n == 0)
		run_say("no network interface is up: there is no adapter; switch one on: ip link set lo up");
	else
		free(list);
	return n ? 0 : 1;
}
