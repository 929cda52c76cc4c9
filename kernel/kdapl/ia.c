// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kdapl/ia.h"

#include "dat/core/private.h"
#include "kdapl/ep.h"
#include "kdapl/evd.h"
#include "kdapl/mem.h"
#include "kdapl/table.h"

#include <kdat/kdat_registry.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <rdma/rdma_cm.h>

static DEFINE_MUTEX(devices_lock);
static LIST_HEAD(devices);

/* --- devices --- */

static void device_free(struct kref *ref)
{
	kfree(container_of(ref, struct kdp_device, ref));
}

static void name_of(struct kdp_device *d)
{
	char *name = d->info.ia_name;

	if (d->ib->phys_port_cnt == 1)
		snprintf(name, sizeof(d->info.ia_name), "dapple-kdat-%s", dev_name(&d->ib->dev));
	else
		snprintf(name, sizeof(d->info.ia_name), "dapple-kdat-%s-%u", dev_name(&d->ib->dev), d->port);
}

static struct kdp_device *add_port(struct ib_device *ib, u32 port)
{
	struct kdp_device *d = kzalloc(sizeof(*d), GFP_KERNEL);
	DAT_RETURN ret;

	if (!d)
		return NULL;
	kref_init(&d->ref);
	INIT_LIST_HEAD(&d->ias);
	d->ib = ib;
	d->port = port;
	kdp_table_fill(&d->table);
	name_of(d);
	d->table.device_name = d->info.ia_name;
	d->info.dapl_version_major = DAT_VERSION_MAJOR;
	d->info.dapl_version_minor = DAT_VERSION_MINOR;
	d->info.is_thread_safe = DAT_TRUE;
	mutex_lock(&devices_lock);
	list_add_tail(&d->link, &devices);
	mutex_unlock(&devices_lock);
	ret = dat_registry_add_provider(&d->table, &d->info);
	if (DAT_GET_TYPE(ret) == DAT_PROVIDER_ALREADY_REGISTERED)
		pr_warn("kdapl: the name %s is taken: this adapter has no entry; remove the other provider of that name\n",
			d->info.ia_name);
	else if (ret)
		pr_warn("kdapl: no memory for the entry %s: this adapter has none; free memory and load kdapl again\n",
			d->info.ia_name);
	return d;
}

static int add_one(struct ib_device *ib)
{
	bool any = false;
	u32 port;

	/* rdma_cm has to reach it, and registration work requests have to exist */
	if (!(ib->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS))
		return -EOPNOTSUPP;
	rdma_for_each_port(ib, port) {
		if (!rdma_cap_ib_cm(ib, port) && !rdma_cap_iw_cm(ib, port))
			continue;
		any |= !!add_port(ib, port);
	}
	return any ? 0 : -EOPNOTSUPP;
}

/* Everything of ia that belongs to the device, what uses other things first. */
static void detach_all(struct kdp_ia *ia)
{
	static const DAT_HANDLE_TYPE order[] = {
		DAT_HANDLE_TYPE_PSP, DAT_HANDLE_TYPE_RSP, DAT_HANDLE_TYPE_CSP, DAT_HANDLE_TYPE_CR, DAT_HANDLE_TYPE_EP,
		DAT_HANDLE_TYPE_SRQ, DAT_HANDLE_TYPE_RMR, DAT_HANDLE_TYPE_LMR, DAT_HANDLE_TYPE_PZ,
	};
	struct kdp_obj *o;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(order); i++) {
		while ((o = kdp_obj_first(ia, order[i], true))) {
			kdp_obj_detach(o);
			kdp_obj_put(o);
		}
	}
}

