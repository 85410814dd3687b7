// SPDX-License-Identifier: Apache-2.0
// Memory-bound kernels, on GPT-2's sizes at batch 4 x 256, compared with a plain copy in the same
// run: bytes per second, counting each operand and result once, on two threads.
#include <benchmark/benchmark.h>

#include <cstring>

#include "ir/emit.h"
#include "ir/op_list.h"
#include "ops/testing/host_tensor.h"

namespace tessera {
namespace {

constexpr int kThreads = 2;

struct Case {
  OpKind op;
  std::string label;
  std::vector<TensorType> operands;
  Attributes attributes = {};
  bool in_place = false;  // every pair that the op allows, the first for each result
};

// Smooth numbers above zero: none of these kernels is faster or slower for others.
void fill(HostTensor& tensor) {
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, tensor.type().dtype == DType::Int32 ? static_cast<double>(i * 7919 % 1000)
                                                      : 1.0 + static_cast<double>(i % 1000) / 1e3);
}

void run_case(benchmark::State& state, const Case& c) {
  const OpDef& def = op_def(c.op);
  const Attributes attributes = complete_attributes(c.op, c.attributes);
  const std::vector<TensorType> result_types = infer_types(c.op, attributes, c.operands);
  std::vector<HostTensor> operands(c.operands.begin(), c.operands.end());
  std::vector<HostTensor> results(result_types.begin(), result_types.end());
  std::vector<TensorRef> operand_refs, result_refs;
  for (HostTensor& operand : operands) {
    fill(operand);
    operand_refs.push_back(operand.ref());
  }
  for (HostTensor& result : results) result_refs.push_back(result.ref());
  for (auto pair = def.in_place.rbegin(); c.in_place && pair != def.in_place.rend(); ++pair)
    result_refs[pair->result].data = operand_refs[pair->operand].data;
  const OpCall types{
      .op = c.op, .attributes = attributes, .operands = c.operands, .results = result_types};
  GuardedBuffer workspace(
      def.workspace_bytes ? def.workspace_bytes(types, DeviceProfile{.threads = kThreads}) : 0);
  ThreadPool threads(kThreads);
  for (auto _ : state)
    cpu_kernel(c.op)(
        {{.operands = operand_refs, .results = result_refs, .workspace = workspace.bytes()},
         c.op,
         attributes,
         threads});
  state.SetBytesProcessed(state.iterations() * def.cost(types).bytes);
}

void copy(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  std::vector<char> from(bytes, 1), to(bytes, 2);
  ThreadPool threads(kThreads);
  for (auto _ : state)
    threads.run_ranges(state.range(0), 65536, [&](int64_t begin, int64_t end, int) {
      std::memcpy(to.data() + begin, from.data() + begin, static_cast<size_t>(end - begin));
    });
  state.SetBytesProcessed(state.iterations() * 2 * state.range(0));
}
BENCHMARK(copy)->Arg(12 << 20)->Arg(256 << 20)->UseRealTime();

std::vector<Case> cases(DType dtype) {
  const Dim batch{"batch", 4}, seq{"seq", 256}, d{"d", 768}, mlp{"mlp", 3072};
  const DType wide = accumulator_of(dtype);
  const TensorType x{dtype, {batch, seq, d}}, h{dtype, {batch, seq, mlp}}, gain{dtype, {d}};
  const TensorType gate_up{dtype, {batch, seq, {"gate_up", 2}, mlp}}, rows{wide, {batch, seq}};
  const TensorType heads{dtype, {batch, seq, {"kv_heads", 12}, {"e", 64}}};
  const TensorType index{DType::Int32, {batch, seq}};
  const Attributes tanh{{"approximation", "tanh"}};
  return {{OpKind::add, "residual", {x, x}, {}, true},
          {OpKind::bias_add, "in_place", {h, {dtype, {mlp}}}, {}, true},
          {OpKind::reduce_to, "bias_gradient", {h}, {{"dtype", std::string(name(wide))}}},
          {OpKind::relu, "", {h}},
          {OpKind::gelu, "exact", {h}},
          {OpKind::gelu, "tanh", {h}, tanh},
          {OpKind::gelu_grad, "exact", {h, h}},
          {OpKind::gelu_grad, "tanh_in_place", {h, h}, tanh, true},
          {OpKind::swiglu, "", {gate_up}},
          {OpKind::swiglu_grad, "", {gate_up, h}},
          {OpKind::layer_norm, "", {x, gain, gain}},
          {OpKind::layer_norm_grad, "", {x, gain, rows, rows, x}},
          {OpKind::rms_norm, "", {x, gain}},
          {OpKind::rms_norm_grad, "", {x, gain, rows, x}},
          {OpKind::rope, "", {heads, index}},
          {OpKind::sum_of_squares, "38m", {{dtype, {{"n", 38597376}}}}}};
}

// All parameters of GPT-2 124M in one tensor.
Case adamw_case() {
  const TensorType weights{DType::Fp32, {{"n", 124439808}}}, step = scalar(DType::Fp64);
  return {OpKind::adamw,
          "124m",
          {weights, weights, weights, weights, step, step, step},
          {{"weight_decay", 0.1}, {"clip_norm", 1.0}},
          true};
}

const bool kRegistered = [] {
  std::vector<std::pair<std::string, Case>> named{{"adamw/124m", adamw_case()}};
  for (const DType dtype : {DType::Fp32, DType::Bf16})
    for (Case& c : cases(dtype))
      named.emplace_back(
          fmt::format("{}/{}{}{}", name(c.op), name(dtype), c.label.empty() ? "" : "/", c.label),
          std::move(c));
  for (const auto& [label, c] : named)
    benchmark::RegisterBenchmark(label.c_str(), [c = c](auto& state) {
      run_case(state, c);
    })->UseRealTime();
  return true;
}();

}  // namespace
}  // namespace tessera
