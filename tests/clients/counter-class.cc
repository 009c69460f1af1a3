// SPDX-License-Identifier: BSD-2-Clause
// Copyright (c) 2026 The cpc authors
//
// counter-class - threads share one object that counts: each start() binds the one set to the
// calling thread, each stop() adds what that thread has counted.  Prints the sum of 4 threads.

#include <libcpc.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <sys/mman.h>
#include <thread>
#include <vector>

class Counter
{
      public:
	explicit Counter(const char *event)
	    : cpc(cpc_open(CPC_VER_CURRENT)), set(cpc_set_create(cpc)), total(0)
	{
		index = cpc_set_add_request(cpc, set, event, 0, CPC_COUNT_USER, 0, nullptr);
	}
	Counter(const Counter &) = delete;
	Counter &operator=(const Counter &) = delete;
	~Counter()
	{
		cpc_set_destroy(cpc, set);
		cpc_close(cpc);
	}

	void start()
	{
		before() = cpc_buf_create(cpc, set);
		if (cpc_bind_curlwp(cpc, set, 0) == -1 ||
		    cpc_set_sample(cpc, set, before()) == -1 ||
		    cpc_set_sample(cpc, set, before()) == -1)
			std::abort();
	}
	void stop()
	{
		cpc_buf_t *after =
			before(); // a sample, less the one before, in one buffer of its own
		std::uint64_t first, last;

		cpc_buf_get(cpc, after, index, &first);
		if (cpc_set_sample(cpc, set, after) == -1 || cpc_unbind(cpc, set) == -1)
			std::abort();
		cpc_buf_get(cpc, after, index, &last);
		cpc_buf_destroy(cpc, after);
		std::lock_guard<std::mutex> lock(mutex);
		total += last - first;
	}
	std::uint64_t sum() const
	{
		return total;
	}

      private:
	static cpc_buf_t *&before()
	{
		static thread_local cpc_buf_t *buf;
		return buf;
	}

	cpc_t *cpc;
	cpc_set_t *set;
	int index;
	std::uint64_t total;
	std::mutex mutex;
};

// Writes into n pages: a page fault each.
static void touch(std::size_t n)
{
	const std::size_t page = 4096;
	void *at =
		mmap(nullptr, n * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(at, n * page, MADV_NOHUGEPAGE);
	for (std::size_t i = 0; i < n; i++)
		static_cast<volatile char *>(at)[i * page] = 1;
	munmap(at, n * page);
}

int main()
{
	Counter counter("page-faults");
	std::vector<std::thread> threads;

	for (int i = 0; i < 4; i++)
		threads.emplace_back([&counter] {
			counter.start();
			touch(1000);
			counter.stop();
		});
	for (std::thread &thread : threads)
		thread.join();
	std::printf("%llu\n", static_cast<unsigned long long>(counter.sum()));
}
