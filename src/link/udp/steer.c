/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/udp/steer.h"

#include "link/udp/mad.h"
#include "link/udp/probe.h"

#include <errno.h>
#include <linux/filter.h>
#include <string.h>

#ifndef SO_ATTACH_REUSEPORT_CBPF
#define SO_ATTACH_REUSEPORT_CBPF 51
#endif

#define STEER_UNKNOWN 0xffffu
#define STEER_MAX (32 + 5 * 256)
_Static_assert(STEER_MAX <= BPF_MAXINSNS, "the kernel takes no longer program");

struct steer {
	struct sock_filter f[STEER_MAX];
	unsigned len;
};

struct steer_row {
	uint16_t slot, index;
};

static void emit(struct steer *s, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
	s->f[s->len++] = (struct sock_filter){ code, jt, jf, k };
}

/* Conditional jumps reach 255 instructions, JA reaches all. */
static void emit_tree(struct steer *s, const struct steer_row *row, unsigned n)
{
	unsigned half = n / 2, ja;

	if (n == 0) {
		emit(s, BPF_RET | BPF_K, 0, 0, STEER_UNKNOWN);
	} else if (n == 1) {
		emit(s, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, row->slot);
		emit(s, BPF_RET | BPF_K, 0, 0, row->index);
		emit(s, BPF_RET | BPF_K, 0, 0, STEER_UNKNOWN);
	} else {
		emit(s, BPF_JMP | BPF_JGE | BPF_K, 0, 1, row[half].slot);
		ja = s->len;
		emit(s, BPF_JMP | BPF_JA, 0, 0, 0);
		emit_tree(s, row, half);
		s->f[ja].k = s->len - ja - 1;
		emit_tree(s, row + half, n - half);
	}
}

/* QPN 0 or 1 in A. Ends with the slot in A, or with a member; GSI_LEN instructions. */
#define GSI_LEN 14u
#define GSI_ANY 11u
static void emit_gsi(struct steer *s, unsigned members)
{
	unsigned at = s->len;
#define TO_ANY (uint8_t)(GSI_ANY - (s->len - at) - 1)

	emit(s, BPF_JMP | BPF_JEQ | BPF_K, 0, TO_ANY, WIRE_QPN_GSI);
	emit(s, BPF_LD | BPF_B | BPF_ABS, 0, 0, UDP_MAD_CLASS);
	emit(s, BPF_JMP | BPF_JEQ | BPF_K, 0, TO_ANY, WIRE_MAD_CLASS_CM);
	emit(s, BPF_LD | BPF_H | BPF_ABS, 0, 0, UDP_MAD_ATTR);
	emit(s, BPF_JMP | BPF_JEQ | BPF_K, TO_ANY, 0, WIRE_CM_ATTR_REQ);
	emit(s, BPF_JMP | BPF_JEQ | BPF_K, TO_ANY, 0, WIRE_CM_ATTR_SIDR_REQ);
	emit(s, BPF_JMP | BPF_JEQ | BPF_K, 0, 2, WIRE_CM_ATTR_SIDR_REP);
	emit(s, BPF_LD | BPF_B | BPF_ABS, 0, 0, UDP_CM_REQUEST_ID);
	emit(s, BPF_JMP | BPF_JA, 0, 0, GSI_LEN - 9);
	emit(s, BPF_LD | BPF_B | BPF_ABS, 0, 0, UDP_CM_REMOTE_ID);
	emit(s, BPF_JMP | BPF_JA, 0, 0, GSI_LEN - 11);
	/* GSI_ANY */
	emit(s, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)(SKF_AD_OFF + SKF_AD_RANDOM));
	emit(s, BPF_ALU | BPF_MOD | BPF_K, 0, 0, members);
	emit(s, BPF_RET | BPF_A, 0, 0, 0);
#undef TO_ANY
}

/* Sorted by slot: there are few, and each slot is at one place. */
static unsigned sort_rows(const uint16_t *at, unsigned n, struct steer_row *row)
{
	uint16_t where[256];
	unsigned count = 0;

	memset(where, 0xff, sizeof(where));
	for (unsigned i = 0; i < n; i++)
		if (at[i] < HOST_SLOTS)
			where[at[i]] = (uint16_t)i;
	for (unsigned slot = 0; slot < HOST_SLOTS; slot++)
		if (where[slot] != HOST_NO_SLOT)
			row[count++] = (struct steer_row){ (uint16_t)slot, where[slot] };
	return count;
}

int udp_steer(int fd, const uint16_t *at, unsigned n)
{
	struct steer s = { .len = 0 };
	struct steer_row row[256];
	struct sock_fprog prog = { .filter = s.f };
	unsigned count = sort_rows(at, n, row);

	emit(&s, BPF_LD | BPF_B | BPF_ABS, 0, 0, WIRE_BTH_opcode_OFFSET);
	emit(&s, BPF_JMP | BPF_JEQ | BPF_K, 0, 2, UDP_PROBE_OPCODE);
	emit(&s, BPF_LD | BPF_B | BPF_ABS, 0, 0, UDP_PROBE_INDEX);
	emit(&s, BPF_RET | BPF_A, 0, 0, 0);
	emit(&s, BPF_LD | BPF_W | BPF_ABS, 0, 0, WIRE_BTH_dest_qpn_OFFSET - 1);
	emit(&s, BPF_ALU | BPF_AND | BPF_K, 0, 0, 0xffffff);
	emit(&s, BPF_JMP | BPF_JGT | BPF_K, 0, 2, WIRE_QPN_GSI);
	emit(&s, BPF_ALU | BPF_RSH | BPF_K, 0, 0, HOST_SLOT_SHIFT);
	emit(&s, BPF_JMP | BPF_JA, 0, 0, GSI_LEN);
	emit_gsi(&s, n ? n : 1);
	emit_tree(&s, row, count);
	prog.len = (unsigned short)s.len;
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog, sizeof(prog)) < 0
		       ? -errno : 0;
}
