/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of DAT that are refused. The registry sees each one's result, of its own and of every provider, so a row for
 * each type of error gives all of them a sentence, for `dapple why`, where Dapple's
 * libraries are in the process. Answers that a program asks for in a loop are none: a queue that is empty, a wait that has
 * ended. A refusal that repeats is said eight times, then those times whose number is a power of two.
 */
#ifndef DAT_REGISTRY_REFUSE_H
#define DAT_REGISTRY_REFUSE_H

#include <dat2/udat.h>

/* name, type of the return value, object, cause, remedy */
#define DREG_REFUSALS(R) \
R(HANDLE,      DAT_INVALID_HANDLE, "a DAT call", "a handle is not of the type that the argument needs, or its object is freed", "pass handles of objects that exist, all of one IA") \
R(PARAMETER,   DAT_INVALID_PARAMETER, "a DAT call", "an argument is out of range or does not fit the others", "see the argument of that number in the DAT specification's page of the call") \
R(STATE,       DAT_INVALID_STATE, "a DAT call", "the object is in a state in which the call has no meaning", "wait for the event that ends that state, and look at the object by its query call") \
R(RESOURCES,   DAT_INSUFFICIENT_RESOURCES, "a DAT call", "memory, descriptors or objects of the adapter are used up, or another user has its address", "free objects, raise the limits of the process, or see dapple doctor") \
R(LENGTH,      DAT_LENGTH_ERROR, "a DAT call", "a length is more than the endpoint or the region has", "ask for it in the attributes of the endpoint, or register more") \
R(PRIVILEGES,  DAT_PRIVILEGES_VIOLATION, "a DAT call", "the region lacks the privilege for the operation", "register it with that DAT_MEM_PRIV_ flag") \
R(PROTECTION,  DAT_PROTECTION_VIOLATION, "a DAT call", "the region is of another protection zone than the endpoint", "create both with one PZ") \
R(QUEUE,       DAT_QUEUE_FULL, "a DAT call", "the queue of the EVD or of the endpoint has no place left", "take events off it, or create it with a greater length") \
R(MODEL,       DAT_MODEL_NOT_SUPPORTED, "a DAT call", "the provider lacks that part of the specification", "see docs/dat.md, or use another call") \
R(NOT_THERE,   DAT_NOT_IMPLEMENTED, "a DAT call", "the provider lacks the call", "see docs/dat.md, or use another provider") \
R(ADDRESS,     DAT_INVALID_ADDRESS, "a DAT call", "the address is of no host that can be reached from this IA, or of another family", "pass an IPv4 or IPv6 address of the peer") \
R(PORT,        DAT_PORT_IN_USE, "a DAT call", "another program has that port", "choose another one, or end that program") \
R(QUAL,        DAT_CONN_QUAL_IN_USE, "a DAT call", "another program listens at that connection qualifier", "choose another one, or end that program") \
R(QUAL_NONE,   DAT_CONN_QUAL_UNAVAILABLE, "a DAT call", "no connection qualifier is free, or this one belongs to privileged programs", "choose one above 1023") \
R(COMM,        DAT_COMM_NOT_SUPPORTED, "a DAT call", "the transport lacks that kind of communication", "use an IA of the other transport (dapple devices)") \
R(PROVIDER,    DAT_PROVIDER_NOT_FOUND, "a DAT call", "no entry of dat.conf and no adapter has the name, or its library cannot be loaded", "see dat_registry_list_providers() or dapple devices, and set DAT_DBG_TYPE=0xff") \
R(REGISTERED,  DAT_PROVIDER_ALREADY_REGISTERED, "a DAT call", "a provider of that name is registered", "register it once") \
R(IN_USE,      DAT_PROVIDER_IN_USE, "a DAT call", "IAs of the provider are open", "close them first") \
R(RESERVED,    DAT_RESERVED_LMR, "a DAT call", "the LMR is one of the provider's own", "use another one") \
R(ABORTED,     DAT_ABORT, "a DAT call", "the operation was ended by the program or by the provider", "none is needed if the program did so") \
R(OTHER,       DAT_INTERNAL_ERROR, "a DAT call", "the provider failed in a way that it does not name", "set DAT_DBG_TYPE=0xff, and see dapple why and dapple doctor")

enum dreg_refusal {
#define R(name, ...) DREG_R_##name,
	DREG_REFUSALS(R)
#undef R
	DREG_REFUSALS_N
};

/* Says why the call is refused, unless rc is an answer. Returns rc. errno is kept. */
DAT_RETURN dreg_refuse(const char *call, DAT_RETURN rc);

/* The result of a call that goes to the program. */
static inline DAT_RETURN dreg_result(const char *call, DAT_RETURN rc)
{
	return __builtin_expect((rc & DAT_CLASS_ERROR) != 0, 0) ? dreg_refuse(call, rc) : rc;
}

#endif
