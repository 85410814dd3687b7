// SPDX-License-Identifier: Apache-2.0
// The reference: operands are rounded into the workspace, then multiplied.
#include "ops/largest_entry_cpu.h"
#include "ops/matmul/fp8_operands.h"
#include "ops/matmul/product_cpu.h"

namespace tessera {
namespace {

// Of operand 0 or 1.
template <typename T>
const T* round_into(std::byte* to, const CpuCall& call, size_t operand, Fp8 format) {
  ThreadPool& threads = call.threads;
  const TensorRef from = call.operand(operand);
  const T* x = from.as<T>();
  T* rounded = reinterpret_cast<T*>(to);
  const int64_t count = from.type->num_elements();
  const LargestEntryPlace entry = place_of_largest_entry(call.attributes, operand);
  if (!entry.known) *call.result(entry.place).as<float>() = largest_entry(x, count, threads);
  const TensorRef largest = entry.known ? call.operand(entry.place) : call.result(entry.place);
  const int exponent = fp8_exponent(*largest.as<float>(), format);
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
  g.a.data = round_into<T>(call.workspace.data() + places.x, call, 0, format("x_format"));
  g.b.data = round_into<T>(call.workspace.data() + places.w, call, 1, format("w_format"));
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
