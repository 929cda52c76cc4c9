/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Frames of IP over InfiniBand (RFC 4391): what is built, and what a received one says. Pure. A frame is the encapsulation
 * header and an IP packet or a message of ARP; IP addresses are those of util/ip.h.
 */
#ifndef IPOIB_FRAME_H
#define IPOIB_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HW_LEN 20u          /* of a link-layer address */
#define FRAME_SHORT 128u    /* room for any frame that is built here */
#define QPN_MULTICAST 0xffffffu

/* A link-layer address of queue pair and port. has_rc: with the flag of an interface that takes connections (RFC 4755, 3.1). */
void hw_make(uint8_t hw[HW_LEN], uint32_t qpn, const uint8_t gid[16], bool has_rc);
/* Returns true if the address has that flag. */
bool hw_has_rc(const uint8_t hw[HW_LEN]);

/* The MGID of an IP group, or of the link's broadcast address (255.255.255.255): RFC 4391, 4. pkey: with the bit of full
 * membership. */
void frame_mgid(const uint8_t group[16], uint16_t pkey, uint8_t mgid[16]);

/* Sets the type by the version of the IP packet behind the header. Returns false if it is neither 4 nor 6. */
bool frame_wrap(uint8_t *frame, size_t len);
/* The destination of a frame's IP packet. Returns false if the frame holds none. */
bool frame_destination(const uint8_t *frame, size_t len, uint8_t ret[16]);
/* The source, likewise. */
bool frame_source(const uint8_t *frame, size_t len, uint8_t ret[16]);

/* A request or answer of address resolution, of either family. */
struct resolution {
	bool is_answer;
	bool is_probe;                  /* a solicitation without a sender's address (RFC 4862, 5.4.2) */
	uint8_t sender[16], target[16]; /* IP addresses; of an answer, the target is the one asked for */
	uint8_t hw[HW_LEN];             /* the link-layer address that it tells: the sender's */
	bool has_hw;
};

/* Builds one, of the family of its addresses. to_hw: the destination's, in answers of ARP. Returns the frame's length. */
size_t frame_resolution(uint8_t frame[FRAME_SHORT], const struct resolution *r, const uint8_t to[16], const uint8_t to_hw[HW_LEN]);
/* Reads one. Returns false if the frame is something else, or is malformed. */
bool frame_read_resolution(const uint8_t *frame, size_t len, struct resolution *ret);

/* The solicited-node group of an IPv6 address (RFC 4291, 2.7.1). */
void frame_solicited_node(const uint8_t ip[16], uint8_t group[16]);

/* Calls each(arg, group, joins) for the groups that a report of the own host joins or leaves: IGMP of versions 1 to 3, MLD
 * of versions 1 and 2 (RFC 2236, 3376, 2710, 3810). Other frames are ignored. */
void frame_reports(const uint8_t *frame, size_t len, void (*each)(void *arg, const uint8_t group[16], bool joins), void *arg);

/* ICMP "host unreachable" (RFC 792) to the own host, about an IPv4 packet that could not be sent; its source is the host
 * that cannot be reached. Returns the length of the IP packet; 0: none is due. */
size_t frame_unreachable(uint8_t ip[FRAME_SHORT], const uint8_t *frame, size_t len);
/* The same about a packet that is longer than the way to its destination: "fragmentation needed" (RFC 1191, 4) or "packet too
 * big" (RFC 4443, 3.2), with the MTU of that way. */
size_t frame_too_big(uint8_t ip[FRAME_SHORT], const uint8_t *frame, size_t len, unsigned mtu);

#endif
