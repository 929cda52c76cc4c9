/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sizes and offsets that binaries of the distribution have compiled in, against the headers we
 * build with. The numbers were read from the headers of rdma-core 28 to 65 on amd64. We write none of these
 * structures again, so a difference means that the headers belong to another ABI and that the
 * shells would hand out objects which programs read wrongly.
 *
 * In those releases fields were only added: behind all others (SIZE2), into padding, or in front of
 * verbs_context. A program finds its slots there by their distance to ibv_context and by sz, so these rows count
 * from the end. Structures that grew: the library allocates ibv_qp_ex, and a newer program is given the slots it
 * calls (tests/abi/newer.c); ibv_port_attr is a program's, which passes its size; parent_domain of
 * ibv_cq_init_attr_ex (since 29) is read only where comp_mask says that it is there (tests/abi/api.c).
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <infiniband/sa.h>
#include <infiniband/umad.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

struct row {
	const char *type;
	const char *field;	/* NULL: the size of the type */
	size_t want;
	size_t grown;		/* the size in later releases, or 0 */
	size_t have;
};

#define SIZE(t, n)		{ #t, NULL, n, 0, sizeof(t) }
#define SIZE2(t, n, later)	{ #t, NULL, n, later, sizeof(t) }
#define FIELD(t, f, n)		{ #t, #f, n, 0, offsetof(t, f) }
/* Distance from the slot to ibv_context. */
#define SLOT(f, n)		{ "struct verbs_context", #f, n, 0, \
				  offsetof(struct verbs_context, context) - offsetof(struct verbs_context, f) }

