/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "objects.h"

#include "log.h"
#include "raw.h"
#include "state.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#define MOST 512

static struct rp_object all[MOST];
static uint32_t n_all;

static void take_id(struct rp_object *o, const uint8_t *p, size_t n)
{
	while (n >= sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *h = (const void *)p;
		size_t name = (h->n_namesz + 3u) & ~3u, size = sizeof(*h) + name + ((h->n_descsz + 3u) & ~3u);

		if (size > n)
			return;
		if (h->n_type == NT_GNU_BUILD_ID && h->n_namesz == 4 && !memcmp(h + 1, "GNU", 4))
			memcpy(o->id, (const uint8_t *)(h + 1) + name, h->n_descsz < RP_OBJECT_ID ? h->n_descsz : RP_OBJECT_ID);
		p += size;
		n -= size;
	}
}

static int add(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct rp_object *o = &all[n_all];

	(void)size;
	(void)arg;
	if (n_all == MOST || strstr(info->dlpi_name, "vdso"))
		return 0;
	o->at = info->dlpi_addr;
	snprintf(o->name, sizeof(o->name), "%s", info->dlpi_name);
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE)
			take_id(o, (const uint8_t *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, info->dlpi_phdr[i].p_memsz);
	n_all++;
	return 0;
}

void rp_objects(void)
{
	dl_iterate_phdr(add, NULL);
	rp_event_begin(RP_OBJECTS, 0, 0, 0);
	rp_bytes(&n_all, sizeof(n_all));
	rp_bytes(all, n_all * sizeof(all[0]));
	rp_event_end();
}

void rp_object_mapped(unsigned thread, int fd, uint64_t at, int64_t offset)
{
	struct rp_object o;
	char link[32];

	memset(&o, 0, sizeof(o));
	o.at = at;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (rp_mode == RP_RECORDING)
		RP_RAW4(SYS_readlinkat, AT_FDCWD, link, o.name, sizeof(o.name) - 1);
	rp_event_begin(RP_MAPPED, thread, offset, 0);
	rp_bytes(&o, sizeof(o));
	rp_event_end();
}
