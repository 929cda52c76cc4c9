/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A network namespace whose one interface leads through Dapple's fault link, below the host's TCP. */
#ifndef TESTS_SPEED_WEATHER_TUN_H
#define TESTS_SPEED_WEATHER_TUN_H

/* Enters it, with the rates of DAPPLE_FAULT; the check is skipped where that is not permitted. CONFORM_DEVICE becomes the
 * iWARP adapter of its interface. */
void weather_tun_open(const char *rates);
/* Connects the one address of the interface with the other. */
void weather_tun_connect(int ret_fd[2]);
/* Prints what the packets met; fails the check if it was nothing. */
void weather_tun_report(void);

#endif
