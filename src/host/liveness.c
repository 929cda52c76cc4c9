/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "host/liveness.h"

#include "util/list.h"
#include "util/lock.h"
#include "util/syscall.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct ut_mutex lock = UT_MUTEX_INIT;
/* Read by the kernel when the thread dies, which may be in the middle of each function below. */
static struct robust_list_head head = {
	.list = { &head.list },
	.futex_offset = offsetof(struct host_life, owner) - offsetof(struct host_life, node),
};
static uint32_t thread UT_GUARDED_BY(lock); /* 0: none */

static void set_next(struct robust_list *at, struct robust_list *next)
{
	__atomic_store_n(&at->next, next, __ATOMIC_RELEASE);
}

static void put_owner(uint32_t owner) UT_REQUIRES(lock)
{
	thread = owner;
	for (struct robust_list *n = head.list.next; n != &head.list; n = n->next)
		atomic_store_explicit(&ut_container(n, struct host_life, node)->owner, owner,
				      memory_order_release);
}

void host_life_add(struct host_life *l)
{
	ut_lock(&lock);
	l->node.next = head.list.next;
	set_next(&head.list, &l->node);
	/* Not before it is in the list: the kernel would not find it. */
	atomic_store_explicit(&l->owner, thread, memory_order_release);
	ut_unlock(&lock);
}

void host_life_remove(struct host_life *l)
{
	struct robust_list *at = &head.list;

	ut_lock(&lock);
	while (at->next != &head.list && at->next != &l->node)
		at = at->next;
	if (at->next == &l->node) {
		atomic_store_explicit(&l->owner, 0, memory_order_release);
		set_next(at, l->node.next);
	}
	ut_unlock(&lock);
}

void host_life_begin(void)
{
	struct robust_list_head *now = NULL;
	size_t size = 0;

	if (syscall(SYS_set_robust_list, &head, sizeof(head)) < 0 ||
	    syscall(SYS_get_robust_list, 0, &now, &size) < 0 || now != &head)
		return;
	ut_lock(&lock);
	put_owner((uint32_t)syscall(SYS_gettid));
	ut_unlock(&lock);
}

void host_life_end(void)
{
	ut_lock(&lock);
	put_owner(0);
	ut_unlock(&lock);
}

void host_life_forget(void) UT_NO_TSA
{
	ut_mutex_init(&lock);
	head.list.next = &head.list;
	thread = 0;
}

/* --- pidfds --- */

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

int host_self_pidfd(void)
{
	return (int)UT_SYS(SYS_pidfd_open, getpid(), 0);
}
