// SPDX-License-Identifier: Apache-2.0
// Every collective, dtype, reduction and layout on every backend, compared bit by bit with a plain
// loop; so backends that pass agree with each other.
#include "comm/communicator.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

#include "comm/testing/backends.h"
#include "comm/testing/sample_values.h"

namespace tessera {
namespace {

using Kind = CollectiveKind;

struct Case {
  Kind kind;
  Reduction reduction;
  DType dtype;
  Parts parts;
  bool in_place;
  int root;
};

// The same part inside a wider tensor, with gaps that nobody may touch.
Parts strided_parts(int64_t outer, int64_t middle, int64_t inner, int ranks) {
  const int64_t middle_stride = ranks * inner + 3;
  return {.outer = outer,
          .outer_stride = middle * middle_stride + 7,
          .middle = middle,
          .middle_stride = middle_stride,
          .part_stride = inner,
          .inner = inner};
}

int64_t extent(const Parts& parts, int ranks) {
  return parts.outer * parts.outer_stride + parts.middle * parts.middle_stride +
         ranks * parts.part_stride + parts.inner;
}

// Calls f(element of the part, its place in the buffer).
template <typename F>
void for_each_element(const Parts& parts, int64_t part, F&& f) {
  int64_t element = 0;
  for (int64_t o = 0; o < parts.outer; ++o)
    for (int64_t m = 0; m < parts.middle; ++m)
      for (int64_t i = 0; i < parts.inner; ++i)
        f(element++,
          o * parts.outer_stride + m * parts.middle_stride + part * parts.part_stride + i);
}

bool many_in(Kind kind) {
  return kind == Kind::Scatter || kind == Kind::ReduceScatter || kind == Kind::AllToAll;
}
bool many_out(Kind kind) {
  return kind == Kind::Gather || kind == Kind::AllGather || kind == Kind::AllToAll;
}
bool reducing(Kind kind) {
  return kind == Kind::Reduce || kind == Kind::ReduceScatter || kind == Kind::AllReduce;
}

class CaseRun {
 public:
  CaseRun(Communicator& group, std::byte* input, std::byte* output)
      : group_(group), input_(input), output_(output), me_(group.rank()), ranks_(group.size()) {}

  // Returns how many elements are wrong.
  int64_t operator()(const Case& c) {
    fill(c);
    std::byte* input = input_;
    std::byte* output = output_;
    const int64_t own_part = me_ * c.parts.part_stride * size_bytes(c.dtype);
    if (c.in_place && many_out(c.kind)) {
      move_input_into_output(c);
      input = output_ + own_part;
    } else if (c.in_place) {
      output = input_ + (many_in(c.kind) ? own_part : 0);
    }
    const bool reads = (c.kind != Kind::Broadcast && c.kind != Kind::Scatter) || me_ == c.root;
    const bool writes = (c.kind != Kind::Gather && c.kind != Kind::Reduce) || me_ == c.root;
    group_.run({.kind = c.kind,
                .reduction = c.reduction,
                .dtype = c.dtype,
                .input = reads ? input : nullptr,
                .input_parts = reads ? c.parts : Parts{},
                .output = writes ? output : nullptr,
                .output_parts = writes ? c.parts : Parts{},
                .root = c.root,
                .name = "case"});
    return writes ? wrong_elements(c, output) : 0;
  }

 private:
  // Member r's input part p, element e, is sample (r, p * elements + e).
  void fill(const Case& c) {
    std::memset(output_, 0x5a, static_cast<size_t>(extent(c.parts, ranks_) * size_bytes(c.dtype)));
    std::memset(input_, 0x5a, static_cast<size_t>(extent(c.parts, ranks_) * size_bytes(c.dtype)));
    for (int part = 0; part < (many_in(c.kind) ? ranks_ : 1); ++part)
      for_each_element(c.parts, part, [&](int64_t element, int64_t place) {
        put_value(c.dtype, input_, place, sample_value(me_, part * c.parts.elements() + element));
      });
  }

  void move_input_into_output(const Case& c) {
    for_each_element(c.parts, me_, [&](int64_t element, int64_t place) {
      put_value(c.dtype, output_, place, sample_value(me_, element));
    });
  }

  uint64_t expected(const Case& c, int part, int64_t element) const {
    const int64_t mine = me_ * c.parts.elements() + element;
    switch (c.kind) {
      case Kind::Broadcast:
        return bits_of_sample(c.dtype, c.root, element);
      case Kind::Scatter:
        return bits_of_sample(c.dtype, c.root, mine);
      case Kind::Gather:
      case Kind::AllGather:
        return bits_of_sample(c.dtype, part, element);
      case Kind::AllToAll:
        return bits_of_sample(c.dtype, part, mine);
      case Kind::ReduceScatter:
        return bits_of_reduction(c.dtype, c.reduction, ranks_, mine);
      default:
        return bits_of_reduction(c.dtype, c.reduction, ranks_, element);
    }
  }

