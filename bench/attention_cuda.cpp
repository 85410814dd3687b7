// SPDX-License-Identifier: Apache-2.0
// Attention and its gradient on a GPU at the sizes of three models, and over lengths, head sizes
// and masks; the gradient with bits that repeat, and with sums in any order.
// peer_torch_attention.py runs this and times PyTorch's at the same sizes beside it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exec/cuda/attention_choice.h"
#include "exec/cuda/causal_attention.h"
#include "exec/cuda/device_memory.h"
#include "exec/cuda/matrix_products.h"
#include "exec/device.h"
#include "ir/op_list.h"

namespace tessera {
namespace {

struct Shape {
  std::string name;
  int64_t batch, seq, kv_heads, group, e, value_e;
  int64_t documents = 1;  // per row
};

// The models, then every length by head size and mask.
std::vector<Shape> shapes() {
  std::vector<Shape> all{{"GPT-2 124M, 64 x 1024", 64, 1024, 12, 1, 64, 64},
                         {"Llama 1B, 8 x 4096", 8, 4096, 8, 4, 64, 64},
                         {"Llama 8B, 2 x 4096", 2, 4096, 8, 4, 128, 128},
                         {"Llama 1B, 8 documents", 8, 4096, 8, 4, 64, 64, 8},
                         {"Llama 8B, 8 documents", 2, 4096, 8, 4, 128, 128, 8}};
  for (const auto& [e, value_e] : {std::pair{64, 64}, {128, 128}, {192, 128}})
    for (const int64_t documents : {1, 8})
      for (const int64_t seq : {1024, 4096, 16384, 32768, 131072}) {
        const int64_t batch = std::max<int64_t>(1, 16384 / seq);
        const std::string heads = e == value_e ? fmt::format("{}", e) : "192/128";
        all.push_back(
            {fmt::format("{}, {} x {}{}", heads, batch, seq, documents == 1 ? "" : ", 8 documents"),
             batch, seq, e == value_e ? 8 : 32, e == value_e ? 4 : 1, e, value_e, documents});
      }
  return all;
}

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
        v_(k_),
        o_(q_),
        lse_{DType::Fp32, {q_.dims.begin(), q_.dims.end() - 1}},
        index_{DType::Int32, {q_.dims.begin(), q_.dims.begin() + 2}},
        memory_(2 * (q_.bytes() + k_.bytes()) * (s.e + s.value_e) / s.e + lse_.bytes() +
                2 * index_.bytes()) {
    for (TensorType* type : {&v_, &o_})
      type->dims.back() = {s.value_e == s.e ? "e" : "value_e", s.value_e};
    const std::vector<uint16_t> data = made_data(memory_.bytes() / 2);
    memory_.fill(std::as_bytes(std::span(data)));
    std::vector<int32_t> indices;
    const int64_t tokens = s.batch * s.seq, length = s.seq / s.documents;
    for (int64_t i = 0; i < tokens; ++i) indices.push_back(static_cast<int32_t>(i % length));
    for (int64_t i = 0; i < tokens; ++i)
      indices.push_back(static_cast<int32_t>(i % s.seq / length));
    memory_.fill(std::as_bytes(std::span(indices)));
    const TensorRef positions = take(index_), document = take(index_), q = take(q_), k = take(k_),
                    v = take(v_), o = take(o_), lse = take(lse_), dout = take(o_);
    forward_operands_ = {q, k, v, positions, document};
    forward_results_ = {o, lse};
    backward_operands_ = {q, k, v, o, lse, dout, positions, document};
    backward_results_ = {take(q_), take(k_), take(v_)};
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

  struct Timed {
    double milliseconds = 0;  // 0: not by the plain kernels, which take minutes
    AttentionPath path = AttentionPath::PlainCores;
  };
  // Of the GPU, by the path that is chosen.
  Timed time(bool forward, bool plain_causal, bool repeatable) {
    const OpKind op = forward ? OpKind::attention : OpKind::attention_grad;
    CudaCall call{{.operands = forward ? forward_operands_ : backward_operands_,
                   .results = forward ? forward_results_ : backward_results_,
                   .workspace = {workspace_->data(), static_cast<size_t>(workspace_->bytes())}},
                  op,
                  attributes_,
                  stream_.get(),
                  products_,
                  attention_,
                  plain_causal,
                  repeatable};
    if (attention_candidates(call).front() == AttentionPath::PlainCores) return {};
    Timed timed;
    const auto enqueue = [&](AttentionPath path) {
      call.path = timed.path = path;
      cuda_kernel(op)(call);
      call.path = {};
    };
    DeviceTimer timer;
    const auto seconds = [&](int rounds) {
      timer.begin(stream_);
      for (int i = 0; i < rounds; ++i) run_fastest_attention(call, enqueue);
      timer.end(stream_);
      return timer.seconds() / rounds;
    };
    run_fastest_attention(call, enqueue);
    const double once = seconds(1);
    timed.milliseconds = 1e3 * (once > 0.1 ? once : seconds(5));
    return timed;
  }

 private:
  TensorRef take(const TensorType& type) {
    const int64_t at = std::exchange(next_, next_ + type.bytes());
    return {&type, memory_.data() + at};
  }

  TensorType q_, k_, v_, o_, lse_, index_;
  DeviceMemory memory_;
  int64_t next_ = 0;
  std::vector<TensorRef> forward_operands_, forward_results_, backward_operands_, backward_results_;
  Attributes attributes_{{"scale", 0.0}};
  CausalAttention attention_;
  MatrixProducts products_;
  DeviceStream stream_;
  std::unique_ptr<DeviceMemory> workspace_;
};

const char* name(AttentionPath path) {
  constexpr const char* kNames[] = {"Hopper", "cuDNN", "mma", "plain"};
  return kNames[static_cast<int>(path)];
}

void report(const Shape& s) {
  Problem problem(s);
  const double length = static_cast<double>(s.seq / s.documents);
  const double pairs =
      static_cast<double>(s.batch * s.kv_heads * s.group * s.documents) * length * length / 2;
  const auto time = [&](bool forward, bool repeatable) {
    const auto timed = problem.time(forward, s.documents == 1, repeatable);
    if (timed.milliseconds == 0) return std::string("-");
    const double flops =
        pairs * static_cast<double>(forward ? 2 * (s.e + s.value_e) : 6 * s.e + 4 * s.value_e);
    return fmt::format("{:.3f} {:.0f} {}", timed.milliseconds, flops / timed.milliseconds * 1e-9,
                       name(timed.path));
  };
  fmt::print("{:<28} {:>20} {:>20} {:>20}\n", s.name, time(true, true), time(false, true),
             time(false, false));
  std::fflush(stdout);
}

}  // namespace
}  // namespace tessera

// Of rows up to as many tokens as the argument says, or of all.
int main(int argc, char** argv) {
  using namespace tessera;
  if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) {
    fmt::print(stderr, "error: {}\n", why);
    return 1;
  }
  fmt::print(
      "milliseconds and TFLOP/s, of the pairs that the mask leaves, and by which kernel\n"
      "{:<28} {:>20} {:>20} {:>20}\n",
      "attention", "forward", "backward", "in any order");
  const int64_t most = argc > 1 ? std::stoll(argv[1]) : std::numeric_limits<int64_t>::max();
  for (const Shape& shape : shapes())
    if (shape.seq <= most) report(shape);
}