/* Gives the device back; at the return nothing of ia belongs to it. By the removal and by the close, with no lock held. */
static void leave_device(struct kdp_ia *ia)
{
	mutex_lock(&ia->leave);
	down_write(&ia->gate);
	ia->removed = true;
	up_write(&ia->gate);
	if (ia->pd) {
		ib_unregister_event_handler(&ia->events);
		detach_all(ia);
		ib_dealloc_pd(ia->pd);
		ia->pd = NULL;
	}
	mutex_unlock(&ia->leave);
}

static void remove_ia(struct kdp_ia *ia)
{
	kdp_ia_async(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC, (DAT_HANDLE)ia, DAT_IA_CATASTROPHIC_ERROR);
	leave_device(ia);
}

static void remove_device(struct kdp_device *d)
{
	struct kdp_ia *ia;

	dat_registry_remove_provider(&d->table, &d->info);
	mutex_lock(&devices_lock);
	d->gone = true;
	list_del(&d->link);
	while ((ia = list_first_entry_or_null(&d->ias, struct kdp_ia, of_dev))) {
		list_del_init(&ia->of_dev);
		kdp_obj_hold(&ia->obj);
		mutex_unlock(&devices_lock);
		remove_ia(ia);
		kdp_obj_put(&ia->obj);
		mutex_lock(&devices_lock);
	}
	mutex_unlock(&devices_lock);
	kref_put(&d->ref, device_free);
}

static struct kdp_device *device_of(struct ib_device *ib)
{
	struct kdp_device *d, *found = NULL;

	mutex_lock(&devices_lock);
	list_for_each_entry(d, &devices, link)
		if (d->ib == ib)
			found = d;
	mutex_unlock(&devices_lock);
	return found;
}

static void remove_one(struct ib_device *ib, void *unused)
{
	struct kdp_device *d;

	while ((d = device_of(ib)))
		remove_device(d);
}

static void renamed(struct ib_device *ib, void *unused)
{
	struct kdp_device *d;

	mutex_lock(&devices_lock);
	list_for_each_entry(d, &devices, link) {
		if (d->ib != ib)
			continue;
		dat_registry_remove_provider(&d->table, &d->info);
		name_of(d);
		dat_registry_add_provider(&d->table, &d->info);
	}
	mutex_unlock(&devices_lock);
}

static struct ib_client client = {
	.name = "kdapl",
	.add = add_one,
	.remove = remove_one,
	.rename = renamed,
};

int kdp_devices_init(void)
{
	return ib_register_client(&client);
}

void kdp_devices_exit(void)
{
	ib_unregister_client(&client);
}

bool kdp_device_related(struct kdp_ia *ia, const char *name, DAT_BOOLEAN *related)
{
	struct kdp_device *d;
	bool found = false;

	mutex_lock(&devices_lock);
	list_for_each_entry(d, &devices, link) {
		if (strcmp(d->info.ia_name, name))
			continue;
		found = true;
		*related = d->ib == ia->ib ? DAT_TRUE : DAT_FALSE;
	}
	mutex_unlock(&devices_lock);
	return found;
}

/* --- addresses --- */

static void note(struct sockaddr_storage *list, unsigned int *n, const void *sa, size_t size)
{
	if (*n == 4 * KDP_ADDRESSES)
		return;
	memset(&list[*n], 0, sizeof(list[*n]));
	memcpy(&list[(*n)++], sa, size);
}

static void addresses_of(struct net_device *dev, struct sockaddr_storage *list, unsigned int *n)
{
	const struct in_ifaddr *ifa;
	struct in_device *in = __in_dev_get_rcu(dev);

	if (in) {
		in_dev_for_each_ifa_rcu(ifa, in) {
			struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = ifa->ifa_local };

			note(list, n, &sin, sizeof(sin));
		}
	}
#if IS_ENABLED(CONFIG_IPV6)
	{
		struct inet6_dev *in6 = __in6_dev_get(dev);
		struct inet6_ifaddr *ifp;

		if (!in6)
			return;
		read_lock_bh(&in6->lock);
		list_for_each_entry(ifp, &in6->addr_list, if_list) {
			struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6, .sin6_addr = ifp->addr };

			if (ipv6_addr_type(&ifp->addr) & IPV6_ADDR_LINKLOCAL)
				sin6.sin6_scope_id = dev->ifindex;
			note(list, n, &sin6, sizeof(sin6));
		}
		read_unlock_bh(&in6->lock);
	}
