/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Return values as text. registry_strerror LIBRARY [OTHER]: every value of 14 and 16 bits; with
 * OTHER, the distribution's library, the same texts.
 */
#include "registry_lib.h"

#include "support/check.h"

static struct registry ours, other;

static const char *type_of(const struct registry *r, DAT_RETURN value)
{
	const char *major = NULL, *minor = NULL;

	return r->strerror(DAT_CLASS_ERROR | value, &major, &minor) == DAT_SUCCESS ? major : NULL;
}

static const char *subtype_of(const struct registry *r, DAT_RETURN value)
{
	const char *major = NULL, *minor = NULL;

	return r->strerror(ERR(ABORT, NO_SUBTYPE) | value, &major, &minor) == DAT_SUCCESS ? minor : NULL;
}

static void expect(DAT_RETURN value, const char *want_major, const char *want_minor)
{
	const char *major = NULL, *minor = NULL;

	CHECK(ours.strerror(value, &major, &minor) == DAT_SUCCESS);
	CHECK_MSG(strcmp(major, want_major) == 0 && strcmp(minor, want_minor) == 0, "%#x: %s %s",
		  value, major, minor);
}

static void fixed(void)
{
	const char *major = NULL, *minor = NULL;

	expect(DAT_SUCCESS, "DAT_SUCCESS", "");
	expect(0x800a0064, "DAT_PROVIDER_NOT_FOUND", "DAT_NAME_NOT_REGISTERED");
	expect(0x80050015, "DAT_INVALID_HANDLE", "DAT_INVALID_HANDLE_EVD_REQUEST");
	expect(0x80070058, "DAT_INVALID_STATE", "DAT_INVALID_STATE_SRQ_SHUTDOWN");
	expect(0x80160000, "DAT_PORT_IN_USE", "");
	expect(0xbfff0000, "DAT_NOT_IMPLEMENTED", "");
	CHECK(ours.strerror(ERR(INVALID_HANDLE, INVALID_HANDLE_EP), NULL, NULL) == DAT_SUCCESS);
	CHECK(ours.strerror(0x80180000, &major, &minor) == ERR(INVALID_PARAMETER, INVALID_ARG1));
	CHECK(major && minor);
	CHECK(ours.strerror(0x80050068, &major, &minor) == ERR(INVALID_PARAMETER, INVALID_ARG1));
	CHECK(strcmp(major, "DAT_INVALID_HANDLE") == 0);
}

static void all(void)
{
	unsigned types = 0, subtypes = 0;

	for (DAT_RETURN v = 0; v < 0x4000; v++)
		types += type_of(&ours, v << 16) != NULL;
	for (DAT_RETURN v = 0; v < 0x10000; v++)
		subtypes += subtype_of(&ours, v) != NULL;
	CHECK_MSG(types == 26 && subtypes == 104, "%u types, %u subtypes", types, subtypes);
}

/* one text of the distribution is misspelt */
static bool same(const char *ours_says, const char *other_says)
{
	return ours_says && (strcmp(ours_says, other_says) == 0 ||
			     strcmp(other_says, "DAT_INVALID_STATE_EP_EVD_RCV") == 0);
}

static void compare(void)
{
	const char *text;

	for (DAT_RETURN v = 0; v < 0x4000; v++) {
		text = type_of(&other, v << 16);
		CHECK_MSG(!text || same(type_of(&ours, v << 16), text), "%#x", v);
	}
	for (DAT_RETURN v = 0; v < 0x10000; v++) {
		text = subtype_of(&other, v);
		CHECK_MSG(!text || same(subtype_of(&ours, v), text), "%#x", v);
	}
}

int main(int argc, char **argv)
{
	CHECK(argc > 1);
	registry_open(&ours, argv[1], false);
	fixed();
	all();
	if (argc > 2) {
		registry_open(&other, argv[2], false);
		CHECK(other.dl != ours.dl);
		compare();
	}
	return 0;
}
