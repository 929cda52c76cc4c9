/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The table between DAT 1.2 and 2.0: compat12_table FOLDER. Known numbers; masks bit by bit; every
 * return value, whose text must be the same before and after.
 */
#include "dat/compat12/convert.h"

#include "support/check.h"

#include <dlfcn.h>
#include <stdbool.h>

typedef uint32_t (*strerror_func)(uint32_t, const char **, const char **);

static strerror_func load(const char *folder, const char *library)
{
	char path[512];
	strerror_func f;
	void *dl;

	snprintf(path, sizeof(path), "%s/%s", folder, library);
	dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	CHECK_MSG(dl, "%s", dlerror());
	*(void **)&f = dlsym(dl, "dat_strerror");
	CHECK(f);
	return f;
}

/* Offsets of 1.2 as they are known from another machine's headers. */
static void layouts(void)
{
	uint8_t in12[688], in20[688];
	static const struct {
		enum c12_type type;
		unsigned at12, at20;
	} known[] = {
		{ C12_TYPE_EP_ATTR, 36, 24 },   /* max_recv_dtos */
		{ C12_TYPE_EP_ATTR, 80, 64 },   /* ep_transport_specific */
		{ C12_TYPE_EP_PARAM, 48, 56 },  /* pz_handle */
		{ C12_TYPE_EP_PARAM, 88, 96 },  /* ep_attr */
		{ C12_TYPE_IA_ATTR, 624, 608 }, /* max_srqs */
		{ C12_TYPE_IA_ATTR, 680, 680 }, /* vendor_attr */
		{ C12_TYPE_PROVIDER_ATTR, 312, 312 }, /* evd_stream_merging_supported */
		{ C12_TYPE_PROVIDER_ATTR, 496, 512 }, /* provider_specific_attr */
		{ C12_TYPE_LMR_TRIPLET, 0, 12 },
		{ C12_TYPE_LMR_TRIPLET, 8, 0 },
		{ C12_TYPE_RMR_TRIPLET, 16, 8 },
		{ C12_TYPE_LMR_PARAM, 52, 56 }, /* lmr_context */
		{ C12_TYPE_RMR_PARAM, 40, 32 }, /* mem_priv */
		{ C12_TYPE_CNO_PARAM, 8, 16 },  /* agent */
		{ C12_TYPE_EVENT_DTO, 40, 36 }, /* transfered_length */
		{ C12_TYPE_EVENT_CR, 40, 40 },  /* cr_handle */
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		memset(in12, 0, sizeof(in12));
		memset(in20, 0, sizeof(in20));
		in20[known[i].at20] = 0x5a;
		c12_from20(known[i].type, in12, in20);
		CHECK_MSG(in12[known[i].at12] == 0x5a, "row %zu", i);
		memset(in20, 0, sizeof(in20));
		c12_to20(known[i].type, in20, in12);
		CHECK_MSG(in20[known[i].at20] == 0x5a, "row %zu", i);
	}
}

static void greatest(void)
{
	uint64_t size12[13] = { 0 };
	uint32_t attr20[22] = { 0 };

	/* max_message_size of an EP. */
	size12[1] = 1ull << 40;
	c12_to20(C12_TYPE_EP_ATTR, attr20, size12);
	CHECK(attr20[1] == UINT32_MAX);
	attr20[1] = UINT32_MAX;
	c12_from20(C12_TYPE_EP_ATTR, size12, attr20);
	CHECK(size12[1] == UINT32_MAX);
}

/* Different bits go to different bits, and unknown ones are not lost. */
static void one_mask(enum c12_mask mask, uint64_t all12, uint64_t all20)
{
	uint64_t seen = 0;

	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t to = c12_mask20(mask, 1ull << bit);

		CHECK(to && !(to & (to - 1)));
		if (all12 >> bit & 1) {
			CHECK(!(seen & to) && !(to & ~all20));
			seen |= to;
		} else {
			CHECK(to & ~all20);
		}
	}
	CHECK(c12_mask20(mask, all12) == seen && c12_mask20(mask, 0) == 0);
}