#endif
}

static int no_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	return 0;
}

/* Does rdma_cm give this address to this port? Returns 1, 0 or a negative errno. */
static int is_ours(struct kdp_ia *ia, struct sockaddr_storage *ss)
{
	struct rdma_cm_id *id = rdma_create_id(&init_net, no_event, NULL, RDMA_PS_TCP, IB_QPT_RC);
	int ours;

	if (IS_ERR(id))
		return PTR_ERR(id);
	ours = rdma_bind_addr(id, (struct sockaddr *)ss);
	if (!ours)
		ours = id->device == ia->ib && id->port_num == ia->dev->port;
	else if (ours != -ENOMEM)
		ours = 0;
	rdma_destroy_id(id);
	return ours;
}

int kdp_ia_addresses(struct kdp_ia *ia, struct sockaddr_storage to[KDP_ADDRESSES])
{
	struct sockaddr_storage *list = kcalloc(4 * KDP_ADDRESSES, sizeof(*list), GFP_KERNEL);
	unsigned int n = 0, i;
	struct net_device *dev;
	int kept = 0, ours = 0;

	if (!list)
		return -ENOMEM;
	rcu_read_lock();
	for_each_netdev_rcu(&init_net, dev)
		if (!(dev->flags & IFF_LOOPBACK))
			addresses_of(dev, list, &n);
	rcu_read_unlock();
	for (i = 0; i < n && kept < KDP_ADDRESSES && ours >= 0; i++) {
		ours = is_ours(ia, &list[i]);
		if (ours > 0)
			to[kept++] = list[i];
	}
	kfree(list);
	return ours < 0 ? ours : kept;
}

/* --- asynchronous events --- */

void kdp_ia_async(struct kdp_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE handle, DAT_COUNT reason)
{
	struct kdp_evd *to[ARRAY_SIZE(ia->async)];
	unsigned int i, n = 0;
	unsigned long flags;
	DAT_EVENT ev;

	spin_lock_irqsave(&ia->lock, flags);
	for (i = 0; i < ARRAY_SIZE(ia->async); i++) {
		/* an asynchronous EVD that is full cannot be told so by itself */
		if (!ia->async[i] || (DAT_HANDLE)ia->async[i] == handle)
			continue;
		to[n] = ia->async[i];
		kdp_obj_hold(&to[n++]->obj);
	}
	spin_unlock_irqrestore(&ia->lock, flags);
	for (i = 0; i < n; i++) {
		memset(&ev, 0, sizeof(ev));
		ev.event_number = number;
		ev.event_data.asynch_error_event_data.dat_handle = handle;
		ev.event_data.asynch_error_event_data.reason = reason;
		if (kdp_evd_offer(to[i], &ev))
			kdp_evd_kick(to[i]);
		kdp_obj_put(&to[i]->obj);
	}
}

void kdp_ia_add_async(struct kdp_ia *ia, struct kdp_evd *evd)
{
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&ia->lock, flags);
	for (i = 0; i < ARRAY_SIZE(ia->async); i++) {
		if (ia->async[i])
			continue;
		ia->async[i] = evd;
		break;
	}
	spin_unlock_irqrestore(&ia->lock, flags);
}

void kdp_ia_forget_async(struct kdp_ia *ia, struct kdp_evd *evd)
{
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&ia->lock, flags);
	for (i = 0; i < ARRAY_SIZE(ia->async); i++)
		if (ia->async[i] == evd)
			ia->async[i] = NULL;
	if (ia->first == evd)
		ia->first = NULL;
	spin_unlock_irqrestore(&ia->lock, flags);
}

