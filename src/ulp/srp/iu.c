/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/srp/iu.h"

#define FORMATS (1 << WIRE_SRP_FORMAT_DIRECT | 1 << WIRE_SRP_FORMAT_INDIRECT)

const char *const srp_rules[SRP_NR_VERDICTS] = {
	[SRP_GOOD] = "nothing",
	[SRP_SHORT] = "an information unit is shorter than its table",
	[SRP_BAD_TYPE] = "the type of an information unit is not one of table 7 for this direction",
	[SRP_BAD_FORMAT] = "a data buffer descriptor has a format that is not supported",
	[SRP_SHORT_DESCRIPTORS] = "the descriptors of a command do not fit into it",
	[SRP_TABLE_LENGTH] = "the length of a descriptor table is no multiple of 16",
	[SRP_TABLE_COUNT] = "a command has more descriptors than its table",
	[SRP_TABLE_LONG] = "a descriptor table has more than 256 descriptors",
	[SRP_TABLE_SUM] = "the lengths of a descriptor table do not add up to that of the buffer",
	[SRP_NO_IMMEDIATE] = "a command has immediate data, which the login has not agreed",
	[SRP_IMMEDIATE_PLACE] = "immediate data begins before the end of its descriptor",
	[SRP_IMMEDIATE_SHORT] = "a command ends before its immediate data",
	[SRP_LONG_CDB] = "a CDB is longer than 48 octets",
	[SRP_SENSE_SHORT] = "a response ends before its response data and sense data",
	[SRP_BAD_LOGIN] = "the private data is no SRP_LOGIN_REQ or its answer",
	[SRP_BAD_LENGTHS] = "the lengths of information units in a login are out of range",
	[SRP_NO_LIMIT] = "a login response has a request limit of 0",
	[SRP_OVER_LIMIT] = "a request was sent beyond the request limit",
	[SRP_BAD_TAG] = "a response has the tag of no request",
	[SRP_BAD_DELTA] = "a request limit delta raises the request limit beyond 65,536",
	[SRP_BAD_RESIDUAL] = "the residual of a response is longer than the buffer",
};

/* --- login --- */

void srp_login_put(uint8_t out[WIRE_SRP_LOGIN_REQ_LEN], const struct srp_login *l)
{
	memset(out, 0, WIRE_SRP_LOGIN_REQ_LEN);
	wire_set_SRP_LOGIN_REQ_tag(out, l->tag);
	wire_set_SRP_LOGIN_REQ_formats(out, l->formats);
	wire_set_SRP_LOGIN_REQ_immediate(out, l->immediate);
	wire_set_SRP_LOGIN_REQ_multichannel(out, l->multi ? WIRE_SRP_MULTI : WIRE_SRP_SINGLE);
	wire_set_SRP_LOGIN_REQ_type(out, WIRE_SRP_LOGIN_REQ);
	wire_set_SRP_LOGIN_REQ_it_length(out, l->it_length);
	wire_set_SRP_LOGIN_REQ_initiator(out, l->initiator);
	wire_set_SRP_LOGIN_REQ_target(out, l->target);
	wire_set_SRP_LOGIN_REQ_immediate_offset(out, l->immediate_offset);
}

enum srp_verdict srp_login_get(struct srp_login *l, const uint8_t *data, size_t len)
{
	if (len < WIRE_SRP_LOGIN_REQ_LEN || wire_get_SRP_LOGIN_REQ_type(data) != WIRE_SRP_LOGIN_REQ ||
	    wire_get_SRP_LOGIN_REQ_multichannel(data) > WIRE_SRP_MULTI)
		return SRP_BAD_LOGIN;
	*l = (struct srp_login){
		.tag = wire_get_SRP_LOGIN_REQ_tag(data),
		.it_length = (uint32_t)wire_get_SRP_LOGIN_REQ_it_length(data),
		.formats = (uint16_t)wire_get_SRP_LOGIN_REQ_formats(data),
		.immediate = wire_get_SRP_LOGIN_REQ_immediate(data),
		.multi = wire_get_SRP_LOGIN_REQ_multichannel(data) == WIRE_SRP_MULTI,
		.immediate_offset = (uint16_t)wire_get_SRP_LOGIN_REQ_immediate_offset(data),
	};
	memcpy(l->initiator, wire_get_SRP_LOGIN_REQ_initiator(data), 16);
	memcpy(l->target, wire_get_SRP_LOGIN_REQ_target(data), 16);
	return SRP_GOOD;
}

