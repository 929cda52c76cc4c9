/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Prints the entries of a registry, then the result of opening each name: registry_list LIBRARY
 * [NAME...] */
#include "registry_lib.h"

#include "support/check.h"

#define MAX 1024

int main(int argc, char **argv)
{
	static DAT_PROVIDER_INFO info[MAX];
	DAT_PROVIDER_INFO *list[MAX];
	const char *major, *minor;
	struct registry r;
	DAT_COUNT n;

	CHECK(argc > 1);
	registry_open(&r, argv[1], false);
	for (int i = 0; i < MAX; i++)
		list[i] = &info[i];
	CHECK(r.list(MAX, &n, list) == DAT_SUCCESS && n < MAX);
	for (int i = 0; i < n; i++)
		printf("%s %u.%u %s\n", info[i].ia_name, info[i].dapl_version_major,
		       info[i].dapl_version_minor,
		       info[i].is_thread_safe ? "threadsafe" : "nonthreadsafe");
	for (int i = 2; i < argc; i++) {
		DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
		DAT_IA_HANDLE ia;
		DAT_RETURN rc = r.openv(argv[i], 8, &evd, &ia, 2, 0, DAT_FALSE);

		r.strerror(rc, &major, &minor);
		printf("open %s: %s %s\n", argv[i], major, minor);
		if (rc == DAT_SUCCESS)
			CHECK(r.close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
	}
	return 0;
}
