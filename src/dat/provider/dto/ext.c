/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/dto/ext.h"

#include "dat/provider/cm/ud.h"
#include "dat/provider/dto/dto.h"
#include "dat/provider/dto/request.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/obj.h"
#include "dat/provider/ia/query.h"

#define NOT_SUPPORTED DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE)
#define BAD_EP DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP)

enum { ATOMIC_SIZE = 8, UD_QKEY = RDMA_UDP_QKEY };

static DAT_RETURN parameter(unsigned int arg)
{
	return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1 + arg - 1);
}

/* Both atomics: one segment, eight bytes, an aligned target. `arg` is the place of the local
 * triplet among the arguments of the macro; cookie, remote and flags follow it. */
static DAT_RETURN atomic_op(struct dpr_ep *ep, struct dpr_request *r, const DAT_LMR_TRIPLET *local,
			    const DAT_RMR_TRIPLET *remote, unsigned int arg)
{
	DAT_RMR_TRIPLET eight;
	DAT_LMR_TRIPLET l;

	if (ep->obj.ia->dev.orig_attr.atomic_cap == IBV_ATOMIC_NONE)
		return NOT_SUPPORTED;
	if (!local)
		return parameter(arg);
	if (!remote || remote->virtual_address % ATOMIC_SIZE)
		return parameter(arg + 2);
	if (local->segment_length < ATOMIC_SIZE)
		return DPR_ERR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	l = *local;
	l.segment_length = ATOMIC_SIZE;
	eight = *remote;
	eight.segment_length = ATOMIC_SIZE;
	r->n = 1;
	r->iov = &l;
	r->remote = &eight;
	r->flags_arg = (uint8_t)(arg + 3);
	r->wr.wr.atomic.remote_addr = remote->virtual_address;
	r->wr.wr.atomic.rkey = remote->rmr_context;
	return dpr_request_post((DAT_EP_HANDLE)ep, r);
}

static DAT_RETURN fetch_and_add(struct dpr_ep *ep, va_list *args)
{
	struct dpr_request r = { .op = DPR_OP_FETCH_ADD };
	const DAT_LMR_TRIPLET *local;
	const DAT_RMR_TRIPLET *remote;

	r.wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	r.wr.wr.atomic.compare_add = va_arg(*args, DAT_UINT64);
	local = va_arg(*args, DAT_LMR_TRIPLET *);
	r.cookie = va_arg(*args, DAT_DTO_COOKIE);
	remote = va_arg(*args, DAT_RMR_TRIPLET *);
	r.flags = (DAT_COMPLETION_FLAGS)va_arg(*args, unsigned int);
	return atomic_op(ep, &r, local, remote, 3);
}

static DAT_RETURN cmp_and_swap(struct dpr_ep *ep, va_list *args)
{
	struct dpr_request r = { .op = DPR_OP_CMP_SWAP };
	const DAT_LMR_TRIPLET *local;
	const DAT_RMR_TRIPLET *remote;

	r.wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	r.wr.wr.atomic.compare_add = va_arg(*args, DAT_UINT64);
	r.wr.wr.atomic.swap = va_arg(*args, DAT_UINT64);
	local = va_arg(*args, DAT_LMR_TRIPLET *);
	r.cookie = va_arg(*args, DAT_DTO_COOKIE);
	remote = va_arg(*args, DAT_RMR_TRIPLET *);
	r.flags = (DAT_COMPLETION_FLAGS)va_arg(*args, unsigned int);
	return atomic_op(ep, &r, local, remote, 4);
}

static DAT_RETURN write_immed(struct dpr_ep *ep, va_list *args)
{
	struct dpr_request r = { .op = DPR_OP_WRITE_IMM, .flags_arg = 7 };

	r.wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	r.n = va_arg(*args, DAT_COUNT);
	r.iov = va_arg(*args, DAT_LMR_TRIPLET *);
	r.cookie = va_arg(*args, DAT_DTO_COOKIE);
	r.remote = va_arg(*args, DAT_RMR_TRIPLET *);
	/* Unchanged, as in Debian's provider; so is it in the peer's event. */
	r.wr.imm_data = va_arg(*args, DAT_UINT32);
	r.flags = (DAT_COMPLETION_FLAGS)va_arg(*args, unsigned int);
	if (ep->obj.ia->iwarp && !ep->obj.ia->dapple)
		return NOT_SUPPORTED;
	if (!r.remote)
		return parameter(5);
	r.wr.wr.rdma.remote_addr = r.remote->virtual_address;
	r.wr.wr.rdma.rkey = r.remote->rmr_context;
	return dpr_request_post((DAT_EP_HANDLE)ep, &r);
}

