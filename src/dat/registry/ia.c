/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/registry/ia.h"

#include "dat/registry/provider.h"
#include "dat/registry/log.h"

#include <stdlib.h>
#include <string.h>

_Atomic(struct dreg_ia *) dreg_ia_chunks[DREG_MAX_IAS / DREG_IA_CHUNK];

/* The state of an open IA that its close needs. Guarded by dreg_lock. */
static struct {
	struct dreg_use use;
	const DAT_PROVIDER *table; /* of the object */
	bool taken;
} *owned[DREG_MAX_IAS / DREG_IA_CHUNK];
static unsigned next_nr = 1; /* 0 is DAT_HANDLE_NULL */

static struct dreg_ia *place(unsigned nr)
{
	struct dreg_ia *chunk = atomic_load_explicit(&dreg_ia_chunks[nr / DREG_IA_CHUNK],
						     memory_order_acquire);

	return chunk ? &chunk[nr % DREG_IA_CHUNK] : NULL;
}

/* Called with dreg_lock held. */
static bool have_chunk(unsigned nr)
{
	unsigned c = nr / DREG_IA_CHUNK;
	struct dreg_ia *chunk;

	if (owned[c])
		return true;
	chunk = calloc(DREG_IA_CHUNK, sizeof(*chunk));
	owned[c] = calloc(DREG_IA_CHUNK, sizeof(*owned[c]));
	if (!chunk || !owned[c]) {
		free(chunk);
		free(owned[c]);
		owned[c] = NULL;
		return false;
	}
	atomic_store_explicit(&dreg_ia_chunks[c], chunk, memory_order_release);
	return true;
}

#define OWNED(nr) (owned[(nr) / DREG_IA_CHUNK][(nr) % DREG_IA_CHUNK])

/* Returns a number, or 0 if none is free. Called with dreg_lock held. */
static unsigned take_number(void)
{
	for (unsigned i = 0; i < DREG_MAX_IAS; i++) {
		unsigned nr = next_nr;

		next_nr = (next_nr + 1) % DREG_MAX_IAS;
		if (!nr)
			continue;
		if (!have_chunk(nr))
			return 0;
		if (!OWNED(nr).taken) {
			OWNED(nr).taken = true;
			return nr;
		}
	}
	return 0;
}

static unsigned number_of(DAT_IA_HANDLE object, bool open_only)
{
	for (unsigned nr = 1; nr < DREG_MAX_IAS; nr++) {
		struct dreg_ia *p = place(nr);

		if (!p) {
			nr |= DREG_IA_CHUNK - 1;
			continue;
		}
		if (atomic_load_explicit(open_only ? &p->open : &p->object,
					 memory_order_acquire) == object)
			return nr;
	}
	return 0;
}

DAT_IA_HANDLE dreg_ia_slow(DAT_IA_HANDLE ia)
{
	return number_of(ia, true) ? ia : NULL;
}

