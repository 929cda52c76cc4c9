/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdlib.h>
#include <string.h>

#include "dtest.h"

#if DTL_V2
#include <dat2/dat_ib_extensions.h>
#endif

/* The abilities of an IA beyond the common ones, and the checks of the InfiniBand extensions. */

#if DTL_V2

static const char *value(const DAT_NAMED_ATTR *attr, DAT_COUNT n, const char *name)
{
	DAT_COUNT i;

	for (i = 0; i < n; i++)
		if (strcmp(attr[i].name, name) == 0)
			return attr[i].value;
	return NULL;
}

static const char *value_of(const struct dtl_ia *ia, const char *name)
{
	const char *v = value(ia->prov.provider_specific_attr,
			      ia->prov.num_provider_specific_attr, name);

	if (!v)
		v = value(ia->attr.vendor_attr, ia->attr.num_vendor_attr, name);
	if (!v)
		v = value(ia->attr.transport_attr, ia->attr.num_transport_attr, name);
	return v;
}

static bool has(const struct dtl_ia *ia, const char *name)
{
	const char *v = value_of(ia, name);

	return v && strcmp(v, "TRUE") == 0;
}

unsigned dtd_mtu(const struct dtl_ia *ia)
{
	const char *v = value_of(ia, "DAT_IB_TRANSPORT_MTU");
	unsigned long mtu = v ? strtoul(v, NULL, 10) : 0;

	return mtu >= 256 && mtu <= 65536 ? mtu : 256;	/* the least that InfiniBand has */
}

#endif

/* Debian's providers have shared queues but no attribute for them, hence a trial. */
static bool has_srq(struct dtl_ia *ia)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 1, .max_recv_iov = 1,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_SRQ_HANDLE srq;

	if (dat_srq_create(ia->ia, ia->pz, &attr, &srq) != DAT_SUCCESS)
		return false;
	return dtl_check(dat_srq_free(srq), "dat_srq_free") == 0;
}

uint32_t dtd_abilities(struct dtl_ia *ia)
{
	uint32_t can = 0;

#if DTL_V2
	if (ia->attr.extension_supported == DAT_EXTENSION_IB) {
		if (has(ia, "DAT_IB_FETCH_AND_ADD") && has(ia, "DAT_IB_CMP_AND_SWAP"))
			can |= DTD_CAN_ATOMICS;
		if (has(ia, "DAT_IB_IMMED_DATA"))
			can |= DTD_CAN_IMMEDIATE;
		if (has(ia, DAT_IB_ATTR_UD))
			can |= DTD_CAN_DATAGRAMS;
	}
#endif
	return can | (has_srq(ia) ? DTD_CAN_SRQ : 0);
}

#if DTL_V2

DAT_MEM_PRIV_FLAGS dtd_rights(struct dtl_ia *ia)
{
	return DAT_MEM_PRIV_ALL_FLAG |
	       (dtd_abilities(ia) & DTD_CAN_ATOMICS ? DAT_IB_MEM_PRIV_REMOTE_ATOMIC : 0);
}

/* Waits for an extended completion of this type. */
static int reap_extended(struct dtd *d, DAT_EVD_HANDLE evd, uint64_t cookie, DAT_IB_EXT_TYPE type,
			 DAT_UINT32 *ret_immediate)
{
	DAT_IB_EXTENSION_EVENT_DATA ext;
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT ev;

	if (dtl_next(d->end.how, d->cno, evd, DTL_TIMEOUT_MS, &ev) != 0) {
		dtl_complain("an extended operation has no completion in time");
		return -1;
	}
	dto = &ev.event_data.dto_completion_event_data;
	memcpy(&ext, ev.event_extension_data, sizeof(ext));
	if ((unsigned)ev.event_number != DAT_IB_DTO_EVENT || dto->status != DAT_DTO_SUCCESS ||
	    ext.type != type || dto->user_cookie.as_64 != cookie) {
		dtl_complain("event %s, %s, type %d (expected %d), cookie %llu (expected %llu)",
			     dtl_event_name(ev.event_number), dtl_status_name(dto->status),
			     ext.type, type, (unsigned long long)dto->user_cookie.as_64,
			     (unsigned long long)cookie);
		return -1;
	}
	if (ret_immediate)
		*ret_immediate = ext.val.immed.data;
	return 0;
}

