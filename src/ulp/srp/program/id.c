/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/srp/program/id.h"

#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool srp_id_read(uint8_t id[16], const char *text)
{
	unsigned n = 0;

	if (text[0] == '0' && (text[1] | 0x20) == 'x')
		text += 2;
	for (; *text; text++) {
		int d = digit(*text);

		if (*text == ':' && n == 16)
			continue;
		if (d < 0 || n == 32)
			return false;
		id[n / 2] = (uint8_t)(n % 2 ? id[n / 2] | d : d << 4);
		n++;
	}
	return n == 32;
}

const char *srp_id_text(char text[SRP_ID_TEXT_MAX], const uint8_t id[16])
{
	for (unsigned i = 0; i < 16; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	return text;
}

bool srp_size_read(uint64_t *ret, const char *text)
{
	static const char units[] = "KMGT";
	char *end;
	const char *unit;
	unsigned shift = 0;

	if (*text < '0' || *text > '9')
		return false;
	*ret = strtoull(text, &end, 0);
	unit = *end ? strchr(units, *end & ~0x20) : NULL;
	if (unit && *unit)
		shift = 10 * (unsigned)(unit - units + 1);
	else if (*end)
		return false;
	if ((*end && end[1]) || *ret >> (63 - shift))
		return false;
	*ret <<= shift;
	return true;
}

const char *srp_size_text(char text[24], uint64_t len)
{
	static const char *const units[] = { "octets", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned i = 0;
	double v = (double)len;

	while (v >= 1024 && i < 6) {
		v /= 1024;
		i++;
	}
	snprintf(text, 24, i ? "%.1f %s" : "%.0f %s", v, units[i]);
	return text;
}

uint64_t srp_lun_on_wire(unsigned n)
{
	return (uint64_t)(n < 256 ? n : n | 0x4000) << 48;
}

bool srp_id_default(uint8_t id[16])
{
	int n;
	struct ibv_device **list = ibv_get_device_list(&n);
	__be64 guid;

	if (!list || !n) {
		if (list)
			ibv_free_device_list(list);
		return false;
	}
	guid = ibv_get_device_guid(list[0]);
	memcpy(id, &guid, 8);
	memcpy(id + 8, &guid, 8);
	ibv_free_device_list(list);
	return true;
}

int srp_ids_print(void)
{
	int n;
	struct ibv_device **list = ibv_get_device_list(&n);
	char text[SRP_ID_TEXT_MAX];

	if (!list || !n) {
		fprintf(stderr, "dapple srp: this host: there is no RDMA adapter: it has no initiator port; see dapple doctor\n");
		return 1;
	}
	for (int i = 0; i < n; i++) {
		uint8_t id[16] = { 0 };
		__be64 guid = ibv_get_device_guid(list[i]);

		memcpy(id + 8, &guid, 8);
		printf("%s  %s\n", srp_id_text(text, id), ibv_get_device_name(list[i]));
	}
	ibv_free_device_list(list);
	return 0;
}
