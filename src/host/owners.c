/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "host/owners.h"

#include "host/slot.h"
#include "util/fault_calls.h"
#include "util/syscall.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of newer headers. */
#define SHOW_UID 0x40 /* UDIAG_SHOW_UID */
#define ATTR_UID 7    /* UNIX_DIAG_UID */

#define TAG_DIGITS 16
#define PREFIX "dapple-roce/"

struct ask {
	struct nlmsghdr h;
	struct unix_diag_req r;
};

/* --- names --- */

socklen_t host_owned_name(const struct host *h, const uint8_t addr[16], uint32_t scope, unsigned slot, uint64_t tag,
			  struct sockaddr_un *ret)
{
	char text[HOST_ADDR_TEXT], tail[16], suffix[TAG_DIGITS + 2] = "";
	int n;

	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	host_addr_text(addr, scope, text);
	if (slot == HOST_LOCK)
		snprintf(tail, sizeof(tail), "lock");
	else
		snprintf(tail, sizeof(tail), "%u", slot);
	if (tag)
		snprintf(suffix, sizeof(suffix), "/%016" PRIx64, tag);
	n = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, PREFIX "%s/%u/%s%s", text, h->port, tail, suffix);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* Reads what follows the port in a name: "3", "lock", and the same with a tag. */
static bool read_tail(const char *s, unsigned *ret_slot, uint64_t *ret_tag)
{
	char *end;

	if (!strncmp(s, "lock", 4)) {
		*ret_slot = HOST_LOCK;
		end = (char *)s + 4;
	} else {
		*ret_slot = (unsigned)strtoul(s, &end, 10);
		if (end == s || *ret_slot >= HOST_SLOTS)
			return false;
	}
	*ret_tag = 0;
	if (!*end)
		return true;
	s = end + 1;
	if (*end != '/' || strlen(s) != TAG_DIGITS || strspn(s, "0123456789abcdef") != TAG_DIGITS)
		return false;
	*ret_tag = strtoull(s, NULL, 16);
	return *ret_tag;
}

bool host_owned_tag(const struct host *h, const uint8_t addr[16], uint32_t scope, unsigned slot,
		    const struct sockaddr_un *sun, socklen_t n, uint64_t *ret_tag)
{
	size_t at = offsetof(struct sockaddr_un, sun_path) + 1;
	struct sockaddr_un plain;
	size_t len = host_owned_name(h, addr, scope, slot, 0, &plain) - at;
	char text[sizeof(plain.sun_path)];
	const char *slash;
	unsigned of;

	if (n < at + len || n - at >= sizeof(text) || memcmp(sun->sun_path + 1, plain.sun_path + 1, len))
		return false;
	memcpy(text, sun->sun_path + 1, n - at);
	text[n - at] = 0;
	plain.sun_path[sizeof(plain.sun_path) - 1] = 0;
	slash = strrchr(plain.sun_path + 1, '/');
	return read_tail(text + (slash - plain.sun_path), &of, ret_tag) && of == slot;
}

/* --- the kernel's answer --- */

struct found {
	const char *prefix; /* up to the port and its slash */
	size_t len;
	uint32_t uid; /* ours */
	struct host_owners *o;
};

static void enter(struct host_owners *o, unsigned slot, uint64_t tag, bool ours, uint32_t uid)
{
	if (!ours) {
		/* A tagged name of another user means nothing to us. */
		o->n_foreign += !tag;
		o->foreign[slot] |= !tag;
		o->uid = tag ? o->uid : uid;
		return;
	}
	o->locks += slot == HOST_LOCK && tag;
	o->ours[slot] = true;
	o->tag[slot] = tag;
}

static void read_socket(const struct nlmsghdr *m, const struct found *f)
{
	const struct nlattr *a = (const void *)((const uint8_t *)NLMSG_DATA(m) + NLMSG_ALIGN(sizeof(struct unix_diag_msg)));
	const uint8_t *end = (const uint8_t *)m + m->nlmsg_len;
	char name[sizeof(((struct sockaddr_un *)0)->sun_path) + 1] = "";
	bool has_uid = false;
	uint32_t uid = 0;
	unsigned slot;
	uint64_t tag;

	while ((const uint8_t *)(a + 1) <= end && a->nla_len >= sizeof(*a) && (const uint8_t *)a + a->nla_len <= end) {
		size_t n = a->nla_len - sizeof(*a);

		if (a->nla_type == UNIX_DIAG_NAME && n < sizeof(name)) {
			memcpy(name, a + 1, n);
			name[n] = 0;
			if (n > 1 && strlen(name + 1) != n - 1)
				name[1] = 0; /* no name of ours has a zero in it */
		} else if (a->nla_type == ATTR_UID && n >= sizeof(uid)) {
			memcpy(&uid, a + 1, sizeof(uid));
			has_uid = true;
		}
		a = (const void *)((const uint8_t *)a + NLA_ALIGN(a->nla_len));
	}
	if (has_uid && !name[0] && !strncmp(name + 1, f->prefix, f->len) && read_tail(name + 1 + f->len, &slot, &tag))
		enter(f->o, slot, tag, uid == f->uid, uid);
}

/* Returns 1 if more follows, 0 at the end, or -errno. */
static int read_answer(const uint8_t *buf, size_t n, const struct found *f)
{
	const struct nlmsghdr *m = (const void *)buf;

	for (; NLMSG_OK(m, n); m = NLMSG_NEXT(m, n)) {
		if (m->nlmsg_type == NLMSG_DONE)
			return 0;
		if (m->nlmsg_type == NLMSG_ERROR)
			return -EOPNOTSUPP;
		if (m->nlmsg_len >= NLMSG_LENGTH(sizeof(struct unix_diag_msg)))
			read_socket(m, f);
	}
	return 1;
}

static int dump(int fd, const struct found *f)
{
	struct ask q = {
		.h = { .nlmsg_len = sizeof(q), .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP, .nlmsg_seq = 1 },
		.r = { .sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX, .udiag_show = UDIAG_SHOW_NAME | SHOW_UID },
	};
	_Alignas(struct nlmsghdr) uint8_t buf[16384];
	long n = UT_SYS(SYS_sendto, fd, &q, sizeof(q), 0, NULL, 0);
	int more = 1;

	while (n >= 0 && more > 0) {
		n = UT_SYS(SYS_recvfrom, fd, buf, sizeof(buf), MSG_DONTWAIT | MSG_TRUNC, NULL, NULL);
		if (n >= 0)
			more = n <= (long)sizeof(buf) ? read_answer(buf, (size_t)n, f) : -EMSGSIZE;
	}
	return n < 0 ? (int)n : more;
}

int host_owners(const struct host *h, const uint8_t addr[16], uint32_t scope, struct host_owners *ret)
{
	struct sockaddr_un sun;
	struct found f = { .prefix = sun.sun_path + 1, .o = ret };
	int fd = h->user->socket(h, HOST_SOCKET_OWNERS, &f.uid), r;

	memset(ret, 0, sizeof(*ret));
	if (fd < 0)
		return fd;
	host_owned_name(h, addr, scope, HOST_LOCK, 0, &sun);
	f.len = strlen(sun.sun_path + 1) - strlen("lock");
	r = dump(fd, &f);
	ut_close_fd(&fd);
	if (r < 0)
		memset(ret, 0, sizeof(*ret));
	return r;
}
