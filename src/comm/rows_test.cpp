// SPDX-License-Identifier: Apache-2.0
// put_rows and take_rows on every backend, compared with lists that are filled row by row.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "comm/communicator.h"
#include "comm/testing/backends.h"
#include "comm/testing/row_loads.h"

namespace tessera {
namespace {

// A row's name: who sorted it, for which expert, the how-manieth.
double row_value(int rank, int64_t expert, int64_t number) {
  return 1e6 * rank + 1e3 * static_cast<double>(expert) + static_cast<double>(number);
}

std::vector<double> sorted_rows(const RowLoads& loads, int rank) {
  std::vector<double> rows;
  for (int64_t expert = 0; expert < loads.experts(); ++expert)
    for (int64_t i = 0; i < loads.at(rank, expert); ++i) rows.push_back(row_value(rank, expert, i));
  return rows;
}

std::vector<double> pool_rows(const RowLoads& loads, int owner, int ranks) {
  std::vector<double> rows;
  const int64_t own = loads.experts() / ranks;
  for (int64_t expert = owner * own; expert < (owner + 1) * own; ++expert)
    for (int rank = 0; rank < ranks; ++rank)
      for (int64_t i = 0; i < loads.at(rank, expert); ++i)
        rows.push_back(row_value(rank, expert, i));
  return rows;
}

constexpr double kUntouched = -7;

class RowRanks {
 public:
  RowRanks(const RowCase& c, RankWorld& world, int ranks, const Allocate& allocate)
      : columns_(c.columns), loads_(c, ranks), ends_(loads_.ends()) {
    rows_ = loads_.room();
    std::vector<int> all(static_cast<size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    group_ = world.group(all, "ep");
    const auto bytes = static_cast<int64_t>(sizeof(double)) * rows_ * columns_;
    input_ = reinterpret_cast<double*>(allocate(bytes));
    output_ = reinterpret_cast<double*>(allocate(bytes));
  }

  const RowLoads& loads() const { return loads_; }

  // The rows that come out, by their first element; all elements must be right.
  std::vector<double> moved(CollectiveKind kind, const std::vector<double>& rows) {
    std::fill_n(input_, rows_ * columns_, -3);
    std::fill_n(output_, rows_ * columns_, kUntouched);
    for (size_t row = 0; row < rows.size() && static_cast<int64_t>(row) < rows_; ++row)
      for (int64_t i = 0; i < columns_; ++i)
        input_[static_cast<int64_t>(row) * columns_ + i] =
            rows[row] + 0.125 * static_cast<double>(i);
    const Parts whole = contiguous_parts(rows_ * columns_);
    group_->run({.kind = kind,
                 .dtype = DType::Fp64,
                 .input = reinterpret_cast<const std::byte*>(input_),
                 .input_parts = whole,
                 .output = reinterpret_cast<std::byte*>(output_),
                 .output_parts = whole,
                 .table = {.ends = ends_.data(), .experts = loads_.experts(), .rows = rows_},
                 .name = "rows"});
    std::vector<double> out;
    for (int64_t row = 0; row < rows_; ++row) {
      out.push_back(output_[row * columns_]);
      for (int64_t i = 1; i < columns_ && out.back() != kUntouched; ++i)
        EXPECT_EQ(output_[row * columns_ + i], out.back() + 0.125 * static_cast<double>(i));
    }
    return out;
  }

  std::vector<double> with_rest(std::vector<double> rows) const {
    rows.resize(static_cast<size_t>(rows_), kUntouched);
    return rows;
  }

 private:
  int64_t columns_, rows_ = 0;
  RowLoads loads_;
  std::vector<int32_t> ends_;
  std::unique_ptr<Communicator> group_;
  double *input_ = nullptr, *output_ = nullptr;
};

class Rows : public testing::TestWithParam<std::tuple<Backend, int>> {
 protected:
  const Backend& backend() const { return std::get<0>(GetParam()); }
  int ranks() const { return std::get<1>(GetParam()); }
};

TEST_P(Rows, ArePutByExpertThenRankAndTakenBackAsTheyWere) {
  for (const RowCase& c : row_cases())
    backend().each_rank(ranks(), 60, [&](RankWorld& world, const Allocate& allocate) {
      RowRanks run(c, world, ranks(), allocate);
      const int me = world.rank();
      const std::vector<double> sorted = sorted_rows(run.loads(), me),
                                pool = pool_rows(run.loads(), me, ranks());
      EXPECT_EQ(run.moved(CollectiveKind::PutRows, sorted), run.with_rest(pool)) << c.name;
      EXPECT_EQ(run.moved(CollectiveKind::TakeRows, pool), run.with_rest(sorted)) << c.name;
    });
}

// As many as there is room for come, in the same order, and nothing is written beyond.
TEST_P(Rows, BeyondTheRoomOfAPoolAreLeftOut) {
  const RowCase c = hot_rows(ranks());
  backend().each_rank(ranks(), 60, [&](RankWorld& world, const Allocate& allocate) {
    RowRanks run(c, world, ranks(), allocate);
    const int me = world.rank();
    EXPECT_EQ(run.moved(CollectiveKind::PutRows, sorted_rows(run.loads(), me)),
              run.with_rest(pool_rows(run.loads(), me, ranks())));
  });
}

INSTANTIATE_TEST_SUITE_P(, Rows,
                         testing::Combine(testing::ValuesIn(backends_with_cut_messages()),
                                          testing::ValuesIn(rank_counts())),
                         [](const auto& instance) { return backend_and_ranks(instance); });

}  // namespace
}  // namespace tessera
