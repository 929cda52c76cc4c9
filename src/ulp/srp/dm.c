/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/srp/dm.h"
#include "wire/cm_fields.h"

#include <stdio.h>
#include <string.h>

enum { METHOD_GET = 0x01, METHOD_SET = 0x02, METHOD_GET_RESP = 0x81 };
/* Status codes: IBTA vol 1, 13.4.7, table 134. */
enum { STATUS_NO_ATTRIBUTE = 3 << 2, STATUS_NO_VALUE = 7 << 2 };

#define VERSION 1
#define DEVICE_ID 0x5352 /* no device of a vendor has it */

/* --- the agent --- */

static void put_io_unit(uint8_t *d)
{
	wire_set_IO_UNIT_change_id(d, 1);
	wire_set_IO_UNIT_max_controllers(d, 1);
	d[4] = WIRE_DM_CONTROLLER << 4;
}

static void put_controller(uint8_t *d, const struct srp_dm_unit *u)
{
	wire_set_IOC_guid(d, wire_get64(u->target + 8));
	wire_set_IOC_device_id(d, DEVICE_ID);
	wire_set_IOC_device_version(d, 1);
	wire_set_IOC_io_class(d, WIRE_SRP_IO_CLASS);
	wire_set_IOC_io_subclass(d, WIRE_SRP_IO_SUBCLASS);
	wire_set_IOC_protocol(d, WIRE_SRP_PROTOCOL);
	wire_set_IOC_protocol_version(d, 1);
	wire_set_IOC_send_depth(d, u->depth);
	wire_set_IOC_read_depth(d, 4);
	wire_set_IOC_send_size(d, u->send_size);
	wire_set_IOC_transfer_size(d, u->transfer_size);
	wire_set_IOC_operations(d, WIRE_DM_SEND_TO | WIRE_DM_SEND_FROM | WIRE_DM_READ_FROM | WIRE_DM_WRITE_FROM);
	wire_set_IOC_services(d, 1);
	memcpy(d + 64, u->id, strnlen(u->id, 63));
}

static void put_service(uint8_t *d, const struct srp_dm_unit *u)
{
	char name[40];

	snprintf(name, sizeof(name), WIRE_SRP_SERVICE "%016llx", (unsigned long long)wire_get64(u->target));
	memcpy(d, name, strlen(name));
	wire_set_SERVICE_ENTRY_id(d, u->service_id);
}

/* Writes an attribute. Returns the status. */
static uint16_t put_attribute(const struct srp_dm_unit *u, uint16_t attribute, uint32_t modifier, uint8_t *d)
{
	switch (attribute) {
	case WIRE_DM_CLASS_PORT_INFO:
		d[0] = VERSION;
		d[1] = VERSION;
		return 0;
	case WIRE_DM_IO_UNIT:
		put_io_unit(d);
		return 0;
	case WIRE_DM_IOC:
		if (modifier != 1)
			return STATUS_NO_VALUE;
		put_controller(d, u);
		return 0;
	case WIRE_DM_SERVICES:
		if (modifier >> 16 != 1 || modifier & 0xff)
			return STATUS_NO_VALUE;
		put_service(d, u);
		return 0;
	default:
		return STATUS_NO_ATTRIBUTE;
	}
}

bool srp_dm_answer(const struct srp_dm_unit *u, uint8_t mad[SRP_MAD_LEN])
{
	uint8_t method = mad[3], *d = mad + WIRE_DM_DATA;
	uint16_t status;

	if (wire_get_MAD_mgmt_class(mad) != WIRE_DM_CLASS || (method != METHOD_GET && method != METHOD_SET))
		return false;
	memset(d, 0, SRP_MAD_LEN - WIRE_DM_DATA);
	status = method == METHOD_GET ? put_attribute(u, (uint16_t)wire_get_MAD_attr_id(mad), (uint32_t)wire_get_MAD_attr_mod(mad), d)
		: STATUS_NO_ATTRIBUTE;
	mad[3] = METHOD_GET_RESP;
	wire_set_MAD_status(mad, status);
	return true;
}

/* --- the end that asks --- */

uint32_t srp_dm_slot(unsigned slot)
{
	return slot;
}

