/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of DAT that the registry or the provider refuses, as a program makes them: each leaves a sentence, with the
 * name of the call and of the error, in the file that `dapple why` shows. refusals_why DAPPLE
 */
#include "mem_pair.h"

#include <netinet/in.h>

static struct mp p;
static const char *dapple;
static const DAT_DTO_COOKIE c = { .as_64 = 1 };

/* The newest sentence is of this call and error. */
#define REFUSED(rc, call, type) refused(__LINE__, rc, type, call " refused: ", "the call fails with " #type "; ")

static void refused(int line, DAT_RETURN rc, DAT_RETURN type, const char *begin, const char *error)
{
	char command[4200], text[2048] = "";
	FILE *f;

	CHECK_MSG(DAT_GET_TYPE(rc) == type, "line %d: %#x, not %#x", line, rc, type);
	snprintf(command, sizeof(command), "'%s' why -n 1 --program dat-refusals_why", dapple);
	f = popen(command, "r");
	CHECK(f);
	while (fgets(text + strlen(text), (int)(sizeof(text) - strlen(text)), f))
		;
	CHECK(pclose(f) == 0);
	CHECK_MSG(strstr(text, begin) && strstr(text, error), "line %d: no \"%s...%s\" in: %s", line, begin, error, text);
}

static void of_registry(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_LMR_TRIPLET t = mp_at(&p.a, 0, 8);
	DAT_IA_HANDLE ia;

	REFUSED(dat_ia_open((char *)"no-such-adapter", 8, &async, &ia), "dat_ia_openv", DAT_PROVIDER_NOT_FOUND);
	REFUSED(dat_ep_post_send(DAT_HANDLE_NULL, 1, &t, c, DAT_COMPLETION_DEFAULT_FLAG), "dat_ep_post_send", DAT_INVALID_HANDLE);
	REFUSED(dat_pz_create(DAT_HANDLE_NULL, NULL), "dat_pz_create", DAT_INVALID_HANDLE);
}

static void of_provider(void)
{
	DAT_LMR_TRIPLET t = mp_at(&p.a, 0, 8);
	struct sockaddr odd = { .sa_family = AF_UNIX };
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp, second;
	DAT_EVENT ev;

	REFUSED(dat_ep_post_send(p.a.ep, 1, &t, c, DAT_COMPLETION_DEFAULT_FLAG), "dat_ep_post_send", DAT_INVALID_STATE);
	REFUSED(dat_ep_post_recv(p.a.ep, -1, &t, c, DAT_COMPLETION_DEFAULT_FLAG), "dat_ep_post_recv", DAT_INVALID_PARAMETER);
	REFUSED(dat_evd_resize(p.a.req, 1 << 30), "dat_evd_resize", DAT_INSUFFICIENT_RESOURCES);
	REFUSED(dat_ep_connect(p.a.ep, (DAT_IA_ADDRESS_PTR)&odd, 1, MP_TIMEOUT, 0, NULL, DAT_QOS_BEST_EFFORT,
			       DAT_CONNECT_DEFAULT_FLAG), "dat_ep_connect", DAT_INVALID_ADDRESS);
	REFUSED(dat_ep_connect(p.a.ep, p.a.attr.ia_address_ptr, 1, MP_TIMEOUT, 0, NULL, DAT_QOS_LOW_LATENCY,
			       DAT_CONNECT_DEFAULT_FLAG), "dat_ep_connect", DAT_MODEL_NOT_SUPPORTED);
	OK(dat_psp_create_any(p.b.ia, &qual, p.b.cr, DAT_PSP_CONSUMER_FLAG, &psp));
	REFUSED(dat_psp_create(p.b.ia, qual, p.b.cr, DAT_PSP_CONSUMER_FLAG, &second), "dat_psp_create", DAT_CONN_QUAL_IN_USE);
	OK(dat_psp_free(psp));
	/* an answer leaves no sentence: the newest is still that of above */
	CHECK(DAT_GET_TYPE(dat_evd_dequeue(p.a.req, &ev)) == DAT_QUEUE_EMPTY);
	REFUSED(DAT_CONN_QUAL_IN_USE, "dat_psp_create", DAT_CONN_QUAL_IN_USE);
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/dat-refusals-XXXXXX", command[64];

	CHECK(argc == 2);
	dapple = argv[1];
	CHECK(mkdtemp(dir));
	CHECK(setenv("DAPPLE_RUNTIME_DIR", dir, 1) == 0);
	mp_open(&p);
	of_registry();
	of_provider();
	mp_close(&p);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command) != 0;
}