static const struct row rows[] = {
	SIZE(struct ibv_device, 664),
	SIZE(struct ibv_context, 328),
	SIZE(struct ibv_context_ops, 256),
	SIZE(struct ibv_pd, 16),
	SIZE(struct ibv_mr, 48),
	SIZE(struct ibv_mw, 32),
	SIZE(struct ibv_cq, 128),
	SIZE(struct ibv_cq_ex, 288),
	SIZE(struct ibv_qp, 160),
	SIZE2(struct ibv_qp_ex, 352, 360),	/* wr_flush, since 45 */
	SIZE(struct ibv_srq, 128),
	SIZE(struct ibv_ah, 24),
	SIZE(struct ibv_xrcd, 8),
	SIZE(struct ibv_comp_channel, 16),
	SIZE(struct ibv_wq, 152),
	SIZE(struct ibv_td, 8),
	SIZE(struct ibv_dm, 32),
	SIZE(struct ibv_counters, 8),
	SIZE(struct ibv_flow, 24),
	SIZE(struct ibv_wc, 48),
	SIZE(struct ibv_send_wr, 128),
	SIZE(struct ibv_recv_wr, 32),
	SIZE(struct ibv_sge, 16),
	SIZE(struct ibv_device_attr, 232),
	SIZE(struct ibv_device_attr_ex, 400),
	SIZE2(struct ibv_port_attr, 52, 56),	/* active_speed_ex, since 49 */
	SIZE(struct ibv_qp_attr, 144),
	SIZE(struct ibv_qp_init_attr, 64),
	SIZE(struct ibv_qp_init_attr_ex, 136),
	SIZE(struct ibv_ah_attr, 32),
	SIZE(struct ibv_gid_entry, 32),
	SIZE(struct ibv_async_event, 16),
	SIZE(struct ibv_cq_init_attr_ex, 56),
	SIZE(struct ibv_srq_init_attr, 24),
	SIZE(struct ibv_srq_init_attr_ex, 64),
	SIZE(struct ibv_grh, 40),
	SIZE(struct ibv_global_route, 24),
	SIZE(struct ibv_ece, 12),
	SIZE(struct rdma_cm_id, 416),
	SIZE(struct rdma_route, 312),
	SIZE(struct rdma_addr, 296),
	SIZE(struct rdma_ib_addr, 40),
	SIZE(struct rdma_cm_event, 80),
	SIZE(struct rdma_conn_param, 24),
	SIZE(struct rdma_ud_param, 56),
	SIZE(struct rdma_addrinfo, 96),
	SIZE(struct rdma_event_channel, 4),
	SIZE(struct ibv_sa_path_rec, 64),
	SIZE(struct ibv_path_record, 64),
	SIZE(struct ibv_path_data, 72),
	SIZE(umad_port_t, 112),
	SIZE(umad_ca_t, 208),
	SIZE(ib_user_mad_t, 64),
	SIZE(ib_mad_addr_t, 44),
	SIZE(struct umad_reg_attr, 32),

	FIELD(struct ibv_device, node_type, 16),
	FIELD(struct ibv_device, transport_type, 20),
	FIELD(struct ibv_device, name, 24),
	FIELD(struct ibv_device, dev_name, 88),
	FIELD(struct ibv_device, dev_path, 152),
	FIELD(struct ibv_device, ibdev_path, 408),
	FIELD(struct ibv_context, device, 0),
	FIELD(struct ibv_context, ops, 8),
	FIELD(struct ibv_context, cmd_fd, 264),
	FIELD(struct ibv_context, async_fd, 268),
	FIELD(struct ibv_context, num_comp_vectors, 272),
	FIELD(struct ibv_context, mutex, 280),
	FIELD(struct ibv_context, abi_compat, 320),
	FIELD(struct ibv_mr, context, 0),
	FIELD(struct ibv_mr, pd, 8),
	FIELD(struct ibv_mr, addr, 16),
	FIELD(struct ibv_mr, length, 24),
	FIELD(struct ibv_mr, handle, 32),
	FIELD(struct ibv_mr, lkey, 36),
	FIELD(struct ibv_mr, rkey, 40),
	FIELD(struct ibv_qp, context, 0),
	FIELD(struct ibv_qp, qp_context, 8),
	FIELD(struct ibv_qp, pd, 16),
	FIELD(struct ibv_qp, send_cq, 24),
	FIELD(struct ibv_qp, recv_cq, 32),
	FIELD(struct ibv_qp, srq, 40),
	FIELD(struct ibv_qp, handle, 48),
	FIELD(struct ibv_qp, qp_num, 52),
	FIELD(struct ibv_qp, state, 56),
	FIELD(struct ibv_qp, qp_type, 60),
	FIELD(struct ibv_qp, mutex, 64),
	FIELD(struct ibv_qp, cond, 104),
	FIELD(struct ibv_qp, events_completed, 152),
	FIELD(struct ibv_cq, context, 0),
	FIELD(struct ibv_cq, channel, 8),
	FIELD(struct ibv_cq, cq_context, 16),
	FIELD(struct ibv_cq, handle, 24),
	FIELD(struct ibv_cq, cqe, 28),
	FIELD(struct ibv_cq, comp_events_completed, 120),
	FIELD(struct ibv_cq, async_events_completed, 124),
	FIELD(struct ibv_cq_ex, comp_mask, 128),
	FIELD(struct ibv_cq_ex, status, 132),
	FIELD(struct ibv_cq_ex, wr_id, 136),
	FIELD(struct ibv_cq_ex, start_poll, 144),
	FIELD(struct ibv_cq_ex, next_poll, 152),
	FIELD(struct ibv_cq_ex, end_poll, 160),
	FIELD(struct ibv_cq_ex, read_opcode, 168),
	FIELD(struct ibv_cq_ex, read_completion_wallclock_ns, 280),
	FIELD(struct ibv_qp_ex, qp_base, 0),
	FIELD(struct ibv_qp_ex, comp_mask, 160),
	FIELD(struct ibv_qp_ex, wr_id, 168),
	FIELD(struct ibv_qp_ex, wr_flags, 176),
	FIELD(struct ibv_qp_ex, wr_atomic_cmp_swp, 184),
	FIELD(struct ibv_qp_ex, wr_start, 320),
	FIELD(struct ibv_qp_ex, wr_complete, 328),
	FIELD(struct ibv_qp_ex, wr_abort, 336),
	FIELD(struct ibv_qp_ex, wr_atomic_write, 344),
	FIELD(struct ibv_wc, wr_id, 0),
	FIELD(struct ibv_wc, status, 8),
	FIELD(struct ibv_wc, opcode, 12),
	FIELD(struct ibv_wc, vendor_err, 16),
	FIELD(struct ibv_wc, byte_len, 20),
	FIELD(struct ibv_wc, imm_data, 24),
	FIELD(struct ibv_wc, qp_num, 28),
	FIELD(struct ibv_wc, src_qp, 32),
	FIELD(struct ibv_wc, wc_flags, 36),
	FIELD(struct ibv_wc, pkey_index, 40),
	FIELD(struct ibv_wc, slid, 42),
	FIELD(struct ibv_wc, sl, 44),
	FIELD(struct ibv_wc, dlid_path_bits, 45),
	FIELD(struct ibv_send_wr, next, 8),
	FIELD(struct ibv_send_wr, sg_list, 16),
	FIELD(struct ibv_send_wr, num_sge, 24),
	FIELD(struct ibv_send_wr, opcode, 28),
	FIELD(struct ibv_send_wr, send_flags, 32),
	FIELD(struct ibv_send_wr, imm_data, 36),
	FIELD(struct ibv_send_wr, wr, 40),
	FIELD(struct ibv_send_wr, qp_type, 72),
	FIELD(struct ibv_send_wr, bind_mw, 80),
	FIELD(struct ibv_port_attr, link_layer, 46),
	FIELD(struct ibv_port_attr, flags, 47),
	FIELD(struct ibv_port_attr, port_cap_flags2, 48),
	FIELD(struct rdma_cm_id, verbs, 0),
	FIELD(struct rdma_cm_id, channel, 8),
	FIELD(struct rdma_cm_id, context, 16),
	FIELD(struct rdma_cm_id, qp, 24),
	FIELD(struct rdma_cm_id, route, 32),
	FIELD(struct rdma_cm_id, ps, 344),
	FIELD(struct rdma_cm_id, port_num, 348),
	FIELD(struct rdma_cm_id, event, 352),
	FIELD(struct rdma_cm_id, send_cq_channel, 360),
	FIELD(struct rdma_cm_id, send_cq, 368),
	FIELD(struct rdma_cm_id, recv_cq_channel, 376),
	FIELD(struct rdma_cm_id, recv_cq, 384),
	FIELD(struct rdma_cm_id, srq, 392),
	FIELD(struct rdma_cm_id, pd, 400),
	FIELD(struct rdma_cm_id, qp_type, 408),
	FIELD(struct rdma_cm_event, id, 0),
	FIELD(struct rdma_cm_event, listen_id, 8),
	FIELD(struct rdma_cm_event, event, 16),
	FIELD(struct rdma_cm_event, status, 20),
	FIELD(struct rdma_cm_event, param, 24),
	FIELD(struct rdma_conn_param, private_data, 0),
	FIELD(struct rdma_conn_param, private_data_len, 8),
	FIELD(struct rdma_conn_param, responder_resources, 9),
	FIELD(struct rdma_conn_param, initiator_depth, 10),
	FIELD(struct rdma_conn_param, flow_control, 11),
	FIELD(struct rdma_conn_param, retry_count, 12),
	FIELD(struct rdma_conn_param, rnr_retry_count, 13),
	FIELD(struct rdma_conn_param, srq, 14),
	FIELD(struct rdma_conn_param, qp_num, 16),

	/* the slots that inline functions look up, in front of ibv_context */
	SLOT(query_port, 320),
	SLOT(advise_mr, 312),
	SLOT(alloc_null_mr, 304),
	SLOT(read_counters, 296),
	SLOT(attach_counters_point_flow, 288),
	SLOT(create_counters, 280),
	SLOT(destroy_counters, 272),
	SLOT(reg_dm_mr, 264),
	SLOT(alloc_dm, 256),
	SLOT(free_dm, 248),
	SLOT(modify_flow_action_esp, 240),
	SLOT(destroy_flow_action, 232),
	SLOT(create_flow_action_esp, 224),
	SLOT(modify_qp_rate_limit, 216),
	SLOT(alloc_parent_domain, 208),
	SLOT(dealloc_td, 200),
	SLOT(alloc_td, 192),
	SLOT(modify_cq, 184),
	SLOT(post_srq_ops, 176),
	SLOT(destroy_rwq_ind_table, 168),
	SLOT(create_rwq_ind_table, 160),
	SLOT(destroy_wq, 152),
	SLOT(modify_wq, 144),
	SLOT(create_wq, 136),
	SLOT(query_rt_values, 128),
	SLOT(create_cq_ex, 120),
	SLOT(priv, 112),
	SLOT(query_device_ex, 104),
	SLOT(ibv_destroy_flow, 96),
	SLOT(ABI_placeholder2, 88),
	SLOT(ibv_create_flow, 80),
	SLOT(ABI_placeholder1, 72),
	SLOT(open_qp, 64),
	SLOT(create_qp_ex, 56),
	SLOT(get_srq_num, 48),
	SLOT(create_srq_ex, 40),
	SLOT(open_xrcd, 32),
	SLOT(close_xrcd, 24),
	SLOT(_ABI_placeholder3, 16),
	SLOT(sz, 8),

	/* the ops that inline functions call without a test */
	FIELD(struct ibv_context, ops.alloc_mw, 64),
	FIELD(struct ibv_context, ops.bind_mw, 72),
	FIELD(struct ibv_context, ops.dealloc_mw, 80),
	FIELD(struct ibv_context, ops.poll_cq, 96),
	FIELD(struct ibv_context, ops.req_notify_cq, 104),
	FIELD(struct ibv_context, ops.post_srq_recv, 168),
	FIELD(struct ibv_context, ops.post_send, 208),
	FIELD(struct ibv_context, ops.post_recv, 216),
};

static int differs(const struct row *r)
{
	if (r->have == r->want || (r->grown && r->have == r->grown))
		return 0;
	printf("%s%s%s: %zu, programs expect %zu\n", r->type, r->field ? "." : "",
	       r->field ? r->field : " (size)", r->have, r->want);
	return 1;
}

int main(void)
{
	size_t n = sizeof(rows) / sizeof(rows[0]);
	size_t bad = 0;

#if UINTPTR_MAX != UINT64_MAX
	puts("the table holds for 64-bit machines");
	return 77;
#endif
	for (size_t i = 0; i < n; i++)
		bad += differs(&rows[i]);
	printf("%zu sizes and offsets, %zu differ\n", n, bad);
	return bad ? 1 : 0;
}
