/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A plugin of nbdkit: a logical unit of an SRP target as an NBD export. All connections of NBD share one session, in which their
 * requests are under way together; so what one connection has flushed is on the medium for all. The session is made when the
 * first connection comes and ends with the last one: nothing of RDMA is there when nbdkit forks.
 */
#ifndef ULP_SRP_NBD_PLUGIN_H
#define ULP_SRP_NBD_PLUGIN_H

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

/* What nbdkit looks for. Returns the table of the plugin's functions. */
struct nbdkit_plugin *plugin_init(void);

#endif
