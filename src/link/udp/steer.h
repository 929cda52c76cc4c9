/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef LINK_UDP_STEER_H
#define LINK_UDP_STEER_H

#include "link/udp/state.h"

/* steer.c */
int udp_steer(int fd, const uint16_t *at, unsigned n);

#endif
