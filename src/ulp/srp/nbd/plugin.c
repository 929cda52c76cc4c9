/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/srp/nbd/plugin.h"
#include "ulp/srp/nbd/params.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL
#define PREFERRED 4096u
#define REQUEST_MAX (64u << 20)         /* nbdkit's */

static struct srp_params params;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the disk and its users */
static struct srp_disk *disk;
static unsigned users;

/* --- parameters --- */

static void load(void)
{
	srp_params_init(&params);
}

static int config(const char *key, const char *value)
{
	const char *why = srp_params_set(&params, key, value);

	if (why)
		nbdkit_error("%s=%s: %s: no disk is served; correct the parameter", key, value, why);
	return why ? -1 : 0;
}

static int config_complete(void)
{
	const char *key = srp_params_missing(&params);

	if (key)
		nbdkit_error("%s=: it is missing: no disk is served; give the target's address and the identifier of its port", key);
	return key ? -1 : 0;
}

/* --- connections of NBD --- */

static struct srp_disk *open_disk(void)
{
	char why[SRP_DISK_WHY_MAX];
	struct srp_disk *d = srp_disk_open(&params.disk, why);

	if (d && srp_disk_facts(d)->type) {
		snprintf(why, sizeof(why), "the logical unit is no disk");
		srp_disk_close(d);
		d = NULL;
	}
	if (!d)
		nbdkit_error("the disk: %s: the connection is refused; correct that, and connect again (dapple why names failures of RDMA)",
			     why);
	return d;
}

static void *open_connection(int readonly)
{
	(void)readonly;
	pthread_mutex_lock(&lock);
	if (!disk)
		disk = open_disk();
	users += disk != NULL;
	pthread_mutex_unlock(&lock);
	return disk;
}

static void close_connection(void *handle)
{
	pthread_mutex_lock(&lock);
	if (!--users) {
		srp_disk_close(handle);
		disk = NULL;
	}
	pthread_mutex_unlock(&lock);
}

/* --- what the disk is --- */

static int64_t get_size(void *handle)
{
	const struct srp_disk_facts *f = srp_disk_facts(handle);

	return (int64_t)(f->blocks * f->block);
}

static int block_size(void *handle, uint32_t *minimum, uint32_t *preferred, uint32_t *maximum)
{
	uint32_t block = srp_disk_facts(handle)->block;

	*minimum = block;
	*preferred = block > PREFERRED ? block : PREFERRED;
	*maximum = REQUEST_MAX;
	return 0;
}

static const char *export_description(void *handle)
{
	const struct srp_disk_facts *f = srp_disk_facts(handle);
	char text[128];

	snprintf(text, sizeof(text), "%s %s, serial number %s", f->vendor, f->product, f->serial);
	return nbdkit_strdup_intern(text);
}

static int can_write(void *handle)
{
	return !srp_disk_facts(handle)->read_only;
}

static int yes(void *handle)
{
	(void)handle;
	return 1;
}

static int can_trim(void *handle)
{
	return srp_disk_facts(handle)->unmap_max != 0;
}

static int can_fua(void *handle)
{
	return srp_disk_facts(handle)->fua ? NBDKIT_FUA_NATIVE : NBDKIT_FUA_EMULATE;
}

/* --- requests --- */

/* NBD has few errors; nbdkit makes EINVAL of those that it does not know. */
static int result(int r)
{
	if (!r)
		return 0;
	if (r != -EOPNOTSUPP)
		nbdkit_error("the disk: %s: a request fails; correct that, and try it again (dapple why names failures of RDMA)",
			     srp_disk_why());
	nbdkit_set_error(r == -EOPNOTSUPP || r == -ENOMEM || r == -EINVAL ? -r : EIO);
	return -1;
}

static bool is_whole(const struct srp_disk *d, uint32_t count, uint64_t offset)
{
	uint32_t block = srp_disk_facts(d)->block;

	if (count % block == 0 && offset % block == 0)
		return true;
	nbdkit_error("octets %llu to %llu: the client asks for parts of blocks of %u octets: the request fails; start nbdkit with "
		     "--filter=blocksize minblock=%u", (unsigned long long)offset, (unsigned long long)offset + count, block, block);
	nbdkit_set_error(EINVAL);
	return false;
}

static int read_some(void *handle, void *at, uint32_t count, uint64_t offset, uint32_t flags)
{
	(void)flags;
	return is_whole(handle, count, offset) ? result(srp_disk_read(handle, at, count, offset)) : -1;
}

static int write_some(void *handle, const void *at, uint32_t count, uint64_t offset, uint32_t flags)
{
	return is_whole(handle, count, offset) ? result(srp_disk_write(handle, at, count, offset, flags & NBDKIT_FLAG_FUA)) : -1;
}

static int flush(void *handle, uint32_t flags)
{
	(void)flags;
	return result(srp_disk_flush(handle));
}

/* Of blocks that are asked for in part nothing is given back: NBD leaves that to the server. */
static int trim(void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
	uint32_t block = srp_disk_facts(handle)->block;
	uint64_t first = (offset + block - 1) / block * block, last = (offset + count) / block * block;
	int r = first < last ? srp_disk_unmap(handle, last - first, first) : 0;

	if (!r && flags & NBDKIT_FLAG_FUA)
		r = srp_disk_flush(handle);
	return result(r);
}

/* A unit without WRITE SAME: nbdkit writes zeroes then. */
static int zero(void *handle, uint32_t count, uint64_t offset, uint32_t flags)
{
	if (!is_whole(handle, count, offset))
		return -1;
	return result(srp_disk_zero(handle, count, offset, flags & NBDKIT_FLAG_MAY_TRIM, flags & NBDKIT_FLAG_FUA));
}

static struct nbdkit_plugin plugin = {
	.name = "srp",
	.longname = "Dapple SRP",
	.description = "a disk of an SRP target, over RDMA",
	.magic_config_key = "to",
	.config_help =
		"to=ADDRESS:PORT          (required) where the target listens\n"
		"target=ID                (required) the target port, 32 hexadecimal digits\n"
		"initiator=ID             the own port (default: of the adapter)\n"
		"lun=N                    the logical unit (default 0)\n"
		"timeout=SECONDS          for a login and for a command (default 30)\n"
		"reconnect=SECONDS        how long a lost session is tried again (default 60)\n"
		"depth=N                  commands under way (default 32)",
	.load = load,
	.config = config,
	.config_complete = config_complete,
	.open = open_connection,
	.close = close_connection,
	.get_size = get_size,
	.block_size = block_size,
	.export_description = export_description,
	.can_write = can_write,
	.can_flush = yes,
	.can_trim = can_trim,
	.can_zero = yes,
	.can_fast_zero = yes,
	.can_fua = can_fua,
	.can_multi_conn = yes,
	.pread = read_some,
	.pwrite = write_some,
	.flush = flush,
	.trim = trim,
	.zero = zero,
};

NBDKIT_REGISTER_PLUGIN(plugin)
