/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/compat12/front.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const struct c12_front *front;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void take_front(const char *library)
{
	void *dl = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	const struct c12_front *(*get)(void) = NULL;

	if (dl)
		*(void **)&get = dlsym(dl, "dreg_front");
	if (get && get()->size == sizeof(*front))
		front = get();
}

/* Takes the libdat2.so.2 beside this library, by path, since the process may have loaded another
 * one; else by name. It is never unloaded. */
static void find(void)
{
	char path[PATH_MAX];
	Dl_info info;
	char *slash;

	if (!dladdr((void *)find, &info))
		return;
	snprintf(path, sizeof(path) - sizeof("libdat2.so.2"), "%s", info.dli_fname);
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, "libdat2.so.2");
	take_front(path);
	if (!front)
		take_front("libdat2.so.2");
}

const struct c12_front *c12_front(void)
{
	pthread_once(&once, find);
	return front;
}
