/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/ia/address.h"

#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/log.h"
#include "dat/provider/ia/obj.h"

#include <dapple/cm.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct want {
	char what[DAT_NAME_MAX_LENGTH];
	unsigned int port;
	int family; /* AF_INET, AF_INET6, or AF_UNSPEC: any, IPv4 first */
	bool netdev, device;
};

/* Dapple's librdmacm takes an option that selects one of several adapters with the same address.
 * Others refuse it; bind_id then compares the device. */
static int choose_device(struct rdma_cm_id *id, const char *name)
{
	if (!*name)
		return 0;
	if (!rdma_set_option(id, DPL_OPTION_LEVEL, DPL_OPTION_DEVICE, (void *)name,
			     strlen(name) + 1))
		return 0;
	return errno == ENODEV ? ENODEV : 0;
}

static socklen_t addr_len(const struct sockaddr *sa)
{
	return sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

static void set_port(struct sockaddr *sa, uint16_t port)
{
	if (sa->sa_family == AF_INET6)
		((struct sockaddr_in6 *)sa)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)sa)->sin_port = htons(port);
}

static bool is_any(const struct sockaddr *sa)
{
	return sa->sa_family == AF_INET && !((const struct sockaddr_in *)sa)->sin_addr.s_addr;
}

static int bind_id(struct rdma_cm_id *id, struct sockaddr *sa, const char *device)
{
	int err = choose_device(id, device);

	if (!err && rdma_bind_addr(id, sa))
		err = errno;
	if (!err && (!id->verbs || (*device && strcmp(device, ibv_get_device_name(
								    id->verbs->device)))))
		err = ENODEV;
	return err;
}

int dpr_ia_id(struct dpr_ia *ia, void *context, enum rdma_port_space space, uint16_t port,
	      struct rdma_cm_id **ret)
{
	struct sockaddr_storage to = ia->addr.ss;
	struct rdma_cm_id *id;
	int err;

	if (rdma_create_id(ia->channel, &id, context, space))
		return errno ? errno : ENOMEM;
	set_port((struct sockaddr *)&to, port);
	err = bind_id(id, (struct sockaddr *)&to, ia->device_name);
	if (!err && id->verbs != ia->verbs)
		err = ENODEV;
	if (err) {
		rdma_destroy_id(id);
		return err;
	}
	*ret = id;
	return 0;
}

/* Binds ia to sa, and to the device that `want` names, if any. Returns 0 or a positive errno. */
static int try_addr(struct dpr_ia *ia, const struct want *want, const struct sockaddr *sa)
{
	struct sockaddr_storage to = { 0 };
	struct rdma_cm_id *id;
	int err;

	if (sa->sa_family != AF_INET && sa->sa_family != AF_INET6)
		return EAFNOSUPPORT;
	memcpy(&to, sa, addr_len(sa));
	set_port((struct sockaddr *)&to, 0);
	if (rdma_create_id(ia->channel, &id, NULL, RDMA_PS_TCP))
		return errno ? errno : ENOMEM;
	err = bind_id(id, (struct sockaddr *)&to, want->device ? want->what : "");
	if (!err && want->device && want->port && id->port_num != want->port)
		err = ENODEV;
	if (err) {
		rdma_destroy_id(id);
		return err;
	}
	if (is_any(sa)) {
		memcpy(&to, rdma_get_local_addr(id), addr_len(sa));
		set_port((struct sockaddr *)&to, 0);
	}
	ia->id = id;
	ia->verbs = id->verbs;
	ia->port = id->port_num ? id->port_num : 1;
	ia->addr.ss = to;
	snprintf(ia->device_name, sizeof(ia->device_name), "%s",
		 ibv_get_device_name(id->verbs->device));
	return 0;
}

/* Returns true for an address that no adapter has, or not the named one. */
static bool no_match(int err)
{
	return err == ENODEV || err == EADDRNOTAVAIL || err == EAFNOSUPPORT;
}

/* Of two attempts a success counts, else the error of an adapter that was found and cannot be used. */
static int either(int err, int next)
{
	return !next || no_match(err) ? next : err;
}

/* The one address that the device has, of no interface: Dapple's librdmacm binds an identifier with a chosen device to it. */
static int try_own(struct dpr_ia *ia, const struct want *want)
{
	struct sockaddr_in any = { .sin_family = AF_INET };

	return try_addr(ia, want, (struct sockaddr *)&any);
}

