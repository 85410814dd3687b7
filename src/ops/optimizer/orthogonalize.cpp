// SPDX-License-Identifier: Apache-2.0
// orthogonalize(x, index): of every matrix in a flat buffer, at its place, the orthogonal one that
// is next to it, times a scale. A rank does its own among `ranks` alone, and gives zeros elsewhere:
// the sum over these ranks is whole.
#include "ops/matmul/gemm_blocking.h"
#include "ops/optimizer/newton_schulz.h"
#include "ops/type_rules.h"

namespace tessera {
namespace {

int64_t last_element(const MatrixView& view) {
  int64_t last = view.begin;
  for (const StridedFactors* dims : {&view.stack, &view.rows, &view.cols})
    for (int i = 0; i < dims->count; ++i)
      last += (dims->factors[i].size - 1) * dims->factors[i].stride;
  return last;
}

std::vector<TensorType> infer_types(const OpCall& call) {
  require_float(call, 0);
  if (call.operands.size() > 1) require_type(call, 1, scalar(DType::Int32));
  const int64_t elements = call.operand(0).num_elements(), ranks = call.attributes.integer("ranks");
  call.require(ranks == 1 || (ranks > 1 && call.operands.size() > 1),
               "ranks = {} needs this rank's index", ranks);
  for_each_view(call.attributes.word("matrices"), [&](const MatrixView& view) {
    call.require(last_element(view) < elements, "matrices {} are not inside x {}", to_text(view),
                 to_string(call.operand(0)));
  });
  return {call.operand(0)};
}

// Of the rank that owns its even share.
Cost cost(const OpCall& call) {
  int64_t flops = 0;
  for_each_view(call.attributes.word("matrices"), [&](const MatrixView& view) {
    flops += view.stack.size() * NewtonSchulz(view).flops();
  });
  return cost_of(call, flops / call.attributes.integer("ranks"));
}

// X twice, A twice and partial sums of the norm: on a CPU of the largest matrix, with what its
// products need; on a GPU of those of one shape that it works on at once.
int64_t workspace_bytes(const OpCall& call, const DeviceProfile& profile) {
  const int64_t width = size_bytes(accumulator_of(call.operand(0).dtype));
  int64_t most = 0;
  for_each_view(call.attributes.word("matrices"), [&](const MatrixView& view) {
    const NewtonSchulz sizes(view);
    const auto products = [&](int64_t n, int64_t k) {
      return gemm_workspace_bytes(sizes.m, n, k, width, profile.threads);
    };
    const int64_t gemm = std::max(
        {products(sizes.m, sizes.n), products(sizes.m, sizes.m), products(sizes.n, sizes.m)});
    most = std::max(most, NewtonSchulzBuffers(sizes, width).bytes() + gemm);
  });
  const int64_t ranks = call.attributes.integer("ranks");
  for_each_like_run(
      call.attributes.word("matrices"), [&](std::string_view views, int64_t first, int64_t end) {
        const NewtonSchulz sizes(parse_matrix_view(views.substr(0, views.find('+'))));
        const int64_t rounds = (end - first + ranks - 1) / ranks;
        most = std::max(
            most, matrices_at_once(sizes, rounds) * NewtonSchulzBuffers(sizes, width).bytes());
      });
  return most;
}

}  // namespace

const OpDef& orthogonalize_def() {
  static const OpDef def{
      .name = "orthogonalize",
      .summary = "every matrix in a flat buffer, made nearly orthogonal (Newton-Schulz)",
      .operands = {{"x"}, {.name = "index", .optional = true}},
      .results = {"y"},
      .attributes = {{"matrices", "none"}, {"ranks", int64_t{1}}, {"matched_rms", 0.2}},
      .infer_types = infer_types,
      .cost = cost,
      .workspace_bytes = workspace_bytes,
      .sharding = nothing_split,
  };
  return def;
}

}  // namespace tessera
