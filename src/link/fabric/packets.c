/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/fabric/packets.h"

#include <string.h>

static const struct {
	uint16_t length; /* of the body */
	bool to_fabric, from_fabric;
} rows[PKT_TYPES] = {
	[PKT_HELLO] = { sizeof(struct pkt_hello), true, false },
	[PKT_WELCOME] = { sizeof(struct pkt_welcome), false, true },
	[PKT_SLOT] = { sizeof(struct pkt_slot), true, false },
	[PKT_TRAIN] = { 0, true, true },
	[PKT_JOIN] = { sizeof(struct pkt_group), true, false },
	[PKT_LEAVE] = { sizeof(struct pkt_group), true, false },
	[PKT_ROUTE] = { sizeof(struct pkt_route), true, false },
	[PKT_ROUTED] = { sizeof(struct pkt_routed), false, true },
	[PKT_MEMBERS] = { 0, false, true },
	[PKT_FIND] = { sizeof(struct pkt_find), true, false },
	[PKT_FOUND] = { sizeof(struct pkt_found), false, true },
	[PKT_COUNT] = { sizeof(struct pkt_count), true, false },
	[PKT_COUNTED] = { sizeof(struct pkt_counted), false, true },
	[PKT_ASK_SOCKET] = { sizeof(struct pkt_ask_socket), true, false },
	[PKT_MADE] = { sizeof(struct pkt_made), false, true },
};

size_t pkt_length(enum pkt_type type)
{
	if ((unsigned)type >= PKT_TYPES || (!rows[type].to_fabric && !rows[type].from_fabric))
		return 0;
	return sizeof(struct pkt_head) + rows[type].length;
}

static bool is_train(const struct pkt_head *h, size_t bytes)
{
	return h->seg && bytes && bytes <= PKT_TRAIN_BYTES && (bytes + h->seg - 1) / h->seg <= PKT_TRAIN_PACKETS;
}

static bool ends(const char *text, size_t room)
{
	return memchr(text, 0, room) != NULL;
}

static bool is_sound(const struct pkt_message *m)
{
	switch (m->head.type) {
	case PKT_HELLO:
		return ends(m->u.hello.node, sizeof(m->u.hello.node)) && m->u.hello.port;
	case PKT_WELCOME:
		return ends(m->u.welcome.why, sizeof(m->u.welcome.why)) && m->u.welcome.err <= 0;
	case PKT_SLOT:
		return m->u.slot.slot < PKT_SLOTS;
	case PKT_JOIN:
	case PKT_LEAVE:
		return m->u.group.mgid[0] == 0xff;
	case PKT_ROUTE:
		return m->u.route.sl < 16;
	case PKT_ASK_SOCKET:
		return m->u.ask_socket.kind == PKT_SOCKET_MAIL || m->u.ask_socket.kind == PKT_SOCKET_OWNERS;
	case PKT_MADE:
		return m->u.made.err <= 0;
	default:
		return true;
	}
}

bool pkt_parse(const void *at, size_t len, bool from_fabric)
{
	struct pkt_message m;
	struct pkt_head h;

	if (len < sizeof(h))
		return false;
	memcpy(&h, at, sizeof(h));
	if (h.magic != PKT_MAGIC || h.type >= PKT_TYPES ||
	    !(from_fabric ? rows[h.type].from_fabric : rows[h.type].to_fabric))
		return false;
	if (h.type == PKT_TRAIN)
		return is_train(&h, len - sizeof(h));
	if (len != pkt_length(h.type))
		return false;
	memcpy(&m, at, len);
	return is_sound(&m);
}
