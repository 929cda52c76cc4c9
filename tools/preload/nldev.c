/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "nldev.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <rdma/rdma_netlink.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATH_ROOM 1400	 /* a tree, and a file below a port */
#define MESSAGE_MAX 3800 /* readers take messages of up to a page */

struct message {
	char data[MESSAGE_MAX] __attribute__((aligned(8)));
	size_t n;
	bool full;
};

/* Who asked, and by which request. */
struct asker {
	const char *tree;
	const struct nlmsghdr *request;
	uint32_t address;
	int reply; /* the socket that answers leave by */
	bool *found;
};

struct device {
	char name[NAME_MAX + 1];
	uint32_t index, ports;
};

/* --- stand-ins --- */

#define NUMBERS 1024 /* descriptors from here on are not looked at */
static unsigned char stand_in[NUMBERS];

int nldev_socket(int type)
{
	int fd = (int)syscall(SYS_socket, AF_NETLINK, type, NETLINK_USERSOCK);

	if (fd >= NUMBERS) {
		close(fd);
		errno = EPROTONOSUPPORT;
		return -1;
	}
	if (fd >= 0)
		stand_in[fd] = 1;
	return fd;
}

bool nldev_may_be(int fd)
{
	return (unsigned)fd < NUMBERS && __builtin_expect(stand_in[fd], 0);
}

/* Its address; a socket that sends without one gets one from the kernel. */
static uint32_t address_of(int fd)
{
	struct sockaddr_nl own = { .nl_family = AF_NETLINK };
	socklen_t n = sizeof(own);

	if (getsockname(fd, (struct sockaddr *)&own, &n) == 0 && !own.nl_pid &&
	    bind(fd, (struct sockaddr *)&own, sizeof(own)) == 0)
		getsockname(fd, (struct sockaddr *)&own, &n);
	return own.nl_pid;
}

/* The number may have been taken by another file since. */
static bool is_stand_in(int fd, uint32_t *ret_address)
{
	int protocol, domain;
	socklen_t n = sizeof(int), m = sizeof(int);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) == 0 && domain == AF_NETLINK &&
	    getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &m) == 0 && protocol == NETLINK_USERSOCK) {
		*ret_address = address_of(fd);
		return true;
	}
	stand_in[fd] = 0;
	return false;
}

/* --- the tree --- */

/* The first line of a file of the tree; "" if there is none. Returns out. */
static const char *line_of(const char *path, char *out, size_t room)
{
	ssize_t n = -1;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		n = syscall(SYS_read, fd, out, room - 1);
		close(fd);
	}
	out[n > 0 ? n : 0] = 0;
	out[strcspn(out, "\n")] = 0;
	return out;
}

static const char *device_line(const struct asker *a, const struct device *d, const char *name, char *out, size_t room)
{
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), "%s/class/infiniband/%s/%s", a->tree, d->name, name);
	return line_of(path, out, room);
}

static const char *port_line(const struct asker *a, const struct device *d, uint32_t port, const char *name, char *out,
			     size_t room)
{
	char below[128];

	snprintf(below, sizeof(below), "ports/%u/%s", port, name);
	return device_line(a, d, below, out, room);
}

static uint64_t port_number(const struct asker *a, const struct device *d, uint32_t port, const char *name)
{
	char text[64];

	return strtoull(port_line(a, d, port, name, text, sizeof(text)), NULL, 0);
}

/* Four groups of four digits, as sysfs shows GUIDs and the halves of a GID. */
static uint64_t groups(const char *text)
{
	uint64_t value = 0;

	for (int n = 0; *text && n < 16; text++)
		if (*text != ':') {
			const char digit[2] = { *text, 0 };

			value = value << 4 | strtoul(digit, NULL, 16);
			n++;
		}
	return value;
}

static uint32_t count_ports(const struct asker *a, const struct device *d)
{
	char text[64];
	uint32_t n = 0;

	while (*port_line(a, d, n + 1, "state", text, sizeof(text)))
		n++;
	return n;
}

static int filter_uverbs(const struct dirent *e)
{
	return strncmp(e->d_name, "uverbs", 6) == 0 && e->d_name[6] >= '0' && e->d_name[6] <= '9';
}

static int order_uverbs(const struct dirent **a, const struct dirent **b)
{
	return atoi((*a)->d_name + 6) - atoi((*b)->d_name + 6);
}