/* Tries the local addresses of the interface, or all of them, of the wanted family; IPv4 first. Returns 0 or a
 * positive errno. */
static int try_local(struct dpr_ia *ia, const struct want *want)
{
	static const int families[] = { AF_INET, AF_INET6 };
	struct ifaddrs *all, *i;
	int err = EADDRNOTAVAIL;

	if (getifaddrs(&all))
		return errno;
	for (int f = 0; f < 2 && err; f++) {
		if (want->family && want->family != families[f])
			continue;
		for (i = all; i && err; i = i->ifa_next) {
			if (!i->ifa_addr || i->ifa_addr->sa_family != families[f] ||
			    !(i->ifa_flags & IFF_UP) ||
			    (want->netdev && strcmp(i->ifa_name, want->what)))
				continue;
			err = either(err, try_addr(ia, want, i->ifa_addr));
		}
	}
	freeifaddrs(all);
	return want->device && no_match(err) && want->family != AF_INET6 ? try_own(ia, want) : err;
}

static DAT_RETURN malformed(const char *params)
{
	dpr_log(DPR_LOG_ERR, "the parameters \"%s\" are no interface, device or address, with a port and 4 or 6 behind it: the entry "
		"cannot be opened; correct them in dat.conf", params);
	return DPR_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
}

static DAT_RETURN outcome(const struct want *want, int err)
{
	if (!err)
		return DAT_SUCCESS;
	if (no_match(err)) {
		dpr_log(DPR_LOG_ERR, "no adapter matches the parameters \"%s\": the entry cannot be opened; name an "
			"interface, device or address in dat.conf", want->what);
		return DPR_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	}
	dpr_log(DPR_LOG_ERR, "the adapter \"%s\" cannot be used (%s): the entry cannot be opened; end the programs of "
		"another user that hold its address, or name another one (DAPPLE_LOG=error says more)", want->what,
		strerror(err));
	return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
}

static DAT_RETURN try_host(struct dpr_ia *ia, const struct want *want)
{
	struct addrinfo hints = { .ai_family = want->family, .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICHOST };
	struct addrinfo *all, *i;
	int err = ENODEV;

	if (getaddrinfo(want->what, NULL, &hints, &all)) {
		hints.ai_flags = 0;
		if (getaddrinfo(want->what, NULL, &hints, &all))
			return malformed(want->what);
	}
	for (i = all; i && err; i = i->ai_next)
		err = either(err, try_addr(ia, want, i->ai_addr));
	freeaddrinfo(all);
	return outcome(want, err);
}

static bool is_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	bool found = false;

	for (int i = 0; list && list[i]; i++)
		found |= !strcmp(ibv_get_device_name(list[i]), name);
	if (list)
		ibv_free_device_list(list);
	return found;
}

static bool parse(struct want *want, const char *params)
{
	unsigned int version = 0;

	/* the width is the array's, DAT_NAME_MAX_LENGTH */
	if (sscanf(params, "%255s %u %u", want->what, &want->port, &version) < 1 ||
	    (version && version != 4 && version != 6))
		return false;
	want->family = version == 6 ? AF_INET6 : version == 4 ? AF_INET : AF_UNSPEC;
	want->netdev = strlen(want->what) < IF_NAMESIZE && if_nametoindex(want->what);
	want->device = !want->netdev && is_device(want->what);
	return true;
}

static DAT_RETURN find(struct dpr_ia *ia, const struct want *want)
{
	if (!want->netdev && !want->device)
		return try_host(ia, want);
	return outcome(want, try_local(ia, want));
}

DAT_RETURN dpr_ia_bind(struct dpr_ia *ia, const char *params)
{
	struct want want = { 0 };
	DAT_RETURN ret;
	int fd;

	if (!parse(&want, params))
		return malformed(params);
	ia->channel = rdma_create_event_channel();
	if (!ia->channel)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	fd = ia->channel->fd;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	ret = find(ia, &want);
	if (ret != DAT_SUCCESS) {
		rdma_destroy_event_channel(ia->channel);
		ia->channel = NULL;
	}
	return ret;
}

void dpr_ia_unbind(struct dpr_ia *ia)
{
	if (ia->id)
		rdma_destroy_id(ia->id);
	if (ia->channel)
		rdma_destroy_event_channel(ia->channel);
	ia->id = NULL;
	ia->channel = NULL;
}
