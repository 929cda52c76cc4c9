/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/compat12/front.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const struct c12_front *front;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* By path and not by name: the process may have another libdat2.so.2. Never
 * unloaded. */
static void find(void)
{
	const struct c12_front *(*get)(void) = NULL;
	char path[PATH_MAX];
	Dl_info info;
	char *slash;
	void *dl;

	if (!dladdr((void *)find, &info))
		return;
	snprintf(path, sizeof(path), "%s", info.dli_fname);
	slash = strrchr(path, '/');
	snprintf(slash ? slash + 1 : path, sizeof(path) - (slash ? (size_t)(slash + 1 - path) : 0),
		 "libdat2.so.2");
	dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (dl)
		*(void **)&get = dlsym(dl, "dreg_front");
	if (get && get()->size == sizeof(*front))
		front = get();
}

const struct c12_front *c12_front(void)
{
	pthread_once(&once, find);
	return front;
}
