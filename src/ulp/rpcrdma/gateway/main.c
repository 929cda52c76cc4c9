/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapple-rpcrdma, the gateway between RPC over RDMA and RPC over TCP; `dapple rpcrdma` starts it. The first thread takes
 * clients, each of which has a thread of its own (bridge.h).
 */
#include "ulp/rpcrdma/gateway/bridge.h"
#include "ulp/rpcrdma/gateway/tcp.h"

#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_USAGE 2
#define MAX_CONNS 64

static struct rpg_conf conf;
static struct ulp_listener *listener;
static int listen_fd = -1;
static atomic_uint conns;

static _Noreturn void stop(const char *what, const char *why)
{
	fprintf(stderr, "dapple rpcrdma: %s: %s: no gateway is started; dapple rpcrdma --help says more\n", what, why);
	exit(EXIT_USAGE);
}

static uint32_t number(const char *option, const char *text, uint32_t min, uint32_t max)
{
	char range[64], *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text >= '0' && *text <= '9' && !*end && n >= min && n <= max)
		return (uint32_t)n;
	snprintf(range, sizeof(range), "it is no number from %u to %u", min, max);
	stop(option, range);
}

static void place(const char *option, struct rpg_place *p, const char *text)
{
	const char *why = rpg_place_read(p, text);

	if (why)
		stop(option, why);
}

enum { LISTEN = 1, TO, ALLOW, CREDITS, INLINE, MAX_MESSAGE, MAX_CONNECTIONS, NO_INV, NO_WINDOWS, COUNTS };

static const struct option options[] = {
	{ "listen", required_argument, NULL, LISTEN },
	{ "to", required_argument, NULL, TO },
	{ "allow", required_argument, NULL, ALLOW },
	{ "credits", required_argument, NULL, CREDITS },
	{ "inline", required_argument, NULL, INLINE },
	{ "max-message", required_argument, NULL, MAX_MESSAGE },
	{ "max-connections", required_argument, NULL, MAX_CONNECTIONS },
	{ "no-remote-invalidation", no_argument, NULL, NO_INV },
	{ "no-windows", no_argument, NULL, NO_WINDOWS },
	{ "counts", no_argument, NULL, COUNTS },
	{ 0 },
};

static void take_option(int option)
{
	switch (option) {
	case LISTEN: place("--listen", &conf.listen, optarg); break;
	case TO: place("--to", &conf.to, optarg); break;
	case ALLOW:
		if (!ulp_allow_add(&conf.allow, optarg))
			stop("--allow", "it is no address or network, or there are more than 64");
		break;
	case CREDITS: conf.rdma.credits = number("--credits", optarg, 1, 1024); break;
	case INLINE: conf.rdma.inline_size = number("--inline", optarg, 1, 256) * 1024; break;
	case MAX_MESSAGE: conf.rdma.max_message = number("--max-message", optarg, 256, 65536) * 1024; break;
	case MAX_CONNECTIONS: conf.max_conns = number("--max-connections", optarg, 1, 4096); break;
	case NO_INV: conf.rdma.remote_inv = false; break;
	case NO_WINDOWS: conf.rdma.windows = false; break;
	case COUNTS: conf.counts = true; break;
	default: exit(EXIT_USAGE); /* getopt has said why */
	}
}

static void read_options(int argc, char **argv)
{
	int option;

	conf.rdma = rpr_conf_ours();
	conf.max_conns = MAX_CONNS;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		take_option(option);
	if (optind < argc)
		stop(argv[optind], "it is no option");
	if (!conf.listen.len || !conf.to.len)
		stop(conf.to.len ? "--listen" : "--to", "it is missing");
	if (conf.listen.is_rdma == conf.to.is_rdma)
		stop("--listen, --to", "one of them begins with rdma:, the other one with tcp:");
	if (!ulp_is_loopback(&conf.listen.addr) && !conf.allow.nr)
		stop("--listen", "other hosts reach this address, and --allow names none that may connect");
}

static void open_listener(void)
{
	struct sockaddr_storage at = conf.listen.addr;
	char why[ULP_WHY_MAX] = "", text[ULP_ADDR_TEXT_MAX];

	if (conf.listen.is_rdma) {
		listener = ulp_listen((struct sockaddr *)&at, RDMA_PS_TCP, -1, MAX_CONNS);
		if (!listener)
			snprintf(why, sizeof(why), "%s", strerror(errno));
	} else {
		listen_fd = rpg_tcp_listen(&at, conf.listen.len);
		if (listen_fd < 0)
			snprintf(why, sizeof(why), "%s", strerror(-listen_fd));
	}
	if (*why) {
		fprintf(stderr, "dapple rpcrdma: cannot listen at %s (%s): no gateway is started; name an address of this "
			"host and a free port; see dapple doctor\n", ulp_addr_text(text, &at), why);
		exit(1);
	}
	printf("listening at %s:%s\n", conf.listen.is_rdma ? "rdma" : "tcp", ulp_addr_text(text, &at));
	fflush(stdout);
}

/* Takes a client that is there. Returns false if there is none. */
static bool next_client(struct rpg_client *client)
{
	socklen_t len = sizeof(client->from);

	client->conf = &conf;
	client->is_rdma = conf.listen.is_rdma;
	if (client->is_rdma) {
		if (ulp_listener_next(listener, &client->request))
			return false;
		client->from = client->request.from;
		return true;
	}
	client->fd = accept4(listen_fd, (struct sockaddr *)&client->from, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
	return client->fd >= 0 && !rpg_tcp_prepare(client->fd);
}

static void *serve(void *arg)
{
	rpg_bridge(arg);
	free(arg);
	atomic_fetch_sub(&conns, 1);
	return NULL;
}

static void refuse(struct rpg_client *client, const char *why, const char *remedy)
{
	char text[ULP_ADDR_TEXT_MAX];

	fprintf(stderr, "dapple rpcrdma: client %s: %s: it is refused; %s\n", ulp_addr_text(text, &client->from), why, remedy);
	if (client->is_rdma)
		ulp_request_refuse(&client->request);
	else
		close(client->fd);
	free(client);
}

static void start(struct rpg_client *client)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	if (!ulp_may_connect(&conf.allow, &client->from)) {
		refuse(client, "its address is not in the allow list", "permit it by --allow");
		return;
	}
	if (atomic_fetch_add(&conns, 1) >= conf.max_conns) {
		atomic_fetch_sub(&conns, 1);
		refuse(client, "too many clients are connected", "raise --max-connections");
		return;
	}
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attr, serve, client);
	pthread_attr_destroy(&attr);
	if (!r)
		return;
	atomic_fetch_sub(&conns, 1);
	refuse(client, "no thread can be started", "raise the limit on processes (ulimit -u)");
}

int main(int argc, char **argv)
{
	struct pollfd p = { .events = POLLIN };
	struct rpg_client *client = NULL;

	read_options(argc, argv);
	open_listener();
	p.fd = listener ? ulp_listener_fd(listener) : listen_fd;
	for (;;) {
		if (!client)
			client = calloc(1, sizeof(*client));
		if (client && next_client(client)) {
			start(client);
			client = NULL;
		} else {
			poll(&p, 1, client ? -1 : 1000);
		}
	}
}
