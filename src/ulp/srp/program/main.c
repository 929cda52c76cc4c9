/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapple-srp, an initiator and a target of SRP; `dapple srp` starts it. */
#include "ulp/srp/program/client.h"
#include "ulp/srp/program/discover.h"
#include "ulp/srp/program/id.h"
#include "ulp/srp/program/nbd.h"
#include "ulp/srp/program/serve.h"

#include <getopt.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_S 30
#define NBD_RECONNECT_S 60

static struct srp_options o;

static _Noreturn void stop(const char *what, const char *why)
{
	fprintf(stderr, "dapple srp: %s: %s: nothing is done; dapple srp --help says more\n", what, why);
	exit(SRP_EXIT_USAGE);
}

static uint64_t number(const char *option, const char *text, uint64_t min, uint64_t max)
{
	char range[80];
	uint64_t n;

	if (srp_size_read(&n, text) && n >= min && n <= max)
		return n;
	snprintf(range, sizeof(range), "it is no number from %llu to %llu", (unsigned long long)min, (unsigned long long)max);
	stop(option, range);
}

static void id(const char *option, uint8_t out[16], const char *text)
{
	if (!srp_id_read(out, text))
		stop(option, "it is no identifier of 32 hexadecimal digits");
}

enum { TARGET = 1, INITIATOR, LUN, OFFSET, LENGTH, TIMEOUT, RECONNECT, NO_IMMEDIATE, IU_LENGTH, DEPTH, LISTEN, ALLOW, FROM,
       UNIT_FILE, UNIT_MEMORY, READ_ONLY, BLOCK, LIMIT, COUNTS };

static const struct option options[] = {
	{ "target", required_argument, NULL, TARGET },
	{ "initiator", required_argument, NULL, INITIATOR },
	{ "lun", required_argument, NULL, LUN },
	{ "offset", required_argument, NULL, OFFSET },
	{ "length", required_argument, NULL, LENGTH },
	{ "timeout", required_argument, NULL, TIMEOUT },
	{ "reconnect", required_argument, NULL, RECONNECT },
	{ "no-immediate", no_argument, NULL, NO_IMMEDIATE },
	{ "iu-length", required_argument, NULL, IU_LENGTH },
	{ "depth", required_argument, NULL, DEPTH },
	{ "listen", required_argument, NULL, LISTEN },
	{ "allow", required_argument, NULL, ALLOW },
	{ "from", required_argument, NULL, FROM },
	{ "file", required_argument, NULL, UNIT_FILE },
	{ "memory", required_argument, NULL, UNIT_MEMORY },
	{ "read-only", no_argument, NULL, READ_ONLY },
	{ "block", required_argument, NULL, BLOCK },
	{ "limit", required_argument, NULL, LIMIT },
	{ "counts", no_argument, NULL, COUNTS },
	{ 0 },
};

static void add_unit(const char *path, uint64_t len)
{
	if (o.nr_units == SCSI_UNITS_MAX)
		stop("--file, --memory", "there are more than 64 logical units");
	o.units[o.nr_units++] = (struct srp_unit_conf){ path, len };
}

static void allow(const char *text)
{
	if (o.nr_allowed == SRP_INITIATORS_MAX)
		stop("--allow", "there are more than 64 initiators");
	id("--allow", o.allowed[o.nr_allowed++], text);
}

static void listen_at(const char *text)
{
	socklen_t len;
	const char *why = ulp_addr_read(&o.listen, &len, text, "0");

	if (why)
		stop("--listen", why);
	o.has_listen = true;
}

