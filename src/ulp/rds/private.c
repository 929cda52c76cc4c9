/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/private.h"

#include <string.h>

#define MAJOR 3
#define MINOR 1
#define MINOR_MASK 3                    /* RDS_IB_SUPPORTED_PROTOCOLS of Linux: 3.0 and 3.1 */

enum rds_verdict rds_private_get(struct rds_private *ret, const uint8_t *in, size_t len, uint16_t family)
{
	bool is_v6 = family == AF_INET6;
	uint64_t major, minor;

	*ret = (struct rds_private){ .from.family = family, .to.family = family };
	if (len < (is_v6 ? WIRE_RDS_PRIVATE6_LEN : WIRE_RDS_PRIVATE_LEN))
		return RDS_NO_PRIVATE;
	if (is_v6) {
		memcpy(ret->from.addr, wire_get_RDS_PRIVATE6_source_addr(in), 16);
		memcpy(ret->to.addr, wire_get_RDS_PRIVATE6_dest_addr(in), 16);
		major = wire_get_RDS_PRIVATE6_major(in);
		minor = wire_get_RDS_PRIVATE6_minor(in);
		ret->credits = (uint32_t)wire_get_RDS_PRIVATE6_credits(in);
	} else {
		memcpy(ret->from.addr, wire_get_RDS_PRIVATE_source_addr(in), 4);
		memcpy(ret->to.addr, wire_get_RDS_PRIVATE_dest_addr(in), 4);
		major = wire_get_RDS_PRIVATE_major(in);
		minor = wire_get_RDS_PRIVATE_minor(in);
		ret->credits = (uint32_t)wire_get_RDS_PRIVATE_credits(in);
	}
	if (!major)
		return RDS_NO_PRIVATE; /* octets that a manager added */
	return major == MAJOR && minor == MINOR ? RDS_GOOD : RDS_BAD_VERSION;
}

size_t rds_private_put(uint8_t out[WIRE_RDS_PRIVATE6_LEN], const struct rds_private *p)
{
	memset(out, 0, WIRE_RDS_PRIVATE6_LEN);
	if (p->from.family == AF_INET6) {
		wire_set_RDS_PRIVATE6_source_addr(out, p->from.addr);
		wire_set_RDS_PRIVATE6_dest_addr(out, p->to.addr);
		wire_set_RDS_PRIVATE6_major(out, MAJOR);
		wire_set_RDS_PRIVATE6_minor(out, MINOR);
		wire_set_RDS_PRIVATE6_minor_mask(out, MINOR_MASK);
		wire_set_RDS_PRIVATE6_credits(out, p->credits);
		return WIRE_RDS_PRIVATE6_LEN;
	}
	wire_set_RDS_PRIVATE_source_addr(out, p->from.addr);
	wire_set_RDS_PRIVATE_dest_addr(out, p->to.addr);
	wire_set_RDS_PRIVATE_major(out, MAJOR);
	wire_set_RDS_PRIVATE_minor(out, MINOR);
	wire_set_RDS_PRIVATE_minor_mask(out, MINOR_MASK);
	wire_set_RDS_PRIVATE_credits(out, p->credits);
	return WIRE_RDS_PRIVATE_LEN;
}
