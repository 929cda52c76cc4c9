/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls of events, EVDs and CNOs whose structures differ, for DAT 1.2. */
#include <dat/udat.h>

#include "dat/compat12/call.h"

#include <string.h>

/* Returns the structure in the table by which an event is converted. */
static enum c12_type type_of(DAT_EVENT_NUMBER number)
{
	switch (number) {
	case DAT_DTO_COMPLETION_EVENT:
		return C12_TYPE_EVENT_DTO;
	case DAT_RMR_BIND_COMPLETION_EVENT:
		return C12_TYPE_EVENT_BIND;
	case DAT_CONNECTION_REQUEST_EVENT:
		return C12_TYPE_EVENT_CR;
	case DAT_SOFTWARE_EVENT:
		return C12_TYPE_EVENT_SOFTWARE;
	default:
		return (number & 0xf000) == 0x4000 ? C12_TYPE_EVENT_CONNECT : C12_TYPE_EVENT_ASYNC;
	}
}

static void event12(DAT_EVENT *to, const void *from)
{
	DAT_DTO_COMPLETION_STATUS *status = &to->event_data.dto_completion_event_data.status;
	DAT_EVENT_NUMBER number;

	memcpy(&number, from, sizeof(number));
	memset(to, 0, sizeof(*to));
	c12_from20(type_of(number), to, from);
	/* 2.0 has one more status: a local fault of memory management. */
	if (number == DAT_DTO_COMPLETION_EVENT && *status > DAT_RMR_OPERATION_FAILED)
		*status = DAT_DTO_ERR_LOCAL_PROTECTION;
}

C12_EXPORT DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
				   DAT_EVENT *event, DAT_COUNT *nmore)
{
	C12_FRONT;
	DAT_RETURN (*wait)(DAT_EVD_HANDLE, DAT_TIMEOUT, DAT_COUNT, void *, DAT_COUNT *) =
		front->slot[C12_evd_wait];
	C12_STRUCT20(event20, EVENT_DTO);
	DAT_RETURN rc = wait(evd, timeout, threshold, event ? event20 : NULL, nmore);

	if (rc == DAT_SUCCESS)
		event12(event, event20);
	return c12_return(rc);
}

C12_EXPORT DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	C12_FRONT;
	DAT_RETURN (*dequeue)(DAT_EVD_HANDLE, void *) = front->slot[C12_evd_dequeue];
	C12_STRUCT20(event20, EVENT_DTO);
	DAT_RETURN rc = dequeue(evd, event ? event20 : NULL);

	if (rc == DAT_SUCCESS)
		event12(event, event20);
	return c12_return(rc);
}

C12_EXPORT DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd, const DAT_EVENT *event)
{
	C12_FRONT;
	DAT_RETURN (*post)(DAT_EVD_HANDLE, const void *) = front->slot[C12_evd_post_se];
	C12_STRUCT20(event20, EVENT_SOFTWARE);

	if (event)
		c12_to20(C12_TYPE_EVENT_SOFTWARE, event20, event);
	return c12_return(post(evd, event ? event20 : NULL));
}

/* The values of 2.0's mask overlap; only "all" means the same to every provider. */
#define CNO_ALL20 4

C12_EXPORT DAT_RETURN dat_cno_query(DAT_CNO_HANDLE cno, DAT_CNO_PARAM_MASK mask,
				    DAT_CNO_PARAM *param)
{
	C12_FRONT;
	DAT_RETURN (*query)(DAT_CNO_HANDLE, int, void *) = front->slot[C12_cno_query];
	C12_STRUCT20(param20, CNO_PARAM);
	int proxy_type;
	DAT_RETURN rc;

	rc = query(cno, mask & ~DAT_CNO_FIELD_ALL ? (int)mask << 8 : mask ? CNO_ALL20 : 0,
		   param ? param20 : NULL);
	if (rc != DAT_SUCCESS)
		return c12_return(rc);
	c12_from20(C12_TYPE_CNO_PARAM, param, param20);
	/* The type of the proxy follows the IA; 1.2 knows agents only. */
	memcpy(&proxy_type, (const char *)param20 + sizeof(DAT_IA_HANDLE), sizeof(proxy_type));
	if (proxy_type != 1)
		param->agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
	return DAT_SUCCESS;
}

C12_EXPORT DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr)
{
	C12_FRONT;
	DAT_RETURN (*reject)(DAT_CR_HANDLE, DAT_COUNT, const void *) = front->slot[C12_cr_reject];

	return c12_return(reject(cr, 0, NULL));
}
