// SPDX-License-Identifier: Apache-2.0
// put_rows and take_rows on every backend, compared with lists that are filled row by row.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "comm/communicator.h"
#include "comm/testing/backends.h"
#include "core/random.h"

namespace tessera {
namespace {

struct RowCase {
  std::string name;
  int64_t experts_per_rank, columns, most;  // rows of one rank for one expert
  int64_t room = 0;                         // of a pool; 0: enough
  bool first_has_all = false;               // its experts get `most` rows each, others none
};

// How many rows each rank has for each expert.
class Loads {
 public:
  Loads(const RowCase& c, int ranks) : ranks_(ranks), experts_(c.experts_per_rank * ranks) {
    const RandomStream random(5, c.name);
    for (int64_t i = 0; i < ranks_ * experts_; ++i) {
      const auto drawn = static_cast<int64_t>(
          random.below(static_cast<uint64_t>(i), static_cast<uint64_t>(c.most + 1)));
      const int64_t hot = i % experts_ < c.experts_per_rank ? c.most : 0;
      counts_.push_back(c.first_has_all ? hot : drawn);
    }
  }
  int64_t experts() const { return experts_; }
  int64_t at(int rank, int64_t expert) const {
    return counts_[static_cast<size_t>(rank * experts_ + expert)];
  }
  std::vector<int32_t> ends() const {
    std::vector<int32_t> ends;
    for (int rank = 0; rank < ranks_; ++rank)
      for (int64_t expert = 0, end = 0; expert < experts_; ++expert)
        ends.push_back(static_cast<int32_t>(end += at(rank, expert)));
    return ends;
  }
  int64_t all() const { return std::accumulate(counts_.begin(), counts_.end(), int64_t{0}); }

 private:
  int ranks_;
  int64_t experts_;
  std::vector<int64_t> counts_;
};

// A row's name: who sorted it, for which expert, the how-manieth.
double row_value(int rank, int64_t expert, int64_t number) {
  return 1e6 * rank + 1e3 * static_cast<double>(expert) + static_cast<double>(number);
}

std::vector<double> sorted_rows(const Loads& loads, int rank) {
  std::vector<double> rows;
  for (int64_t expert = 0; expert < loads.experts(); ++expert)
    for (int64_t i = 0; i < loads.at(rank, expert); ++i) rows.push_back(row_value(rank, expert, i));
  return rows;
}

std::vector<double> pool_rows(const Loads& loads, int owner, int ranks) {
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
    rows_ = c.room > 0 ? c.room : std::max<int64_t>(1, loads_.all());
    std::vector<int> all(static_cast<size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    group_ = world.group(all, "ep");
    const auto bytes = static_cast<int64_t>(sizeof(double)) * rows_ * columns_;
    input_ = reinterpret_cast<double*>(allocate(bytes));
    output_ = reinterpret_cast<double*>(allocate(bytes));
  }

  const Loads& loads() const { return loads_; }

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
  Loads loads_;
  std::vector<int32_t> ends_;
  std::unique_ptr<Communicator> group_;
  double *input_ = nullptr, *output_ = nullptr;
};

std::vector<RowCase> row_cases() {
  return {{"few", 1, 1, 2}, {"uneven", 3, 5, 9}, {"wide", 2, 300, 40}, {"none", 2, 4, 0}};
}

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
  const RowCase c{"hot", 3, 5, 4, 12 + 3 * (ranks() - 1), true};
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
