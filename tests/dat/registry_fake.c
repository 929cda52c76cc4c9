/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A DAT provider without adapters: a library that the registry loads. Its parameters, a list of
 * words, determine its behaviour; every call is a line in the file that FAKE_DAPL_TRACE names.
 *
 *	silent     does not register        openfail   no IA can be opened
 *	nullia     opens NULL                again      registers twice
 *	self       opens itself from init    ext        has extensions
 *	holes      a table of DAT 1.2's size, the rest 0
 *	related    is related to every other adapter
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
	struct fake_object *next; /* of the same IA; guarded by lock */
	DAT_IA_HANDLE ia;
};

/* Objects that record their arguments, to check conversions. */
struct fake_ep {
	struct fake_object o;
	DAT_EP_PARAM param;
};

struct fake_evd {
	struct fake_object o;
	DAT_EVENT event; /* the next event, while event_number is set */
};

struct fake_lmr {
	struct fake_object o;
	DAT_LMR_PARAM param;
};

struct fake_rmr {
	struct fake_object o;
	DAT_RMR_PARAM param;
};

struct fake {
	DAT_PROVIDER table;  /* must be first: a table leads back here */
	DAT_PROVIDER_INFO info;
	char words[128];
	struct fake *next;
};

static struct fake *fakes;
static struct fake_object *objects; /* guarded by lock */
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

static DAT_HANDLE new_object(struct fake *f, DAT_IA_HANDLE ia, DAT_HANDLE_TYPE type)
{
	struct fake_object *o = says(f, "pages") ?
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) :
		calloc(1, 1024);

	if (!o || o == MAP_FAILED)
		abort();
	*o = (struct fake_object){ .table = &f->table, .type = type, .ia = ia };
	pthread_mutex_lock(&lock);
	o->next = objects;
	objects = o;
	pthread_mutex_unlock(&lock);
	return o;
}

static void give_back(struct fake_object *o)
{
	if (says(fake_of(o), "pages")) {
		if (munmap(o, 4096))
			abort();
		return;
	}
	/* volatile: otherwise the compiler drops a store that is never read */
	*(const DAT_PROVIDER *volatile *)&o->table = NULL;
	free(o);
}

/* Frees the objects of an IA, or one. */
static void end_objects(DAT_HANDLE one, DAT_IA_HANDLE ia)
{
	struct fake_object **at, *o;

	pthread_mutex_lock(&lock);
	for (at = &objects; (o = *at);) {
		if (o != one && (!ia || o->ia != ia)) {
			at = &o->next;
			continue;
		}
		*at = o->next;
		give_back(o);
	}
	pthread_mutex_unlock(&lock);
}

static DAT_RETURN end_object(DAT_HANDLE handle)
{
	end_objects(handle, NULL);
	return DAT_SUCCESS;
}

static DAT_RETURN fake_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			    DAT_IA_HANDLE *ia)
{
	struct fake *f = by_name(name);

	trace("open", name, "");
	if (!f || says(f, "openfail"))
		return DAT_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
	*ia = NULL;
	if (says(f, "nullia"))
		return DAT_SUCCESS;
	*ia = new_object(f, NULL, DAT_HANDLE_TYPE_IA);
	if (*evd == DAT_HANDLE_NULL)
		*evd = new_object(f, *ia, DAT_HANDLE_TYPE_EVD);
	return DAT_SUCCESS;
}

static DAT_RETURN fake_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *evd, DAT_IA_ATTR_MASK mask,
			     DAT_IA_ATTR *attr, DAT_PROVIDER_ATTR_MASK pmask,
			     DAT_PROVIDER_ATTR *pattr)
{
	struct fake *f = fake_of(ia);

	if (mask && attr) {
		trace("query", f->info.ia_name, mask == DAT_IA_FIELD_ALL ? "all" : "some");
		attr->max_message_size = UINT32_MAX;
		attr->max_srqs = 21;
		attr->num_vendor_attr = 22;
		strcpy(attr->adapter_name, f->info.ia_name);
		attr->extension_supported = says(f, "ext") ? DAT_EXTENSION_IB : DAT_EXTENSION_NONE;
	}
	/* The distribution's registry finds its entry by these attributes. */
	if (pmask && pattr) {
		pattr->dapl_version_major = f->info.dapl_version_major;
		pattr->dapl_version_minor = f->info.dapl_version_minor;
		pattr->is_thread_safe = f->info.is_thread_safe;
		pattr->pz_support = DAT_PZ_SHAREABLE;
		pattr->evd_stream_merging_supported[5][4] = DAT_TRUE;
		pattr->rdma_write_for_rdma_read_req = DAT_TRUE;
		pattr->num_provider_specific_attr = 31;
	}
	return DAT_SUCCESS;
}