void srp_accepted_put(uint8_t out[WIRE_SRP_LOGIN_RSP_LEN], const struct srp_accepted *a)
{
	memset(out, 0, WIRE_SRP_LOGIN_RSP_LEN);
	wire_set_SRP_LOGIN_RSP_type(out, WIRE_SRP_LOGIN_RSP);
	wire_set_SRP_LOGIN_RSP_limit_delta(out, a->limit);
	wire_set_SRP_LOGIN_RSP_tag(out, a->tag);
	wire_set_SRP_LOGIN_RSP_it_length(out, a->it_length);
	wire_set_SRP_LOGIN_RSP_ti_length(out, a->ti_length);
	wire_set_SRP_LOGIN_RSP_formats(out, a->formats);
	wire_set_SRP_LOGIN_RSP_immediate(out, a->immediate);
	wire_set_SRP_LOGIN_RSP_multichannel(out, a->channels);
}

enum srp_verdict srp_accepted_get(struct srp_accepted *a, const uint8_t *data, size_t len)
{
	if (!data || len < WIRE_SRP_LOGIN_RSP_LEN || wire_get_SRP_LOGIN_RSP_type(data) != WIRE_SRP_LOGIN_RSP)
		return SRP_BAD_LOGIN;
	*a = (struct srp_accepted){
		.tag = wire_get_SRP_LOGIN_RSP_tag(data),
		.limit = (uint32_t)wire_get_SRP_LOGIN_RSP_limit_delta(data),
		.it_length = (uint32_t)wire_get_SRP_LOGIN_RSP_it_length(data),
		.ti_length = (uint32_t)wire_get_SRP_LOGIN_RSP_ti_length(data),
		.formats = (uint16_t)wire_get_SRP_LOGIN_RSP_formats(data),
		.immediate = wire_get_SRP_LOGIN_RSP_immediate(data),
		.channels = (enum wire_srp_channels)wire_get_SRP_LOGIN_RSP_multichannel(data),
	};
	if (a->it_length < WIRE_SRP_IT_MIN || a->ti_length < WIRE_SRP_RSP_LEN)
		return SRP_BAD_LENGTHS;
	return a->limit ? SRP_GOOD : SRP_NO_LIMIT;
}

void srp_reject_put(uint8_t out[WIRE_SRP_LOGIN_REJ_LEN], uint64_t tag, enum wire_srp_reject reason)
{
	memset(out, 0, WIRE_SRP_LOGIN_REJ_LEN);
	wire_set_SRP_LOGIN_REJ_type(out, WIRE_SRP_LOGIN_REJ);
	wire_set_SRP_LOGIN_REJ_reason(out, reason);
	wire_set_SRP_LOGIN_REJ_tag(out, tag);
	wire_set_SRP_LOGIN_REJ_formats(out, FORMATS);
}

uint32_t srp_reject_get(const uint8_t *data, size_t len)
{
	if (!data || len < WIRE_SRP_LOGIN_REJ_LEN || wire_get_SRP_LOGIN_REJ_type(data) != WIRE_SRP_LOGIN_REJ)
		return 0;
	return (uint32_t)wire_get_SRP_LOGIN_REJ_reason(data);
}

const char *srp_reject_text(uint32_t reason)
{
	switch (reason) {
	case WIRE_SRP_REJ_NO_CHANNEL: return "no channel can be made";
	case WIRE_SRP_REJ_RESOURCES: return "its resources are used up, or its port is not enabled";
	case WIRE_SRP_REJ_IT_LENGTH: return "the information units are too long";
	case WIRE_SRP_REJ_NO_ASSOCIATION: return "it has no target port of this identifier";
	case WIRE_SRP_REJ_FORMAT: return "a format of descriptors is not supported";
	case WIRE_SRP_REJ_MULTICHANNEL: return "it has one channel for each initiator";
	case WIRE_SRP_REJ_CHANNEL_LIMIT: return "the initiator is not in its access list, or has too many channels";
	default: return "for a reason that is not in the standard";
	}
}

/* --- commands --- */

