/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The settings in the environment. */
#ifndef UTIL_ENV_H
#define UTIL_ENV_H

#include <stdlib.h>

/*
 * Returns the value of a variable, or NULL if it is not set. A program with rights that its user does not have
 * (setuid, setgid, file capabilities: AT_SECURE of getauxval(3)) has none: the environment is its user's, and
 * names files, directories and addresses.
 */
static inline const char *ut_env(const char *name)
{
	return secure_getenv(name);
}

#endif
