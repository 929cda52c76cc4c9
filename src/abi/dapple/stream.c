/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The hand-over of TCP sockets, for programs: sizes, flags and signs are checked here. */
#include "dapple/stream.h"

#include "abi/dapple/verbs_ops.h"
#include "abi/verbs/vrb.h"
#include "device/kind/handover.h"
#include "util/export.h"

#include <string.h>

#define FLAGS (DPL_STREAM_CRC | DPL_STREAM_MARKERS_IN | DPL_STREAM_MARKERS_OUT | \
	       DPL_STREAM_REQUESTED)
#define AGREED_FLAGS (DPL_STREAM_MARKERS_OUT | DPL_STREAM_REQUESTED)

_Static_assert((int)DPL_STREAM_NEGOTIATED == (int)DEV_HANDOVER_AGREED, "one numbering");
_Static_assert((int)DPL_RTR_SEND == (int)DEV_RTR_SEND, "one numbering");
_Static_assert(DPL_STREAM_PRIVATE == DEV_HANDOVER_PRIVATE, "one limit");

/* A structure of another release may be shorter, or longer with zeros that it does not use. */
static bool take(struct dpl_stream_attr *to, const struct dpl_stream_attr *from, size_t size)
{
	const char *bytes = (const char *)from;

	memset(to, 0, sizeof(*to));
	memcpy(to, from, size < sizeof(*to) ? size : sizeof(*to));
	for (size_t i = sizeof(*to); i < size; i++)
		if (bytes[i])
			return false;
	return size >= offsetof(struct dpl_stream_attr, ird);
}

static bool valid(const struct dpl_stream_attr *a)
{
	bool agreed = a->role == DPL_STREAM_NEGOTIATED;

	if (a->role > DPL_STREAM_NEGOTIATED || a->flags & ~(uint32_t)FLAGS ||
	    a->rtr > DPL_RTR_SEND || a->private_len > DPL_STREAM_PRIVATE)
		return false;
	if (a->private_len && (agreed || !a->private_data))
		return false;
	return agreed || (!(a->flags & AGREED_FLAGS) && a->rtr == DPL_RTR_NONE);
}

UT_EXPORT int dpl_qp_stream(struct ibv_qp *qp, int fd, const struct dpl_stream_attr *attr,
			    size_t attr_size)
{
	struct dev_handover_want w;
	struct dpl_stream_attr a;

	if (!dpl_dev(qp->context))
		return errno;
	if (!take(&a, attr, attr_size) || !valid(&a))
		return EINVAL;
	w = (struct dev_handover_want){
		.role = (enum dev_handover_role)a.role,
		.crc = a.flags & DPL_STREAM_CRC,
		.markers_in = a.flags & DPL_STREAM_MARKERS_IN,
		.markers_out = a.flags & DPL_STREAM_MARKERS_OUT,
		.sent_request = a.flags & DPL_STREAM_REQUESTED,
		.ird = a.ird,
		.ord = a.ord,
		.rtr = (enum dev_handover_rtr)a.rtr,
		.private_data = a.private_data,
		.private_len = a.private_len,
	};
	return -dev_handover(vrb_of(qp, vrb_qp)->qp, fd, &w);
}

UT_EXPORT int dpl_qp_stream_wait(struct ibv_qp *qp, int timeout_ms,
				 struct dpl_stream_result *result, size_t result_size)
{
	struct dev_handover_result r;
	struct dpl_stream_result out = { 0 };
	int rc;

	if (!dpl_dev(qp->context))
		return errno;
	if (result_size < offsetof(struct dpl_stream_result, private_data))
		return EINVAL;
	memset(result, 0, result_size);
	rc = dev_handover_wait(vrb_of(qp, vrb_qp)->qp, timeout_ms, &r);
	if (rc < 0)
		return -rc;
	out.error = -r.error;
	out.ird = r.ird;
	out.ord = r.ord;
	out.private_len = r.private_len;
	memcpy(out.private_data, r.private_data, r.private_len);
	memcpy(result, &out, result_size < sizeof(out) ? result_size : sizeof(out));
	return out.error;
}
