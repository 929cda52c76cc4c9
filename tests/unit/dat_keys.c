/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of keys: lookups by space, deletion, growth, and concurrent changes. */
#include "dat/provider/mem/keys.h"

#include "dat/provider/ia/obj.h"
#include "support/check.h"

#include <pthread.h>

enum { STAY = 300, CHURN = 20000, ROUNDS = 40 };

struct owner {
	struct dpr_obj obj;
	struct dpr_key key;
};

static struct owner stay[STAY], churn[CHURN];
static struct dpr_ia *const ia = (struct dpr_ia *)0x1000, *const other = (struct dpr_ia *)0x2000;
static _Atomic int over;

static uint32_t number_of(int i)
{
	return 0x100u + (uint32_t)i * 0x101u;
}

static void alone(void)
{
	struct owner a = { 0 }, b = { 0 };

	dpr_key_del(&a.key); /* not in the table: harmless */
	CHECK(!dpr_key_find(ia, DPR_KEY_LOCAL, 7));
	dpr_key_add(&a.key, ia, DPR_KEY_LOCAL, 7, &a.obj);
	dpr_key_add(&b.key, ia, DPR_KEY_REMOTE, 7, &b.obj);
	CHECK(dpr_key_find(ia, DPR_KEY_LOCAL, 7) == &a.obj);
	CHECK(dpr_key_find(ia, DPR_KEY_REMOTE, 7) == &b.obj);
	CHECK(!dpr_key_find(ia, DPR_KEY_QP, 7));
	CHECK(!dpr_key_find(other, DPR_KEY_LOCAL, 7));
	CHECK(!dpr_key_find(ia, DPR_KEY_LOCAL, 8));
	CHECK(dpr_key_get(ia, DPR_KEY_LOCAL, 7) == &a.obj && a.obj.refs == 1);
	dpr_key_del(&a.key);
	dpr_key_del(&a.key);
	CHECK(!dpr_key_find(ia, DPR_KEY_LOCAL, 7));
	CHECK(dpr_key_find(ia, DPR_KEY_REMOTE, 7) == &b.obj);
	dpr_key_del(&b.key);
}

static void *reader(void *arg)
{
	uint64_t looks = 0;

	while (!atomic_load(&over)) {
		for (int i = 0; i < STAY; i++, looks++)
			CHECK(dpr_key_find(ia, DPR_KEY_LOCAL, number_of(i)) == &stay[i].obj);
	}
	*(uint64_t *)arg = looks;
	return NULL;
}

/* Entries that stay are found at every moment, and each lookup returns the right one. */
static void beside_others(void)
{
	pthread_t t;
	uint64_t looks = 0;

	for (int i = 0; i < STAY; i++)
		dpr_key_add(&stay[i].key, ia, DPR_KEY_LOCAL, number_of(i), &stay[i].obj);
	CHECK(!pthread_create(&t, NULL, reader, &looks));
	for (int r = 0; r < ROUNDS; r++) {
		for (int i = 0; i < CHURN; i++)
			dpr_key_add(&churn[i].key, other, DPR_KEY_LOCAL, (uint32_t)(i + r),
				    &churn[i].obj);
		for (int i = 0; i < CHURN; i++)
			CHECK(dpr_key_find(other, DPR_KEY_LOCAL, (uint32_t)(i + r)) == &churn[i].obj);
		for (int i = CHURN - 1; i >= 0; i--)
			dpr_key_del(&churn[i].key);
		CHECK(!dpr_key_find(other, DPR_KEY_LOCAL, (uint32_t)r));
	}
	atomic_store(&over, 1);
	pthread_join(t, NULL);
	printf("%lu looks beside %d changes\n", (unsigned long)looks, 2 * CHURN * ROUNDS);
	for (int i = 0; i < STAY; i++)
		dpr_key_del(&stay[i].key);
	CHECK(!dpr_key_find(ia, DPR_KEY_LOCAL, number_of(0)));
}

int main(void)
{
	alone();
	beside_others();
	return 0;
}
