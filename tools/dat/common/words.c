/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dtl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { TEXT_BYTES = 160 };

const char *dtl_strerror(DAT_RETURN r)
{
	DTL_TEXT(text, TEXT_BYTES);
	const char *major = "", *minor = "";

	if (dat_strerror(r, &major, &minor) != DAT_SUCCESS)
		snprintf(text, TEXT_BYTES, "DAT_RETURN 0x%x", (unsigned)r);
	else
		snprintf(text, TEXT_BYTES, "%s%s%s", major, *minor ? " " : "", minor);
	return text;
}

struct name {
	unsigned value;
	const char *text;
};

#define NAME(x) { x, #x }

static const struct name events[] = {
	NAME(DAT_DTO_COMPLETION_EVENT), NAME(DAT_RMR_BIND_COMPLETION_EVENT),
	NAME(DAT_CONNECTION_REQUEST_EVENT), NAME(DAT_CONNECTION_EVENT_ESTABLISHED),
	NAME(DAT_CONNECTION_EVENT_PEER_REJECTED), NAME(DAT_CONNECTION_EVENT_NON_PEER_REJECTED),
	NAME(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR),
	NAME(DAT_CONNECTION_EVENT_DISCONNECTED), NAME(DAT_CONNECTION_EVENT_BROKEN),
	NAME(DAT_CONNECTION_EVENT_TIMED_OUT), NAME(DAT_CONNECTION_EVENT_UNREACHABLE),
	NAME(DAT_ASYNC_ERROR_EVD_OVERFLOW), NAME(DAT_ASYNC_ERROR_IA_CATASTROPHIC),
	NAME(DAT_ASYNC_ERROR_EP_BROKEN), NAME(DAT_ASYNC_ERROR_TIMED_OUT),
	NAME(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR), NAME(DAT_SOFTWARE_EVENT),
};

static const struct name statuses[] = {
	NAME(DAT_DTO_SUCCESS), NAME(DAT_DTO_ERR_FLUSHED), NAME(DAT_DTO_ERR_LOCAL_LENGTH),
	NAME(DAT_DTO_ERR_LOCAL_EP), NAME(DAT_DTO_ERR_LOCAL_PROTECTION),
	NAME(DAT_DTO_ERR_BAD_RESPONSE), NAME(DAT_DTO_ERR_REMOTE_ACCESS),
	NAME(DAT_DTO_ERR_REMOTE_RESPONDER), NAME(DAT_DTO_ERR_TRANSPORT),
	NAME(DAT_DTO_ERR_RECEIVER_NOT_READY), NAME(DAT_DTO_ERR_PARTIAL_PACKET),
	NAME(DAT_RMR_OPERATION_FAILED),
};

static const char *find(const struct name *names, size_t n, unsigned value)
{
	DTL_TEXT(text, TEXT_BYTES);
	size_t i;

	for (i = 0; i < n; i++)
		if (names[i].value == value)
			return names[i].text;
	snprintf(text, TEXT_BYTES, "number 0x%x", value);
	return text;
}

const char *dtl_event_name(DAT_EVENT_NUMBER nr)
{
	return find(events, sizeof(events) / sizeof(events[0]), nr);
}

const char *dtl_status_name(DAT_DTO_COMPLETION_STATUS status)
{
	return find(statuses, sizeof(statuses) / sizeof(statuses[0]), status);
}

void dtl_complain(const char *format, ...)
{
	char line[600];
	va_list list;

	va_start(list, format);
	vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	/* in one write, since threads of both ends may share the terminal */
	fprintf(stderr, "%s\n", line);
}

int dtl_check(DAT_RETURN r, const char *what)
{
	if (r == DAT_SUCCESS)
		return 0;
	dtl_complain("%s failed: %s", what, dtl_strerror(r));
	return -1;
}

uint64_t dtl_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* --- patterns --- */

/* A bijection of 64 bits (odd multipliers, xor shifts): equal words mean equal places. */
static uint64_t word_at(uint64_t seed, uint64_t index)
{
	uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15u + index;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	return x ^ (x >> 27);
}

void dtl_fill(void *start, uint64_t size, uint64_t seed)
{
	char *p = start;
	uint64_t i, w;

	for (i = 0; i < size; i += 8) {
		w = word_at(seed, i / 8);
		memcpy(p + i, &w, size - i < 8 ? size - i : 8);
	}
}

int64_t dtl_differs(const void *start, uint64_t size, uint64_t seed)
{
	const char *p = start;
	uint64_t i, w, n;

	for (i = 0; i < size; i += 8) {
		w = word_at(seed, i / 8);
		n = size - i < 8 ? size - i : 8;
		if (memcmp(p + i, &w, n) == 0)
			continue;
		while (p[i] == ((char *)&w)[i % 8])
			i++;
		return i;
	}
	return -1;
}
