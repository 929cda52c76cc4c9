/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The program and its libraries: a replay needs the same ones, at the same addresses. */
#ifndef REPLAY_OBJECTS_H
#define REPLAY_OBJECTS_H

/* Writes the event, or compares; stops the replay at the first that differs. */
void rp_objects(void);

#endif