static DAT_RETURN fake_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	trace("close", fake_of(ia)->info.ia_name, flags ? "graceful" : "");
	if (flags == DAT_CLOSE_GRACEFUL_FLAG && says(fake_of(ia), "inuse"))
		return DAT_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
	end_objects(ia, ia);
	return DAT_SUCCESS;
}

/* A close of its own tells the registry that this is another provider. */
static DAT_RETURN fake_close_pages(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	return fake_close(ia, flags);
}

static DAT_RETURN fake_pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz)
{
	*pz = new_object(fake_of(ia), ia, DAT_HANDLE_TYPE_PZ);
	return DAT_SUCCESS;
}

/* Returns the consumer's handle of an IA, as in query results. */
static DAT_RETURN fake_pz_query(DAT_PZ_HANDLE pz, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param)
{
	return param ? DAT_SUCCESS : DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
}

static DAT_RETURN fake_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno,
				  DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	*evd = new_object(fake_of(ia), ia, DAT_HANDLE_TYPE_EVD);
	return DAT_SUCCESS;
}

static DAT_RETURN fake_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE r,
				 DAT_EVD_HANDLE q, DAT_EVD_HANDLE c, const DAT_EP_ATTR *attr,
				 DAT_EP_HANDLE *ep)
{
	struct fake_ep *e = new_object(fake_of(ia), ia, DAT_HANDLE_TYPE_EP);

	e->param = (DAT_EP_PARAM){ .ia_handle = ia, .ep_state = DAT_EP_STATE_CONNECTED_MULTI_PATH,
				   .comm = { 1, 2, 3 }, .local_port_qual = 0x1122334455667788,
				   .remote_port_qual = 7, .pz_handle = pz, .recv_evd_handle = r,
				   .request_evd_handle = q, .connect_evd_handle = c };
	if (attr)
		e->param.ep_attr = *attr;
	*ep = e;
	return DAT_SUCCESS;
}

static DAT_RETURN fake_ep_query(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	if (!param)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (mask & ~DAT_EP_FIELD_ALL)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	*param = ((struct fake_ep *)ep)->param;
	/* Returns the mask itself, for a test to check. */
	param->remote_port_qual = mask;
	return DAT_SUCCESS;
}

/* Queues a completion with the request's arguments on the receive EVD. */
static DAT_RETURN fake_post(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *local,
			    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
			    DAT_COMPLETION_FLAGS flags)
{
	struct fake_evd *evd = ((struct fake_ep *)ep)->param.recv_evd_handle;
	DAT_DTO_COMPLETION_EVENT_DATA *d = &evd->event.event_data.dto_completion_event_data;

	evd->event.event_number = DAT_DTO_COMPLETION_EVENT;
	evd->event.evd_handle = evd;
	memset(evd->event.event_extension_data, 0xee, sizeof(evd->event.event_extension_data));
	*d = (DAT_DTO_COMPLETION_EVENT_DATA){
		.ep_handle = ep, .user_cookie = cookie, .status = DAT_DTO_ERR_LOCAL_MM_ERROR,
		.transfered_length = (n ? local[n - 1].segment_length : 0) + (DAT_SEG_LENGTH)flags,
		.operation = DAT_DTO_RDMA_READ, .rmr_context = 5 };
	if (n)
		d->user_cookie.as_64 += local[n - 1].lmr_context + local[n - 1].virtual_address;
	if (remote)
		d->user_cookie.as_64 += remote->rmr_context + remote->virtual_address;
	return DAT_SUCCESS;
}

static DAT_RETURN fake_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *local,
				 DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return fake_post(ep, n, local, cookie, NULL, flags);
}

static DAT_RETURN fake_post_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *local,
				  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				  DAT_COMPLETION_FLAGS flags)
{
	return fake_post(ep, n, local, cookie, remote, flags);
}

static DAT_RETURN fake_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type,
				  DAT_REGION_DESCRIPTION region, DAT_VLEN length, DAT_PZ_HANDLE pz,
				  DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va, DAT_LMR_HANDLE *lmr,
				  DAT_LMR_CONTEXT *lc, DAT_RMR_CONTEXT *rc, DAT_VLEN *size,
				  DAT_VADDR *address)
{
	static DAT_LMR_CONTEXT contexts = 1000;
	struct fake_lmr *l;

	/* Arguments 5 and 9 of 2.0. */
	if (!pz)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (!rc)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG10);
	if (va != DAT_VA_TYPE_VA)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	l = new_object(fake_of(ia), ia, DAT_HANDLE_TYPE_LMR);
	l->param = (DAT_LMR_PARAM){ .ia_handle = ia, .mem_type = type, .region_desc = region,
				    .length = length, .pz_handle = pz, .mem_priv = priv,
				    .va_type = DAT_VA_TYPE_ZB, .lmr_context = contexts,
				    .rmr_context = contexts + 1, .registered_size = length + 1,
				    .registered_address = 77 };
	*lmr = l;
	*lc = contexts++;
	*rc = 9;
	*size = length;
	*address = 7;
	return DAT_SUCCESS;
}