/* An event of the device or of this port, from interrupt context. */
static void on_event(struct ib_event_handler *h, struct ib_event *ev)
{
	struct kdp_ia *ia = container_of(h, struct kdp_ia, events);

	switch (ev->event) {
	case IB_EVENT_DEVICE_FATAL:
		kdp_ia_async(ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, (DAT_HANDLE)ia, DAT_IA_OTHER_ERROR);
		break;
	case IB_EVENT_PORT_ERR:
		if (ev->element.port_num == ia->dev->port)
			kdp_ia_async(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC, (DAT_HANDLE)ia, DAT_IA_OTHER_ERROR);
		break;
	default:
		break;
	}
}

/* --- open and close --- */

bool kdp_ia_enter(struct kdp_ia *ia)
{
	down_read(&ia->gate);
	if (!ia->removed)
		return true;
	up_read(&ia->gate);
	return false;
}

void kdp_ia_leave(struct kdp_ia *ia)
{
	up_read(&ia->gate);
}

static void ia_release(struct kdp_obj *o)
{
	struct kdp_ia *ia = (struct kdp_ia *)o;

	xa_destroy(&ia->lmrs);
	xa_destroy(&ia->rmrs);
	if (ia->dev)
		kref_put(&ia->dev->ref, device_free);
}

const struct kdp_class kdp_ia_class = {
	.type = DAT_HANDLE_TYPE_IA,
	.cache = "kdapl_ia",
	.size = sizeof(struct kdp_ia),
	.release = ia_release,
};

static DAT_RETURN open_device(struct kdp_ia *ia)
{
	struct sockaddr_storage list[KDP_ADDRESSES];
	int n;

	ia->ib = ia->dev->ib;
	ia->attrs = ia->ib->attrs;
	ia->iwarp = rdma_protocol_iwarp(ia->ib, ia->dev->port);
	ia->private_max = ia->iwarp ? DPR_IW_PRIVATE : DPR_IB_REQ;
	if (ib_query_port(ia->ib, ia->dev->port, &ia->port_attr))
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	ia->pd = ib_alloc_pd(ia->ib, 0);
	if (IS_ERR(ia->pd)) {
		ia->pd = NULL;
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_PROTECTION_DOMAIN);
	}
	n = kdp_ia_addresses(ia, list);
	if (n < 0) {
		ib_dealloc_pd(ia->pd);
		ia->pd = NULL;
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	}
	if (n)
		ia->addr = list[0];
	INIT_IB_EVENT_HANDLER(&ia->events, ia->ib, on_event);
	ib_register_event_handler(&ia->events);
	return DAT_SUCCESS;
}

static struct kdp_ia *ia_new(struct kdp_device *d)
{
	struct kdp_ia *ia = kdp_obj_new(NULL, &kdp_ia_class, false);

	if (!ia)
		return NULL;
	ia->obj.table = &d->table;
	kref_get(&d->ref);
	ia->dev = d;
	INIT_LIST_HEAD(&ia->of_dev);
	INIT_LIST_HEAD(&ia->objs);
	init_rwsem(&ia->gate);
	mutex_init(&ia->leave);
	spin_lock_init(&ia->lock);
	xa_init_flags(&ia->lmrs, XA_FLAGS_LOCK_BH);
	xa_init_flags(&ia->rmrs, XA_FLAGS_LOCK_BH);
	return ia;
}

/* Called with devices_lock held, which keeps the device from leaving. */
static DAT_RETURN open_locked(const char *name, struct kdp_ia **ret)
{
	struct kdp_device *d;
	struct kdp_ia *ia;
	DAT_RETURN r;

	list_for_each_entry(d, &devices, link) {
		if (strcmp(d->info.ia_name, name))
			continue;
		ia = ia_new(d);
		if (!ia)
			return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
		r = open_device(ia);
		if (r) {
			kdp_obj_put(&ia->obj);
			return r;
		}
		list_add_tail(&ia->of_dev, &d->ias);
		*ret = ia;
		return DAT_SUCCESS;
	}
	return DPR_ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
}

