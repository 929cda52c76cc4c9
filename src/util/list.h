/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Intrusive doubly linked list. Head and node are the same type; a node that is on no list points at
 * itself, so ut_list_empty() of a node tells whether it is queued.
 */
#ifndef UTIL_LIST_H
#define UTIL_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct ut_list {
	struct ut_list *next, *prev;
};

#define UT_LIST_INIT(name) { &(name), &(name) }

#define ut_container(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

static inline void ut_list_init(struct ut_list *l)
{
	l->next = l->prev = l;
}

static inline bool ut_list_empty(const struct ut_list *l)
{
	return l->next == l;
}

static inline void ut_list_add_tail(struct ut_list *head, struct ut_list *n)
{
	n->prev = head->prev;
	n->next = head;
	head->prev->next = n;
	head->prev = n;
}

/* Does nothing to a node that is on no list. */
static inline void ut_list_del(struct ut_list *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	ut_list_init(n);
}

/* Takes off and returns the first node; NULL if the list is empty. */
static inline struct ut_list *ut_list_pop(struct ut_list *head)
{
	struct ut_list *n = head->next;

	if (n == head)
		return NULL;
	ut_list_del(n);
	return n;
}

#define ut_list_first(head, type, member) \
	(ut_list_empty(head) ? NULL : ut_container((head)->next, type, member))

#define ut_list_each(pos, head, member)                                        \
	for (pos = ut_container((head)->next, __typeof__(*pos), member);       \
	     &pos->member != (head);                                           \
	     pos = ut_container(pos->member.next, __typeof__(*pos), member))

/* The body may take pos off its list or free it. */
#define ut_list_each_safe(pos, tmp, head, member)                              \
	for (pos = ut_container((head)->next, __typeof__(*pos), member),       \
	    tmp = ut_container(pos->member.next, __typeof__(*pos), member);    \
	     &pos->member != (head);                                           \
	     pos = tmp,                                                        \
	    tmp = ut_container(tmp->member.next, __typeof__(*pos), member))

#endif
