// SPDX-License-Identifier: Apache-2.0
// ZB-V (Qi et al. 2024): rank r holds stage r on the way down and stage 2 * ranks - 1 - r on the
// way back, so the loss is on rank 0 and a microbatch's backward begins where its forward ends.
#include <algorithm>

#include "schedule/kinds/kinds.h"

namespace tessera {
namespace {

// Builds one rank's table; each action takes its chunk's next microbatch.
struct Row {
  std::vector<Action>& actions;
  int stage[2];
  int forwards[2] = {0, 0}, input_grads[2] = {0, 0}, weight_grads[2] = {0, 0};

  void forward(int chunk) {
    actions.push_back({ActionKind::Forward, stage[chunk], forwards[chunk]++});
  }
  void input_grad(int chunk) {
    actions.push_back({ActionKind::InputGrad, stage[chunk], input_grads[chunk]++});
  }
  void weight_grad(int chunk) {
    actions.push_back({ActionKind::WeightGrad, stage[chunk], weight_grads[chunk]++});
  }
  void backward(int chunk) {
    input_grad(chunk);
    weight_grad(chunk);
  }
};

void fill(Row& row, int rank, int ranks, int microbatches) {
  for (int i = 0; i < 2 * (ranks - rank) - 1; ++i) row.forward(0);
  for (int i = 0; i < rank; ++i) {
    row.forward(1);
    row.forward(0);
  }
  for (int i = 0; i < ranks - rank; ++i) {
    row.forward(1);
    row.backward(1);
  }
  while (row.forwards[1] < microbatches) {
    if (row.forwards[0] < microbatches) row.forward(0);
    row.backward(0);
    row.forward(1);
    row.backward(1);
  }
  for (int i = 0; i < rank; ++i) {
    row.input_grad(0);
    row.input_grad(1);
  }
  for (int i = 0; i < ranks - rank; ++i) row.backward(0);
  for (const int chunk : {1, 0})
    while (row.weight_grads[chunk] < microbatches) row.weight_grad(chunk);
}

}  // namespace

Schedule zb_v(int ranks, int chunks, int microbatches) {
  // Fewer microbatches do not fill the V; the table for enough of them is also valid for fewer.
  const int filled = std::max(microbatches, 2 * ranks - 1);
  Schedule schedule = empty_schedule("zb_v", ranks, chunks, filled);
  for (int rank = 0; rank < ranks; ++rank) {
    const int back = 2 * ranks - 1 - rank;
    schedule.rank_of_stage[static_cast<size_t>(rank)] = rank;
    schedule.rank_of_stage[static_cast<size_t>(back)] = rank;
    Row row{.actions = schedule.actions[static_cast<size_t>(rank)], .stage = {rank, back}};
    fill(row, rank, ranks, filled);
  }
  drop_microbatches(schedule, microbatches);
  return schedule;
}

}  // namespace tessera