enum dtd_result dtd_check_immediate(struct dtd *d)
{
	DAT_UINT32 mine = dtd_is_server(d) ? 0x5e41e401 : 0xc11e2702, other;
	DAT_DTO_COOKIE cookie = { .as_64 = d->posted };
	DAT_LMR_TRIPLET seg;
	DAT_RMR_TRIPLET to;

	if (!(d->common & DTD_CAN_IMMEDIATE))
		return DTD_UNSUPP;
	dtl_fill(d->source, d->o->size, mine);
	memset(d->target, 0, d->o->size);
	/* One more receive: the peer's immediate data consume one, and none of its bytes. */
	DTD_NEED(dtd_post_step_recv(d) == 0);
	DTD_NEED(dtd_step(d, 60) == 0);
	seg = dtl_segment(d->mem.context, d->source, d->o->size);
	to = dtl_remote(d->peer_context, d->peer_target, d->o->size);
	cookie.as_64 = d->posted;
	DTD_NEED(dtl_check(dat_ib_post_rdma_write_immed(d->end.ep, 1, &seg, cookie, &to, mine,
							DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ib_post_rdma_write_immed") == 0);
	DTD_NEED(reap_extended(d, d->end.request, d->posted++, DAT_IB_RDMA_WRITE_IMMED, NULL) == 0);
	DTD_NEED(reap_extended(d, d->end.recv, d->received++, DAT_IB_RDMA_WRITE_IMMED_DATA,
			       &other) == 0);
	d->steps_read++;
	DTD_NEED(other == (dtd_is_server(d) ? 0xc11e2702 : 0x5e41e401));
	DTD_NEED(dtl_differs(d->target, d->o->size, other) < 0);
	DTD_NEED(dtd_step(d, 61) == 0);
	return DTD_PASS;
}

enum dtd_result dtd_check_atomics(struct dtd *d)
{
	uint64_t *target = (uint64_t *)(void *)d->target, *old = (uint64_t *)(void *)d->source;
	DAT_LMR_TRIPLET seg = dtl_segment(d->mem.context, d->source, 8);
	DAT_DTO_COOKIE cookie;
	DAT_RMR_TRIPLET to;

	if (!(d->common & DTD_CAN_ATOMICS) || d->o->size < 8)
		return DTD_UNSUPP;
	target[0] = 1000;
	DTD_NEED(dtd_step(d, 70) == 0);
	to = dtl_remote(d->peer_context, d->peer_target, 8);
	cookie.as_64 = d->posted;
	DTD_NEED(dtl_check(dat_ib_post_fetch_and_add(d->end.ep, (DAT_UINT64)234, &seg, cookie, &to,
						     DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ib_post_fetch_and_add") == 0);
	DTD_NEED(reap_extended(d, d->end.request, d->posted++, DAT_IB_FETCH_AND_ADD, NULL) == 0);
	DTD_NEED(*old == 1000);
	/* The first is no match and changes nothing; the second swaps. */
	cookie.as_64 = d->posted;
	DTD_NEED(dtl_check(dat_ib_post_cmp_and_swap(d->end.ep, (DAT_UINT64)1000, (DAT_UINT64)1,
						    &seg, cookie, &to, DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ib_post_cmp_and_swap") == 0);
	DTD_NEED(reap_extended(d, d->end.request, d->posted++, DAT_IB_CMP_AND_SWAP, NULL) == 0);
	DTD_NEED(*old == 1234);
	cookie.as_64 = d->posted;
	DTD_NEED(dtl_check(dat_ib_post_cmp_and_swap(d->end.ep, (DAT_UINT64)1234, (DAT_UINT64)77,
						    &seg, cookie, &to, DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ib_post_cmp_and_swap") == 0);
	DTD_NEED(reap_extended(d, d->end.request, d->posted++, DAT_IB_CMP_AND_SWAP, NULL) == 0);
	DTD_NEED(*old == 1234);
	DTD_NEED(dtd_step(d, 71) == 0);
	DTD_NEED(target[0] == 77);
	return DTD_PASS;
}

#else	/* DAT 1.2 has no extensions. */

DAT_MEM_PRIV_FLAGS dtd_rights(struct dtl_ia *ia)
{
	return DAT_MEM_PRIV_ALL_FLAG;
}

enum dtd_result dtd_check_immediate(struct dtd *d)
{
	return DTD_UNSUPP;
}

enum dtd_result dtd_check_atomics(struct dtd *d)
{
	return DTD_UNSUPP;
}

#endif
