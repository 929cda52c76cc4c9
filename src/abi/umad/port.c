/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Opening ports, agents, sending and receiving. The port of a node of a soft fabric is opened by attaching to it
 * (file.h). A RoCE or iWARP port has no subnet management, and its QP1 belongs to the connection managers of the
 * processes that share it: it cannot be opened.
 */
#include <infiniband/umad.h>
#include <infiniband/umad_types.h>

#include "abi/umad/file.h"
#include "abi/umad/list.h"
#include "abi/umad/place.h"
#include "abi/umad/refuse.h"
#include "mgmt/agents.h"
#include "util/export.h"

#include <errno.h>
#include <string.h>

#define OPENIB_OUI 0x001405u
#define USER_RMPP 1u /* IB_USER_MAD_USER_RMPP */

UT_EXPORT int umad_open_port(const char *ca_name, int portnum)
{
	struct dev_info d;
	int sock, number, r = umad_find(ca_name, &d);

	if (r)
		return r;
	if (d.kind != DEV_IB)
		return umad_refuse(UMAD_R_OPEN);
	/* Port 0 of a switch is a port; of a CA it asks for the usual one. */
	number = umad_port_number(ca_name, portnum);
	if (number < 0)
		return number;
	sock = umad_place_attach((unsigned)number);
	return sock < 0 ? sock : umad_file_open(sock);
}

/* Headers before rdma-core 54 do not declare it. */
int umad_open_smi_port(const char *ca_name, int portnum);

UT_EXPORT int umad_open_smi_port(const char *ca_name, int portnum)
{
	return umad_open_port(ca_name, portnum);
}

UT_EXPORT int umad_close_port(int fd)
{
	return umad_file_close(fd) ? umad_refuse(UMAD_R_CLOSED) : 0;
}

UT_EXPORT int umad_get_fd(int fd)
{
	return fd; /* a port's number is its descriptor */
}

/* Calls on ports that are not open give the errno of today's row, also in errno. */
static int not_open(void)
{
	int r = umad_refuse(UMAD_R_TRAFFIC);

	errno = -r;
	return r;
}

/* As write(2) on the device fails: -EIO, and the reason in errno. */
UT_EXPORT int umad_send(int fd, int agent, void *umad, int length, int timeout_ms, int retries)
{
	struct ib_user_mad *m = umad;
	struct umad_file *f = umad_file_get(fd);
	int r;

	if (!f)
		return not_open();
	m->timeout_ms = (uint32_t)timeout_ms;
	m->retries = (uint32_t)retries;
	m->agent_id = (uint32_t)agent;
	r = length < 0 ? -EINVAL : umad_file_send(f, m, (const uint8_t *)m->data, (size_t)length);
	umad_file_put(f);
	if (r == -EIO)
		umad_refuse(UMAD_R_ENDED);
	errno = r ? -r : 0;
	return r ? -EIO : 0;
}

/* What the distribution's library makes of read(2): the length that a MAD needs, and the errno negative. */
static int not_read(const struct ib_user_mad *m, int *length, long err)
{
	errno = (int)-err;
	if (err == -ENOSPC || err == -EINVAL)
		*length = (int)(m->length - sizeof(*m));
	return (int)err;
}

static int receive(struct umad_file *f, struct ib_user_mad *m, int *length, int timeout_ms)
{
	long n = umad_file_wait(f, m, sizeof(*m) + (size_t)*length, timeout_ms);

	if (n == -EAGAIN && timeout_ms) {
		errno = ETIMEDOUT;
		return -ETIMEDOUT;
	}
	if (n == -EINTR) {
		errno = EINTR;
		return -EIO;
	}
	if (n < 0)
		return not_read(m, length, n);
	*length = (int)((size_t)n - sizeof(*m));
	errno = 0;
	return (int)m->agent_id;
}

UT_EXPORT int umad_recv(int fd, void *umad, int *length, int timeout_ms)
{
	struct umad_file *f;
	int r;

	if (!umad || !length || *length < 0) {
		errno = EINVAL;
		return -EINVAL;
	}
	f = umad_file_get(fd);
	if (!f)
		return not_open();
	r = receive(f, umad, length, timeout_ms);
	umad_file_put(f);
	if (r == -EIO && errno == EIO)
		umad_refuse(UMAD_R_ENDED);
	return r;
}

UT_EXPORT int umad_poll(int fd, int timeout_ms)
{
	struct umad_file *f = umad_file_get(fd);
	long n;

	if (!f)
		return umad_refuse(UMAD_R_TRAFFIC);
	n = umad_file_wait(f, NULL, 0, timeout_ms);
	umad_file_put(f);
	if (n == -EAGAIN)
		return -ETIMEDOUT;
	return n ? -EIO : 0;
}