static void take_option(int option)
{
	switch (option) {
	case TARGET: id("--target", o.target, optarg); o.has_target = true; break;
	case INITIATOR: id("--initiator", o.disk.session.initiator, optarg); break;
	case LUN: o.disk.lun = srp_lun_on_wire((unsigned)number("--lun", optarg, 0, 16383)); break;
	case OFFSET: o.offset = number("--offset", optarg, 0, INT64_MAX); break;
	case LENGTH: o.len = number("--length", optarg, 1, INT64_MAX); o.has_len = true; break;
	case TIMEOUT: o.disk.timeout_ms = (int)number("--timeout", optarg, 1, 86400) * 1000; break;
	case RECONNECT: o.disk.reconnect_ms = (int)number("--reconnect", optarg, 0, 86400) * 1000; break;
	case NO_IMMEDIATE: o.disk.session.immediate = false; break;
	case IU_LENGTH: o.disk.session.it_length = (uint32_t)number("--iu-length", optarg, 64, 65536); break;
	case DEPTH: o.disk.session.depth = (uint16_t)number("--depth", optarg, 1, 1024); break;
	case LISTEN: listen_at(optarg); break;
	case ALLOW: allow(optarg); break;
	case FROM:
		if (!ulp_allow_add(&o.from, optarg))
			stop("--from", "it is no address or network, or there are more than 64");
		break;
	case UNIT_FILE: add_unit(optarg, 0); break;
	case UNIT_MEMORY: add_unit(NULL, number("--memory", optarg, 4096, 1ull << 40)); break;
	case READ_ONLY: o.read_only = true; break;
	case BLOCK:
		o.block = (uint32_t)number("--block", optarg, 512, 4096);
		if (o.block != 512 && o.block != 4096)
			stop("--block", "it is neither 512 nor 4096");
		break;
	case LIMIT: o.limit = (unsigned)number("--limit", optarg, 1, 1024); break;
	case COUNTS: o.counts = true; break;
	default: exit(SRP_EXIT_USAGE); /* getopt has said why */
	}
}

static void read_line(int argc, char **argv)
{
	int option;

	o.disk.session = srp_conf_default;
	o.disk.timeout_ms = TIMEOUT_S * 1000;
	o.disk.reconnect_ms = -1;
	o.block = 512;
	o.limit = 64;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		take_option(option);
	if (optind == argc)
		stop("srp", "the verb is missing");
	o.verb = argv[optind++];
	if (optind < argc)
		o.place = argv[optind++];
	if (!strcmp(o.verb, "nbd")) {
		o.rest = argv + optind;
		return;
	}
	if (optind < argc)
		o.file = argv[optind++];
	if (optind < argc)
		stop(argv[optind], "it is one word too many");
}

static bool is_verb(const char *name)
{
	return !strcmp(o.verb, name);
}

static void check_client(void)
{
	socklen_t len;
	const char *why;
	bool with_file = is_verb("read") || is_verb("write") || is_verb("verify");

	if (!o.place)
		stop(o.verb, "the address of the target is missing, like 10.0.0.1:5555");
	why = ulp_addr_read(&o.disk.to, &len, o.place, "0");
	if (why)
		stop(o.place, why);
	if (!((const struct sockaddr_in *)(const void *)&o.disk.to)->sin_port)
		stop(o.place, "the port is missing, like 10.0.0.1:5555");
	if (!o.has_target)
		stop("--target", "it is missing: the identifier of the target port, which dapple srp serve prints");
	if (o.file && !with_file)
		stop(o.file, "it is one word too many");
	if (!o.file && with_file)
		stop(o.verb, "the file is missing; - is standard input or output");
	memcpy(o.disk.session.target, o.target, 16);
	if (o.disk.reconnect_ms < 0)
		o.disk.reconnect_ms = is_verb("nbd") ? NBD_RECONNECT_S * 1000 : 0;
}

static void check_serve(void)
{
	if (o.place)
		stop(o.place, "it is one word too many");
	if (!o.has_listen)
		stop("--listen", "it is missing");
	if (!o.nr_units)
		stop("--file, --memory", "one of them is needed");
	if (!o.nr_allowed)
		stop("--allow", "it is missing: no disk is exported without the identifiers of the initiators that may log in");
	if (!ulp_is_loopback(&o.listen) && !o.from.nr)
		stop("--listen", "other hosts reach this address, and --from names none that may connect");
	if (!o.has_target && !srp_id_default(o.target))
		stop("--target", "it is missing, and there is no RDMA adapter that has one (dapple doctor)");
}

int main(int argc, char **argv)
{
	static const char *const clients[] = { "login", "inquiry", "capacity", "luns", "read", "write", "verify", "unmap" };

	read_line(argc, argv);
	if (is_verb("id"))
		return srp_ids_print();
	if (is_verb("discover")) {
		if (o.place)
			stop(o.place, "it is one word too many");
		return srp_discover();
	}
	if (is_verb("serve")) {
		check_serve();
		return srp_serve(&o);
	}
	if (is_verb("nbd")) {
		check_client();
		return srp_nbd(&o);
	}
	for (size_t i = 0; i < sizeof(clients) / sizeof(clients[0]); i++)
		if (is_verb(clients[i])) {
			check_client();
			return srp_client(&o);
		}
	stop(o.verb, "there is no such verb");
}