/* NULL: an EVD is made; DAT_EVD_ASYNC_EXISTS: none is wanted; else one of another IA of this provider. */
static DAT_RETURN open_async(struct kdp_ia *ia, DAT_COUNT qlen, DAT_EVD_HANDLE *async)
{
	struct kdp_evd *e;

	if (*async == DAT_EVD_ASYNC_EXISTS) {
		*async = DAT_EVD_OUT_OF_SCOPE;
		return DAT_SUCCESS;
	}
	if (*async) {
		e = kdp_evd_of(*async);
		if (!e || !(e->flags & DAT_EVD_ASYNC_FLAG))
			return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC);
	} else {
		e = kdp_evd_make(ia, qlen, DAT_UPCALL_DISABLE, NULL, DAT_EVD_ASYNC_FLAG, false);
		if (!e)
			return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	}
	kdp_ia_add_async(ia, e);
	if (e->obj.ia == ia)
		ia->first = e;
	*async = (DAT_EVD_HANDLE)e;
	return DAT_SUCCESS;
}

static bool is_counted(struct kdp_ia *ia, const struct kdp_obj *o)
{
	return o->alive == KDP_ALIVE && !o->hidden && o != (struct kdp_obj *)ia->first &&
	       o != (struct kdp_obj *)ia->reserved;
}

static bool in_use(struct kdp_ia *ia)
{
	struct kdp_obj *o;
	bool found = false;
	unsigned long flags;

	spin_lock_irqsave(&ia->lock, flags);
	list_for_each_entry(o, &ia->objs, of_ia)
		found |= is_counted(ia, o);
	spin_unlock_irqrestore(&ia->lock, flags);
	return found;
}

static void end_all(struct kdp_ia *ia)
{
	static const DAT_HANDLE_TYPE order[] = {
		DAT_HANDLE_TYPE_PSP, DAT_HANDLE_TYPE_RSP, DAT_HANDLE_TYPE_CSP, DAT_HANDLE_TYPE_CR, DAT_HANDLE_TYPE_EP,
		DAT_HANDLE_TYPE_SRQ, DAT_HANDLE_TYPE_RMR, DAT_HANDLE_TYPE_LMR, DAT_HANDLE_TYPE_PZ, DAT_HANDLE_TYPE_EVD,
	};
	struct kdp_obj *o;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(order); i++) {
		while ((o = kdp_obj_first(ia, order[i], false))) {
			kdp_obj_end(o, false);
			kdp_obj_put(o);
		}
	}
}

static void close_ia(struct kdp_ia *ia)
{
	end_all(ia);
	leave_device(ia);
	/* not before: a removal of the device has to find what is still its own */
	mutex_lock(&devices_lock);
	list_del_init(&ia->of_dev);
	mutex_unlock(&devices_lock);
	kdp_obj_end(&ia->obj, false);
}

DAT_RETURN kdp_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async, DAT_IA_HANDLE *handle)
{
	struct kdp_ia *ia = NULL;
	DAT_RETURN ret;

	if (qlen < 1)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!async)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	mutex_lock(&devices_lock);
	ret = open_locked(name, &ia);
	mutex_unlock(&devices_lock);
	if (ret)
		return ret;
	ret = open_async(ia, qlen, async);
	if (ret) {
		close_ia(ia);
		return ret;
	}
	*handle = (DAT_IA_HANDLE)ia;
	return DAT_SUCCESS;
}

DAT_RETURN kdp_ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct kdp_ia *ia = kdp_ia_of(handle);

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (flags == DAT_CLOSE_GRACEFUL_FLAG && in_use(ia))
		return DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
	close_ia(ia);
	return DAT_SUCCESS;
}