/* Calls fn for each device, in the order of their indices, which are the numbers of their uverbs. */
static void each_device(const struct asker *a, void (*fn)(const struct asker *, const struct device *))
{
	char path[PATH_ROOM];
	struct dirent **list;
	int n;

	snprintf(path, sizeof(path), "%s/class/infiniband_verbs", a->tree);
	n = scandir(path, &list, filter_uverbs, order_uverbs);
	for (int i = 0; i < n; i++) {
		struct device d = { .index = (uint32_t)atoi(list[i]->d_name + 6) };

		snprintf(path, sizeof(path), "%s/class/infiniband_verbs/%s/ibdev", a->tree, list[i]->d_name);
		line_of(path, d.name, sizeof(d.name));
		d.ports = count_ports(a, &d);
		if (d.name[0] && !strchr(d.name, '/'))
			fn(a, &d);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

/* --- messages --- */

static void begin(struct message *m, const struct asker *a, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *h = (struct nlmsghdr *)(void *)m->data;

	*h = (struct nlmsghdr){ .nlmsg_type = type, .nlmsg_flags = flags, .nlmsg_seq = a->request->nlmsg_seq,
				.nlmsg_pid = a->address };
	m->n = NLMSG_HDRLEN;
	m->full = false;
}

static void put(struct message *m, uint16_t type, const void *data, size_t n)
{
	struct nlattr *at = (struct nlattr *)(void *)(m->data + m->n);

	m->full = m->full || m->n + NLA_HDRLEN + NLA_ALIGN(n) > sizeof(m->data);
	if (m->full)
		return;
	memset(at, 0, NLA_HDRLEN + NLA_ALIGN(n));
	at->nla_type = type;
	at->nla_len = (uint16_t)(NLA_HDRLEN + n);
	if (n)
		memcpy((char *)at + NLA_HDRLEN, data, n);
	m->n += NLA_HDRLEN + NLA_ALIGN(n);
}

static void put_u8(struct message *m, uint16_t type, uint8_t value)
{
	put(m, type, &value, sizeof(value));
}

static void put_u32(struct message *m, uint16_t type, uint32_t value)
{
	put(m, type, &value, sizeof(value));
}

static void put_u64(struct message *m, uint16_t type, uint64_t value)
{
	put(m, type, &value, sizeof(value));
}

static void put_text(struct message *m, uint16_t type, const char *text)
{
	put(m, type, text, strlen(text) + 1);
}

/* Returns where a nested attribute began, for close_nested(). */
static size_t open_nested(struct message *m, uint16_t type)
{
	size_t at = m->n;

	put(m, type | NLA_F_NESTED, NULL, 0);
	return at;
}

static void close_nested(struct message *m, size_t at)
{
	if (m->n > at)
		((struct nlattr *)(void *)(m->data + at))->nla_len = (uint16_t)(m->n - at);
}

static void send_message(struct message *m, const struct asker *a)
{
	struct sockaddr_nl to = { .nl_family = AF_NETLINK, .nl_pid = a->address };

	((struct nlmsghdr *)(void *)m->data)->nlmsg_len = (uint32_t)m->n;
	syscall(SYS_sendto, a->reply, m->data, m->n, MSG_DONTWAIT | MSG_NOSIGNAL, &to, (socklen_t)sizeof(to));
}

/* An acknowledgement if error is 0. */
static void say_end(const struct asker *a, int error)
{
	struct nlmsgerr body = { .error = error, .msg = *a->request };
	struct message m;

	begin(&m, a, NLMSG_ERROR, 0);
	memcpy(m.data + m.n, &body, sizeof(body));
	m.n += sizeof(body);
	send_message(&m, a);
}

/* Sends the message, or that it is too long. */
static void leave(struct message *m, const struct asker *a)
{
	if (m->full)
		say_end(a, -EMSGSIZE);
	else
		send_message(m, a);
}

static void say_done(const struct asker *a)
{
	struct message m;

	begin(&m, a, NLMSG_DONE, NLM_F_MULTI);
	memset(m.data + m.n, 0, sizeof(int));
	m.n += sizeof(int);
	send_message(&m, a);
}

/* --- requests --- */

static bool is_dump(const struct asker *a)
{
	return (a->request->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
}

/* Returns whether the request has such an attribute of 32 bits. */
static bool asked(const struct asker *a, uint16_t type, uint32_t *ret)
{
	const char *p = (const char *)a->request + NLMSG_HDRLEN;
	size_t left = a->request->nlmsg_len - NLMSG_HDRLEN;

	while (left >= NLA_HDRLEN) {
		struct nlattr at;

		memcpy(&at, p, sizeof(at));
		if (at.nla_len < NLA_HDRLEN || at.nla_len > left)
			return false;
		if ((at.nla_type & NLA_TYPE_MASK) == type && at.nla_len >= NLA_HDRLEN + sizeof(*ret)) {
			memcpy(ret, p + NLA_HDRLEN, sizeof(*ret));
			return true;
		}
		if ((size_t)NLA_ALIGN(at.nla_len) >= left)
			return false;
		left -= (size_t)NLA_ALIGN(at.nla_len);
		p += NLA_ALIGN(at.nla_len);
	}
	return false;
}

static void begin_device(struct message *m, const struct asker *a, const struct device *d)
{
	begin(m, a, a->request->nlmsg_type, is_dump(a) ? NLM_F_MULTI : 0);
	put_u32(m, RDMA_NLDEV_ATTR_DEV_INDEX, d->index);
	put_text(m, RDMA_NLDEV_ATTR_DEV_NAME, d->name);
}

static const char *protocol_of(const struct asker *a, const struct device *d)
{
	char text[64];

	if (atoi(device_line(a, d, "node_type", text, sizeof(text))) == 4)
		return "iw";
	return strcmp(port_line(a, d, 1, "link_layer", text, sizeof(text)), "Ethernet") == 0 ? "roce" : "ib";
}

static void say_device(const struct asker *a, const struct device *d)
{
	char text[64];
	struct message m;

	begin_device(&m, a, d);
	put_u32(&m, RDMA_NLDEV_ATTR_PORT_INDEX, d->ports);
	put_text(&m, RDMA_NLDEV_ATTR_FW_VERSION, device_line(a, d, "fw_ver", text, sizeof(text)));
	put_u64(&m, RDMA_NLDEV_ATTR_NODE_GUID, groups(device_line(a, d, "node_guid", text, sizeof(text))));
	put_u64(&m, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, groups(device_line(a, d, "sys_image_guid", text, sizeof(text))));
	put_u8(&m, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, (uint8_t)atoi(device_line(a, d, "node_type", text, sizeof(text))));
	put_text(&m, RDMA_NLDEV_ATTR_DEV_PROTOCOL, protocol_of(a, d));
	leave(&m, a);
}

static int filter_files(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* The network interface whose folder names the device; "" if there is none. Returns out. */
static const char *interface_of(const struct asker *a, const struct device *d, char out[64])
{
	char path[PATH_ROOM];
	struct dirent **list;
	int n;

	out[0] = 0;
	snprintf(path, sizeof(path), "%s/class/net", a->tree);
	n = scandir(path, &list, filter_files, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/class/net/%.63s/device/infiniband/%s", a->tree, list[i]->d_name, d->name);
		if (syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0)
			snprintf(out, 64, "%.63s", list[i]->d_name);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	return out;
}

static void say_port(const struct asker *a, const struct device *d, uint32_t port)
{
	char text[64];
	struct message m;
	bool ib = strcmp(protocol_of(a, d), "ib") == 0;

	begin_device(&m, a, d);
	put_u32(&m, RDMA_NLDEV_ATTR_PORT_INDEX, port);
	if (ib) { /* as the kernel: what only InfiniBand has */
		put_u64(&m, RDMA_NLDEV_ATTR_CAP_FLAGS, port_number(a, d, port, "cap_mask"));
		put_u64(&m, RDMA_NLDEV_ATTR_SUBNET_PREFIX, groups(port_line(a, d, port, "gids/0", text, sizeof(text))));
		put_u32(&m, RDMA_NLDEV_ATTR_LID, (uint32_t)port_number(a, d, port, "lid"));
		put_u32(&m, RDMA_NLDEV_ATTR_SM_LID, (uint32_t)port_number(a, d, port, "sm_lid"));
		put_u8(&m, RDMA_NLDEV_ATTR_LMC, (uint8_t)port_number(a, d, port, "lid_mask_count"));
	}
	put_u8(&m, RDMA_NLDEV_ATTR_PORT_STATE, (uint8_t)port_number(a, d, port, "state"));
	put_u8(&m, RDMA_NLDEV_ATTR_PORT_PHYS_STATE, (uint8_t)port_number(a, d, port, "phys_state"));
	if (port == 1 && *interface_of(a, d, text)) {
		put_u32(&m, RDMA_NLDEV_ATTR_NDEV_INDEX, if_nametoindex(text));
		put_text(&m, RDMA_NLDEV_ATTR_NDEV_NAME, text);
	}
	leave(&m, a);
}

static void say_counters(const struct asker *a, const struct device *d, uint32_t port)
{
	char path[PATH_ROOM], text[64];
	struct dirent **list;
	struct message m;
	size_t all, one;
	int n;

	begin_device(&m, a, d);
	put_u32(&m, RDMA_NLDEV_ATTR_PORT_INDEX, port);
	all = open_nested(&m, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
	snprintf(path, sizeof(path), "%s/class/infiniband/%s/ports/%u/hw_counters", a->tree, d->name, port);
	n = scandir(path, &list, filter_files, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "hw_counters/%.64s", list[i]->d_name);
		if (strcmp(list[i]->d_name, "lifespan") != 0) {
			one = open_nested(&m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
			put_text(&m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, list[i]->d_name);
			put_u64(&m, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE,
				strtoull(port_line(a, d, port, path, text, sizeof(text)), NULL, 10));
			close_nested(&m, one);
		}
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	close_nested(&m, all);
	leave(&m, a);
}

static void say_system(const struct asker *a)
{
	struct message m;

	begin(&m, a, a->request->nlmsg_type, 0);
	put_u8(&m, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 0); /* exclusive: adapters belong to a network namespace */
	leave(&m, a);
}

static void say_of_device(const struct asker *a, const struct device *d)
{
	uint16_t op = RDMA_NL_GET_OP(a->request->nlmsg_type);
	uint32_t index, port;

	if (asked(a, RDMA_NLDEV_ATTR_DEV_INDEX, &index) && index != d->index)
		return;
	if (op == RDMA_NLDEV_CMD_GET) {
		say_device(a, d);
		return;
	}
	if (!asked(a, RDMA_NLDEV_ATTR_PORT_INDEX, &port))
		port = 0;
	for (uint32_t i = 1; i <= d->ports; i++)
		if (!port || port == i)
			op == RDMA_NLDEV_CMD_PORT_GET ? say_port(a, d, i) : say_counters(a, d, i);
}

/* Notes that the device and port of a request exist. */
static void note_device(const struct asker *a, const struct device *d)
{
	uint32_t index, port;

	if (!asked(a, RDMA_NLDEV_ATTR_DEV_INDEX, &index) || index != d->index)
		return;
	if (RDMA_NL_GET_OP(a->request->nlmsg_type) == RDMA_NLDEV_CMD_GET ||
	    (asked(a, RDMA_NLDEV_ATTR_PORT_INDEX, &port) && port >= 1 && port <= d->ports))
		*a->found = true;
}

/* Returns 0, or the negative errno of the kernel for such a request. */
static int verdict(const struct asker *a)
{
	uint16_t op = RDMA_NL_GET_OP(a->request->nlmsg_type);
	uint32_t object;

	if (RDMA_NL_GET_CLIENT(a->request->nlmsg_type) != RDMA_NL_NLDEV)
		return -EINVAL;
	/* Counters that are bound to queue pairs or other objects of a process. */
	if (op == RDMA_NLDEV_CMD_STAT_GET && asked(a, RDMA_NLDEV_ATTR_STAT_RES, &object))
		return -EOPNOTSUPP;
	if (op == RDMA_NLDEV_CMD_SYS_GET)
		return 0;
	if (op != RDMA_NLDEV_CMD_GET && op != RDMA_NLDEV_CMD_PORT_GET && op != RDMA_NLDEV_CMD_STAT_GET)
		return -EOPNOTSUPP;
	if (is_dump(a))
		return 0;
	each_device(a, note_device);
	return *a->found ? 0 : -EINVAL;
}

static void answer(struct asker *a)
{
	bool found = false;
	int r;

	a->found = &found;
	r = verdict(a);

	if (!r && RDMA_NL_GET_OP(a->request->nlmsg_type) == RDMA_NLDEV_CMD_SYS_GET)
		say_system(a);
	else if (!r)
		each_device(a, say_of_device);
	if (!r && is_dump(a))
		say_done(a);
	else if (r || a->request->nlmsg_flags & NLM_F_ACK)
		say_end(a, r);
}

bool nldev_answer(int fd, const char *tree, const void *msg, size_t n)
{
	struct asker a = { .tree = tree, .reply = -1 };
	int saved = errno;
	bool ours = is_stand_in(fd, &a.address);

	if (ours)
		a.reply = (int)syscall(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_USERSOCK);
	while (a.reply >= 0 && n >= sizeof(struct nlmsghdr)) {
		uint32_t aligned;

		a.request = msg;
		if (a.request->nlmsg_len < sizeof(struct nlmsghdr) || a.request->nlmsg_len > n)
			break;
		answer(&a);
		aligned = NLMSG_ALIGN(a.request->nlmsg_len);
		if (aligned >= n)
			break;
		msg = (const char *)msg + aligned;
		n -= aligned;
	}
	if (a.reply >= 0)
		close(a.reply);
	errno = saved;
	return ours;
}