struct srp_memory srp_memory_get(const uint8_t *at)
{
	return (struct srp_memory){ wire_get_SRP_MEMORY_address(at), (uint32_t)wire_get_SRP_MEMORY_key(at),
				    (uint32_t)wire_get_SRP_MEMORY_length(at) };
}

void srp_memory_put(uint8_t *at, const struct srp_memory *m)
{
	wire_set_SRP_MEMORY_address(at, m->address);
	wire_set_SRP_MEMORY_key(at, m->key);
	wire_set_SRP_MEMORY_length(at, m->length);
}

size_t srp_buffer_len(const struct srp_buffer *b)
{
	switch (b->format) {
	case WIRE_SRP_FORMAT_DIRECT: return WIRE_SRP_MEMORY_LEN;
	case WIRE_SRP_FORMAT_INDIRECT: return WIRE_SRP_INDIRECT_LEN + (size_t)b->nr_here * WIRE_SRP_MEMORY_LEN;
	case WIRE_SRP_FORMAT_IMMEDIATE: return WIRE_SRP_IMMEDIATE_LEN;
	default: return 0;
	}
}

static size_t buffer_put(uint8_t *at, const struct srp_buffer *b)
{
	if (b->format == WIRE_SRP_FORMAT_DIRECT) {
		memcpy(at, b->list, WIRE_SRP_MEMORY_LEN);
	} else if (b->format == WIRE_SRP_FORMAT_INDIRECT) {
		srp_memory_put(at, &b->table);
		wire_set_SRP_INDIRECT_length(at, b->length);
		memcpy(at + WIRE_SRP_INDIRECT_LEN, b->list, (size_t)b->nr_here * WIRE_SRP_MEMORY_LEN);
	} else if (b->format == WIRE_SRP_FORMAT_IMMEDIATE) {
		wire_set_SRP_IMMEDIATE_length(at, b->length);
	}
	return srp_buffer_len(b);
}

static uint8_t count(const struct srp_buffer *b)
{
	return b->format == WIRE_SRP_FORMAT_INDIRECT ? (uint8_t)b->nr_here : 0;
}

size_t srp_command_put(uint8_t *out, const struct srp_command *c, size_t immediate_offset)
{
	size_t words = c->cdb_len > 16 ? (size_t)(c->cdb_len - 16 + 3) / 4 : 0, len = WIRE_SRP_CMD_LEN + words * 4;

	memset(out, 0, len);
	wire_set_SRP_CMD_type(out, WIRE_SRP_CMD);
	wire_set_SRP_CMD_out_format(out, c->out.format);
	wire_set_SRP_CMD_in_format(out, c->in.format);
	wire_set_SRP_CMD_out_count(out, count(&c->out));
	wire_set_SRP_CMD_in_count(out, count(&c->in));
	wire_set_SRP_CMD_tag(out, c->tag);
	wire_set_SRP_CMD_lun(out, c->lun);
	wire_set_SRP_CMD_attribute(out, c->attribute);
	wire_set_SRP_CMD_additional_words(out, words);
	memcpy(out + WIRE_SRP_CMD_cdb_OFFSET, c->cdb, c->cdb_len);
	len += buffer_put(out + len, &c->out);
	len += buffer_put(out + len, &c->in);
	if (c->out.format != WIRE_SRP_FORMAT_IMMEDIATE)
		return len;
	memset(out + len, 0, immediate_offset - len);
	return immediate_offset + c->out.length;
}

/* Reads the descriptors of a buffer at *at, which moves behind them. */
static enum srp_verdict buffer_get(struct srp_buffer *b, unsigned format, unsigned nr_here, const uint8_t **at, const uint8_t *end)
{
	const uint8_t *p = *at;
	size_t room = (size_t)(end - p);

