/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A DAT provider with nothing behind it: a library that the registry loads. What it does is told
 * by its parameters, a list of words; what is done to it goes line by line into the file that
 * FAKE_DAPL_TRACE names.
 *
 *	silent     does not register        openfail   no IA can be opened
 *	nullia     opens NULL                again      registers twice
 *	self       opens itself from init    ext        has extensions
 *	holes      a table of DAT 1.2's size, the rest 0
 *	related    is one adapter with every other
 *	inuse      cannot be closed gracefully
 *	pages      each object in a page of its own, unmapped when freed
 */
#include <dat2/dat_registry.h>
#include <dat2/dat_ib_extensions.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FAKE_EXPORT __attribute__((visibility("default")))

/* As the first word of an object demands. */
struct fake_object {
	const DAT_PROVIDER *table;
	DAT_HANDLE_TYPE type;
	DAT_CONTEXT context;
};

struct fake {
	DAT_PROVIDER table;  /* must be first: a table leads back here */
	DAT_PROVIDER_INFO info;
	char words[128];
	struct fake *next;
};

static struct fake *fakes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void trace(const char *what, const char *name, const char *more)
{
	const char *path = getenv("FAKE_DAPL_TRACE");
	char line[512];
	int fd, n;

	if (!path)
		return;
	n = snprintf(line, sizeof(line), "%s %s%s%s\n", what, name, *more ? " " : "", more);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, line, (size_t)n) != n)
		abort();
	close(fd);
}

static bool says(const struct fake *f, const char *word)
{
	return strstr(f->words, word) != NULL;
}

static struct fake *by_name(const char *name)
{
	struct fake *f;

	pthread_mutex_lock(&lock);
	for (f = fakes; f && strcmp(f->info.ia_name, name) != 0; f = f->next)
		;
	pthread_mutex_unlock(&lock);
	return f;
}

static struct fake *fake_of(DAT_HANDLE handle)
{
	return (struct fake *)(void *)DAT_HANDLE_TO_PROVIDER(handle);
}

static DAT_HANDLE new_object(struct fake *f, DAT_HANDLE_TYPE type)
{
	struct fake_object *o = says(f, "pages") ?
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) :
		calloc(1, sizeof(*o));

	if (!o || o == MAP_FAILED)
		abort();
	*o = (struct fake_object){ .table = &f->table, .type = type };
	return o;
}

static DAT_RETURN end_object(DAT_HANDLE handle)
{
	struct fake_object *o = handle;

	if (says(fake_of(handle), "pages"))
		return munmap(o, 4096) ? DAT_ERROR(DAT_INTERNAL_ERROR, 0) : DAT_SUCCESS;
	o->table = NULL;
	free(o);
	return DAT_SUCCESS;
}

static DAT_RETURN fake_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			    DAT_IA_HANDLE *ia)
{
	struct fake *f = by_name(name);

	trace("open", name, "");
	if (!f || says(f, "openfail"))
		return DAT_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
	if (*evd == DAT_HANDLE_NULL)
		*evd = new_object(f, DAT_HANDLE_TYPE_EVD);
	*ia = says(f, "nullia") ? NULL : new_object(f, DAT_HANDLE_TYPE_IA);
	return DAT_SUCCESS;
}

static DAT_RETURN fake_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *evd, DAT_IA_ATTR_MASK mask,
			     DAT_IA_ATTR *attr, DAT_PROVIDER_ATTR_MASK pmask,
			     DAT_PROVIDER_ATTR *pattr)
{
	struct fake *f = fake_of(ia);

	if (mask && attr) {
		trace("query", f->info.ia_name, mask == DAT_IA_FIELD_ALL ? "all" : "some");
		attr->extension_supported = says(f, "ext") ? DAT_EXTENSION_IB : DAT_EXTENSION_NONE;
	}
	/* The distribution's registry finds its entry again by these. */
	if (pmask && pattr) {
		pattr->dapl_version_major = f->info.dapl_version_major;
		pattr->dapl_version_minor = f->info.dapl_version_minor;
		pattr->is_thread_safe = f->info.is_thread_safe;
	}
	return DAT_SUCCESS;
}

static DAT_RETURN fake_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	trace("close", fake_of(ia)->info.ia_name, flags ? "graceful" : "");
	if (flags == DAT_CLOSE_GRACEFUL_FLAG && says(fake_of(ia), "inuse"))
		return DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
	return end_object(ia);
}

static DAT_RETURN fake_pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz)
{
	*pz = new_object(fake_of(ia), DAT_HANDLE_TYPE_PZ);
	return DAT_SUCCESS;
}

/* What a provider answers about its IA: the consumer's handle. */
static DAT_RETURN fake_pz_query(DAT_PZ_HANDLE pz, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param)
{
	return param ? DAT_SUCCESS : DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
}

static DAT_RETURN fake_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno,
				  DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	*evd = new_object(fake_of(ia), DAT_HANDLE_TYPE_EVD);
	return DAT_SUCCESS;
}