static void masks(void)
{
	one_mask(C12_EP, 0x7ffff7ff, 0x7fffffff);
	one_mask(C12_IA, 0x7ffffffff, 0x3fffffffff);
	one_mask(C12_PROVIDER, 0x3ffffff, 0x7fffffff);
	one_mask(C12_LMR, 0x3ff, 0x7ff);
	one_mask(C12_RMR, 0x1f, 0x7f);
	CHECK(c12_mask20(C12_EP, 0x400) == 0x800);
	CHECK(c12_mask20(C12_LMR, 0x200) == 0x400);
	CHECK(c12_mask20(C12_IA, 0x400000000) == 0x2000000000);
}

/* 2.0 has a few that 1.2 has no name for. */
static bool is_new(const char *text)
{
	static const char *const names[] = {
		"DAT_INVALID_HANDLE_CSP", "DAT_INVALID_STATE_SRQ_SHUTDOWN", "DAT_RESERVED_LMR",
		"DAT_PORT_IN_USE", "DAT_COMM_NOT_SUPPORTED", "DAT_EXTENSION_BASE",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], text) == 0)
			return true;
	return false;
}

/* The inverse of c12_return, by the table. */
static uint32_t return20(uint32_t value)
{
	static const struct {
		uint32_t in12, in20;
	} rows[] = {
#define ROW(name, in12, in20) { in12, in20 },
		C12_RETURN_TYPES(ROW)
		C12_SUBTYPES(ROW)
	};
	uint32_t out = value & 0xc0000000;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].in12 && (rows[i].in12 == (value & 0x3fff0000) ||
				     rows[i].in12 == (value & 0xffff)))
			out |= rows[i].in20;
	return out;
}

static void check_text(strerror_func s12, strerror_func s20, uint32_t v, unsigned *n)
{
	const char *major12, *major20, *minor12, *minor20;
	uint32_t in12 = c12_return(v);

	if (s20(v, &major20, &minor20))
		return;
	CHECK(s12(in12, &major12, &minor12) == 0);
	CHECK((in12 & 0x80000000) == (v & 0x80000000));
	if (is_new(major20)) {
		CHECK(strcmp(major12, "DAT_INTERNAL_ERROR") == 0);
		return;
	}
	CHECK_MSG(strcmp(major12, major20) == 0, "%#x: %s", v, major12);
	if (is_new(minor20)) {
		CHECK(*minor12 == '\0');
		return;
	}
	CHECK_MSG(strcmp(minor12, minor20) == 0, "%#x: %s", v, minor12);
	if (v & 0x80000000)
		CHECK(return20(in12) == v);
	++*n;
}

static void returns(const char *folder)
{
	strerror_func s12 = load(folder, "libdat.so.1"), s20 = load(folder, "libdat2.so.2");
	unsigned n = 0;

	for (uint32_t type = 0; type < 0x4000; type++)
		check_text(s12, s20, 0x80000000 | type << 16, &n);
	CHECK_MSG(n == 22, "%u types", n);
	for (uint32_t subtype = 0; subtype < 0x200; subtype++)
		check_text(s12, s20, 0x80070000 | subtype, &n);
	CHECK_MSG(n == 22 + 102, "%u", n);
	CHECK(c12_return(0) == 0);
	CHECK(c12_return(0xbfff0000) == 0x8fff0000);
	CHECK(c12_return(0x80060025) == 0x80060024);
	CHECK(c12_return(0x800a0064) == 0x800a0062);
	CHECK(c12_return(0x8005000b) == 0x8005000b);
}

/* As of dat_lmr_create: argument 7 is new. */
static void moved(void)
{
	static const uint8_t places[] = { 1, 2, 3, 4, 5, 6, 0, 7, 8, 9 };

	CHECK(c12_return_moved(0x80060025, places, 10) == 0x80060024);
	CHECK(c12_return_moved(0x8006002a, places, 10) == 0x80060029); /* 6 */
	CHECK(c12_return_moved(0x8006002b, places, 10) == 0x80060000); /* 7: none */
	CHECK(c12_return_moved(0x8006002c, places, 10) == 0x8006002a); /* 8 is 7 */
	CHECK(c12_return_moved(0x80050022, places, 10) == 0x80050020); /* handle 8 is 7 */
	CHECK(c12_return_moved(0x80070033, places, 10) == 0x80070032); /* no argument */
	CHECK(c12_return_moved(0, places, 10) == 0);
}

int main(int argc, char **argv)
{
	CHECK(argc > 1);
	layouts();
	greatest();
	masks();
	moved();
	returns(argv[1]);
	return 0;
}
