/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared memory by its cookie, between two processes. */
#include "mem_pair.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARG(n) ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
enum { SIZE = 65536 };

static struct mp p;
static char cookie[DAT_LMR_COOKIE_SIZE];
static char *memory, *again, *other; /* the first two are one memory */
static int to_child[2], to_parent[2];

/* What the child is asked for; it answers with the result. */
struct order {
	char *at;   /* NULL: frees the last region */
	DAT_VLEN length;
};

static DAT_RETURN make(struct mp_end *e, char *at, DAT_VLEN length, DAT_LMR_HANDLE *lmr, DAT_RMR_CONTEXT *rctx)
{
	DAT_SHARED_MEMORY s = { at, &cookie };
	DAT_REGION_DESCRIPTION r = { .for_shared_memory = s };

	return dat_lmr_create(e->ia, DAT_MEM_TYPE_SHARED_VIRTUAL, r, length, e->pz, DAT_MEM_PRIV_ALL_FLAG,
			      DAT_VA_TYPE_VA, lmr, NULL, rctx, NULL, NULL);
}

static void child(void)
{
	DAT_LMR_HANDLE lmr = NULL;
	struct order o;
	DAT_RETURN r;

	mp_open_end(&p, &p.a);
	while (read(to_child[0], &o, sizeof(o)) == sizeof(o)) {
		r = o.at ? make(&p.a, o.at, o.length, &lmr, NULL) : dat_lmr_free(lmr);
		CHECK(write(to_parent[1], &r, sizeof(r)) == sizeof(r));
	}
	_exit(0);
}

static DAT_RETURN ask(char *at, DAT_VLEN length)
{
	struct order o = { at, length };
	DAT_RETURN r;

	CHECK(write(to_child[1], &o, sizeof(o)) == sizeof(o));
	CHECK(read(to_parent[0], &r, sizeof(r)) == sizeof(r));
	return r;
}

static char *map(int fd)
{
	char *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, fd, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

/* A Write into the region of one process is in the memory of both. */
static void written(DAT_RMR_CONTEXT rctx)
{
	DAT_LMR_TRIPLET from = mp_at(&p.a, 0, 4096);
	DAT_RMR_TRIPLET to = { .rmr_context = rctx, .virtual_address = (uintptr_t)memory, .segment_length = 4096 };

	mp_paint(p.a.buf, 4096, 7);
	OK(dat_ep_post_rdma_write(p.a.ep, 1, &from, mp_cookie(1), &to, DAT_COMPLETION_DEFAULT_FLAG));
	DTO(p.a.req, DAT_DTO_RDMA_WRITE, 1, DAT_DTO_SUCCESS);
	mp_settle(&p);
	CHECK(mp_painted(again, 4096, 7));
}

int main(void)
{
	DAT_LMR_HANDLE lmr, second;
	DAT_RMR_CONTEXT rctx;
	pid_t pid;
	int fd = memfd_create("shared", MFD_CLOEXEC);

	CHECK(fd >= 0 && ftruncate(fd, SIZE) == 0);
	memory = map(fd);
	again = map(fd);
	other = map(-1);
	snprintf(cookie, sizeof(cookie), "shared between %d and its child", (int)getpid());
	CHECK(pipe(to_child) == 0 && pipe(to_parent) == 0);
	pid = fork();
	if (pid == 0)
		child();
	mp_join(&p);

	OK(make(&p.b, memory, 8192, &lmr, &rctx));
	WANT(ask(memory, 4096), ARG(4));
	WANT(ask(other, 8192), ARG(3));
	WANT(ask(again + 4096, 8192), ARG(3));
	OK(ask(again, 8192)); /* elsewhere in the address space */
	written(rctx);
	OK(dat_lmr_free(lmr));
	WANT(make(&p.b, memory, 4096, &lmr, NULL), ARG(4)); /* the child still has one */
	OK(ask(NULL, 0));
	OK(make(&p.b, other, 4096, &lmr, NULL)); /* the cookie is free */
	OK(make(&p.a, other, 4096, &second, NULL));
	OK(dat_lmr_free(lmr));
	WANT(ask(memory, 8192), ARG(4));
	OK(dat_lmr_free(second));
	/* memory that no process can share, or that is not there */
	WANT(make(&p.b, p.b.buf, 4096, &lmr, NULL), ARG(3));
	WANT(make(&p.b, other, 2 * SIZE, &lmr, NULL), ARG(3));

	OK(ask(memory, 8192));
	CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	OK(make(&p.b, memory, 4096, &lmr, NULL)); /* a record ends with its last process */
	OK(dat_lmr_free(lmr));
	mp_close(&p);
	return 0;
}
