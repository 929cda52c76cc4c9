/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/kind/ib_ways.h"

#include "device/kind/ib_port.h"
#include "link/fabric/names.h"
#include "util/ip.h"

#include <errno.h>
#include <string.h>

#define LID_LAST 0xbfffu /* unicast, IBTA 4.1.3 */

static uint32_t ip_of(const uint8_t addr[16])
{
	return ut_ip_is_v4(addr) ? (uint32_t)addr[12] << 24 | (uint32_t)addr[13] << 16 | (uint32_t)addr[14] << 8 | addr[15]
				 : 0;
}

static void put_ip(uint32_t ip, uint8_t addr[16])
{
	memset(addr, 0, 10);
	memset(addr + 10, 0xff, 2);
	for (int i = 0; i < 4; i++)
		addr[12 + i] = (uint8_t)(ip >> (24 - 8 * i));
}

static void put_gid(const struct fabric_peer *p, uint8_t gid[16])
{
	for (int i = 0; i < 8; i++) {
		gid[i] = (uint8_t)(p->prefix >> (56 - 8 * i));
		gid[8 + i] = (uint8_t)(p->guid >> (56 - 8 * i));
	}
}

static int find(struct dev_adapter *a, const uint8_t addr[16], struct fabric_peer *ret)
{
	uint32_t ip = ip_of(addr);

	if (!fabric_names_has(ip) || !dev_ib_names(a))
		return -EHOSTUNREACH;
	return fabric_names_find(dev_ib_names(a), ip, 0, ret) < 0 ? -EHOSTUNREACH : 0;
}

static bool is_local(const struct dev_adapter *a, const uint8_t addr[16])
{
	return a->n_addrs == 1 && !memcmp(a->addrs[0].addr, addr, 16);
}

static int way(struct eng_dev *dev, const uint8_t local[16], const uint8_t remote[16], bool mad, struct ibv_ah_attr *ret)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	struct fabric_peer p;
	int r;

	if (!is_local(a, local))
		return -EADDRNOTAVAIL;
	r = find(a, remote, &p);
	if (r < 0)
		return r;
	*ret = (struct ibv_ah_attr){ .dlid = p.lid, .port_num = ENG_PORT_NUM, .is_global = mad };
	put_gid(&p, ret->grh.dgid.raw);
	return 0;
}

/* LMC low bits of a LID select the path; the port has them all (IBTA 7.11.1). */
static bool is_lid_of(unsigned lid, unsigned base, unsigned lmc)
{
	return base && base <= LID_LAST && lid - base < 1u << lmc;
}

static int along(struct eng_dev *dev, const uint8_t local[16], const uint8_t remote[16], const struct cm_path *path,
		 struct ibv_ah_attr *ah)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	const struct eng_port *port = &dev->port;
	struct fabric_peer p;
	int r = find(a, remote, &p);

	eng_dev_held(dev);
	if (r < 0)
		return r;
	if (!is_lid_of(path->slid, port->lid, port->lmc) || !is_lid_of(path->dlid, p.lid, p.lmc) || path->sl > 15)
		return -EINVAL;
	ah->dlid = path->dlid;
	ah->src_path_bits = (uint8_t)(path->slid - port->lid);
	ah->sl = path->sl;
	return 0;
}

static int gid(struct eng_dev *dev, const uint8_t addr[16], uint8_t ret[16])
{
	struct fabric_peer p;
	int r = find(dev_adapter_of(dev), addr, &p);

	if (r == 0)
		put_gid(&p, ret);
	return r;
}

int dev_ib_gid_of(struct dev_adapter *a, const uint8_t addr[16], uint8_t ret[16])
{
	return gid(&a->dev, addr, ret);
}

bool dev_ib_to_gid(struct dev_adapter *a, const uint8_t addr[16], uint8_t ret[16])
{
	int r;

	ut_lock(&a->dev.lock);
	r = gid(&a->dev, addr, ret);
	eng_dev_unlock(&a->dev);
	return r == 0;
}

/* A port of another prefix has another GID. */
static bool find_gid(struct dev_adapter *a, const uint8_t from[16], struct fabric_peer *ret)
{
	uint8_t found[16];
	uint64_t guid = 0;

	for (int i = 8; i < 16; i++)
		guid = guid << 8 | from[i];
	if (!guid || ut_ip_is_v4(from) || !dev_ib_names(a) || fabric_names_find(dev_ib_names(a), 0, guid, ret) < 0 || !ret->ip)
		return false;
	put_gid(ret, found);
	return !memcmp(found, from, 16);
}

bool dev_ib_addr_of(struct dev_adapter *a, const uint8_t from[16], uint8_t ret[16])
{
	struct fabric_peer p;

	if (!find_gid(a, from, &p))
		return false;
	put_ip(p.ip, ret);
	return true;
}

bool dev_ib_from_gid(struct dev_adapter *a, const uint8_t from[16], uint8_t ret[16])
{
	bool found;

	ut_lock(&a->dev.lock);
	found = dev_ib_addr_of(a, from, ret);
	eng_dev_unlock(&a->dev);
	return found;
}

/* A message names its ends by GIDs; connections know them by address. */
static bool came(struct dev_adapter *a, struct gsi_rx *rx)
{
	struct fabric_peer p;
	uint64_t guid = 0;

	for (int i = 8; i < 16; i++)
		guid = guid << 8 | rx->src[i];
	if (!guid || a->n_addrs != 1 || !dev_ib_names(a) || fabric_names_find(dev_ib_names(a), 0, guid, &p) < 0 || !p.ip)
		return false;
	put_ip(p.ip, rx->src);
	memcpy(rx->dst, a->addrs[0].addr, 16);
	return true;
}

/* All hosts of a fabric have adapters of Dapple; trunks lead to other machines, whose processes are as quick. */
static bool same_host(struct dev_adapter *a, const uint8_t addr[16])
{
	return fabric_names_has(ip_of(addr));
}

static bool has_record(struct dev_adapter *a, const uint8_t record[16], const uint8_t shared[16])
{
	return is_local(a, record);
}

const struct dev_transport_ways dev_ib_ways = {
	.way = way, .along = along, .gid = gid, .came = came, .same_host = same_host, .has_record = has_record,
};

int dev_ib_route(struct dev_adapter *a, const struct link_end *dst, struct link_end *src)
{
	if ((!fabric_names_has(ip_of(dst->addr)) && !ut_ip_is_group(dst->addr)) || a->n_addrs != 1)
		return -ENETUNREACH;
	if (!ut_ip_is_any(src->addr) && !is_local(a, src->addr))
		return -EADDRNOTAVAIL;
	memcpy(src->addr, a->addrs[0].addr, 16);
	src->scope = 0;
	return 0;
}
