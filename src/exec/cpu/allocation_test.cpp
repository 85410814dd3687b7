// SPDX-License-Identifier: Apache-2.0
// Counts every call of malloc, its kin (operator new calls it) and mmap, in an executable of its
// own: while a step runs there are none.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "exec/testing/small_run.h"

namespace {
std::atomic<int64_t> allocations{0};
}

// The C library's own functions, under the names that the ones below do not hide.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, size_t bytes) {
  ++allocations;
  return __libc_realloc(old, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  ++allocations;
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** result, size_t alignment, size_t bytes) {
  *result = memalign(alignment, bytes);
  return *result ? 0 : ENOMEM;
}
void* mmap(void* wish, size_t bytes, int protection, int flags, int file, off_t offset) {
  ++allocations;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<void*>(syscall(SYS_mmap, wish, bytes, protection, flags, file, offset));
}
}

namespace tessera {
namespace {

TEST(AllocationCount, SeesMallocNewAndMmap) {
  int64_t before = allocations;
  free(malloc(10));
  EXPECT_EQ(allocations - before, 1);
  before = allocations;
  const std::vector<int>* vector = new std::vector<int>(1000);
  EXPECT_EQ(allocations - before, 2);
  delete vector;
  before = allocations;
  const Arena arena(4096);
  EXPECT_EQ(allocations - before, 1);
}

class AllocationTest : public testing::TestWithParam<SmallModel> {};

TEST_P(AllocationTest, NothingIsAllocatedWhileAStepRuns) {
  for (const Precision precision : kPrecisions)
    for (const int threads : {1, 2}) {
      SmallRun run(GetParam(), {.precision = precision, .microbatches = 2, .threads = threads});
      run.train_step(1);
      run.evaluate(1);
      run.write_inputs(2);
      const int64_t before = allocations;
      for (int step = 2; step < 5; ++step) {
        run.executor().write_step("step", step);
        run.executor().run("train_step");
        run.executor().run("evaluate");
        run.executor().read_step("loss");
      }
      EXPECT_EQ(allocations - before, 0) << name(precision) << ", " << threads << " threads";
    }
}

INSTANTIATE_TEST_SUITE_P(CpuExecutor, AllocationTest, testing::ValuesIn(small_models()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tessera
