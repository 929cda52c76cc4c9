/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sentences about the end of a recording and of a replay. */
#ifndef REPLAY_TELL_H
#define REPLAY_TELL_H

#include "file.h"

/* Why a recording or a replay stopped before its program ended: of a replay, the call or the first message that differs. */
void replay_tell(const struct replay_run *r, bool replaying);
/* The replay ended in another way than the recorded run. */
void tell_end(const struct replay_run *r, int status);
/* A record is made. Returns true. */
bool replay_tell_record(const struct replay_run *r);
/* n replays were as recorded. */
void tell_same(const struct replay_run *r, long n);

#endif
