/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "host/mailbox.h"

#include "host/layout.h"
#include "host/owners.h"
#include "host/service.h"
#include "host/slot.h"
#include "util/rights.h"
#include "util/syscall.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static bool is_squatted(struct host *h, const uint8_t addr[16], unsigned slot)
{
	const struct host_addr *a = h->tagged ? host_addr_find(h, addr) : NULL;

	return a && a->squatted[slot] && !a->tag[slot];
}

static int post(struct host *h, struct host_addr *a, struct host_dest to, struct host_message *m,
		struct msghdr *mh)
{
	const uint8_t *addr = to.addr ? to.addr : a->addr;
	uint32_t scope = to.addr ? to.scope : a->scope;
	struct sockaddr_un sun;
	long r;

	if (to.slot != HOST_NO_SLOT && is_squatted(h, addr, to.slot))
		return -ECONNREFUSED; /* the other user would read it */
	mh->msg_name = &sun;
	if (to.slot == HOST_NO_SLOT)
		mh->msg_namelen = host_service_name(h, addr, scope, to.service, &sun);
	else
		mh->msg_namelen = host_slot_name(h, addr, scope, to.slot, &sun);
	m->magic = HOST_MESSAGE_MAGIC;
	m->slot = (uint8_t)h->slot;
	m->layout = host_layout;
	r = UT_SYS(SYS_sendmsg, a->mail.fd, mh, MSG_DONTWAIT | MSG_NOSIGNAL);
	return r < 0 ? (int)r : 0;
}

int host_send(struct host *h, struct host_addr *a, struct host_dest to,
		  struct host_message *m, const void *body, size_t len)
{
	struct iovec iov[2] = { { m, sizeof(*m) }, { (void *)body, len } };
	struct msghdr mh = { .msg_iov = iov, .msg_iovlen = 2 };

	return post(h, a, to, m, &mh);
}

int host_send_fds(struct host *h, struct host_addr *a, struct host_dest to,
		  struct host_message *m, const void *body, size_t len, const int *fds, int n)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(HOST_FDS * sizeof(int))] = { 0 };
	struct iovec iov[2] = { { m, sizeof(*m) }, { (void *)body, len } };
	struct msghdr mh = { .msg_iov = iov, .msg_iovlen = 2, .msg_control = control,
			    .msg_controllen = CMSG_SPACE((size_t)n * sizeof(int)) };

	host_fds_put(&mh, fds, (unsigned)n);
	return post(h, a, to, m, &mh);
}

/* --- descriptors --- */

void host_fds_take(struct msghdr *m, int *to, unsigned n)
{
	ut_rights_take(m, to, n);
}

void host_fds_put(struct msghdr *m, const int *fds, unsigned n)
{
	ut_rights_put(m, fds, n);
}

/* A name with a tag has a slash more. */
static bool has_tag(const struct sockaddr_un *sun, socklen_t n)
{
	size_t at = offsetof(struct sockaddr_un, sun_path) + 1;
	unsigned slashes = 0;

	for (size_t i = at; i < n; i++)
		slashes += sun->sun_path[i - at + 1] == '/';
	return slashes > 3;
}

/* A member's mailbox has the name from which it writes. */
static void learn_name(struct host *h, unsigned slot, const struct sockaddr_un *sun, socklen_t n)
{
	struct host_addr *a;
	uint64_t tag;

	if (n > sizeof(*sun) || (!h->tagged && !has_tag(sun, n)))
		return;
	ut_list_each(a, &h->addrs, node)
		if (slot != h->slot && host_owned_tag(h, a->addr, a->scope, slot, sun, n, &tag)) {
			a->tag[slot] = tag;
			a->squatted[slot] = tag;
			h->tagged |= tag != 0;
		}
}

static bool from_us(struct host *h, struct msghdr *mh)
{
	struct cmsghdr *c;
	struct ucred cred;

	for (c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
			continue;
		memcpy(&cred, CMSG_DATA(c), sizeof(cred));
		h->fds_pid = cred.pid;
		return cred.uid == h->uid;
	}
	return false;
}

void host_fds_close(struct host *h)
{
	for (int i = 0; i < HOST_FDS; i++)
		if (h->fds[i] >= 0)
			ut_close_fd(&h->fds[i]);
}

int host_receive(struct host *h, int fd, struct host_message *m, uint8_t *body, size_t room,
		  size_t *ret_len)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred)) +
					      CMSG_SPACE(HOST_FDS * sizeof(int))];
	struct iovec iov[2] = { { m, sizeof(*m) }, { body, room } };
	struct sockaddr_un from;
	struct msghdr mh = { .msg_name = &from, .msg_iov = iov, .msg_iovlen = 2 };
	long r;

	host_fds_close(h);
	for (int i = 0; i < 64; i++) {
		mh.msg_control = control;
		mh.msg_controllen = sizeof(control);
		mh.msg_namelen = sizeof(from);
		mh.msg_flags = 0;
		r = UT_SYS(SYS_recvmsg, fd, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (r < 0)
			return 0;
		host_fds_take(&mh, h->fds, HOST_FDS);
		if ((size_t)r < sizeof(*m) || (mh.msg_flags & MSG_TRUNC) || !from_us(h, &mh) ||
		    m->magic != HOST_MESSAGE_MAGIC || m->slot >= HOST_SLOTS) {
			host_fds_close(h);
			continue;
		}
		learn_name(h, m->slot, &from, mh.msg_namelen);
		*ret_len = (size_t)r - sizeof(*m);
		return 1;
	}
	return 0;
}
