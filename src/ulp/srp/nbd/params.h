/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parameters of the plugin: KEY=VALUE words of nbdkit's command line. */
#ifndef ULP_SRP_NBD_PARAMS_H
#define ULP_SRP_NBD_PARAMS_H

#include "ulp/srp/disk.h"

struct srp_params {
	struct srp_disk_conf disk;
	bool has_to, has_target;
};

void srp_params_init(struct srp_params *p);
/* Takes a parameter. Returns NULL, or what is wrong with it. */
const char *srp_params_set(struct srp_params *p, const char *key, const char *value);
/* Returns NULL, or which one is missing. */
const char *srp_params_missing(const struct srp_params *p);

#endif
