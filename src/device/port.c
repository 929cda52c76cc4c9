/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/port.h"

#include "device/kind/local_env.h"
#include "device/limits.h"
#include "device/sys.h"
#include "engine/dev.h"
#include "util/fault_calls.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define MTU_MAX 4096
#define MTU_HEADERS 80 /* IPv6, UDP, BTH, the largest extension, ICRC, as rdma_rxe counts */
#define CAP_CM 0x10000

#define PHYS_POLLING 2
#define PHYS_DISABLED 3
#define PHYS_LINK_UP 5

enum { WIDTH_1X = 1, WIDTH_4X = 2 };
enum { SDR = 1, FDR10 = 8, FDR = 16, EDR = 32, HDR = 64, NDR = 128 };

/* Mb/s of the interface -> width and speed, the first row that reaches. */
static const struct {
	uint32_t up_to;
	uint8_t width, speed;
} rates[] = {
	{ 1000, WIDTH_1X, SDR },    { 10000, WIDTH_1X, FDR10 }, { 25000, WIDTH_1X, EDR },
	{ 40000, WIDTH_4X, FDR10 }, { 100000, WIDTH_4X, EDR },  { 200000, WIDTH_4X, HDR },
	{ UINT32_MAX, WIDTH_4X, NDR },
};

static const struct {
	uint8_t speed;
	unsigned x10;
} lane_rates[] = { { SDR, 25 },  { 2, 50 },   { 4, 100 },  { FDR10, 100 },
		   { FDR, 140 }, { EDR, 250 }, { HDR, 500 }, { NDR, 1000 } };

unsigned dev_rate_x10(uint8_t width, uint8_t speed)
{
	unsigned lanes = width == 1 ? 1 : width == 2 ? 4 : width == 4 ? 8 : width == 8 ? 12 : 2;

	for (size_t i = 0; i < sizeof(lane_rates) / sizeof(lane_rates[0]); i++)
		if (lane_rates[i].speed == speed)
			return lanes * lane_rates[i].x10;
	return 0;
}

enum ibv_rate dev_rate_code(const struct ibv_port_attr *p)
{
	static const struct {
		unsigned x10;
		enum ibv_rate code;
	} codes[] = { { 25, IBV_RATE_2_5_GBPS }, { 100, IBV_RATE_10_GBPS },  { 250, IBV_RATE_25_GBPS },
		      { 400, IBV_RATE_40_GBPS }, { 1000, IBV_RATE_100_GBPS }, { 2000, IBV_RATE_200_GBPS },
		      { 4000, IBV_RATE_400_GBPS } };
	unsigned x10 = dev_rate_x10(p->active_width, p->active_speed);

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].x10 == x10)
			return codes[i].code;
	return IBV_RATE_10_GBPS;
}

static uint32_t mtu_of(uint32_t if_mtu)
{
	uint32_t m = MTU_MAX;

	while (m > 256 && m + MTU_HEADERS > if_mtu)
		m /= 2;
	return m;
}

static enum ibv_mtu mtu_code(uint32_t bytes)
{
	enum ibv_mtu m = IBV_MTU_256;

	while (m < IBV_MTU_4096 && bytes > 256u << (m - IBV_MTU_256))
		m++;
	return m;
}

static void set_speed(struct ibv_port_attr *p, uint32_t mbps)
{
	size_t i = 0;

	while (rates[i].up_to < mbps)
		i++;
	p->active_width = rates[i].width;
	p->active_speed = rates[i].speed;
}

struct interface {
	bool up, running;
	uint32_t mtu, mbps;
};

/*
 * What an interface of this host's own carries that states no speed. Between processes of one host
 * messages are copied in memory, at 100 Gb/s and more; the wire path over lo reaches some 40
 * (docs/performance.md). A virtual interface has as much as veth states of itself. Hardware that does not
 * know its speed, as a radio, counts as slow, as in the kernel.
 */
#define MBPS_LOCAL 100000
#define MBPS_LO_WIRE 40000
#define MBPS_VIRTUAL 10000

static bool is_virtual(int fd, struct ifreq *r)
{
	struct ethtool_drvinfo d = { .cmd = ETHTOOL_GDRVINFO };

	r->ifr_data = (void *)&d;
	return ioctl(fd, SIOCETHTOOL, r) == 0 && !d.bus_info[0];
}

/* Mb/s, 0 = not known. */
static uint32_t speed_of(int fd, struct ifreq *r)
{
	struct ethtool_cmd cmd = { .cmd = ETHTOOL_GSET };
	uint32_t mbps = UINT32_MAX;

	r->ifr_data = (void *)&cmd;
	/* Not ethtool_cmd_speed(): it shifts an int beyond its sign when unknown. */
	if (ioctl(fd, SIOCETHTOOL, r) == 0)
		mbps = (uint32_t)cmd.speed_hi << 16 | cmd.speed;
	if (mbps != UINT32_MAX && mbps)
		return mbps;
	return is_virtual(fd, r) ? MBPS_VIRTUAL : 0;
}

static uint32_t speed_of_lo(void)
{
	return dev_local_env() & DEV_LOCAL_SHM ? MBPS_LOCAL : MBPS_LO_WIRE;
}

/* By ioctl, since sysfs may be absent or of another namespace. */
static int look(uint32_t ifindex, struct interface *ret)
{
	struct ifreq r = { .ifr_ifindex = (int)ifindex };
	int fd = ut_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int e = 0;

	*ret = (struct interface){ 0 };
	if (fd < 0)
		fd = ut_socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, SIOCGIFNAME, &r) < 0)
		e = errno == ENODEV || errno == ENXIO ? 0 : -errno;
	else if (ioctl(fd, SIOCGIFFLAGS, &r) == 0) {
		bool loopback = r.ifr_flags & IFF_LOOPBACK;

		ret->up = r.ifr_flags & IFF_UP;
		ret->running = r.ifr_flags & IFF_RUNNING;
		if (ioctl(fd, SIOCGIFMTU, &r) == 0)
			ret->mtu = (uint32_t)r.ifr_mtu;
		ret->mbps = loopback ? speed_of_lo() : speed_of(fd, &r);
	}
	ut_close(fd);
	return e;
}

uint32_t dev_port_mtu(uint32_t ifindex)
{
	struct interface i;

	return look(ifindex, &i) < 0 ? 1024 : mtu_of(i.mtu);
}

int dev_port_query(uint32_t ifindex, struct ibv_port_attr *ret)
{
	struct interface i;
	int keep = errno, r = look(ifindex, &i);

	errno = keep;
	if (r < 0)
		return r;
	*ret = (struct ibv_port_attr){
		.state = i.up && i.running ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
		.phys_state = !i.up ? PHYS_DISABLED : i.running ? PHYS_LINK_UP : PHYS_POLLING,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = mtu_code(mtu_of(i.mtu)),
		.gid_tbl_len = ENG_GIDS_MAX,
		.port_cap_flags = CAP_CM,
		.max_msg_sz = 1u << 30,
		.pkey_tbl_len = DEV_PKEY_TBL_LEN,
		.max_vl_num = 1,
		.link_layer = IBV_LINK_LAYER_ETHERNET,
		.flags = IBV_QPF_GRH_REQUIRED,
	};
	set_speed(ret, i.mbps);
	return 0;
}
