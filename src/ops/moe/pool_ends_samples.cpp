// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {
namespace {

// Rank r has `rows(r, e)` rows for expert e.
OpSample sample(std::string name, int64_t ranks, int64_t experts, int64_t shard, int64_t slots,
                std::function<int64_t(int64_t, int64_t)> rows, bool needed = false) {
  const auto ends = [=](int64_t i, double) {
    int64_t end = 0;
    for (int64_t e = 0; e <= i % experts; ++e) end += rows(i / experts, e);
    return static_cast<double>(end);
  };
  const auto index = [=](int64_t, double) { return static_cast<double>(shard); };
  return {
      .name = std::move(name),
      .operands = {{.type = {DType::Int32, {{"sorter", ranks}, {"expert", experts}}}, .fill = ends},
                   {.type = scalar(DType::Int32), .fill = index}},
      .attributes = {{"slots", slots}, {"needed", int64_t{needed}}},
      .flops = 2 * experts};
}

}  // namespace

std::vector<OpSample> pool_ends_samples() {
  const auto uneven = [](int64_t rank, int64_t expert) { return (3 * rank + 5 * expert) % 7; };
  return {
      sample("the_first_ranks_experts", 2, 8, 0, 20, uneven),
      sample("the_last_ranks_experts", 4, 8, 3, 20, uneven),
      sample("more_than_there_is_room_for", 2, 4, 1, 3, uneven),
      sample("what_would_have_been_needed", 2, 4, 1, 3, uneven, true),
      sample("one_rank", 1, 6, 0, 10, uneven),
  };
}

}  // namespace tessera