	*b = (struct srp_buffer){ .format = (enum wire_srp_format)format };
	if (format > WIRE_SRP_FORMAT_IMMEDIATE)
		return SRP_BAD_FORMAT;
	b->nr_here = format == WIRE_SRP_FORMAT_INDIRECT ? nr_here : 0;
	if (srp_buffer_len(b) > room)
		return SRP_SHORT_DESCRIPTORS;
	*at = p + srp_buffer_len(b);
	if (format == WIRE_SRP_FORMAT_DIRECT) {
		b->nr = b->nr_here = 1;
		b->list = p;
		b->length = srp_memory_get(p).length;
	} else if (format == WIRE_SRP_FORMAT_IMMEDIATE) {
		b->length = (uint32_t)wire_get_SRP_IMMEDIATE_length(p);
	} else if (format == WIRE_SRP_FORMAT_INDIRECT) {
		b->table = srp_memory_get(p);
		b->length = (uint32_t)wire_get_SRP_INDIRECT_length(p);
		b->list = p + WIRE_SRP_INDIRECT_LEN;
		if (b->table.length % WIRE_SRP_MEMORY_LEN)
			return SRP_TABLE_LENGTH;
		b->nr = b->table.length / WIRE_SRP_MEMORY_LEN;
		if (b->nr > SRP_DESCRIPTORS_MAX)
			return SRP_TABLE_LONG;
		if (b->nr_here > b->nr)
			return SRP_TABLE_COUNT;
	}
	return SRP_GOOD;
}

static enum srp_verdict immediate_get(struct srp_buffer *b, const uint8_t *data, size_t len, size_t offset, const uint8_t *behind)
{
	if (!offset)
		return SRP_NO_IMMEDIATE;
	if (offset < (size_t)(behind - data))
		return SRP_IMMEDIATE_PLACE;
	if (offset > len || b->length > len - offset)
		return SRP_IMMEDIATE_SHORT;
	b->data = data + offset;
	return SRP_GOOD;
}

enum srp_verdict srp_command_get(struct srp_command *c, const uint8_t *data, size_t len, size_t immediate_offset)
{
	const uint8_t *at = data + WIRE_SRP_CMD_LEN, *end = data + len;
	enum srp_verdict v;
	size_t more;

	if (len < WIRE_SRP_CMD_LEN)
		return SRP_SHORT;
	more = wire_get_SRP_CMD_additional_words(data) * 4;
	*c = (struct srp_command){ .tag = wire_get_SRP_CMD_tag(data), .lun = wire_get_SRP_CMD_lun(data),
				   .attribute = (uint8_t)wire_get_SRP_CMD_attribute(data) };
	if (more > SRP_CDB_MAX - 16)
		return SRP_LONG_CDB;
	if (more > len - WIRE_SRP_CMD_LEN)
		return SRP_SHORT;
	c->cdb_len = (uint8_t)(16 + more);
	memcpy(c->cdb, data + WIRE_SRP_CMD_cdb_OFFSET, c->cdb_len);
	at += more;
	v = buffer_get(&c->out, (unsigned)wire_get_SRP_CMD_out_format(data), (unsigned)wire_get_SRP_CMD_out_count(data), &at, end);
	if (!v)
		v = buffer_get(&c->in, (unsigned)wire_get_SRP_CMD_in_format(data), (unsigned)wire_get_SRP_CMD_in_count(data), &at, end);
	if (!v && c->in.format == WIRE_SRP_FORMAT_IMMEDIATE)
		v = SRP_BAD_FORMAT;
	if (!v && c->out.format == WIRE_SRP_FORMAT_IMMEDIATE)
		v = immediate_get(&c->out, data, len, immediate_offset, at);
	return v;
}

enum srp_verdict srp_table_check(const struct srp_memory *table, uint32_t nr, uint32_t length)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < nr; i++)
		sum += table[i].length;
	return sum == length ? SRP_GOOD : SRP_TABLE_SUM;
}

void srp_task_put(uint8_t out[WIRE_SRP_TSK_MGMT_LEN], const struct srp_task *t)
{
	memset(out, 0, WIRE_SRP_TSK_MGMT_LEN);
	wire_set_SRP_TSK_MGMT_type(out, WIRE_SRP_TSK_MGMT);
	wire_set_SRP_TSK_MGMT_tag(out, t->tag);
	wire_set_SRP_TSK_MGMT_lun(out, t->lun);
	wire_set_SRP_TSK_MGMT_function(out, t->function);
	wire_set_SRP_TSK_MGMT_task_tag(out, t->task_tag);
}

