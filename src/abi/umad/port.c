/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sending and receiving management datagrams. A RoCE port has no subnet
 * management, and its QP1 belongs to the connection managers of the processes
 * that share it, so no port can be opened, and the other calls find no open port.
 */
#include <infiniband/umad.h>

#include "abi/umad/refuse.h"
#include "util/export.h"

#include <errno.h>

UT_EXPORT int umad_open_port(const char *ca_name, int portnum)
{
	return umad_refuse(UMAD_R_OPEN);
}

/* Headers before rdma-core 54 do not declare it. */
int umad_open_smi_port(const char *ca_name, int portnum);

UT_EXPORT int umad_open_smi_port(const char *ca_name, int portnum)
{
	return umad_open_port(ca_name, portnum);
}

UT_EXPORT int umad_close_port(int fd)
{
	return umad_refuse(UMAD_R_CLOSED);
}

UT_EXPORT int umad_get_fd(int fd)
{
	return fd; /* a port's number is its descriptor */
}

UT_EXPORT int umad_send(int fd, int agent, void *umad, int length, int timeout_ms, int retries)
{
	int r = umad_refuse(UMAD_R_TRAFFIC);

	errno = -r;
	return r;
}

UT_EXPORT int umad_recv(int fd, void *umad, int *length, int timeout_ms)
{
	int r = umad_refuse(UMAD_R_TRAFFIC);

	errno = -r;
	return r;
}

UT_EXPORT int umad_poll(int fd, int timeout_ms)
{
	return umad_refuse(UMAD_R_TRAFFIC);
}

UT_EXPORT int umad_register(int fd, int mgmt_class, int mgmt_version, uint8_t rmpp_version,
			    long method_mask[16 / sizeof(long)])
{
	return umad_refuse(UMAD_R_TRAFFIC);
}

UT_EXPORT int umad_register_oui(int fd, int mgmt_class, uint8_t rmpp_version, uint8_t oui[3],
				long method_mask[16 / sizeof(long)])
{
	return umad_refuse(UMAD_R_TRAFFIC);
}

/* The convention of this call is a positive errno. */
UT_EXPORT int umad_register2(int fd, struct umad_reg_attr *attr, uint32_t *agent_id)
{
	return -umad_refuse(UMAD_R_TRAFFIC);
}

UT_EXPORT int umad_unregister(int fd, int agent)
{
	return umad_refuse(UMAD_R_CLOSED);
}

/* The file that a subnet manager keeps open, which marks the port as its own. */
UT_EXPORT int umad_get_issm_path(const char *ca_name, int portnum, char path[], int max)
{
	return umad_refuse(UMAD_R_ISSM);
}
