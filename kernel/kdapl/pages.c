// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Pages of the kinds of memory that kDAPL registers, and their mapping for the device. */
#include "kdapl/pages.h"

#include <linux/mm.h>
#include <linux/vmalloc.h>

static bool add(struct kdp_pages *p, struct page *page, unsigned int length, unsigned int offset)
{
	if (p->n == p->max)
		return false;
	sg_set_page(&p->sg[p->n++], page, length, offset);
	p->length += length;
	return true;
}

static bool add_virtual(struct kdp_pages *p, void *va, u64 length)
{
	p->base = (uintptr_t)va;
	while (length) {
		unsigned int offset = offset_in_page(va);
		unsigned int n = min_t(u64, PAGE_SIZE - offset, length);

		struct page *page = virt_addr_valid(va) ? virt_to_page(va) : vmalloc_to_page(va);

		if (!page || !add(p, page, n, offset))
			return false;
		va += n;
		length -= n;
	}
	return true;
}

static bool add_span(struct kdp_pages *p, DAT_PADDR at, u64 length)
{
	while (length) {
		unsigned int offset = offset_in_page(at);
		unsigned int n = min_t(u64, PAGE_SIZE - offset, length);

		if (!pfn_valid(PHYS_PFN(at)) || !add(p, pfn_to_page(PHYS_PFN(at)), n, offset))
			return false;
		at += n;
		length -= n;
	}
	return true;
}

static bool add_array(struct kdp_pages *p, u64 page_size, const DAT_PADDR *pages, u64 length)
{
	u64 n = DIV_ROUND_UP_ULL(length, page_size), i;

	p->base = pages[0];
	for (i = 0; i < n; i++) {
		if (!add_span(p, pages[i], min(page_size, length)))
			return false;
		length -= min(page_size, length);
	}
	return true;
}

static bool add_spans(struct kdp_pages *p, const DAT_PADDR_RANGE *ranges, DAT_COUNT n, u64 length)
{
	DAT_COUNT i;

	p->base = ranges[0].address;
	for (i = 0; i < n && length; i++) {
		u64 part = min_t(u64, ranges[i].length, length);

		if (!add_span(p, ranges[i].address, part))
			return false;
		length -= part;
	}
	return !length;
}

static bool add_platform(struct kdp_pages *p, struct scatterlist *list, DAT_COUNT n, u64 length)
{
	struct scatterlist *s;
	int i;

	p->base = sg_phys(list);
	for_each_sg(list, s, n, i) {
		unsigned int part = min_t(u64, s->length, length);

		if (part && !add(p, sg_page(s), part, s->offset))
			return false;
		length -= part;
	}
	return !length;
}

static bool add_dma(struct kdp_pages *p, u64 address, u64 length)
{
	struct scatterlist *s = &p->sg[0];

	if (!p->max || length > UINT_MAX)
		return false;
	s->length = length;
	sg_dma_address(s) = address;
	sg_dma_len(s) = length;
	p->n = 1;
	p->dma = true;
	p->base = address;
	p->length = length;
	return true;
}

bool kdp_pages_part(const struct kdp_pages *from, u64 offset, u64 length, struct kdp_pages *to)
{
	unsigned int entries = from->mapped ? from->mapped : from->n, i;

	to->n = 0;
	to->length = 0;
	to->mapped = 0;
	to->base = from->base + offset;
	to->page_size = from->page_size;
	to->dma = from->dma || from->mapped;
	for (i = 0; i < entries && length; i++) {
		const struct scatterlist *s = &from->sg[i];
		unsigned int have = to->dma ? sg_dma_len(s) : s->length, part;

		if (offset >= have) {
			offset -= have;
			continue;
		}
		if (to->n == to->max)
			return false;
		part = min_t(u64, have - offset, length);
		to->sg[to->n] = *s;
		to->sg[to->n].page_link &= ~(unsigned long)SG_PAGE_LINK_MASK;
		to->sg[to->n].offset += offset;
		to->sg[to->n].length = part;
		sg_dma_address(&to->sg[to->n]) += offset;
		sg_dma_len(&to->sg[to->n]) = part;
		to->n++;
		to->length += part;
		length -= part;
		offset = 0;
	}
	return !length;
}

static void begin(struct kdp_pages *p)
{
	sg_init_table(p->sg, p->max);
	p->n = p->mapped = 0;
	p->length = 0;
	p->page_size = PAGE_SIZE;
	p->dma = false;
}

DAT_RETURN kdp_pages_fill(struct kdp_pages *p, DAT_MEM_TYPE type, const DAT_REGION_DESCRIPTION *r, u64 length,
			  const struct kdp_pages *other, DAT_RETURN_SUBTYPE arg)
{
	bool ok = false;

	begin(p);
	switch (type) {
	case DAT_MEM_TYPE_VIRTUAL:
		ok = r->for_va && add_virtual(p, r->for_va, length);
		break;
	case DAT_MEM_TYPE_PHYSICAL:
		ok = r->for_array.pages && is_power_of_2(r->for_array.page_size) &&
		     r->for_array.page_size >= PAGE_SIZE &&
		     add_array(p, r->for_array.page_size, r->for_array.pages, length);
		break;
	case DAT_MEM_TYPE_PHYSICAL_VAR_PAGES:
		ok = r->for_ranges.ranges && r->for_ranges.count > 0 &&
		     add_spans(p, r->for_ranges.ranges, r->for_ranges.count, length);
		break;
	case DAT_MEM_TYPE_PLATFORM:
		ok = r->for_platform.list && r->for_platform.count > 0 &&
		     add_platform(p, r->for_platform.list, r->for_platform.count, length);
		break;
	case DAT_MEM_TYPE_IA:
		ok = add_dma(p, r->for_ia, length);
		break;
	case DAT_MEM_TYPE_LMR:
		if (other->dma) {
			ok = kdp_pages_part(other, 0, length, p);
		} else {
			unsigned int i;

			p->base = other->base;
			for (i = 0, ok = true; i < other->n && ok && p->length < length; i++)
				ok = add(p, sg_page(&other->sg[i]), min_t(u64, other->sg[i].length, length - p->length),
					 other->sg[i].offset);
			p->base = other->base;
			ok &= p->length == length;
		}
		break;
	default:
		return DPR_ERR(DAT_INVALID_PARAMETER, arg);
	}
	if (ok)
		return DAT_SUCCESS;
	return p->n == p->max && p->max ? DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION)
					: DPR_ERR(DAT_INVALID_PARAMETER, arg + 1);
}

int kdp_pages_map(struct kdp_ia *ia, struct kdp_pages *p)
{
	if (p->dma)
		return 0;
	p->mapped = ib_dma_map_sg(ia->ib, p->sg, p->n, DMA_BIDIRECTIONAL);
	return p->mapped ? 0 : -EIO;
}

void kdp_pages_unmap(struct kdp_ia *ia, struct kdp_pages *p)
{
	if (p->mapped)
		ib_dma_unmap_sg(ia->ib, p->sg, p->n, DMA_BIDIRECTIONAL);
	p->mapped = 0;
}

int kdp_pages_to_mr(struct kdp_ia *ia, struct kdp_pages *p, struct ib_mr *mr, u64 iova)
{
	unsigned int entries = p->mapped ? p->mapped : p->n;
	int done = ib_map_mr_sg(mr, p->sg, entries, NULL, p->page_size);

	if (done < 0)
		return done;
	if ((unsigned int)done < entries)
		return -EINVAL; /* pages in the middle are not whole */
	mr->iova = iova;
	return 0;
}
