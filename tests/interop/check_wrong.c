/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A program with mistakes, for tool_check.sh: a comment behind a line names those that dapple check must find there. */
#include <infiniband/verbs.h>
#include <stdlib.h>
int main(void)
{
	struct ibv_device **l = ibv_get_device_list(NULL);
	struct ibv_context *c = ibv_open_device(l[0]);
	struct ibv_pd *pd = ibv_alloc_pd(c);
	char *b = calloc(1, 4096);
	struct ibv_mr *mr = ibv_reg_mr(pd, b, 4096, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_cq *cq = ibv_create_cq(c, 1, NULL, NULL, 0);
	struct ibv_qp_init_attr a = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	struct ibv_qp *qp = ibv_create_qp(pd, &a);
	struct ibv_sge s = { (uintptr_t)b, 8192, mr->lkey };
	struct ibv_recv_wr r = { .sg_list = &s, .num_sge = 1 }, *bad;
	struct ibv_qp_attr at = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	ibv_post_recv(qp, &r, &bad); /* wrong: outside-region posted-before-ready */
	ibv_modify_qp(qp, &at, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	ibv_post_recv(qp, &r, &bad); /* wrong: outside-region */
	ibv_post_recv(qp, &r, &bad); /* wrong: outside-region cq-too-small */
	ibv_destroy_cq(cq); /* wrong: destroyed-in-use */
	free(b); /* wrong: freed-in-flight */
	ibv_dereg_mr(mr); /* wrong: deregistered-in-flight */
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	ibv_close_device(c);
	return 0;
}
