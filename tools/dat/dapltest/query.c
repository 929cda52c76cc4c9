/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <arpa/inet.h>
#include <stdio.h>

#include "ends.h"

/* -T I: the attributes of the adapter and its provider. */

#define SHOW(from, field) printf("  %-36s %lld\n", #field, (long long)(from)->field)

static void show_address(const struct sockaddr *a)
{
	char text[INET6_ADDRSTRLEN] = "?";

	if (a && a->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)a)->sin_addr, text,
			  sizeof(text));
	else if (a && a->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
			  text, sizeof(text));
	printf("  %-36s %s\n", "ia_address", text);
}

static void show_ia(const DAT_IA_ATTR *a)
{
	printf("adapter %.*s, vendor %.*s\n", DAT_NAME_MAX_LENGTH, a->adapter_name,
	       DAT_NAME_MAX_LENGTH, a->vendor_name);
	show_address((const struct sockaddr *)a->ia_address_ptr);
	SHOW(a, hardware_version_major);
	SHOW(a, firmware_version_major);
	SHOW(a, max_eps);
	SHOW(a, max_dto_per_ep);
	SHOW(a, max_rdma_read_per_ep_in);
	SHOW(a, max_rdma_read_per_ep_out);
	SHOW(a, max_evds);
	SHOW(a, max_evd_qlen);
	SHOW(a, max_iov_segments_per_dto);
	SHOW(a, max_lmrs);
	SHOW(a, max_lmr_block_size);
	SHOW(a, max_lmr_virtual_address);
	SHOW(a, max_pzs);
	SHOW(a, max_message_size);
	SHOW(a, max_rdma_size);
	SHOW(a, max_rmrs);
	SHOW(a, max_rmr_target_address);
	SHOW(a, max_srqs);
	SHOW(a, max_ep_per_srq);
	SHOW(a, max_recv_per_srq);
	SHOW(a, max_iov_segments_per_rdma_read);
	SHOW(a, max_iov_segments_per_rdma_write);
	SHOW(a, max_rdma_read_in);
	SHOW(a, max_rdma_read_out);
#if DTL_V2
	SHOW(a, zb_supported);
	SHOW(a, extension_supported);
	SHOW(a, extension_version);
#endif
}

static void show_provider(const DAT_PROVIDER_ATTR *p)
{
	printf("provider %.*s, version %u.%u, DAT %u.%u\n", DAT_NAME_MAX_LENGTH, p->provider_name,
	       p->provider_version_major, p->provider_version_minor, p->dapl_version_major,
	       p->dapl_version_minor);
	SHOW(p, lmr_mem_types_supported);
	SHOW(p, iov_ownership_on_return);
	SHOW(p, dat_qos_supported);
	SHOW(p, completion_flags_supported);
	SHOW(p, is_thread_safe);
	SHOW(p, max_private_data_size);
	SHOW(p, supports_multipath);
	SHOW(p, ep_creator);
	SHOW(p, pz_support);
	SHOW(p, optimal_buffer_alignment);
	SHOW(p, srq_supported);
	SHOW(p, srq_watermarks_supported);
	SHOW(p, srq_ep_pz_difference_supported);
	SHOW(p, srq_info_supported);
	SHOW(p, ep_recv_info_supported);
	SHOW(p, lmr_sync_req);
#if DTL_V2
	SHOW(p, rmr_scope_supported);
	SHOW(p, is_signal_safe);
	SHOW(p, ha_supported);
#endif
}

static void show_named(const char *title, const DAT_NAMED_ATTR *attr, DAT_COUNT n)
{
	DAT_COUNT i;

	if (n)
		printf("%s\n", title);
	for (i = 0; i < n; i++)
		printf("  %-36s %s\n", attr[i].name, attr[i].value ? attr[i].value : "");
}

int dtt_query(const struct dtt_options *o)
{
	struct dtl_ia ia;

	if (dtl_ia_open(&ia, o->ia) != 0)
		return -1;
	show_ia(&ia.attr);
	show_provider(&ia.prov);
	show_named("transport attributes", ia.attr.transport_attr, ia.attr.num_transport_attr);
	show_named("vendor attributes", ia.attr.vendor_attr, ia.attr.num_vendor_attr);
	show_named("provider attributes", ia.prov.provider_specific_attr,
		   ia.prov.num_provider_specific_attr);
	return dtl_ia_close(&ia);
}