static DAT_RETURN send_ud(struct dpr_ep *ep, va_list *args)
{
	struct dpr_request r = { .op = DPR_OP_SEND_UD, .flags_arg = 6 };
	const DAT_IB_ADDR_HANDLE *ah;

	r.wr.opcode = IBV_WR_SEND;
	r.n = va_arg(*args, DAT_COUNT);
	r.iov = va_arg(*args, DAT_LMR_TRIPLET *);
	ah = va_arg(*args, DAT_IB_ADDR_HANDLE *);
	r.cookie = va_arg(*args, DAT_DTO_COOKIE);
	r.flags = (DAT_COMPLETION_FLAGS)va_arg(*args, unsigned int);
	if (!dpr_ep_is_ud(ep))
		return NOT_SUPPORTED;
	if (!ah || !ah->ah)
		return parameter(4);
	r.wr.wr.ud.ah = ah->ah;
	r.wr.wr.ud.remote_qpn = ah->qpn;
	r.wr.wr.ud.remote_qkey = UD_QKEY;
	return dpr_request_post((DAT_EP_HANDLE)ep, &r);
}

/*
 * Counters of the connection manager always run; those of link and adapter cannot be started here.
 */
static DAT_RETURN start_stop(DAT_HANDLE handle, int type)
{
	if (!dpr_ia_of(handle))
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (type < DCNT_IA_CM || type > DCNT_IA_DIAG)
		return parameter(2);
	return type == DCNT_IA_CM ? DAT_SUCCESS : DAT_ERROR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);
}

static DAT_RETURN open_query(va_list *args)
{
	DAT_NAME_PTR name = va_arg(*args, DAT_NAME_PTR);
	DAT_IA_HANDLE *ia = va_arg(*args, DAT_IA_HANDLE *);
	DAT_IA_ATTR_MASK ia_mask = va_arg(*args, DAT_IA_ATTR_MASK);
	DAT_IA_ATTR *ia_attr = va_arg(*args, DAT_IA_ATTR *);
	DAT_PROVIDER_ATTR_MASK mask = va_arg(*args, DAT_PROVIDER_ATTR_MASK);
	DAT_PROVIDER_ATTR *attr = va_arg(*args, DAT_PROVIDER_ATTR *);
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_RETURN ret;

	if (!name)
		return parameter(3);
	if (!ia)
		return parameter(4);
	ret = dpr_ia_open(name, 1, &async, ia);
	if (ret != DAT_SUCCESS)
		return ret;
	ret = dpr_ia_query(*ia, NULL, ia_mask, ia_attr, mask, attr);
	if (ret != DAT_SUCCESS)
		dpr_ia_close(*ia, DAT_CLOSE_ABRUPT_FLAG);
	return ret;
}

static DAT_RETURN of_ep(DAT_HANDLE handle, unsigned int op, va_list *args)
{
	struct dpr_ep *ep = dpr_ep_of(handle);

	if (!ep)
		return BAD_EP;
	switch (op) {
	case DAT_IB_FETCH_AND_ADD_OP:
		return fetch_and_add(ep, args);
	case DAT_IB_CMP_AND_SWAP_OP:
		return cmp_and_swap(ep, args);
	case DAT_IB_RDMA_WRITE_IMMED_OP:
		return write_immed(ep, args);
	case DAT_IB_UD_SEND_OP:
		return send_ud(ep, args);
	case DAT_IB_UD_CM_FREE_OP:
		return dpr_ud_cm_free(ep, va_arg(*args, DAT_CONTEXT));
	default:
		return dpr_ud_ah_free(ep, va_arg(*args, DAT_IB_ADDR_HANDLE *));
	}
}

static DAT_RETURN counters(DAT_HANDLE handle, bool print, va_list *args)
{
	int which = va_arg(*args, int);
	DAT_UINT64 *out = print ? NULL : va_arg(*args, DAT_UINT64 *);
	int reset = va_arg(*args, int);

	return dpr_counters(handle, which, out, print, reset);
}

/* A va_list parameter may have decayed from an array; the address of a copy has the right type. */
DAT_RETURN dpr_extension(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list parameters)
{
	DAT_RETURN ret = DAT_ERROR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);
	va_list args;

	va_copy(args, parameters);
	switch ((unsigned int)op) {
	case DAT_IB_FETCH_AND_ADD_OP:
	case DAT_IB_CMP_AND_SWAP_OP:
	case DAT_IB_RDMA_WRITE_IMMED_OP:
	case DAT_IB_UD_SEND_OP:
	case DAT_IB_UD_CM_FREE_OP:
	case DAT_IB_UD_AH_FREE_OP:
		ret = of_ep(handle, (unsigned int)op, &args);
		break;
	case DAT_IB_QUERY_COUNTERS_OP:
	case DAT_IB_PRINT_COUNTERS_OP:
		ret = counters(handle, (unsigned int)op == DAT_IB_PRINT_COUNTERS_OP, &args);
		break;
	case DAT_IB_START_COUNTERS_OP:
	case DAT_IB_STOP_COUNTERS_OP:
		ret = start_stop(handle, va_arg(args, int));
		break;
	case DAT_IB_OPEN_QUERY_OP:
		ret = open_query(&args);
		break;
	case DAT_IB_CLOSE_QUERY_OP:
		ret = dpr_ia_close((DAT_IA_HANDLE)handle, DAT_CLOSE_ABRUPT_FLAG);
		break;
	default: /* collectives */
		break;
	}
	va_end(args);
	return ret;
}
