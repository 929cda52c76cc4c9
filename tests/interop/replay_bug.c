/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program with a bug that shows now and then: its server looks at the first completion of each poll alone. A peer's
 * messages that come together, as after a loss, are missed.
 *
 *   replay_bug PORT          server: status 1 and a line if it has missed messages
 *   replay_bug PORT ADDRESS  client
 *   replay_bug forks ...     the same in a child process
 *
 * Built with DIFFERS its messages hold random octets of the processor, which no system call tells: a replay is to find the
 * first message that differs.
 */
#include <cpuid.h>
#include <netdb.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGES 60
#define BYTES 32
#define AT_ONCE 8
#define OCTET 0x5a

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

static struct rdma_cm_id *make(const char *port, const char *address)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP, .ai_flags = address ? 0 : RAI_PASSIVE }, *ai;
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = AT_ONCE, .max_recv_wr = 2 * MESSAGES, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_cm_id *id = NULL;

	if (rdma_getaddrinfo(address, port, &hints, &ai) || rdma_create_ep(&id, ai, NULL, &attr))
		fail("rdma_create_ep");
	rdma_freeaddrinfo(ai);
	return id;
}

static int serve(struct rdma_cm_id *listener)
{
	static uint8_t room[2 * MESSAGES][BYTES];
	struct rdma_cm_id *id = NULL;
	struct ibv_wc wc[AT_ONCE];
	struct ibv_mr *mr;
	int seen = 0, n;
	bool ended = false;

	if (rdma_listen(listener, 1) || rdma_get_request(listener, &id))
		fail("rdma_get_request");
	mr = rdma_reg_msgs(id, room, sizeof(room));
	for (int i = 0; mr && i < 2 * MESSAGES; i++)
		if (rdma_post_recv(id, NULL, room[i], BYTES, mr))
			fail("rdma_post_recv");
	if (!mr || rdma_accept(id, NULL))
		fail("rdma_accept");
	while (!ended) {
		n = ibv_poll_cq(id->recv_cq, AT_ONCE, wc);
		for (int i = 0; i < n; i++)
			ended |= wc[i].status != IBV_WC_SUCCESS || wc[i].byte_len == 1;
		seen += n > 0 && wc[0].byte_len == BYTES; /* the bug: one of n */
	}
	rdma_disconnect(id);
	if (seen == MESSAGES)
		return 0;
	printf("missed %d of %d messages\n", MESSAGES - seen, MESSAGES);
	return 1;
}

static void fill(uint8_t *text)
{
#ifdef DIFFERS
	unsigned a, b, c = 0, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_RDRND)) {
		printf("the processor has no random numbers\n");
		exit(3);
	}
	for (int i = 0; i < BYTES / 8; i++)
		__builtin_ia32_rdrand64_step((unsigned long long *)(void *)(text + 8 * i));
#else
	memset(text, OCTET, BYTES);
#endif
}

static int send_all(struct rdma_cm_id *id)
{
	static _Alignas(8) uint8_t text[BYTES];
	struct ibv_mr *mr = rdma_reg_msgs(id, text, sizeof(text));
	struct ibv_wc wc;
	int under_way = 0;

	fill(text);
	if (!mr || rdma_connect(id, NULL))
		fail("rdma_connect");
	/* The last one says that it is. */
	for (int i = 0; i <= MESSAGES; i++) {
		if (under_way == AT_ONCE && under_way-- && rdma_get_send_comp(id, &wc) != 1)
			fail("rdma_get_send_comp");
		if (rdma_post_send(id, NULL, text, i < MESSAGES ? BYTES : 1, mr, IBV_SEND_SIGNALED))
			fail("rdma_post_send");
		under_way++;
	}
	while (under_way--)
		if (rdma_get_send_comp(id, &wc) != 1 || wc.status != IBV_WC_SUCCESS)
			fail("rdma_get_send_comp");
	rdma_disconnect(id);
	return 0;
}

static void in_child(void)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		return;
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		fail("fork");
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
}

int main(int argc, char **argv)
{
	struct rdma_cm_id *id;

	if (argc < 2)
		return 2;
	if (argc > 2 && !strcmp(argv[1], "forks")) {
		in_child();
		argv++;
	}
	id = make(argv[1], argv[2]);
	return argv[2] ? send_all(id) : serve(id);
}
