/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events, patterns and posts of a pair. */
#include "mem_pair.h"

DAT_LMR_TRIPLET mp_at(const struct mp_end *e, uint64_t off, uint32_t len)
{
	return (DAT_LMR_TRIPLET){ (uintptr_t)e->buf + off, len, e->lctx };
}

DAT_RMR_TRIPLET mp_rmt(const struct mp_end *e, uint64_t off, uint32_t len)
{
	return (DAT_RMR_TRIPLET){ (uintptr_t)e->buf + off, len, e->rctx };
}

DAT_DTO_COOKIE mp_cookie(uint64_t n)
{
	return (DAT_DTO_COOKIE){ .as_64 = n };
}

DAT_EVENT mp_next(DAT_EVD_HANDLE evd)
{
	DAT_COUNT nmore;
	DAT_EVENT ev;

	memset(&ev, 0xee, sizeof(ev));
	OK(dat_evd_wait(evd, MP_TIMEOUT, 1, &ev, &nmore));
	CHECK(ev.evd_handle == evd);
	return ev;
}

DAT_DTO_COMPLETION_EVENT_DATA mp_dto(const char *file, int line, DAT_EVD_HANDLE evd,
				     unsigned int op, uint64_t cookie,
				     DAT_DTO_COMPLETION_STATUS status)
{
	DAT_EVENT ev = mp_next(evd);
	DAT_DTO_COMPLETION_EVENT_DATA d = ev.event_data.dto_completion_event_data;

	if ((unsigned int)d.operation != op || d.user_cookie.as_64 != cookie || d.status != status) {
		fprintf(stderr, "%s:%d: event %x operation %u cookie %lu status %d, "
			"wanted %u %lu %d\n", file, line, ev.event_number,
			(unsigned int)d.operation, (unsigned long)d.user_cookie.as_64, d.status,
			op, (unsigned long)cookie, status);
		exit(1);
	}
	CHECK(ev.event_number == (op < DAT_DTO_EXTENSION_BASE ? DAT_DTO_COMPLETION_EVENT
							       : (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT));
	return d;
}

void mp_bound(const char *file, int line, DAT_EVD_HANDLE evd, DAT_RMR_HANDLE rmr, uint64_t cookie,
	      DAT_DTO_COMPLETION_STATUS status)
{
	DAT_EVENT ev = mp_next(evd);
	DAT_RMR_BIND_COMPLETION_EVENT_DATA d = ev.event_data.rmr_completion_event_data;

	if (ev.event_number == DAT_RMR_BIND_COMPLETION_EVENT && d.rmr_handle == rmr &&
	    d.user_cookie.as_64 == cookie && d.status == status)
		return;
	fprintf(stderr, "%s:%d: event %x cookie %lu status %d, wanted a bind, %lu, %d\n", file, line,
		ev.event_number, (unsigned long)d.user_cookie.as_64, d.status,
		(unsigned long)cookie, status);
	exit(1);
}

void mp_none(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;

	CHECK(DAT_GET_TYPE(dat_evd_dequeue(evd, &ev)) == DAT_QUEUE_EMPTY);
}

void mp_ended(struct mp_end *e, DAT_EVENT_NUMBER how)
{
	DAT_EVENT ev = mp_next(e->conn);

	CHECK_MSG(ev.event_number == how, "event %x, not %x", ev.event_number, how);
	CHECK(ev.event_data.connect_event_data.ep_handle == e->ep);
}

void mp_settle(struct mp *p)
{
	OK(mp_recv(&p->b, 0, 0, 0x5e771e));
	OK(mp_send(&p->a, 0, 0, 0x5e771e, DAT_COMPLETION_DEFAULT_FLAG));
	DTO(p->a.req, DAT_DTO_SEND, 0x5e771e, DAT_DTO_SUCCESS);
	DTO(p->b.recv, DAT_DTO_RECEIVE, 0x5e771e, DAT_DTO_SUCCESS);
}

static unsigned char stroke(uint32_t seed, size_t i)
{
	uint32_t x = (seed + (uint32_t)(i >> 2)) * 2654435761u;

	return (unsigned char)(x >> (8 * (i & 3)));
}

void mp_paint(char *at, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; i++)
		at[i] = (char)stroke(seed, i);
}

bool mp_painted(const char *at, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)at[i] != stroke(seed, i))
			return false;
	return true;
}

DAT_RETURN mp_send(struct mp_end *e, uint64_t off, uint32_t len, uint64_t cookie, int flags)
{
	DAT_LMR_TRIPLET t = mp_at(e, off, len);

	return dat_ep_post_send(e->ep, 1, &t, mp_cookie(cookie), (DAT_COMPLETION_FLAGS)flags);
}

DAT_RETURN mp_recv(struct mp_end *e, uint64_t off, uint32_t len, uint64_t cookie)
{
	DAT_LMR_TRIPLET t = mp_at(e, off, len);

	if (e->srq)
		return dat_srq_post_recv(e->srq, 1, &t, mp_cookie(cookie));
	return dat_ep_post_recv(e->ep, 1, &t, mp_cookie(cookie), DAT_COMPLETION_DEFAULT_FLAG);
}

DAT_RETURN mp_write(struct mp_end *e, uint64_t off, const struct mp_end *to, uint64_t there,
		    uint32_t len, uint64_t cookie, int flags)
{
	DAT_LMR_TRIPLET t = mp_at(e, off, len);
	DAT_RMR_TRIPLET r = mp_rmt(to, there, len);

	return dat_ep_post_rdma_write(e->ep, 1, &t, mp_cookie(cookie), &r,
				      (DAT_COMPLETION_FLAGS)flags);
}

DAT_RETURN mp_read(struct mp_end *e, uint64_t off, const struct mp_end *from, uint64_t there,
		   uint32_t len, uint64_t cookie, int flags)
{
	DAT_LMR_TRIPLET t = mp_at(e, off, len);
	DAT_RMR_TRIPLET r = mp_rmt(from, there, len);

	return dat_ep_post_rdma_read(e->ep, 1, &t, mp_cookie(cookie), &r,
				     (DAT_COMPLETION_FLAGS)flags);
}
