// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
//
// gloo's algorithms over its transport for verbs, each value checked. The ranks are processes that meet in a
// folder. As gloo's own programs do, the device is the first one and GID 0 unless the environment has others.
//
// Without ReduceScatterHalvingDoubling, which writes over the source of a Write that is not completed: docs/consumers.md.
//
// usage: gloo_ring RANKS [DEVICE [GID-INDEX]]

#include <gloo/allgather_ring.h>
#include <gloo/allreduce_bcube.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier_all_to_all.h>
#include <gloo/barrier_all_to_one.h>
#include <gloo/broadcast_one_to_all.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

using Values = std::vector<int64_t>;
using World = std::shared_ptr<gloo::Context>;

constexpr int root = 1;

int faults;

int64_t mine(int rank, size_t i)
{
	return (int64_t)i * 1000 + rank * 7 + 1;
}

// The sum of what all ranks have at place i.
int64_t sum(int ranks, size_t i)
{
	int64_t all = 0;

	for (int rank = 0; rank < ranks; rank++)
		all += mine(rank, i);
	return all;
}

void check(const World &world, const char *what, const Values &got, size_t from, size_t to, int64_t (*want)(int, size_t),
	   int arg)
{
	for (size_t i = from; i < to; i++)
		if (got[i] != want(arg, i)) {
			printf("rank %d: %s of %zu: corrupt value %zu: %lld, not %lld\n", world->rank, what,
			       got.size(), i, (long long)got[i], (long long)want(arg, i));
			faults++;
			return;
		}
}

Values fresh(const World &world, size_t count)
{
	Values v(count);

	for (size_t i = 0; i < count; i++)
		v[i] = mine(world->rank, i);
	return v;
}

// gloo ends the process if a buffer goes while a Send from it is not completed, and its algorithms do not wait for
// their last ones. So they stay until the process ends.
template <class Algorithm> void reduce(const World &world, gloo::Algorithm &barrier, const char *what, size_t count)
{
	Values &v = *new Values(fresh(world, count));
	auto &algorithm = *new Algorithm(world, std::vector<int64_t *>{v.data()}, (int)count);

	for (int round = 0; round < 3; round++) {
		// The algorithm knows the buffer by its address.
		for (size_t i = 0; i < count; i++)
			v[i] = mine(world->rank, i);
		barrier.run();
		algorithm.run();
		check(world, what, v, 0, count, sum, world->size);
	}
	barrier.run();
}

void broadcast(const World &world, gloo::Algorithm &barrier, size_t count)
{
	Values &v = *new Values(fresh(world, count));
	auto &algorithm = *new gloo::BroadcastOneToAll<int64_t>(world, std::vector<int64_t *>{v.data()}, count,
								root % world->size);

	algorithm.run();
	check(world, "broadcast", v, 0, count, mine, root % world->size);
	barrier.run();
}

void gather(const World &world, gloo::Algorithm &barrier, size_t count)
{
	Values &v = *new Values(fresh(world, count)), &all = *new Values(count * (size_t)world->size);
	auto &algorithm = *new gloo::AllgatherRing<int64_t>(world, std::vector<const int64_t *>{v.data()}, all.data(),
							    (int)count);

	algorithm.run();
	for (int rank = 0; rank < world->size; rank++)
		check(world, "gather", Values(all.begin() + (long)count * rank, all.begin() + (long)count * (rank + 1)), 0,
		      count, mine, rank);
	barrier.run();
}

void rank_main(int rank, int ranks, const std::string &folder, const gloo::transport::ibverbs::attr &attr)
{
	auto device = gloo::transport::ibverbs::CreateDevice(attr);
	auto &world = *new std::shared_ptr<gloo::rendezvous::Context>(new gloo::rendezvous::Context(rank, ranks));
	gloo::rendezvous::FileStore store(folder);

	world->connectFullMesh(store, device);
	if (!rank)
		printf("%s\n", device->str().c_str());
	auto &barrier = *new gloo::BarrierAllToAll(world);
	// The cube wants a part for each rank.
	for (size_t count : {16, 1000, 50000, 700000}) {
		reduce<gloo::AllreduceRing<int64_t>>(world, barrier, "ring", count);
		reduce<gloo::AllreduceRingChunked<int64_t>>(world, barrier, "chunked ring", count);
		reduce<gloo::AllreduceHalvingDoubling<int64_t>>(world, barrier, "halving and doubling", count);
		reduce<gloo::AllreduceBcube<int64_t>>(world, barrier, "cube", count);
		broadcast(world, barrier, count);
		gather(world, barrier, count);
	}
	auto &last = *new gloo::BarrierAllToOne(world);
	last.run();
	barrier.run();
}

}  // namespace

int main(int argc, char **argv)
{
	int ranks = argc > 1 ? atoi(argv[1]) : 2, bad = 0, status;
	const char *temp = getenv("TMPDIR");
	std::string folder = std::string(temp ? temp : "/tmp") + "/gloo-XXXXXX";
	gloo::transport::ibverbs::attr attr{argc > 2 ? argv[2] : "", 1, argc > 3 ? atoi(argv[3]) : 0};

	setvbuf(stdout, nullptr, _IOLBF, 0);
	if (ranks < 1 || !mkdtemp(&folder[0])) {
		perror(folder.c_str());
		return 2;
	}
	for (int rank = 0; rank < ranks; rank++)
		if (fork() == 0) {
			try {
				rank_main(rank, ranks, folder, attr);
			} catch (const std::exception &e) {
				printf("rank %d: %s\n", rank, e.what());
				faults++;
			}
			fflush(stdout);
			_exit(faults != 0);
		}
	while (wait(&status) > 0)
		bad += status != 0;
	std::string remove = "rm -rf " + folder;
	if (system(remove.c_str()))
		bad++;
	printf("%d ranks, %d with faults\n", ranks, bad);
	return bad != 0;
}
