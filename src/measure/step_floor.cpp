// SPDX-License-Identifier: Apache-2.0
#include "measure/step_floor.h"

#include <algorithm>

#include "core/error.h"
#include "core/statistics.h"

namespace tessera {
namespace {

// Per shape and way; larger shapes take one call.
constexpr double kBudgetSeconds = 0.03;

class MatmulList {
 public:
  explicit MatmulList(int64_t rows) : rows_(rows) {}

  // y[rows, out] = x[rows, in] w, where w lies as [in, out], or as [out, in] for a table.
  void add_weight(const std::string& name, int64_t in, int64_t out, double count,
                  bool table = false) {
    add(name + " forward", {rows_, out, in, false, table}, count);
    add(name + " input_grad", {rows_, in, out, false, !table}, count);
    add_weight_grad(name, in, out, count, table);
  }
  void add_first_weight(const std::string& name, int64_t in, int64_t out, double count) {
    add(name + " forward", {rows_, out, in, false, false}, count);
    add_weight_grad(name, in, out, count, false);
  }
  void add_attention(int64_t seq, int64_t head_size, int64_t value_size, double heads) {
    const double half = heads / 2;
    add("attention q k^T", {seq, seq, head_size, false, true}, 2 * half, true);
    add("dy v^T", {seq, seq, value_size, false, true}, half, true);
    add("attention p v", {seq, value_size, seq, false, false}, half, true);
    add("ds k", {seq, head_size, seq, false, false}, half, true);
    add("attention p^T dy", {seq, value_size, seq, true, false}, half, true);
    add("ds^T q", {seq, head_size, seq, true, false}, half, true);
  }
  std::vector<FloorMatmul> take() { return std::move(matmuls_); }

 private:
  void add_weight_grad(const std::string& name, int64_t in, int64_t out, double count, bool table) {
    add(name + " weight_grad", {table ? out : in, table ? in : out, rows_, true, false}, count);
  }
  void add(const std::string& name, const MatmulShape& shape, double count, bool per_head = false) {
    for (FloorMatmul& known : matmuls_)
      if (known.shape == shape && known.per_head == per_head) {
        known.name += ", " + name;
        known.count += count;
        return;
      }
    matmuls_.push_back({name, shape, count, per_head});
  }

  int64_t rows_;
  std::vector<FloorMatmul> matmuls_;
};

void add_mlp(MatmulList& list, const ModelConfig& model, double repeats) {
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    const int64_t in = layer % 2 == 0 ? model.width : model.mlp_size;
    const int64_t out = layer % 2 == 0 ? model.mlp_size : model.width;
    const std::string name = fmt::format("layer.{}", layer);
    if (layer == 0)
      list.add_first_weight(name, in, out, repeats);
    else
      list.add_weight(name, in, out, repeats);
  }
}

void add_latent_weights(MatmulList& list, const ModelConfig& model, double layers) {
  if (model.q_rank > 0) list.add_weight("q_down", model.width, model.q_rank, layers);
  list.add_weight("q", model.q_rank > 0 ? model.q_rank : model.width, model.heads * model.head_size,
                  layers);
  list.add_weight("kv_down", model.width, model.kv_rank + model.rope_head_size, layers);
  list.add_weight("kv", model.kv_rank,
                  model.heads * (model.head_size - model.rope_head_size + model.value_head_size),
                  layers);
}

void add_transformer(MatmulList& list, const ModelConfig& model, const BatchShape& shape,
                     double repeats) {
  const double layers = static_cast<double>(model.layers) * repeats;
  const bool gated = model.activation == Activation::Swiglu;
  if (model.has_latent_attention())
    add_latent_weights(list, model, layers);
  else
    list.add_weight("qkv", model.width, (model.heads + 2 * model.kv_heads) * model.head_size,
                    layers);
  list.add_weight("out", model.heads * model.value_size(), model.width, layers);
  list.add_weight(gated ? "gate_up" : "up", model.width, (gated ? 2 : 1) * model.mlp_size, layers);
  list.add_weight("down", model.mlp_size, model.width, layers);
  list.add_weight("head", model.width, model.vocabulary, repeats, /*table=*/true);
  list.add_attention(shape.seq, model.head_size, model.value_size(),
                     layers * static_cast<double>(shape.batch * model.heads));
}

std::vector<MatmulShape> shapes_of(const std::vector<FloorMatmul>& matmuls) {
  std::vector<MatmulShape> shapes;
  for (const FloorMatmul& matmul : matmuls) shapes.push_back(matmul.shape);
  return shapes;
}

}  // namespace

std::vector<FloorMatmul> floor_matmuls(const ModelConfig& config, BatchShape microbatch,
                                       int microbatches) {
  const ModelConfig model = resolved(config);
  MatmulList list(microbatch.batch * (model.has_sequence() ? microbatch.seq : 1));
  if (model.has_sequence())
    add_transformer(list, model, microbatch, microbatches);
  else
    add_mlp(list, model, microbatches);
  return list.take();
}

StepFloor::StepFloor(std::vector<FloorMatmul> matmuls, int threads)
    : timer_(shapes_of(matmuls), threads) {
  for (FloorMatmul& matmul : matmuls) samples_.push_back({std::move(matmul), {}, {}});
}

void StepFloor::measure_round() {
  for (Samples& each : samples_)
    if (!each.matmul.per_head)
      each.threaded.push_back(timer_.threaded_seconds(each.matmul.shape, kBudgetSeconds));
  OpenblasTimer::settle();
  for (Samples& each : samples_)
    each.split.push_back(each.matmul.per_head
                             ? timer_.concurrent_seconds(each.matmul.shape, kBudgetSeconds)
                             : timer_.split_seconds(each.matmul.shape, kBudgetSeconds));
}

std::vector<FloorRate> StepFloor::rates() const {
  std::vector<FloorRate> rates;
  for (const Samples& each : samples_) {
    const double split = median(each.split);
    const double threaded = each.threaded.empty() ? split : median(each.threaded);
    rates.push_back({each.matmul, std::min(threaded, split), threaded < split});
  }
  return rates;
}

double StepFloor::seconds() const {
  double total = 0;
  for (const FloorRate& rate : rates()) total += rate.matmul.count * rate.seconds;
  return total;
}

}  // namespace tessera
