/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Inside the memory files: who has which key, and the checks they share. */
#ifndef ENGINE_MKEY_TAB_H
#define ENGINE_MKEY_TAB_H

#include "engine/mkey.h"

/* Gives mk a fresh random key and enters it. 0 or -ENOMEM. */
int eng_mkey_enter(struct eng_dev *dev, struct eng_mkey *mk) UT_REQUIRES(dev->lock);
void eng_mkey_leave(struct eng_dev *dev, struct eng_mkey *mk) UT_REQUIRES(dev->lock);
/* Index equal, whatever the low byte. */
struct eng_mkey *eng_mkey_by_index(struct eng_dev *dev, uint32_t key) UT_REQUIRES(dev->lock);

/* Byte offset of [va, va+len) in a range that starts at `iova`; false: outside. */
bool eng_range_has(uint64_t iova, uint64_t length, uint64_t va, uint64_t len, uint64_t *ret_off);
/* The last byte's address is still an address. */
bool eng_range_ok(uint64_t start, uint64_t length);
/* Remote write and atomic rights need the local one (IBTA 10.6.3.1). */
bool eng_access_ok(unsigned access);

#endif
