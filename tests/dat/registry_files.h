/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A dat.conf and a trace of the fake provider in a temporary folder; without DAT types, for tests
 * of both versions. */
#ifndef TESTS_DAT_REGISTRY_FILES_H
#define TESTS_DAT_REGISTRY_FILES_H

/* Writes dat.conf, with FAKE replaced by the path of the fake provider, and an empty trace. Called
 * before the first call of a registry. NULL: a file that does not exist. */
void registry_conf(const char *fake, const char *text);
/* Returns the fake provider's lines since the last call, to be freed; never NULL. */
char *registry_trace(void);

#endif
