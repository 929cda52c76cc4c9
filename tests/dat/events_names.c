/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The parameters in dat.conf, and that a query returns the entry's thread safety: with a dat.conf
 * of the test and the provider whose path is the argument.
 */
#include "events_lib.h"

#include <sys/socket.h>
#include <unistd.h>

static const struct {
	const char *name, *params;
	bool safe;
	int family;            /* 0: refused */
	DAT_RETURN_SUBTYPE sub; /* of INVALID_ADDRESS */
} rows[] = {
	{ "netdev", "lo 0", false, AF_INET, 0 },
	{ "netdev-alone", "lo", false, AF_INET, 0 },
	{ "address", "127.0.0.1 0", false, AF_INET, 0 },
	{ "address-6", "::1 0", false, AF_INET6, 0 },
	{ "host", "localhost 0", false, 0, 0 },
	{ "device", "dpl_%s_lo 0", false, AF_INET, 0 },
	{ "device-port", "dpl_%s_lo 1", false, AF_INET, 0 },
	{ "device-no-port", "dpl_%s_lo 9", false, 0, DAT_INVALID_ADDRESS_UNSUPPORTED },
	{ "nobody-s-address", "192.0.2.77 0", false, 0, DAT_INVALID_ADDRESS_UNSUPPORTED },
	{ "no-such-host", "no-such-host.invalid 0", false, 0, DAT_INVALID_ADDRESS_MALFORMED },
	{ "nothing", " ", false, 0, DAT_INVALID_ADDRESS_MALFORMED },
	{ "both", "lo 0", false, AF_INET, 0 },
	{ "both", "lo 0", true, AF_INET, 0 },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void write_conf(const char *path, const char *lib)
{
	FILE *f = fopen(path, "w");

	CHECK(f);
	for (size_t i = 0; i < ROWS; i++) {
		fprintf(f, "%s u2.0 %s default %s dapple.2.0 \"", rows[i].name,
			rows[i].safe ? "threadsafe" : "nonthreadsafe", lib);
		fprintf(f, rows[i].params, mp_is_iwarp() ? "iw" : "roce");
		fprintf(f, "\" \"\"\n");
	}
	CHECK(!fclose(f));
}

static void answers(size_t i, DAT_IA_HANDLE ia)
{
	DAT_PROVIDER_ATTR prov;
	DAT_IA_ATTR attr;
	char device[64];

	OK(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &prov));
	CHECK(((struct sockaddr *)attr.ia_address_ptr)->sa_family == rows[i].family);
	CHECK(!strcmp(prov.provider_name, rows[i].name));
	CHECK(prov.is_thread_safe == (rows[i].safe ? DAT_TRUE : DAT_FALSE));
	snprintf(device, sizeof(device), "dpl_%s_lo", mp_is_iwarp() ? "iw" : "roce");
	CHECK_MSG(!strcmp(attr.adapter_name, device), "%s is %s", rows[i].name, attr.adapter_name);
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/datconfXXXXXX";
	int fd = mkstemp(path);

	CHECK(argc == 2 && fd >= 0);
	close(fd);
	write_conf(path, argv[1]);
	setenv("DAT_OVERRIDE", path, 1);
	for (size_t i = 0; i < ROWS; i++) {
		DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
		DAT_IA_HANDLE ia;
		DAT_RETURN ret = dat_ia_openv((char *)rows[i].name, 8, &async, &ia, 2, 0,
					      rows[i].safe ? DAT_TRUE : DAT_FALSE);

		if (!strcmp(rows[i].name, "host")) {
			/* of the family that the resolver returns first; some resolvers have no
			 * such name */
			if (ret == DAT_SUCCESS)
				OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
			continue;
		}
		if (!rows[i].family) {
			WANT(ret, ERR(DAT_INVALID_ADDRESS, rows[i].sub));
			continue;
		}
		OK(ret);
		answers(i, ia);
		OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	}
	unlink(path);
	return 0;
}
