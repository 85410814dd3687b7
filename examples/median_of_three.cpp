// SPDX-License-Identifier: Apache-2.0
// A model of one's own, from maths to a falling loss: it reads three numbers as tokens and learns
// to name the one in the middle. Exits with 1 if it did not learn.
#include <tessera/model.h>
#include <tessera/step.h>

#include <algorithm>
#include <array>

using namespace tessera;

namespace {

constexpr int kBatch = 8, kSeq = 8, kNumbers = 32, kThreads = 2, kSteps = 300;

Module build_median_model() {
  const Dim batch{"batch", kBatch}, seq{"seq", kSeq}, place{"place", 3};
  const Dim number{"number", kNumbers}, d{"d", 32}, mlp{"mlp", 128};
  ModuleBuilder module("median", DType::Fp32);

  BlockBuilder& reader = module.block_class("reader");
  Tensor table = reader.parameter("table", {number, d}, normal(0.2));
  Tensor words = embedding(table, reader.batch("tokens", {batch, seq, place}));
  // Contracts both `place` and `d`: no reshape is needed, because dims have names.
  Tensor mixed = relu(matmul(words, reader.parameter("mix", {place, d, mlp}, normal(0.1))));
  reader.returns(matmul(mixed, reader.parameter("out", {mlp, d}, normal(0.1))));

  BlockBuilder& layer = module.block_class("layer");
  Tensor x = layer.stream("x", {batch, seq, d});
  Tensor h = rms_norm(x, layer.parameter("norm", {d}, ones()), 1e-5);
  h = gelu(matmul(h, layer.parameter("up", {d, mlp}, normal(0.1))));
  layer.returns(add(x, matmul(h, layer.parameter("down", {mlp, d}, normal(0.1)))));

  BlockBuilder& head = module.block_class("head");
  Tensor y = head.stream("y", {batch, seq, d}), labels = head.batch("labels", {batch, seq});
  head.returns_loss(output_loss(y, head.parameter("table", {number, d}, normal(0.2)), labels));

  module.block("reader", "reader");
  module.block("layer.0", "layer");
  module.block("layer.1", "layer");  // compiled once, like every block of its class
  module.block("head", "head", {{"table", "reader.table"}});  // one table for both ends
  return module.build();
}

void write_batch(Executor& executor, const RandomStream& draws, int step) {
  std::vector<int32_t> tokens, labels;
  for (int i = 0; i < kBatch * kSeq; ++i) {
    std::array<int32_t, 3> drawn;
    uint64_t index = static_cast<uint64_t>(step * kBatch * kSeq + i) * drawn.size();
    for (int32_t& x : drawn) x = static_cast<int32_t>(draws.below(index++, kNumbers));
    tokens.insert(tokens.end(), drawn.begin(), drawn.end());
    std::sort(drawn.begin(), drawn.end());
    labels.push_back(drawn[1]);
  }
  const HostView& program = executor.program();
  executor.write_batch(*program.find_batch_input("tokens"), 0, std::as_bytes(std::span(tokens)));
  executor.write_batch(*program.find_batch_input("labels"), 0, std::as_bytes(std::span(labels)));
}

}  // namespace

int main() {
  Compiled compiled = compile(build_median_model(), {.profile = {.threads = kThreads}});
  CpuExecutor executor(std::move(compiled.program()), {.threads = kThreads});
  initialise_states(executor, /*seed=*/1);
  double first = 0, last = 0;
  for (int step = 0; step < kSteps; ++step) {
    write_batch(executor, RandomStream(1, "numbers"), step);
    executor.write_step("learning_rate", 3e-3);
    executor.write_step("step", step + 1);
    executor.run("train_step");
    last = executor.read_step("loss");
    if (step == 0) first = last;
    if (step % 50 == 0 || step == kSteps - 1) fmt::print("step {:3}  loss {:.3f}\n", step, last);
  }
  return last < first / 2 ? 0 : 1;
}
