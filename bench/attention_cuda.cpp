// SPDX-License-Identifier: Apache-2.0
// Attention and its gradient on a GPU at the sizes of three models and at long lengths; the
// gradient with bits that repeat, and with sums in any order. peer_torch_attention.py times
// PyTorch's at the same sizes.
#include "ops/attention/attention_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "exec/cuda/device_memory.h"
#include "exec/cuda/matrix_products.h"
#include "exec/device.h"
#include "ir/op_list.h"

namespace tessera {
namespace {

struct Shape {
  const char* name;
  int64_t batch, seq, kv_heads, group, e;
  int64_t documents;  // per row
};

constexpr Shape kShapes[] = {{"GPT-2 124M, 64 x 1024", 64, 1024, 12, 1, 64, 1},
                             {"Llama 1B, 8 x 4096", 8, 4096, 8, 4, 64, 1},
                             {"Llama 8B, 2 x 4096", 2, 4096, 8, 4, 128, 1},
                             {"heads of 64, 4 x 4096", 4, 4096, 8, 4, 64, 1},
                             {"heads of 64, 1 x 16384", 1, 16384, 8, 4, 64, 1},
                             {"heads of 64, 1 x 32768", 1, 32768, 8, 4, 64, 1},
                             {"heads of 128, 4 x 4096", 4, 4096, 8, 4, 128, 1},
                             {"heads of 128, 1 x 16384", 1, 16384, 8, 4, 128, 1},
                             {"heads of 128, 1 x 32768", 1, 32768, 8, 4, 128, 1},
                             {"Llama 1B, 8 documents a row", 8, 4096, 8, 4, 64, 8},
                             {"Llama 8B, 8 documents a row", 2, 4096, 8, 4, 128, 8}};

// Zeros would be faster than data is: numbers of both signs, between 2^-4 and 4.
std::vector<uint16_t> made_data(int64_t elements) {
  std::vector<uint16_t> data(static_cast<size_t>(elements));
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<uint16_t>((i * 2654435761u >> 13 & 0x82ffu) + 0x3d80u);
  return data;
}

class Problem {
 public:
  explicit Problem(const Shape& s)
      : q_{DType::Bf16,
           {{"batch", s.batch},
            {"seq", s.seq},
            {"kv_heads", s.kv_heads},
            {"group", s.group},
            {"e", s.e}}},
        k_{DType::Bf16, {{"batch", s.batch}, {"seq", s.seq}, {"kv_heads", s.kv_heads}, {"e", s.e}}},
        lse_{DType::Fp32, {q_.dims.begin(), q_.dims.end() - 1}},
        index_{DType::Int32, {q_.dims.begin(), q_.dims.begin() + 2}},
        memory_(4 * q_.bytes() + 4 * k_.bytes() + lse_.bytes() + 2 * index_.bytes()) {
    const std::vector<uint16_t> data = made_data(memory_.bytes() / 2);
    memory_.fill(std::as_bytes(std::span(data)));
    std::vector<int32_t> indices;
    const int64_t tokens = s.batch * s.seq, length = s.seq / s.documents;
    for (int64_t i = 0; i < tokens; ++i) indices.push_back(static_cast<int32_t>(i % length));
    for (int64_t i = 0; i < tokens; ++i)
      indices.push_back(static_cast<int32_t>(i % s.seq / length));
    memory_.fill(std::as_bytes(std::span(indices)));
    const TensorRef positions = take(index_), document = take(index_), q = take(q_), k = take(k_),
                    v = take(k_), o = take(q_), lse = take(lse_), dout = take(q_);
    forward_operands_ = {q, k, v, positions, document};
    forward_results_ = {o, lse};
    backward_operands_ = {q, k, v, o, lse, dout, positions, document};
    backward_results_ = {take(q_), take(k_), take(k_)};
    int64_t bytes = 0;
    for (const bool forward : {true, false}) {
      std::vector<TensorType> types;
      for (const TensorRef& each : forward ? forward_operands_ : backward_operands_)
        types.push_back(*each.type);
      const OpKind op = forward ? OpKind::attention : OpKind::attention_grad;
      bytes = std::max(bytes, cuda_workspace_bytes({op, attributes_, types, {}}, attention_));
    }
    workspace_ = std::make_unique<DeviceMemory>(bytes);
  }

  // The GPU's milliseconds.
  double time(bool forward, bool plain_causal, bool repeatable) {
    const OpKind op = forward ? OpKind::attention : OpKind::attention_grad;
    const CudaCall call{
        {.operands = forward ? forward_operands_ : backward_operands_,
         .results = forward ? forward_results_ : backward_results_,
         .workspace = {workspace_->data(), static_cast<size_t>(workspace_->bytes())}},
        op,
        attributes_,
        stream_.get(),
        products_,
        attention_,
        plain_causal,
        repeatable};
    constexpr int kRounds = 5;
    DeviceTimer timer;
    cuda_kernel(op)(call);
    timer.begin(stream_);
    for (int i = 0; i < kRounds; ++i) cuda_kernel(op)(call);
    timer.end(stream_);
    return timer.seconds() / kRounds * 1e3;
  }

 private:
  TensorRef take(const TensorType& type) {
    const int64_t at = std::exchange(next_, next_ + type.bytes());
    return {&type, memory_.data() + at};
  }

  TensorType q_, k_, lse_, index_;
  DeviceMemory memory_;
  int64_t next_ = 0;
  std::vector<TensorRef> forward_operands_, forward_results_, backward_operands_, backward_results_;
  Attributes attributes_{{"scale", 0.0}};
  CausalAttention attention_;
  MatrixProducts products_;
  DeviceStream stream_;
  std::unique_ptr<DeviceMemory> workspace_;
};

void report(const Shape& s) {
  Problem problem(s);
  const double length = static_cast<double>(s.seq / s.documents);
  const double pairs =
      static_cast<double>(s.batch * s.kv_heads * s.group * s.documents) * length * length / 2;
  const auto time = [&](bool forward, bool repeatable) {
    const double milliseconds = problem.time(forward, s.documents == 1, repeatable);
    const double flops = (forward ? 4 : 10) * static_cast<double>(s.e) * pairs;
    return fmt::format("{:>8.3f} {:>5.0f}", milliseconds, flops / milliseconds * 1e-9);
  };
  fmt::print("{:<28} {:>16} {:>16} {:>16}\n", s.name, time(true, true), time(false, true),
             time(false, false));
}

}  // namespace
}  // namespace tessera

int main() {
  using namespace tessera;
  if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) {
    fmt::print(stderr, "error: {}\n", why);
    return 1;
  }
  fmt::print(
      "milliseconds and TFLOP/s, of the pairs that the mask leaves\n{:<28} {:>16} {:>16} {:>16}\n",
      "attention", "forward", "backward", "in any order");
  for (const Shape& shape : kShapes) report(shape);
}
