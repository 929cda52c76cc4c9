/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/compat12/lmr.h"

#include "dat/compat12/call.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096u

struct known {
	struct known *next_by_context, *next_by_handle;
	DAT_IA_HANDLE ia;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known *by_context[BUCKETS], *by_handle[BUCKETS]; /* guarded by lock */

static struct known **context_bucket(DAT_LMR_CONTEXT context)
{
	return &by_context[(context ^ context >> 12 ^ context >> 24) % BUCKETS];
}

static struct known **handle_bucket(DAT_LMR_HANDLE lmr)
{
	uintptr_t a = (uintptr_t)lmr;

	return &by_handle[(a >> 4 ^ a >> 16) % BUCKETS];
}

static void remember(struct known *k)
{
	struct known **c = context_bucket(k->context), **h = handle_bucket(k->lmr);

	pthread_mutex_lock(&lock);
	k->next_by_context = *c;
	*c = k;
	k->next_by_handle = *h;
	*h = k;
	pthread_mutex_unlock(&lock);
}

/* Takes k off its list by context. Called with lock held. */
static void unlink_context(struct known *k)
{
	struct known **at = context_bucket(k->context);

	while (*at != k)
		at = &(*at)->next_by_context;
	*at = k->next_by_context;
}

static struct known *take(DAT_LMR_HANDLE lmr)
{
	struct known **at = handle_bucket(lmr), *k;

	pthread_mutex_lock(&lock);
	while (*at && (*at)->lmr != lmr)
		at = &(*at)->next_by_handle;
	k = *at;
	if (k) {
		*at = k->next_by_handle;
		unlink_context(k);
	}
	pthread_mutex_unlock(&lock);
	return k;
}

static DAT_LMR_HANDLE find(DAT_IA_HANDLE ia, DAT_LMR_CONTEXT context)
{
	DAT_LMR_HANDLE lmr;
	struct known *k;

	pthread_mutex_lock(&lock);
	for (k = *context_bucket(context); k; k = k->next_by_context)
		if (k->ia == ia && k->context == context)
			break;
	lmr = k ? k->lmr : DAT_HANDLE_NULL;
	pthread_mutex_unlock(&lock);
	return lmr;
}

void c12_lmr_forget_ia(DAT_IA_HANDLE ia)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < BUCKETS; i++) {
		struct known **at = &by_handle[i], *k;

		while ((k = *at)) {
			if (k->ia != ia) {
				at = &k->next_by_handle;
				continue;
			}
			*at = k->next_by_handle;
			unlink_context(k);
			free(k);
		}
	}
	pthread_mutex_unlock(&lock);
}

typedef DAT_RETURN (*create_func)(DAT_IA_HANDLE, DAT_MEM_TYPE, DAT_REGION_DESCRIPTION, DAT_VLEN,
				  DAT_PZ_HANDLE, DAT_MEM_PRIV_FLAGS, int va_type, DAT_LMR_HANDLE *,
				  DAT_LMR_CONTEXT *, DAT_RMR_CONTEXT *, DAT_VLEN *, DAT_VADDR *);

C12_EXPORT DAT_RETURN dat_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type,
				     DAT_REGION_DESCRIPTION region, DAT_VLEN length,
				     DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
				     DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
				     DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
				     DAT_VADDR *registered_address)
{
	/* 2.0 has the type of addresses as argument 7. */
	static const uint8_t places[] = { 1, 2, 3, 4, 5, 6, 0, 7, 8, 9 };
	C12_FRONT;
	struct known *k = malloc(sizeof(*k));
	DAT_LMR_CONTEXT context = 0;
	DAT_RETURN rc;

	if (!k)
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	rc = C12_FUNC(lmr_create, create_func)(ia, type, region, length, pz, privileges, 0, lmr,
					       &context, rmr_context, registered_length,
					       registered_address);
	if (rc != DAT_SUCCESS) {
		free(k);
		return c12_return_moved(rc, places, sizeof(places));
	}
	if (lmr_context)
		*lmr_context = context;
	*k = (struct known){ .ia = ia, .lmr = *lmr, .context = context };
	remember(k);
	return DAT_SUCCESS;
}

C12_EXPORT DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr)
{
	C12_FRONT;
	/* taken before the call, since the handle may be reused right after it */
	struct known *k = take(lmr);
	DAT_RETURN rc = C12_FUNC(lmr_free, DAT_LMR_FREE_FUNC)(lmr);

	if (rc == DAT_SUCCESS)
		free(k);
	else if (k)
		remember(k);
	return c12_return(rc);
}

C12_EXPORT DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr, DAT_LMR_PARAM_MASK mask,
				    DAT_LMR_PARAM *param)
{
	C12_FRONT;
	DAT_RETURN (*query)(DAT_LMR_HANDLE, uint32_t, void *) = front->slot[C12_lmr_query];
	C12_STRUCT20(param20, LMR_PARAM);
	DAT_RETURN rc = query(lmr, (uint32_t)c12_mask20(C12_LMR, mask), param ? param20 : NULL);

	if (rc == DAT_SUCCESS)
		c12_from20(C12_TYPE_LMR_PARAM, param, param20);
	return c12_return(rc);
}

