/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef RUN_DOCTOR_H
#define RUN_DOCTOR_H

/* Each check of dapple doctor fills one finding. */

enum doctor_level { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL };

struct doctor_finding {
	enum doctor_level level;
	char text[512];
	char remedy[512];	/* "" if none */
};

void doctor_say(struct doctor_finding *f, enum doctor_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void doctor_remedy(struct doctor_finding *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* --- doctor_net.c --- */

void doctor_check_port(struct doctor_finding *f);
void doctor_check_reuseport(struct doctor_finding *f);
void doctor_check_udp_batching(struct doctor_finding *f);
void doctor_check_mtu_discover(struct doctor_finding *f);
void doctor_check_ipv6(struct doctor_finding *f);
void doctor_check_rmem(struct doctor_finding *f);

/* --- doctor_local.c --- */

/* The value of DAPPLE_LOCAL. */
void doctor_check_local(struct doctor_finding *f);
void doctor_check_memfd(struct doctor_finding *f);
void doctor_check_pidfd(struct doctor_finding *f);
/* Direct access between the registered memories of processes of this host: at all, and to long pieces. */
void doctor_check_direct(struct doctor_finding *f);
void doctor_check_process_vm(struct doctor_finding *f);

#endif
