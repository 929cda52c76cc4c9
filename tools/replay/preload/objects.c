/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "objects.h"

#include "log.h"
#include "state.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#define NAME 160
#define ID 20
#define MOST 512

struct object {
	uint64_t at;
	uint8_t id[ID];
	char name[NAME];
};

static struct object now[MOST], then;
static uint32_t n_now, n_then;

static void take_id(struct object *o, const uint8_t *p, size_t n)
{
	while (n >= sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *h = (const void *)p;
		size_t name = (h->n_namesz + 3u) & ~3u, size = sizeof(*h) + name + ((h->n_descsz + 3u) & ~3u);

		if (size > n)
			return;
		if (h->n_type == NT_GNU_BUILD_ID && h->n_namesz == 4 && !memcmp(h + 1, "GNU", 4))
			memcpy(o->id, (const uint8_t *)(h + 1) + name, h->n_descsz < ID ? h->n_descsz : ID);
		p += size;
		n -= size;
	}
}

static int add(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct object *o = &now[n_now];

	(void)size;
	(void)arg;
	if (n_now == MOST || strstr(info->dlpi_name, "vdso"))
		return 0;
	o->at = info->dlpi_addr;
	snprintf(o->name, sizeof(o->name), "%s", *info->dlpi_name ? info->dlpi_name : "the program");
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE)
			take_id(o, (const uint8_t *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, info->dlpi_phdr[i].p_memsz);
	n_now++;
	return 0;
}

void rp_objects(void)
{
	dl_iterate_phdr(add, NULL);
	n_then = n_now;
	rp_event_begin(RP_OBJECTS, 0, 0, 0);
	rp_bytes(&n_then, sizeof(n_then));
	for (uint32_t i = 0; i < n_then; i++) {
		then = now[i < n_now ? i : 0];
		rp_bytes(&then, sizeof(then));
		if (rp_mode != RP_REPLAYING || (i < n_now && !memcmp(&then, &now[i], sizeof(then))))
			continue;
		snprintf(rp_control->text, sizeof(rp_control->text), "%s", then.name);
		rp_stop_at(RP_OBJECT, i < n_now && !strcmp(then.name, now[i].name), memcmp(then.id, now[i].id, ID) != 0);
	}
	rp_event_end();
}