static DAT_RETURN fake_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE r,
				 DAT_EVD_HANDLE q, DAT_EVD_HANDLE c, const DAT_EP_ATTR *attr,
				 DAT_EP_HANDLE *ep)
{
	*ep = new_object(fake_of(ia), DAT_HANDLE_TYPE_EP);
	return DAT_SUCCESS;
}

static DAT_RETURN fake_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	return DAT_ERROR(DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
}

static DAT_RETURN fake_ep_modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *p)
{
	return DAT_SUCCESS;
}

/* As a provider of old: the bare type. */
static DAT_RETURN fake_cno_fd_create(DAT_IA_HANDLE ia, DAT_FD *fd, DAT_CNO_HANDLE *cno)
{
	return DAT_MODEL_NOT_SUPPORTED;
}

static DAT_RETURN fake_set_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
	((struct fake_object *)handle)->context = context;
	return DAT_SUCCESS;
}

static DAT_RETURN fake_get_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	*context = ((struct fake_object *)handle)->context;
	return DAT_SUCCESS;
}

static DAT_RETURN fake_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
	*type = ((struct fake_object *)handle)->type;
	return DAT_SUCCESS;
}

static DAT_RETURN fake_related(DAT_IA_HANDLE ia, const DAT_NAME_PTR name, DAT_BOOLEAN *answer)
{
	*answer = says(fake_of(ia), "related") ? DAT_TRUE : DAT_FALSE;
	return DAT_SUCCESS;
}

/* Operation 77 adds two numbers, to see that arguments arrive. */
static DAT_RETURN fake_extended(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	DAT_UINT64 a = va_arg(args, DAT_UINT64), b = va_arg(args, DAT_UINT64);

	*va_arg(args, DAT_UINT64 *) = a + b;
	return op == 77 ? DAT_SUCCESS : DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
}

static void fill(struct fake *f)
{
	f->table = (DAT_PROVIDER){
		.device_name = f->info.ia_name,
		.ia_open_func = fake_open,
		.ia_query_func = fake_query,
		.ia_close_func = fake_close,
		.set_consumer_context_func = fake_set_context,
		.get_consumer_context_func = fake_get_context,
		.get_handle_type_func = fake_type,
		.pz_create_func = fake_pz_create,
		.pz_query_func = fake_pz_query,
		.pz_free_func = end_object,
		.evd_create_func = fake_evd_create,
		.evd_dequeue_func = fake_dequeue,
		.evd_free_func = end_object,
		.ep_create_func = fake_ep_create,
		.ep_modify_func = fake_ep_modify,
		.ep_free_func = end_object,
	};
	if (says(f, "holes"))
		return;
	f->table.cno_fd_create_func = fake_cno_fd_create;
	f->table.ia_ha_related_func = fake_related;
	f->table.handle_extendedop_func = fake_extended;
}

FAKE_EXPORT void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params);
FAKE_EXPORT void dat_provider_fini(const DAT_PROVIDER_INFO *info);
FAKE_EXPORT void dapl_extensions(void);

void dapl_extensions(void)
{
}

/* By name out of the program's scope, as the real providers have it. */
static DAT_RETURN call_registry(const char *name, struct fake *f)
{
	DAT_RETURN (*call)(const DAT_PROVIDER *, const DAT_PROVIDER_INFO *);

	*(void **)&call = dlsym(RTLD_DEFAULT, name);
	if (!call) {
		trace("nosymbol", name, "");
		return DAT_INTERNAL_ERROR;
	}
	return call(&f->table, &f->info);
}

static void open_self(struct fake *f)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_OPENV_FUNC openv;
	DAT_IA_HANDLE ia;
	char text[16];

	*(void **)&openv = dlsym(RTLD_DEFAULT, "dat_ia_openv");
	snprintf(text, sizeof(text), "%x", openv(f->info.ia_name, 1, &evd, &ia, 2, 0, DAT_FALSE));
	trace("self", f->info.ia_name, text);
}

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)
{
	struct fake *f = calloc(1, sizeof(*f));

	trace("init", info->ia_name, params);
	if (!f)
		abort();
	f->info = *info;
	snprintf(f->words, sizeof(f->words), "%s", params);
	fill(f);
	pthread_mutex_lock(&lock);
	f->next = fakes;
	fakes = f;
	pthread_mutex_unlock(&lock);
	if (says(f, "self"))
		open_self(f);
	if (!says(f, "silent") && call_registry("dat_registry_add_provider", f) != DAT_SUCCESS)
		trace("refused", info->ia_name, "");
	if (says(f, "again") && call_registry("dat_registry_add_provider", f) !=
	    DAT_ERROR(DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE))
		trace("twice", info->ia_name, "");
}

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	struct fake *f, **at;

	trace("fini", info->ia_name, "");
	pthread_mutex_lock(&lock);
	for (at = &fakes; *at && strcmp((*at)->info.ia_name, info->ia_name) != 0; at = &(*at)->next)
		;
	f = *at;
	if (f)
		*at = f->next;
	pthread_mutex_unlock(&lock);
	if (f && !says(f, "silent") &&
	    call_registry("dat_registry_remove_provider", f) != DAT_SUCCESS)
		trace("kept", info->ia_name, "");
	free(f);
}
