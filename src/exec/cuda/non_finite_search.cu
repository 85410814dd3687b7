// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "exec/cuda/non_finite_search.h"

namespace tessera {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMostBlocks = 1024;

// A number whose exponent has all bits set is infinite or no number.
template <typename Word>
__global__ void look(const Word* words, int64_t count, Word exponent, int32_t* note) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  bool finite = true;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step)
    finite = finite && (words[i] & exponent) != exponent;
  if (!finite) *note = 1;  // all threads write the same
}

template <typename Word>
void enqueue_look(const TensorRef& value, Word exponent, int32_t* note, cudaStream_t stream) {
  const int64_t count = value.type->num_elements();
  const int64_t blocks = std::min(kMostBlocks, (count + kThreads - 1) / kThreads);
  if (blocks == 0) return;
  look<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
      reinterpret_cast<const Word*>(value.data), count, exponent, note);
  check_cuda(cudaGetLastError(), "look for values that are not finite");
}

void enqueue_look(const TensorRef& value, int32_t* note, cudaStream_t stream) {
  switch (value.type->dtype) {
    case DType::Fp64:
      return enqueue_look<uint64_t>(value, 0x7ff0000000000000u, note, stream);
    case DType::Fp32:
      return enqueue_look<uint32_t>(value, 0x7f800000u, note, stream);
    case DType::Bf16:
      return enqueue_look<uint16_t>(value, 0x7f80u, note, stream);
    case DType::Int32:
      break;
  }
}

int64_t results_of(const Program& program, const Script& script) {
  int64_t results = 0;
  for (const ScriptCall& call : script.calls) {
    const ProgramBlock& block = program.blocks[static_cast<size_t>(call.block)];
    for (const Instruction& instruction : program.class_of(block).routine(call.routine))
      results += static_cast<int64_t>(writes(instruction).size());
  }
  return results;
}

}  // namespace

NonFiniteSearch::NonFiniteSearch(const Program& program, const Script& script)
    : notes_(results_of(program, script) * static_cast<int64_t>(sizeof(int32_t))) {}

void NonFiniteSearch::look_at(const ScriptCall& call, const Instruction& instruction,
                              const BoundCall& bound, const DeviceStream& stream) {
  for (size_t i = 0; i < bound.results.size(); ++i) {
    if (!may_look_at(instruction, bound, i)) continue;
    enqueue_look(bound.results[i], reinterpret_cast<int32_t*>(notes_.data()) + looked_.size(),
                 stream.get());
    looked_.push_back({&call, &instruction, i});
  }
}

NonFinite NonFiniteSearch::first(const Program& program, int rank) const {
  std::vector<int32_t> notes(looked_.size());
  if (notes.empty()) return {};
  check_cuda(cudaMemcpy(notes.data(), notes_.data(), notes.size() * sizeof(int32_t),
                        cudaMemcpyDeviceToHost),
             "read which values are not finite");
  const auto found = std::find(notes.begin(), notes.end(), 1);
  if (found == notes.end()) return {};
  const Looked& value = looked_[static_cast<size_t>(found - notes.begin())];
  return non_finite_at(program, rank, *value.call, *value.instruction, value.result);
}

}  // namespace tessera
