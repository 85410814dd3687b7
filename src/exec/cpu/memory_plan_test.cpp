// SPDX-License-Identifier: Apache-2.0
// The plan checked by what kernels touch: arenas are compared before and after each instruction.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string_view>

#include "exec/testing/small_run.h"

namespace tessera {
namespace {

constexpr std::array kArenas{Lifetime::Persistent, Lifetime::Window, Lifetime::Slot,
                             Lifetime::Scratch};

// Bytes that an instruction may write, by address.
std::vector<std::pair<const std::byte*, const std::byte*>> writable(const BoundCall& call) {
  std::vector<std::pair<const std::byte*, const std::byte*>> ranges;
  for (const TensorRef& result : call.results)
    ranges.emplace_back(result.data, result.data + result.type->bytes());
  if (!call.workspace.empty())
    ranges.emplace_back(call.workspace.data(), call.workspace.data() + call.workspace.size());
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

class TouchCheck {
 public:
  void operator()(const InstructionEvent& event) {
    if (!event.finished) {
      for (size_t a = 0; a < kArenas.size(); ++a) {
        const auto arena = executor_->arena(kArenas[a]);
        before_[a].assign(arena.begin(), arena.end());
      }
      return;
    }
    ++instructions_;
    for (size_t a = 0; a < kArenas.size(); ++a)
      expect_untouched(executor_->arena(kArenas[a]), before_[a], event);
  }

  void watch(const CpuExecutor& executor) { executor_ = &executor; }
  int instructions() const { return instructions_; }

 private:
  // Compares the gaps between the ranges that the call may write.
  static void expect_untouched(std::span<const std::byte> arena,
                               const std::vector<std::byte>& before,
                               const InstructionEvent& event) {
    const std::byte* position = arena.data();
    const std::byte* const end = arena.data() + arena.size();
    const auto check = [&](const std::byte* until) {
      if (until <= position) return;
      const size_t offset = static_cast<size_t>(position - arena.data());
      EXPECT_EQ(
          std::memcmp(position, before.data() + offset, static_cast<size_t>(until - position)), 0)
          << name(event.instruction) << " of " << event.program_class.name << " ("
          << name(event.call.routine) << ") wrote outside its results and workspace";
    };
    for (const auto& [begin, finish] : writable(event.bound)) {
      if (finish <= arena.data() || begin >= end) continue;
      check(begin);
      position = std::max(position, finish);
    }
    check(end);
  }

  const CpuExecutor* executor_ = nullptr;
  std::array<std::vector<std::byte>, kArenas.size()> before_;
  int instructions_ = 0;
};

class MemoryPlan : public testing::TestWithParam<SmallModel> {};

TEST_P(MemoryPlan, AnInstructionWritesItsResultsAndWorkspaceAlone) {
  for (const Precision precision : kPrecisions) {
    TouchCheck check;
    SmallRun run(GetParam(), {.precision = precision,
                              .microbatches = 2,
                              .threads = 2,
                              .optimizer = {.ema_decay = 0.9},
                              .observer = [&](const InstructionEvent& event) { check(event); }});
    check.watch(run.executor());
    run.train_step(1);
    run.evaluate(2);
    EXPECT_GT(check.instructions(), 20);
  }
}

// An arena is mapped in whole pages, so the bytes after its last one can be inspected.
TEST_P(MemoryPlan, NothingBehindAnArenaIsWritten) {
  SmallRun run(GetParam(), {.precision = DType::Fp32, .threads = 2});
  run.losses(2);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (const Lifetime lifetime : kArenas) {
    const auto arena = run.executor().arena(lifetime);
    const size_t rest = (page - arena.size() % page) % page;
    for (size_t i = 0; i < rest; ++i)
      ASSERT_EQ(arena.data()[arena.size() + i], std::byte{0}) << name(lifetime) << " + " << i;
  }
}

// Fills the slot and scratch arenas with a pattern, runs a step and looks where it is gone.
TEST_P(MemoryPlan, KernelsReachTheEndOfWhatIsPlanned) {
  constexpr auto kPattern = std::byte{0xA5};
  SmallRun run(GetParam(), {.precision = DType::Fp32});
  for (const Lifetime lifetime : {Lifetime::Slot, Lifetime::Scratch}) {
    const auto arena = run.executor().arena(lifetime);
    std::fill(arena.begin(), arena.end(), kPattern);
  }
  run.train_step(1);
  const auto touched = [&](Lifetime lifetime) {
    const auto arena = run.executor().arena(lifetime);
    size_t highest = arena.size();
    while (highest > 0 && arena[highest - 1] == kPattern) --highest;
    return static_cast<int64_t>(highest);
  };
  // The last buffer may end up to an alignment before the arena does.
  EXPECT_GT(touched(Lifetime::Slot), run.program().slot_bytes - kBufferAlignment);
  int64_t highest_result = 0;
  for (const ProgramBlock& block : run.program().blocks)
    for (size_t i = 0; i < block.offsets.size(); ++i) {
      const Buffer& buffer = run.program().class_of(block).buffers[i];
      if (buffer.lifetime == Lifetime::Scratch)
        highest_result = std::max(highest_result, block.offsets[i] + buffer.type.bytes());
    }
  EXPECT_GE(touched(Lifetime::Scratch), highest_result - 1);
}

INSTANTIATE_TEST_SUITE_P(CpuExecutor, MemoryPlan, testing::ValuesIn(small_models()),
                         [](const auto& test) { return test.param.name; });

int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// Large enough for several chunks of rows, of logits and of attention.
SmallModel chunked_model() {
  SmallModel model = small_model("Gpt");
  model.config.layers = 1;
  model.config.width = 64;
  model.config.vocabulary = 20000;
  model.config.context = 256;
  model.seq = 256;
  return model;
}

TEST(SlowMemoryPlan, AnInstructionOfManyChunksWritesItsResultsAndWorkspaceAlone) {
  TouchCheck check;
  SmallRun run(chunked_model(), {.precision = DType::Fp32,
                                 .batch = 4,
                                 .threads = 2,
                                 .observer = [&](const InstructionEvent& event) { check(event); }});
  check.watch(run.executor());
  run.train_step(1);
  EXPECT_GT(check.instructions(), 20);
}

TEST(SlowMemoryPlan, ChunksGiveTheSameBitsPoisonedAndOnAnyNumberOfThreads) {
  for (const Precision precision : kPrecisions) {
    SmallRun one(chunked_model(), {.precision = precision, .batch = 4});
    const double loss = one.train_step(1);
    SmallRun two(chunked_model(),
                 {.precision = precision, .batch = 4, .threads = 2, .poison = true});
    EXPECT_EQ(two.train_step(1), loss) << name(precision);
    EXPECT_EQ(two.states(), one.states()) << name(precision);
  }
}

TEST(SlowMemoryPlan, TheProcessGrowsByWhatIsPlanned) {
  if (!std::string_view(SANITIZERS).empty())
    GTEST_SKIP() << "sanitizers (" SANITIZERS ") keep memory beside the program's";
  SmallModel model = small_model("Gpt");
  model.config = {.family = Family::Gpt,
                  .layers = 4,
                  .width = 512,
                  .heads = 8,
                  .vocabulary = 8000,
                  .context = 256,
                  .activation = Activation::GeluTanh,
                  .tied = true,
                  .bias = true};
  model.seq = 256;
  const int64_t before = resident_bytes();
  SmallRun run(model, {.precision = DType::Fp32, .batch = 4, .threads = 2});
  run.train_step(1);
  const auto grown = static_cast<double>(resident_bytes() - before);
  const auto planned = static_cast<double>(run.program().peak_bytes());
  EXPECT_GT(planned, 300e6);
  EXPECT_LT(grown, 1.05 * planned + 64e6);
  EXPECT_GT(grown, 0.8 * planned);
}

}  // namespace
}  // namespace tessera