static DAT_RETURN fake_lmr_query(DAT_LMR_HANDLE lmr, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param)
{
	*param = ((struct fake_lmr *)lmr)->param;
	param->length = (DAT_VLEN)mask;
	return DAT_SUCCESS;
}

static DAT_RETURN fake_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	struct fake_rmr *r = new_object(fake_of(pz), ((struct fake_object *)pz)->ia, DAT_HANDLE_TYPE_RMR);

	r->param = (DAT_RMR_PARAM){ .pz_handle = pz, .rmr_scope = DAT_RMR_SCOPE_PZ };
	/* As some providers do: its own handle of the IA, which a test sets as context. */
	r->param.ia_handle = ((struct fake_object *)pz)->context.as_ptr;
	*rmr = r;
	return DAT_SUCCESS;
}

static DAT_RETURN fake_rmr_query(DAT_RMR_HANDLE rmr, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param)
{
	*param = ((struct fake_rmr *)rmr)->param;
	return DAT_SUCCESS;
}

static DAT_RETURN fake_rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr,
				const DAT_LMR_TRIPLET *local, DAT_MEM_PRIV_FLAGS priv,
				DAT_VA_TYPE va, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
				DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	struct fake_rmr *r = rmr;

	if (!context)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG9);
	if (local->segment_length &&
	    ((struct fake_lmr *)lmr)->param.lmr_context != local->lmr_context)
		return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	r->param.lmr_triplet = *local;
	r->param.mem_priv = priv;
	r->param.rmr_context = *context = 4711;
	return DAT_SUCCESS;
}

static DAT_RETURN fake_srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
				  DAT_SRQ_HANDLE *srq)
{
	*srq = new_object(fake_of(ia), ia, DAT_HANDLE_TYPE_SRQ);
	return DAT_SUCCESS;
}

static DAT_RETURN fake_srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
	*param = (DAT_SRQ_PARAM){ .srq_state = DAT_SRQ_STATE_OPERATIONAL, .max_recv_dtos = 3,
				  .outstanding_dto_count = 8 };
	return DAT_SUCCESS;
}

static DAT_RETURN fake_cno_create(DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent,
				  DAT_CNO_HANDLE *cno)
{
	*cno = new_object(fake_of(ia), ia, DAT_HANDLE_TYPE_CNO);
	((struct fake_object *)*cno)->context.as_ptr = agent.instance_data;
	return DAT_SUCCESS;
}

static DAT_RETURN fake_cno_query(DAT_CNO_HANDLE cno, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param)
{
	/* As strict as the distribution's providers. */
	if (mask & ~DAT_CNO_FIELD_ALL)
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	param->proxy_type = DAT_PROXY_TYPE_AGENT;
	param->proxy.agent.instance_data = ((struct fake_object *)cno)->context.as_ptr;
	return DAT_SUCCESS;
}

static DAT_RETURN fake_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	struct fake_evd *e = evd;

	if (!e->event.event_number)
		return DAT_ERROR(DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
	*event = e->event;
	memset(&e->event, 0, sizeof(e->event));
	return DAT_SUCCESS;
}

static DAT_RETURN fake_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			    DAT_EVENT *event, DAT_COUNT *nmore)
{
	*nmore = threshold;
	return fake_dequeue(evd, event);
}

static DAT_RETURN fake_post_se(DAT_EVD_HANDLE evd, const DAT_EVENT *event)
{
	((struct fake_evd *)evd)->event = *event;
	return DAT_SUCCESS;
}

static DAT_RETURN fake_ep_modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *p)
{
	return DAT_SUCCESS;
}

/* As an old provider: the bare type. */
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

/* Operation 77 adds two numbers, to check that arguments arrive. */
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
		.ia_close_func = says(f, "pages") ? fake_close_pages : fake_close,
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
		.ep_query_func = fake_ep_query,
		.ep_post_send_func = fake_post_send,
		.ep_post_rdma_write_func = fake_post_write,
		.ep_free_func = end_object,
		.evd_wait_func = fake_wait,
		.evd_post_se_func = fake_post_se,
		.lmr_create_func = fake_lmr_create,
		.lmr_query_func = fake_lmr_query,
		.lmr_free_func = end_object,
		.rmr_create_func = fake_rmr_create,
		.rmr_query_func = fake_rmr_query,
		.rmr_bind_func = fake_rmr_bind,
		.rmr_free_func = end_object,
		.srq_create_func = fake_srq_create,
		.srq_query_func = fake_srq_query,
		.srq_free_func = end_object,
		.cno_create_func = fake_cno_create,
		.cno_query_func = fake_cno_query,
		.cno_free_func = end_object,
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

/* Looks up the registry's functions in the global scope, as real providers do. */
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
