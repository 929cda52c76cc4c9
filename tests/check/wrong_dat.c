/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Mistakes with handles and dispatchers of DAT. */
#include "world.h"

#include <dat2/udat.h>
#include <stdio.h>
#include <unistd.h>

#define ADAPTER "dapple-roce-lo"

static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE async, dto, conn;
static DAT_PZ_HANDLE pz;
static DAT_EP_HANDLE ep;
static char buffer[4096];
static DAT_LMR_HANDLE lmr;
static DAT_LMR_TRIPLET piece;

static void must(DAT_RETURN r, const char *what)
{
	if (r == DAT_SUCCESS)
		return;
	fprintf(stderr, "%s: 0x%x\n", what, (unsigned)r);
	_exit(99);
}

/* An endpoint whose requests complete into a dispatcher of that length. */
static void begin(DAT_COUNT length)
{
	DAT_EP_ATTR a = { .service_type = DAT_SERVICE_TYPE_RC, .max_mtu_size = 4096, .max_rdma_size = 4096, .max_recv_dtos = 8,
			  .max_request_dtos = 8, .max_recv_iov = 1, .max_request_iov = 1, .max_rdma_read_in = 1, .max_rdma_read_out = 1,
			  .max_rdma_read_iov = 1, .max_rdma_write_iov = 1 };
	DAT_REGION_DESCRIPTION region = { .for_va = buffer };
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey;
	DAT_VLEN size;
	DAT_VADDR at;

	must(dat_ia_open(ADAPTER, 8, &async, &ia), "dat_ia_open");
	must(dat_pz_create(ia, &pz), "dat_pz_create");
	must(dat_evd_create(ia, length, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &dto), "dat_evd_create");
	must(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &conn), "dat_evd_create");
	must(dat_ep_create(ia, pz, dto, dto, conn, &a, &ep), "dat_ep_create");
	must(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(buffer), pz, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, &lkey,
			    &rkey, &size, &at), "dat_lmr_create");
	piece = (DAT_LMR_TRIPLET){ .virtual_address = (DAT_VADDR)(uintptr_t)buffer, .segment_length = 64, .lmr_context = lkey };
}

BARE(endpoint_freed_twice)
{
	begin(8);
	dat_ep_free(ep);
	dat_ep_free(ep); /* wrong: dat-handle-freed */
}

BARE(endpoint_used_after_free)
{
	begin(8);
	dat_ep_free(ep);
	dat_ep_post_recv(ep, 1, &piece, (DAT_DTO_COOKIE){ .as_64 = 1 }, DAT_COMPLETION_DEFAULT_FLAG); /* wrong: dat-handle-freed */
}

BARE(endpoint_disconnected_after_free)
{
	begin(8);
	dat_ep_free(ep);
	dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG); /* wrong: dat-handle-freed */
}

BARE(dispatcher_used_after_free)
{
	DAT_EVENT e;

	begin(8);
	dat_ep_free(ep);
	dat_evd_free(dto);
	dat_evd_dequeue(dto, &e); /* wrong: dat-handle-freed */
}

BARE(endpoint_of_freed_dispatcher)
{
	begin(8);
	dat_ep_free(ep);
	dat_evd_free(conn);
	dat_ep_create(ia, pz, dto, dto, conn, NULL, &ep); /* wrong: dat-handle-freed */
}

BARE(zone_freed_twice)
{
	begin(8);
	dat_ep_free(ep);
	dat_lmr_free(lmr);
	dat_pz_free(pz);
	dat_pz_free(pz); /* wrong: dat-handle-freed */
}

BARE(dispatcher_too_short)
{
	begin(2);
	for (int i = 0; i < 3; i++)
		dat_ep_post_recv(ep, 1, &piece, (DAT_DTO_COOKIE){ .as_64 = 1 }, DAT_COMPLETION_DEFAULT_FLAG); /* wrong: evd-too-short */
}

BARE(dispatcher_resized_too_short)
{
	begin(8);
	dat_evd_resize(dto, 1);
	dat_ep_post_recv(ep, 1, &piece, (DAT_DTO_COOKIE){ .as_64 = 1 }, DAT_COMPLETION_DEFAULT_FLAG);
	dat_ep_post_recv(ep, 1, &piece, (DAT_DTO_COOKIE){ .as_64 = 2 }, DAT_COMPLETION_DEFAULT_FLAG); /* wrong: evd-too-short */
}
