/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The adapters as a linked list (nodes 1.1 and 1.2). */
#include <infiniband/umad.h>

#include "abi/umad/list.h"
#include "util/alloc.h"
#include "util/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct umad_device_node *make_node(const char *name)
{
	struct umad_device_node *n = ut_zalloc(sizeof(*n));

	if (!n)
		return NULL;
	n->ca_name = ut_strdup(name);
	if (n->ca_name)
		return n;
	free(n);
	return NULL;
}

UT_EXPORT void umad_free_ca_device_list(struct umad_device_node *head)
{
	while (head) {
		struct umad_device_node *next = head->next;

		free((void *)(uintptr_t)head->ca_name);
		free(head);
		head = next;
	}
}

/* Returns NULL with errno 0 if there are none. */
UT_EXPORT struct umad_device_node *umad_get_ca_device_list(void)
{
	struct umad_device_node *head = NULL, **end = &head;
	struct dev_info *v;
	int n = umad_list(&v);

	if (n < 0) {
		errno = -n;
		return NULL;
	}
	errno = 0;
	for (int i = 0; i < n; i++) {
		*end = make_node(v[i].name);
		if (!*end) {
			umad_free_ca_device_list(head);
			head = NULL;
			errno = ENOMEM;
			break;
		}
		end = &(*end)->next;
	}
	free(v);
	return head;
}

static int by_name(const void *a, const void *b)
{
	const struct umad_device_node *const *x = a, *const *y = b;

	return strcmp((*x)->ca_name, (*y)->ca_name);
}

static size_t length(const struct umad_device_node *n)
{
	size_t len = 0;

	for (; n; n = n->next)
		len++;
	return len;
}

/* size: nodes in the list, 0 = count them. Returns 0 or a positive errno. */
UT_EXPORT int umad_sort_ca_device_list(struct umad_device_node **head, size_t size)
{
	struct umad_device_node **v, *n;
	size_t i, len = length(*head);

	if (!len)
		return 0;
	if (size && size != len)
		return EINVAL;
	v = ut_calloc(len, sizeof(struct umad_device_node *));
	if (!v)
		return ENOMEM;
	for (i = 0, n = *head; n; n = n->next)
		v[i++] = n;
	qsort(v, len, sizeof(struct umad_device_node *), by_name);
	for (i = 0; i + 1 < len; i++)
		v[i]->next = v[i + 1];
	v[len - 1]->next = NULL;
	*head = v[0];
	free(v);
	return 0;
}
