/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Device management of an I/O unit with one SRP controller (IBTA vol 1, 16.3): MADs of 256 octets of both ends, without a port
 * that sends them. Fields that are read have been checked: texts end, numbers are in their ranges.
 */
#ifndef ULP_SRP_DM_H
#define ULP_SRP_DM_H

#include "wire/dm_fields.h"

#include <stdbool.h>
#include <stdint.h>

#define SRP_MAD_LEN 256
#define SRP_CONTROLLERS_MAX 255

/* --- the agent --- */

struct srp_dm_unit {
	uint8_t target[16];             /* extension, then the controller's GUID */
	uint64_t service_id;
	uint32_t send_size, transfer_size;
	uint16_t depth;
	char id[65];                    /* in words */
};

/* Turns a request into its response. Returns false if it is none of device management that asks. */
bool srp_dm_answer(const struct srp_dm_unit *u, uint8_t mad[SRP_MAD_LEN]);

/* --- the end that asks --- */

struct srp_dm_controller {
	uint64_t guid;
	uint32_t vendor_id, device_id, send_size;
	uint16_t io_class;
	uint8_t services;
	char id[65];
};

struct srp_dm_service {
	char name[41];
	uint64_t id;
};

/* The modifiers of a controller's profile, and of its services from `first` to `last`, at most four. Slots count from 1. */
uint32_t srp_dm_slot(unsigned slot);
uint32_t srp_dm_services(unsigned slot, unsigned first, unsigned last);

void srp_dm_ask(uint8_t mad[SRP_MAD_LEN], uint64_t tid, uint16_t attribute, uint32_t modifier);
/* Returns NULL if the MAD answers that request, or the mistake as text. */
const char *srp_dm_refusal(const uint8_t mad[SRP_MAD_LEN], uint64_t tid, uint16_t attribute);
/* Whether a slot of IOUnitInfo has a controller; false behind the last one. */
bool srp_dm_has_controller(const uint8_t mad[SRP_MAD_LEN], unsigned slot);
unsigned srp_dm_slots(const uint8_t mad[SRP_MAD_LEN]);
void srp_dm_controller_get(struct srp_dm_controller *c, const uint8_t mad[SRP_MAD_LEN]);
/* The entry i of four. */
void srp_dm_service_get(struct srp_dm_service *s, const uint8_t mad[SRP_MAD_LEN], unsigned i);
/* The target port that a service of a controller leads to. Returns false if it is none of SRP. */
bool srp_dm_target(uint8_t id[16], const struct srp_dm_controller *c, const struct srp_dm_service *s);

#endif