typedef DAT_RETURN (*sync_func)(DAT_IA_HANDLE, const struct c12_lmr20 *, DAT_VLEN);

/* Converts any number of segments, 64 per call. */
static DAT_RETURN sync_all(enum c12_slot slot, DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *from,
			   DAT_VLEN count)
{
	C12_FRONT;
	struct c12_lmr20 to[64];
	DAT_RETURN rc = DAT_SUCCESS;
	DAT_VLEN n = 0;

	/* at least one call, which checks the IA */
	do {
		DAT_VLEN now = 0;

		for (; from && now < 64 && n < count; n++, now++)
			to[now] = (struct c12_lmr20){
				.address = from[n].virtual_address,
				.length = from[n].segment_length > UINT32_MAX ?
					UINT32_MAX : (uint32_t)from[n].segment_length,
				.context = from[n].lmr_context,
			};
		rc = ((sync_func)front->slot[slot])(ia, from ? to : NULL, from ? now : count);
	} while (rc == DAT_SUCCESS && from && n < count);
	return c12_return(rc);
}

C12_EXPORT DAT_RETURN dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments,
					     DAT_VLEN count)
{
	return sync_all(C12_lmr_sync_rdma_read, ia, segments, count);
}

C12_EXPORT DAT_RETURN dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments,
					      DAT_VLEN count)
{
	return sync_all(C12_lmr_sync_rdma_write, ia, segments, count);
}

typedef DAT_RETURN (*rmr_query_func)(DAT_RMR_HANDLE, uint32_t, void *);

C12_EXPORT DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr, DAT_RMR_PARAM_MASK mask,
				    DAT_RMR_PARAM *param)
{
	C12_FRONT;
	C12_STRUCT20(param20, RMR_PARAM);
	DAT_RETURN rc = C12_FUNC(rmr_query, rmr_query_func)(
		rmr, (uint32_t)c12_mask20(C12_RMR, mask), param ? param20 : NULL);

	if (rc == DAT_SUCCESS)
		c12_from20(C12_TYPE_RMR_PARAM, param, param20);
	return c12_return(rc);
}

/* Returns the number of an RMR's IA; some providers return their own handle. */
static DAT_RETURN ia_of_rmr(const struct c12_front *front, DAT_RMR_HANDLE rmr, DAT_IA_HANDLE *ret)
{
	DAT_RETURN (*number)(DAT_IA_HANDLE, DAT_IA_HANDLE *) = front->get_ia_handle;
	C12_STRUCT20(param20, RMR_PARAM);
	DAT_RMR_PARAM param;
	DAT_RETURN rc;

	rc = C12_FUNC(rmr_query, rmr_query_func)(
		rmr, (uint32_t)c12_mask20(C12_RMR, DAT_RMR_FIELD_IA_HANDLE), param20);
	if (rc != DAT_SUCCESS)
		return rc;
	c12_from20(C12_TYPE_RMR_PARAM, &param, param20);
	*ret = param.ia_handle;
	if ((uintptr_t)*ret > UINT16_MAX)
		number(param.ia_handle, ret);
	return DAT_SUCCESS;
}

typedef DAT_RETURN (*bind_func)(DAT_RMR_HANDLE, DAT_LMR_HANDLE, const struct c12_lmr20 *,
				DAT_MEM_PRIV_FLAGS, int va_type, DAT_EP_HANDLE, DAT_RMR_COOKIE,
				DAT_COMPLETION_FLAGS, DAT_RMR_CONTEXT *);

C12_EXPORT DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *local,
				   DAT_MEM_PRIV_FLAGS privileges, DAT_EP_HANDLE ep,
				   DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
				   DAT_RMR_CONTEXT *context)
{
	/* 2.0 has the LMR as argument 2 and the type of addresses as argument 5. */
	static const uint8_t places[] = { 1, 0, 2, 3, 0, 4, 5, 6, 7 };
	C12_FRONT;
	DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
	struct c12_lmr20 local20;
	DAT_IA_HANDLE ia;
	DAT_RETURN rc;

	rc = ia_of_rmr(front, rmr, &ia);
	if (rc != DAT_SUCCESS)
		return c12_return(rc);
	if (!local)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (local->segment_length > UINT32_MAX)
		return DAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	/* a segment of length 0 unbinds, and needs no LMR */
	if (local->segment_length)
		lmr = find(ia, local->lmr_context);
	if (local->segment_length && !lmr)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	local20 = (struct c12_lmr20){ .address = local->virtual_address,
				      .length = (uint32_t)local->segment_length,
				      .context = local->lmr_context };
	rc = C12_FUNC(rmr_bind, bind_func)(rmr, lmr, &local20, privileges, 0, ep, cookie, flags,
					   context);
	return c12_return_moved(rc, places, sizeof(places));
}
