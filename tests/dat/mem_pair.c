/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Open, connect and close of a pair. */
#include "mem_pair.h"

#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>

void mp_want(const char *file, int line, const char *what, DAT_RETURN got, DAT_RETURN expected)
{
	const char *major = "?", *minor = "?", *emajor = "?", *eminor = "?";

	if (got == expected)
		return;
	dat_strerror(got, &major, &minor);
	dat_strerror(expected, &emajor, &eminor);
	fprintf(stderr, "%s:%d: %s\n  gave %08x %s %s\n  not  %08x %s %s\n", file, line, what, got,
		major, minor, expected, emajor, eminor);
	exit(1);
}

const char *mp_ia_name(void)
{
	const char *name = getenv("DAPPLE_DAT_IA");

	return name ? name : "dapple-roce-lo";
}

bool mp_is_iwarp(void)
{
	return strstr(mp_ia_name(), "-iw-") != NULL;
}

bool mp_has(const struct mp_end *e, const char *name)
{
	for (int i = 0; i < e->prov.num_provider_specific_attr; i++)
		if (!strcmp(e->prov.provider_specific_attr[i].name, name))
			return !strcmp(e->prov.provider_specific_attr[i].value, "TRUE");
	return false;
}

static void make_ep(struct mp *p, struct mp_end *e)
{
	DAT_SRQ_ATTR srq = { p->srq, 4, DAT_SRQ_LW_DEFAULT };

	if (p->srq && e == &p->b) {
		if (!e->srq)
			OK(dat_srq_create(e->ia, e->pz, &srq, &e->srq));
		OK(dat_ep_create_with_srq(e->ia, e->pz, e->recv, e->req, e->conn, e->srq, &p->ep,
					  &e->ep));
		return;
	}
	OK(dat_ep_create(e->ia, e->pz, e->recv, e->req, e->conn, &p->ep, &e->ep));
}

void mp_open_end(struct mp *p, struct mp_end *e)
{
	DAT_COUNT q = p->qlen ? p->qlen : 256;
	DAT_REGION_DESCRIPTION region;
	DAT_RETURN ret;
	DAT_VLEN size;
	DAT_VADDR addr;

	memset(e, 0, sizeof(*e));
	ret = dat_ia_open((char *)mp_ia_name(), 16, &e->async, &e->ia);
	if (DAT_GET_TYPE(ret) == DAT_PROVIDER_NOT_FOUND)
		SKIP("no adapter %s here", mp_ia_name());
	OK(ret);
	OK(dat_ia_query(e->ia, NULL, DAT_IA_FIELD_ALL, &e->attr, DAT_PROVIDER_FIELD_ALL, &e->prov));
	OK(dat_pz_create(e->ia, &e->pz));
	OK(dat_evd_create(e->ia, q, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &e->recv));
	OK(dat_evd_create(e->ia, q, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
			  &e->req));
	OK(dat_evd_create(e->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &e->conn));
	OK(dat_evd_create(e->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &e->cr));
	e->buf = mmap(NULL, MP_BUF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(e->buf != MAP_FAILED);
	region.for_va = e->buf;
	OK(dat_lmr_create(e->ia, DAT_MEM_TYPE_VIRTUAL, region, MP_BUF, e->pz,
			  (DAT_MEM_PRIV_FLAGS)(p->priv ? p->priv : DAT_MEM_PRIV_ALL_FLAG),
			  DAT_VA_TYPE_VA, &e->lmr, &e->lctx, &e->rctx, &size, &addr));
	CHECK(size >= MP_BUF && addr <= (uintptr_t)e->buf);
	make_ep(p, e);
}

void mp_open(struct mp *p)
{
	if (!p->ep.max_rdma_read_in)
		p->ep.max_rdma_read_in = p->ep.max_rdma_read_out = 4;
	mp_open_end(p, &p->a);
	mp_open_end(p, &p->b);
}

static void expect(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *ev)
{
	*ev = mp_next(evd);
	CHECK_MSG(ev->event_number == number, "event %x, not %x", ev->event_number, number);
}

void mp_connect(struct mp *p)
{
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EVENT ev;

	OK(dat_psp_create_any(p->b.ia, &qual, p->b.cr, DAT_PSP_CONSUMER_FLAG, &psp));
	OK(dat_ep_connect(p->a.ep, p->b.attr.ia_address_ptr, qual, MP_TIMEOUT, 0, NULL,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	expect(p->b.cr, DAT_CONNECTION_REQUEST_EVENT, &ev);
	OK(dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle, p->b.ep, 0, NULL));
	expect(p->a.conn, DAT_CONNECTION_EVENT_ESTABLISHED, &ev);
	expect(p->b.conn, DAT_CONNECTION_EVENT_ESTABLISHED, &ev);
	OK(dat_psp_free(psp));
}

void mp_join(struct mp *p)
{
	mp_open(p);
	mp_connect(p);
}

static void forget(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;

	while (dat_evd_dequeue(evd, &ev) == DAT_SUCCESS)
		;
}

void mp_again(struct mp *p)
{
	OK(dat_ep_free(p->a.ep));
	OK(dat_ep_free(p->b.ep));
	for (struct mp_end *e = &p->a; e; e = e == &p->a ? &p->b : NULL) {
		forget(e->recv);
		forget(e->req);
		forget(e->conn);
		forget(e->async);
		make_ep(p, e);
	}
	mp_connect(p);
}

/* Every object can be freed one by one, and then the adapter closes gracefully. */
static void close_end(struct mp_end *e)
{
	OK(dat_ep_free(e->ep));
	if (e->srq)
		OK(dat_srq_free(e->srq));
	OK(dat_lmr_free(e->lmr));
	OK(dat_evd_free(e->recv));
	OK(dat_evd_free(e->req));
	OK(dat_evd_free(e->conn));
	OK(dat_evd_free(e->cr));
	OK(dat_pz_free(e->pz));
	OK(dat_ia_close(e->ia, DAT_CLOSE_GRACEFUL_FLAG));
	munmap(e->buf, MP_BUF);
}

void mp_close(struct mp *p)
{
	close_end(&p->a);
	close_end(&p->b);
}