  int64_t wrong_elements(const Case& c, const std::byte* output) const {
    int64_t wrong = 0;
    std::vector<bool> in_a_part(static_cast<size_t>(extent(c.parts, ranks_)));
    for (int part = 0; part < (many_out(c.kind) ? ranks_ : 1); ++part)
      for_each_element(c.parts, part, [&](int64_t element, int64_t place) {
        wrong += bits_at(c.dtype, output, place) != expected(c, part, element);
        in_a_part[static_cast<size_t>(place)] = true;
      });
    if (c.in_place) return wrong;
    std::byte untouched[8];
    std::memset(untouched, 0x5a, sizeof(untouched));
    for (int64_t i = 0; i < extent(c.parts, ranks_); ++i)
      wrong += !in_a_part[static_cast<size_t>(i)] &&
               bits_at(c.dtype, output, i) != bits_at(c.dtype, untouched, 0);
    return wrong;
  }

  Communicator& group_;
  std::byte *input_, *output_;
  int me_, ranks_;
};

std::vector<Parts> small_layouts(int ranks) {
  return {contiguous_parts(0),           contiguous_parts(1),
          contiguous_parts(7),           contiguous_parts(1031),
          strided_parts(1, 5, 3, ranks), strided_parts(3, 1, 17, ranks),
          strided_parts(3, 4, 67, ranks)};
}

std::vector<Case> all_cases(int ranks) {
  std::vector<Case> cases;
  for (const Kind kind : {Kind::Broadcast, Kind::Scatter, Kind::Gather, Kind::Reduce,
                          Kind::AllGather, Kind::ReduceScatter, Kind::AllReduce, Kind::AllToAll})
    for (const DType dtype : {DType::Fp64, DType::Fp32, DType::Bf16, DType::Int32})
      for (const Parts& parts : small_layouts(ranks))
        for (int reduction = 0; reduction < (reducing(kind) ? kNumReductions : 1); ++reduction)
          for (const bool in_place : {false, true})
            if (!in_place || kind != Kind::AllToAll)
              cases.push_back({.kind = kind,
                               .reduction = static_cast<Reduction>(reduction),
                               .dtype = dtype,
                               .parts = parts,
                               .in_place = in_place,
                               .root = static_cast<int>(cases.size()) % ranks});
  return cases;
}

std::vector<int> all_ranks(int ranks) {
  std::vector<int> all(static_cast<size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::string text(const Case& c) {
  return fmt::format("{} {} {}, {} x {} x {}{}", name(c.kind), name(c.reduction), name(c.dtype),
                     c.parts.outer, c.parts.middle, c.parts.inner, c.in_place ? ", in place" : "");
}

void expect_right(const std::vector<Case>& cases, const Backend& backend, int ranks) {
  int64_t bytes = 64;
  for (const Case& c : cases) bytes = std::max(bytes, extent(c.parts, ranks) * size_bytes(c.dtype));
  backend.each_rank(ranks, 60, [&](RankWorld& world, const Allocate& allocate) {
    const auto group = world.group(all_ranks(ranks), "all");
    std::byte* input = allocate(bytes);
    std::byte* output = allocate(bytes);
    CaseRun run(*group, input, output);
    for (const Case& c : cases)
      EXPECT_EQ(run(c), 0) << text(c) << ", rank " << world.rank() << " of " << ranks;
  });
}

class Communicators : public testing::TestWithParam<std::tuple<Backend, int>> {
 protected:
  const Backend& backend() const { return std::get<0>(GetParam()); }
  int ranks() const { return std::get<1>(GetParam()); }
};

TEST_P(Communicators, GiveTheBitsOfAPlainLoop) {
  expect_right(all_cases(ranks()), backend(), ranks());
}

TEST_P(Communicators, MoveLargeBuffers) {
  std::vector<Case> cases;
  for (const Kind kind : {Kind::Broadcast, Kind::Scatter, Kind::Gather, Kind::Reduce,
                          Kind::AllGather, Kind::ReduceScatter, Kind::AllReduce, Kind::AllToAll})
    cases.push_back({.kind = kind,
                     .reduction = Reduction::Sum,
                     .dtype = kind == Kind::Reduce ? DType::Bf16 : DType::Fp32,
                     .parts = contiguous_parts(many_in(kind) || many_out(kind) ? 20011 : 100003),
                     .in_place = kind == Kind::AllReduce,
                     .root = ranks() - 1});
  expect_right(cases, backend(), ranks());
}

TEST_P(Communicators, BarrierHoldsEveryoneUntilTheLastComes) {
  backend().each_rank(ranks(), 60, [&](RankWorld& world, const Allocate&) {
    const auto group = world.group(all_ranks(ranks()), "all");
    group->run({.kind = Kind::Barrier, .name = "begin"});
    const auto begin = std::chrono::steady_clock::now();
    if (world.rank() == ranks() - 1) std::this_thread::sleep_for(std::chrono::milliseconds(200));
    group->run({.kind = Kind::Barrier, .name = "end"});
    // Half, because ranks may leave the first barrier late.
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(100));
  });
}

INSTANTIATE_TEST_SUITE_P(, Communicators,
                         testing::Combine(testing::ValuesIn(backends_with_cut_messages()),
                                          testing::ValuesIn(rank_counts())),
                         [](const auto& instance) { return backend_and_ranks(instance); });

}  // namespace
}  // namespace tessera
