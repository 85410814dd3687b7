// SPDX-License-Identifier: Apache-2.0
// The reference: operands rounded into the workspace, then the product of what is left of them.
#include <atomic>
#include <cmath>

#include "ops/matmul/fp8_operands.h"
#include "ops/matmul/product_cpu.h"
#include "ops/row_ranges.h"

namespace tessera {
namespace {

template <typename T>
float largest_of(const T* x, int64_t count, ThreadPool& threads) {
  std::atomic<float> largest = 0;  // the same in whatever order pieces come
  threads.run_ranges(count, kPieceElements, [&](int64_t begin, int64_t end, int) {
    float own = 0;
    for (int64_t i = begin; i < end; ++i)
      own = std::max(own, std::abs(static_cast<float>(load(x[i]))));
    float seen = largest.load();
    while (own > seen && !largest.compare_exchange_weak(seen, own)) {
    }
  });
  return largest;
}

template <typename T>
const T* round_into(std::byte* to, const TensorRef& from, Fp8 format, ThreadPool& threads) {
  const T* x = from.as<T>();
  T* rounded = reinterpret_cast<T*>(to);
  const int64_t count = from.type->num_elements();
  const int exponent = fp8_exponent(largest_of(x, count, threads), format);
  threads.run_ranges(count, kPieceElements, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i)
      rounded[i] = store<T>(through_fp8(static_cast<float>(load(x[i])), exponent, format));
  });
  return rounded;
}

template <typename T, typename R>
void multiply(const CpuCall& call) {
  const Fp8Workspace places(*call.operand(0).type, *call.operand(1).type);
  const auto format = [&](const char* key) { return *fp8_from_name(call.attributes.word(key)); };
  Gemm<T, T, R> g = product_of<T, R>(call, call.result(0));
  g.a.data = round_into<T>(call.workspace.data() + places.x, call.operand(0), format("x_format"),
                           call.threads);
  g.b.data = round_into<T>(call.workspace.data() + places.w, call.operand(1), format("w_format"),
                           call.threads);
  gemm(g, call.threads, call.workspace.subspan(static_cast<size_t>(places.bytes)));
}

}  // namespace

void matmul_fp8_cpu(const CpuCall& call) {
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    if (call.result(0).type->dtype == dtype_of<T>())
      multiply<T, T>(call);
    else
      multiply<T, Accumulator<T>>(call);
  });
}

}  // namespace tessera