/* The OUI counts for classes that have one. Returns the agent's number or a negative errno. */
static int add_agent(int fd, struct att_register *reg, const long *mask, bool user_rmpp)
{
	struct umad_file *f = umad_file_get(fd);
	int r;

	if (!f)
		return umad_refuse(UMAD_R_TRAFFIC);
	if (!agents_is_vendor_class(reg->mgmt_class))
		reg->oui = 0;
	reg->qpn = reg->mgmt_class != UMAD_CLASS_SUBN_LID_ROUTED && reg->mgmt_class != UMAD_CLASS_SUBN_DIRECTED_ROUTE;
	if (mask)
		memcpy(reg->methods, mask, sizeof(reg->methods));
	r = umad_file_register(f, reg, user_rmpp);
	umad_file_put(f);
	if (r == -EINVAL)
		umad_refuse(UMAD_R_AGENT);
	else if (r == -ENOMEM)
		umad_refuse(UMAD_R_AGENTS);
	else if (r == -EIO)
		umad_refuse(UMAD_R_ENDED);
	return r;
}

/* The convention of these two: -EPERM for an agent that is refused. */
static int add_old_agent(int fd, struct att_register *reg, const long *mask)
{
	int r = add_agent(fd, reg, mask, false);

	errno = r < 0 ? -r : 0;
	return r >= 0 || r == -EOPNOTSUPP ? r : -EPERM;
}

UT_EXPORT int umad_register(int fd, int mgmt_class, int mgmt_version, uint8_t rmpp_version,
			    long method_mask[16 / sizeof(long)])
{
	struct att_register reg = {
		.mgmt_class = (uint8_t)mgmt_class, .class_version = (uint8_t)mgmt_version,
		.rmpp_version = rmpp_version, .oui = OPENIB_OUI,
	};

	return add_old_agent(fd, &reg, method_mask);
}

UT_EXPORT int umad_register_oui(int fd, int mgmt_class, uint8_t rmpp_version, uint8_t oui[3],
				long method_mask[16 / sizeof(long)])
{
	struct att_register reg = {
		.mgmt_class = (uint8_t)mgmt_class, .class_version = 1, .rmpp_version = rmpp_version,
	};

	if (!agents_is_vendor_class((uint8_t)mgmt_class) || mgmt_class > 0xff)
		return umad_refuse(UMAD_R_AGENT);
	reg.oui = (uint32_t)oui[0] << 16 | (uint32_t)oui[1] << 8 | oui[2];
	return add_old_agent(fd, &reg, method_mask);
}

/* The convention of this call is a positive errno. */
UT_EXPORT int umad_register2(int fd, struct umad_reg_attr *attr, uint32_t *agent_id)
{
	struct att_register reg = { 0 };
	int r;

	if (!attr || !agent_id)
		return EINVAL;
	if ((attr->flags & ~USER_RMPP) || attr->oui > 0xffffff) {
		attr->flags = USER_RMPP; /* those that there are */
		return -umad_refuse(UMAD_R_AGENT);
	}
	reg.mgmt_class = attr->mgmt_class;
	reg.class_version = attr->mgmt_class_version;
	reg.rmpp_version = attr->rmpp_version;
	reg.oui = attr->oui;
	memcpy(reg.methods, attr->method_mask, sizeof(reg.methods));
	r = add_agent(fd, &reg, NULL, attr->flags & USER_RMPP);
	if (r < 0)
		return -r;
	*agent_id = (uint32_t)r;
	return 0;
}

UT_EXPORT int umad_unregister(int fd, int agent)
{
	struct umad_file *f = umad_file_get(fd);
	int r;

	if (!f)
		return umad_refuse(UMAD_R_CLOSED);
	r = agent < 0 ? -EINVAL : umad_file_unregister(f, (unsigned)agent);
	umad_file_put(f);
	return r ? umad_refuse(UMAD_R_CLOSED) : 0;
}

/* The file that a subnet manager keeps open, which marks the port as its own. */
UT_EXPORT int umad_get_issm_path(const char *ca_name, int portnum, char path[], int max)
{
	struct dev_info d;
	int number, r = umad_find(ca_name, &d);

	if (r)
		return r;
	if (d.kind != DEV_IB)
		return umad_refuse(UMAD_R_ISSM);
	number = umad_port_number(ca_name, portnum);
	return number < 0 ? number : umad_place_issm((unsigned)number, path, max);
}