uint32_t srp_dm_services(unsigned slot, unsigned first, unsigned last)
{
	return slot << 16 | last << 8 | first;
}

void srp_dm_ask(uint8_t mad[SRP_MAD_LEN], uint64_t tid, uint16_t attribute, uint32_t modifier)
{
	memset(mad, 0, SRP_MAD_LEN);
	wire_set_MAD_base_version(mad, 1);
	wire_set_MAD_mgmt_class(mad, WIRE_DM_CLASS);
	wire_set_MAD_class_version(mad, VERSION);
	mad[3] = METHOD_GET;
	wire_set_MAD_tid(mad, tid);
	wire_set_MAD_attr_id(mad, attribute);
	wire_set_MAD_attr_mod(mad, modifier);
}

const char *srp_dm_refusal(const uint8_t mad[SRP_MAD_LEN], uint64_t tid, uint16_t attribute)
{
	/* The upper half of a transaction ID is that of the agent that sent it. */
	if (wire_get_MAD_mgmt_class(mad) != WIRE_DM_CLASS || mad[3] != METHOD_GET_RESP || wire_get_MAD_attr_id(mad) != attribute ||
	    (uint32_t)wire_get_MAD_tid(mad) != (uint32_t)tid)
		return "a MAD is no answer to the request";
	return wire_get_MAD_status(mad) & 0x1c ? "the agent refuses the attribute" : NULL;
}

unsigned srp_dm_slots(const uint8_t mad[SRP_MAD_LEN])
{
	return (unsigned)wire_get_IO_UNIT_max_controllers(mad + WIRE_DM_DATA);
}

bool srp_dm_has_controller(const uint8_t mad[SRP_MAD_LEN], unsigned slot)
{
	const uint8_t *list = mad + WIRE_DM_DATA + 4;
	unsigned i = slot - 1;

	return slot && slot <= srp_dm_slots(mad) && (list[i / 2] >> (i % 2 ? 0 : 4) & 15) == WIRE_DM_CONTROLLER;
}

/* Text of a fixed length, which may be padded; octets that are no ASCII letters are replaced. */
static void copy_text(char *out, const uint8_t *at, size_t len)
{
	size_t n = strnlen((const char *)at, len);

	while (n && at[n - 1] == ' ')
		n--;
	for (size_t i = 0; i < n; i++)
		out[i] = at[i] >= ' ' && at[i] < 0x7f ? (char)at[i] : '?';
	out[n] = '\0';
}

void srp_dm_controller_get(struct srp_dm_controller *c, const uint8_t mad[SRP_MAD_LEN])
{
	const uint8_t *d = mad + WIRE_DM_DATA;

	c->guid = wire_get_IOC_guid(d);
	c->vendor_id = (uint32_t)wire_get_IOC_vendor_id(d);
	c->device_id = (uint32_t)wire_get_IOC_device_id(d);
	c->send_size = (uint32_t)wire_get_IOC_send_size(d);
	c->io_class = (uint16_t)wire_get_IOC_io_class(d);
	c->services = (uint8_t)wire_get_IOC_services(d);
	copy_text(c->id, d + 64, 64);
}

void srp_dm_service_get(struct srp_dm_service *s, const uint8_t mad[SRP_MAD_LEN], unsigned i)
{
	const uint8_t *d = mad + WIRE_DM_DATA + (size_t)i * WIRE_SERVICE_ENTRY_LEN;

	copy_text(s->name, d, 40);
	s->id = wire_get_SERVICE_ENTRY_id(d);
}

bool srp_dm_target(uint8_t id[16], const struct srp_dm_controller *c, const struct srp_dm_service *s)
{
	bool old = c->io_class == WIRE_SRP_IO_CLASS_OLD;
	unsigned long long extension;
	int end = 0;

	if (!old && c->io_class != WIRE_SRP_IO_CLASS)
		return false;
	if (sscanf(s->name, WIRE_SRP_SERVICE "%16llx%n", &extension, &end) != 1 || s->name[end] || s->name[sizeof(WIRE_SRP_SERVICE) - 1] == '-')
		return false;
	/* Drafts before revision 16a have the halves the other way round. */
	wire_put64(id + (old ? 8 : 0), extension);
	wire_put64(id + (old ? 0 : 8), c->guid);
	return true;
}
