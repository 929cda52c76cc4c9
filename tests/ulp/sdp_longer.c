/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Receives of SDP that grow by the peer's wish (ChRcvBuf), at both ends. */
#include "sdp_octets.h"
#include "sdp_rows.h"

/* Octets by Data alone, filled messages; the size to which the peer's receives have grown meanwhile. */
static void much_data(struct sdp_conn *c, uint64_t wanted)
{
	struct stream s = { .to_send = 8 << 20, .to_get = 8 << 20 };

	run(c, &s);
	CHECK(!sdp_conn_counts(c)->src_avail && sdp_conn_counts(c)->longer == wanted);
	CHECK((sdp_conn_counts(c)->data < (8 << 20) / 32752) == (wanted > 0));
	finish(c);
}

static void longer_server(struct ends *e)
{
	conf.advertise = 0;
	much_data(sdp_ends_serve_good(e), 65536);
}

static void longer_client(struct ends *e)
{
	conf.advertise = 0;
	much_data(sdp_ends_dial(e), 65536);
}

/* A sink whose receives do not grow says so; its own wish is granted. */
static void same_server(struct ends *e)
{
	conf.advertise = conf.receive_max = 0;
	much_data(sdp_ends_serve_good(e), 0);
}

static void same_client(struct ends *e)
{
	conf.advertise = 0;
	much_data(sdp_ends_dial(e), 0);
}

/* Messages of the peer's size before, and a source that has them advertised, ask for nothing. */
static void enough_server(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve_good(e);
	struct stream s = { .to_get = 8 << 20 };

	run(c, &s);
	finish(c);
}

static void enough_client(struct ends *e)
{
	struct stream s = { .to_send = 8 << 20 };
	struct sdp_conn *c;

	conf.advertise = conf.receive_size;
	c = sdp_ends_dial(e);
	run(c, &s);
	CHECK(!sdp_conn_counts(c)->longer);
	finish(c);
}

int main(int argc, char **argv)
{
	static const struct sdp_row rows[] = {
		{ "longer receives", AF_INET, longer_server, longer_client },
		{ "receives that stay as they are", AF_INET, same_server, same_client },
		{ "longer receives are not asked for", AF_INET, enough_server, enough_client },
	};

	return SDP_RUN_ROWS(rows, argc, argv);
}