DREG_EXPORT DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE in, DAT_IA_HANDLE *out)
{
	uintptr_t nr = (uintptr_t)in;
	struct dreg_ia *p;

	if (!out)
		return dreg_bad(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (nr >= DREG_MAX_IAS) {
		nr = number_of(in, false);
		*out = nr ? (DAT_IA_HANDLE)nr : DAT_HANDLE_NULL;
	} else {
		p = place((unsigned)nr);
		*out = p ? atomic_load_explicit(&p->object, memory_order_acquire) : DAT_HANDLE_NULL;
	}
	return *out ? DAT_SUCCESS : dreg_bad(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
}

/* Returns true if the provider of ia has extensions. */
static bool has_extensions(const DAT_PROVIDER *table, DAT_IA_HANDLE ia)
{
	DAT_IA_ATTR attr;

	memset(&attr, 0, sizeof(attr));
	if (!table->ia_query_func ||
	    table->ia_query_func(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL) != DAT_SUCCESS)
		return false;
	return attr.extension_supported != DAT_EXTENSION_NONE;
}

/* Gives the object a number and returns it; 0: there is none, or no room for its table. */
static unsigned publish(DAT_IA_HANDLE object, const struct dreg_use *use, bool extensions)
{
	const DAT_PROVIDER *table = DAT_HANDLE_TO_PROVIDER(object);
	unsigned nr;

	pthread_mutex_lock(&dreg_lock);
	nr = take_number();
	if (nr && dreg_table_use(table, extensions)) {
		OWNED(nr).taken = false;
		nr = 0;
	}
	if (nr) {
		OWNED(nr).use = *use;
		OWNED(nr).table = table;
		atomic_store_explicit(&place(nr)->object, object, memory_order_release);
		atomic_store_explicit(&place(nr)->open, object, memory_order_release);
	}
	pthread_mutex_unlock(&dreg_lock);
	return nr;
}

static DAT_RETURN open_ia(const struct dreg_request *request, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			  DAT_IA_HANDLE *ret)
{
	const DAT_PROVIDER *table;
	DAT_IA_HANDLE object = DAT_HANDLE_NULL;
	struct dreg_use use;
	DAT_RETURN rc;
	unsigned nr;

	rc = dreg_provider_use(request, &use);
	if (rc != DAT_SUCCESS)
		return rc;
	rc = use.table->ia_open_func((DAT_NAME_PTR)request->name, qlen, async_evd, &object);
	if (rc != DAT_SUCCESS)
		goto leave;
	rc = DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	table = object ? DAT_HANDLE_TO_PROVIDER(object) : NULL;
	if (!table)
		goto leave;
	nr = publish(object, &use, has_extensions(table, object));
	if (nr) {
		*ret = (DAT_IA_HANDLE)(uintptr_t)nr;
		return DAT_SUCCESS;
	}
	table->ia_close_func(object, DAT_CLOSE_ABRUPT_FLAG);
	rc = DAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
leave:
	dreg_provider_leave(&use);
	return rc;
}

DREG_EXPORT DAT_RETURN dat_ia_openv(const DAT_NAME_PTR ia_name, DAT_COUNT async_qlen,
				    DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia, DAT_UINT32 major,
				    DAT_UINT32 minor, DAT_BOOLEAN thread_safe)
{
	struct dreg_request request = { ia_name, major, minor, thread_safe };
	struct dreg_guard guard;
	DAT_RETURN rc;

	if (!ia_name || strnlen(ia_name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return dreg_bad(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!async_evd)
		return dreg_bad(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!ia)
		return dreg_bad(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (*async_evd != DAT_HANDLE_NULL && *async_evd != DAT_EVD_ASYNC_EXISTS &&
	    !dreg_object(*async_evd))
		return dreg_bad(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC);
	guard = dreg_enter();
	rc = open_ia(&request, async_qlen, async_evd, ia);
	dreg_leave(&guard);
	dreg_log(DREG_CONSUMER, "open of %s %u.%u %s: %#x", ia_name, major, minor,
		 thread_safe ? "threadsafe" : "nonthreadsafe", rc);
	return dreg_result(__func__, rc);
}

/* Returns the provider's handle to one of the threads that close the IA, NULL to the others. */
static DAT_IA_HANDLE take_open(unsigned nr)
{
	struct dreg_ia *p = place(nr);

	return p ? atomic_exchange_explicit(&p->open, DAT_HANDLE_NULL, memory_order_acq_rel) :
		   DAT_HANDLE_NULL;
}

static void unpublish(unsigned nr)
{
	struct dreg_use use;

	pthread_mutex_lock(&dreg_lock);
	use = OWNED(nr).use;
	dreg_table_drop(OWNED(nr).table);
	atomic_store_explicit(&place(nr)->object, DAT_HANDLE_NULL, memory_order_release);
	OWNED(nr).taken = false;
	pthread_mutex_unlock(&dreg_lock);
	dreg_new_generation();
	dreg_provider_leave(&use);
}

DREG_EXPORT DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	uintptr_t nr = (uintptr_t)ia < DREG_MAX_IAS ? (uintptr_t)ia : number_of(ia, true);
	DAT_IA_HANDLE object = nr ? take_open((unsigned)nr) : DAT_HANDLE_NULL;
	struct dreg_guard guard;
	DAT_RETURN rc;

	if (!object)
		return dreg_bad(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	guard = dreg_enter();
	rc = DAT_CALL_PROVIDER_FUNC(ia_close_func, object, flags);
	if (rc == DAT_SUCCESS)
		unpublish((unsigned)nr);
	else
		atomic_store_explicit(&place((unsigned)nr)->open, object, memory_order_release);
	dreg_leave(&guard);
	rc = dreg_result(__func__, rc);
	return rc;
}
