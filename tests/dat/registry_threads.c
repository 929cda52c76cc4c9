/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many threads open and close a few names, create objects and free them. Each library is loaded
 * once per period of use and unloaded at the end, and no call sees another's IA.
 */
#include "registry_lib.h"

#include "support/check.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS 8
#define ROUNDS 300
#define NAMES 3

static struct registry r;
static _Atomic unsigned opened;

static void one_round(unsigned *seed)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_PZ_HANDLE pz;
	DAT_IA_HANDLE ia;
	char name[8];

	snprintf(name, sizeof(name), "n%u", (unsigned)rand_r(seed) % NAMES);
	CHECK(r.openv(name, 8, &evd, &ia, 2, 0, DAT_TRUE) == DAT_SUCCESS);
	opened++;
	for (int i = 0; i < 3; i++) {
		CHECK(r.pz_create(ia, &pz) == DAT_SUCCESS);
		CHECK(r.pz_free(pz) == DAT_SUCCESS);
	}
	CHECK(r.close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
	CHECK(r.close(ia, DAT_CLOSE_ABRUPT_FLAG) == ERR(INVALID_HANDLE, INVALID_HANDLE_IA));
}

static void *run(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;

	for (int i = 0; i < ROUNDS; i++)
		one_round(&seed);
	return NULL;
}

static unsigned count(const char *text, const char *word)
{
	unsigned n = 0;

	for (const char *at = text; (at = strstr(at, word)); at++)
		n++;
	return n;
}

/* Of each name: init and fini take turns, and closes match opens. */
static void check_trace(const char *text)
{
	CHECK(count(text, "open n") == opened && opened == THREADS * ROUNDS + 3);
	CHECK(count(text, "close n") == opened);
	CHECK(count(text, "refused") == 0 && count(text, "kept") == 0);
	for (int i = 0; i < NAMES; i++) {
		char init[16], fini[16];
		const char *at = text, *a, *b;

		snprintf(init, sizeof(init), "init n%d", i);
		snprintf(fini, sizeof(fini), "fini n%d", i);
		CHECK(count(text, init) == count(text, fini) && count(text, init) > 0);
		while ((a = strstr(at, init))) {
			b = strstr(a, fini);
			CHECK(b);
			at = strstr(a + 1, init);
			CHECK(!at || at > b);
			at = b;
		}
	}
}

/* A thread cancelled before it begins completes the open and the close: otherwise the library would
 * stay half loaded, and every other thread would wait for it. */
static void *cancelled(void *arg)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	pthread_cancel(pthread_self());
	errno = 4242;
	CHECK(r.openv((char *)"n0", 8, &evd, &ia, 2, 0, DAT_TRUE) == DAT_SUCCESS);
	CHECK(r.close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
	CHECK(errno == 4242);
	opened++;
	pthread_testcancel();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	void *result;
	char *text;

	CHECK(argc > 2);
	registry_conf(argv[2], "n0 u2.0 threadsafe default FAKE dapl.2.0 \"\" \"\"\n"
		      "n1 u2.0 threadsafe default FAKE dapl.2.0 pages \"\"\n"
		      "n2 u2.1 threadsafe default FAKE dapl.2.0 \"\" \"\"\n");
	registry_open(&r, argv[1], true);
	for (int i = 0; i < 3; i++) {
		CHECK(!pthread_create(&t[0], NULL, cancelled, NULL));
		CHECK(!pthread_join(t[0], &result) && result == PTHREAD_CANCELED);
	}
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&t[i], NULL, run, (void *)(i + 1)));
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_join(t[i], NULL));
	text = registry_trace();
	check_trace(text);
	printf("%u opens, %u loads\n", opened, count(text, "init n"));
	free(text);
	return 0;
}