enum srp_verdict srp_task_get(struct srp_task *t, const uint8_t *data, size_t len)
{
	if (len < WIRE_SRP_TSK_MGMT_LEN)
		return SRP_SHORT;
	*t = (struct srp_task){ wire_get_SRP_TSK_MGMT_tag(data), wire_get_SRP_TSK_MGMT_lun(data),
				wire_get_SRP_TSK_MGMT_task_tag(data), (uint8_t)wire_get_SRP_TSK_MGMT_function(data) };
	return SRP_GOOD;
}

/* --- responses --- */

size_t srp_response_put(uint8_t *out, const struct srp_response *r)
{
	size_t len = WIRE_SRP_RSP_LEN, code_len = r->has_code ? WIRE_SRP_RESPONSE_DATA_LEN : 0;

	memset(out, 0, len + code_len);
	wire_set_SRP_RSP_type(out, WIRE_SRP_RSP);
	wire_set_SRP_RSP_limit_delta(out, r->limit_delta);
	wire_set_SRP_RSP_tag(out, r->tag);
	wire_set_SRP_RSP_status(out, r->status);
	wire_set_SRP_RSP_in_under(out, r->in_under);
	wire_set_SRP_RSP_in_over(out, r->in_over);
	wire_set_SRP_RSP_out_under(out, r->out_under);
	wire_set_SRP_RSP_out_over(out, r->out_over);
	wire_set_SRP_RSP_in_residual(out, r->in_residual);
	wire_set_SRP_RSP_out_residual(out, r->out_residual);
	wire_set_SRP_RSP_response_valid(out, r->has_code);
	wire_set_SRP_RSP_response_length(out, code_len);
	wire_set_SRP_RSP_sense_valid(out, r->sense_len > 0);
	wire_set_SRP_RSP_sense_length(out, r->sense_len);
	if (r->has_code)
		out[len + 3] = r->code;
	len += code_len;
	if (r->sense_len)
		memcpy(out + len, r->sense, r->sense_len);
	return len + r->sense_len;
}

enum srp_verdict srp_response_get(struct srp_response *r, const uint8_t *data, size_t len)
{
	uint64_t code_len, sense_len;

	if (len < WIRE_SRP_RSP_LEN)
		return SRP_SHORT;
	code_len = wire_get_SRP_RSP_response_valid(data) ? wire_get_SRP_RSP_response_length(data) : 0;
	sense_len = wire_get_SRP_RSP_sense_valid(data) ? wire_get_SRP_RSP_sense_length(data) : 0;
	if (code_len + sense_len > len - WIRE_SRP_RSP_LEN)
		return SRP_SENSE_SHORT;
	*r = (struct srp_response){
		.tag = wire_get_SRP_RSP_tag(data),
		.limit_delta = (uint32_t)wire_get_SRP_RSP_limit_delta(data),
		.status = (uint8_t)wire_get_SRP_RSP_status(data),
		.in_under = wire_get_SRP_RSP_in_under(data), .in_over = wire_get_SRP_RSP_in_over(data),
		.out_under = wire_get_SRP_RSP_out_under(data), .out_over = wire_get_SRP_RSP_out_over(data),
		.in_residual = (uint32_t)wire_get_SRP_RSP_in_residual(data),
		.out_residual = (uint32_t)wire_get_SRP_RSP_out_residual(data),
		.has_code = code_len >= WIRE_SRP_RESPONSE_DATA_LEN,
		.sense = data + WIRE_SRP_RSP_LEN + code_len,
		.sense_len = (uint32_t)sense_len,
	};
	if (r->has_code)
		r->code = data[WIRE_SRP_RSP_LEN + 3];
	return SRP_GOOD;
}

/* --- short ones --- */

void srp_short_put(uint8_t out[WIRE_SRP_SHORT_LEN], const struct srp_short *s)
{
	memset(out, 0, WIRE_SRP_SHORT_LEN);
	wire_set_SRP_SHORT_type(out, s->type);
	wire_set_SRP_SHORT_number(out, s->number);
	wire_set_SRP_SHORT_tag(out, s->tag);
}

enum srp_verdict srp_short_get(struct srp_short *s, const uint8_t *data, size_t len)
{
	if (len < WIRE_SRP_SHORT_LEN)
		return SRP_SHORT;
	*s = (struct srp_short){ (uint8_t)wire_get_SRP_SHORT_type(data), wire_get_SRP_SHORT_tag(data),
				 (uint32_t)wire_get_SRP_SHORT_number(data) };
	return SRP_GOOD;
}
