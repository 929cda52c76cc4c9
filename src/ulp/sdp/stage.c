/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/sdp/stage.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#define PAGE 4096
/*
 * Where the octets begin in a page. Copies of some KiB to a place that is 1 to 31 octets behind that of the source in its page, as memory of
 * malloc() is, take ten times as long by `rep movsb` of some processors (AMD's of 2020 on).
 */
#define APART 2048

/* dpl_alloc_shared() and dpl_free_shared() of dapple/verbs.h, which other adapters' libraries do not have. */
static uint8_t *get_shared(size_t len)
{
	void *(*get)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "dpl_alloc_shared");

	return get ? get(len) : NULL;
}

static void put_shared(uint8_t *memory)
{
	int (*put)(void *) = (int (*)(void *))dlsym(RTLD_DEFAULT, "dpl_free_shared");

	if (put)
		put(memory);
}

static void put(struct sdp_stage *s)
{
	if (s->shared)
		put_shared(s->memory);
	else
		free(s->memory);
	*s = (struct sdp_stage){ 0 };
}

int sdp_stage_open(struct sdp_stage *s, struct ibv_pd *pd, size_t len, int access, bool share)
{
	int r;

	s->memory = share ? get_shared(APART + len) : NULL;
	s->shared = s->memory != NULL;
	if (!s->memory)
		s->memory = malloc(APART + len + PAGE);
	if (!s->memory)
		return -ENOMEM;
	s->at = s->memory + APART + (PAGE - (uintptr_t)s->memory % PAGE) % PAGE;
	s->mr = ibv_reg_mr(pd, s->at, len, access);
	if (s->mr)
		return 0;
	r = -errno;
	put(s);
	return r;
}

void sdp_stage_close(struct sdp_stage *s)
{
	if (!s->at)
		return;
	ibv_dereg_mr(s->mr);
	put(s);
}
