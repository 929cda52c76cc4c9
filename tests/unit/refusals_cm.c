/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Every errno with which a call of librdmacm may leave has a sentence of four parts, and every answer has none. */
#include "abi/rdmacm/refuse.h"
#include "device/why.h"
#include "support/check.h"

#include <stdlib.h>
#include <string.h>

static const char *const calls[] = {
	"rdma_accept", "rdma_ack_cm_event", "rdma_bind_addr", "rdma_connect", "rdma_create_ep", "rdma_create_event_channel",
	"rdma_create_id", "rdma_create_qp", "rdma_create_qp_ex", "rdma_create_srq", "rdma_create_srq_ex", "rdma_destroy_id",
	"rdma_disconnect", "rdma_establish", "rdma_get_cm_event", "rdma_get_devices", "rdma_get_remote_ece", "rdma_get_request",
	"rdma_getaddrinfo", "rdma_init_qp_attr", "rdma_join_multicast", "rdma_join_multicast_ex", "rdma_leave_multicast",
	"rdma_listen", "rdma_migrate_id", "rdma_notify", "newer_rdma_query_addrinfo", "rdma_reject", "rdma_reject_ece",
	"newer_rdma_resolve_addrinfo", "rdma_resolve_addr", "rdma_resolve_route", "rdma_set_local_ece", "rdma_set_option",
	"newer_rdma_write_cm_event",
};

static char last[1024];

static void keep(const char *line, void *arg)
{
	snprintf(last, sizeof(last), "%s", line);
}

static bool is_answer(int err)
{
	return err == EAGAIN || err == EINTR || err == ECONNREFUSED || err == ECONNRESET || err == ENOTCONN || err == ETIMEDOUT ||
	       err == EHOSTUNREACH || err == ENETUNREACH;
}

static void each_row(void)
{
	for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++)
		for (int err = 1; err < 134; err++) {
			const struct ut_refusal *r = rcm_refusal(calls[c], err);

			CHECK(!r == is_answer(err));
			CHECK(!r || (*r->object && *r->cause && *r->remedy));
		}
}

/* A row of the call comes before that of the errno. */
static void own_rows(void)
{
	CHECK(!strcmp(rcm_refusal("rdma_listen", EINVAL)->object, "rdma_listen"));
	CHECK(!strcmp(rcm_refusal("newer_rdma_resolve_addrinfo", EBUSY)->object, "rdma_resolve_addrinfo"));
	CHECK(!strcmp(rcm_refusal("rdma_get_devices", ENODEV)->object, "a call of librdmacm"));
}

static void said(void)
{
	errno = 0;
	CHECK(rcm_leave("rdma_bind_addr", 0) == 0 && errno == 0);
	CHECK(rcm_leave("rdma_bind_addr", -EADDRINUSE) == -1 && errno == EADDRINUSE);
	CHECK(dev_why_read(1, keep, NULL) == 1);
	CHECK(strstr(last, "rdma_bind_addr refused: another program has this port (rdma_bind_addr): the call fails with EADDRINUSE; "));
	CHECK(rcm_leave("newer_rdma_write_cm_event", -ESTALE) == -1 && errno == ESTALE);
	CHECK(dev_why_read(1, keep, NULL) == 1);
	CHECK(strstr(last, "(rdma_write_cm_event): the call fails with ESTALE; "));
	*last = 0;
	CHECK(rcm_leave("rdma_get_cm_event", -EAGAIN) == -1 && errno == EAGAIN);
	CHECK(dev_why_read(1, keep, NULL) == 1);
	CHECK(strstr(last, "ESTALE"));
}

int main(void)
{
	char dir[] = "/tmp/unit-refusals-XXXXXX", path[64];

	CHECK(mkdtemp(dir));
	CHECK(setenv("DAPPLE_RUNTIME_DIR", dir, 1) == 0);
	each_row();
	own_rows();
	said();
	snprintf(path, sizeof(path), "rm -r %s", dir);
	return system(path) != 0;
}
