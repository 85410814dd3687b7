// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/testing/run_on_gpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "exec/causal_batches.h"
#include "exec/cuda/causal_attention.h"
#include "exec/cuda/cuda_call.h"
#include "exec/cuda/matrix_products.h"
#include "ir/op_list.h"

namespace tessera {
namespace {

constexpr int64_t kGuardBytes = 320;  // so that buffers are aligned to 64 bytes and no more

// Buffers one after the other, made on the host and moved as a whole.
class GuardedArena {
 public:
  size_t add(std::span<const std::byte> bytes, std::byte guard) {
    const auto first = static_cast<int64_t>(host_.size()) + kGuardBytes;
    const auto size = static_cast<int64_t>(bytes.size());
    const int64_t next = (first + size + kGuardBytes + 255) / 256 * 256;
    host_.resize(static_cast<size_t>(next), guard);
    std::ranges::copy(bytes, host_.begin() + first);
    buffers_.push_back({first, size, next, guard});
    return buffers_.size() - 1;
  }
  void to_gpu() {
    memory_ = std::make_unique<DeviceMemory>(static_cast<int64_t>(host_.size()));
    memory_->fill(host_);
  }
  void from_gpu() {
    check_cuda(cudaMemcpy(host_.data(), memory_->data(), host_.size(), cudaMemcpyDeviceToHost),
               "copy from the GPU");
  }
  std::byte* on_gpu(size_t i) const { return memory_->data() + buffers_[i].first; }
  std::span<const std::byte> bytes(size_t i) const {
    return std::span(host_).subspan(static_cast<size_t>(buffers_[i].first),
                                    static_cast<size_t>(buffers_[i].size));
  }
  bool guards_intact(size_t i) const {
    const auto& [first, size, next, guard] = buffers_[i];
    const auto is_guard = [guard = guard](std::byte byte) { return byte == guard; };
    const auto begin = host_.begin();
    return std::all_of(begin + first - kGuardBytes, begin + first, is_guard) &&
           std::all_of(begin + first + size, begin + next, is_guard);
  }

 private:
  struct Placed {
    int64_t first, size, next;
    std::byte guard;
  };
  std::vector<std::byte> host_;
  std::vector<Placed> buffers_;
  std::unique_ptr<DeviceMemory> memory_;
};

MatrixProducts& products() {
  // Starting cuBLASLt takes longer than a test; when the process ends the GPU is gone before it.
  static auto* const only = new MatrixProducts(
      AlgorithmFile(std::filesystem::path(testing::TempDir()) / "tessera_algorithms/samples"));
  return *only;
}

CausalAttention& attention() {
  static auto* const only = new CausalAttention;
  return *only;
}

int64_t workspace_bytes(const SampleCall& call) {
  return cuda_workspace_bytes(call.types(), attention());
}

}  // namespace

bool is_plain_causal(const SampleCall& call) {
  const size_t positions = call.op == OpKind::attention ? 3 : 6;
  const bool attends = call.op == OpKind::attention || call.op == OpKind::attention_grad;
  if (!attends || call.operands.size() != positions + 2) return false;
  const int64_t seq = call.operand_types[positions].dims.back().size;
  return RowPattern(call.operands[positions].bytes(), seq).counts_up &&
         RowPattern(call.operands[positions + 1].bytes(), seq).is_constant;
}

std::vector<AttentionPath> paths_of(const SampleCall& call) {
  std::vector<TensorRef> operands;
  for (const TensorType& type : call.operand_types) operands.push_back({&type, nullptr});
  return attention_candidates({{.operands = operands, .results = {}},
                               call.op,
                               call.attributes,
                               nullptr,
                               products(),
                               attention(),
                               is_plain_causal(call)});
}

std::vector<HostTensor> run_on_gpu(const SampleCall& call, KernelRun run,
                                   std::optional<AttentionPath> path) {
  std::vector<HostTensor> results;
  for (size_t i = 0; i < call.result_types.size(); ++i)
    results.push_back(i < run.added_to.size() ? run.added_to[i] : HostTensor(call.result_types[i]));
  GuardedArena arena;
  std::vector<size_t> operand_places, result_places;
  for (const HostTensor& operand : call.operands)
    operand_places.push_back(arena.add(operand.bytes(), static_cast<std::byte>(Guard::Operand)));
  for (const HostTensor& result : results)
    result_places.push_back(
        arena.add(std::as_const(result).bytes(), static_cast<std::byte>(Guard::Result)));
  const std::vector<std::byte> fill(static_cast<size_t>(workspace_bytes(call)), run.workspace_fill);
  const size_t workspace = arena.add(fill, static_cast<std::byte>(Guard::Result));
  for (const InPlace& pair : run.in_place)
    result_places[pair.result] = operand_places[pair.operand];
  arena.to_gpu();

  std::vector<TensorRef> operands, outputs;
  for (size_t i = 0; i < operand_places.size(); ++i)
    operands.push_back({&call.operand_types[i], arena.on_gpu(operand_places[i])});
  for (size_t i = 0; i < result_places.size(); ++i)
    outputs.push_back({&call.result_types[i], arena.on_gpu(result_places[i])});
  const DeviceStream stream;
  cuda_kernel(call.op)({{.operands = operands,
                         .results = outputs,
                         .accumulate = run.accumulate,
                         .workspace = {arena.on_gpu(workspace), fill.size()}},
                        call.op,
                        call.attributes,
                        stream.get(),
                        products(),
                        attention(),
                        is_plain_causal(call),
                        /*repeatable=*/true,
                        path});
  stream.wait();
  arena.from_gpu();

  EXPECT_TRUE(arena.guards_intact(workspace))
      << "wrote outside a workspace of " << fill.size() << " bytes";
  for (size_t i = 0; i < operand_places.size(); ++i) {
    EXPECT_TRUE(arena.guards_intact(operand_places[i])) << "wrote outside operand " << i;
    const bool kept = std::ranges::find(run.in_place, i, &InPlace::operand) == run.in_place.end();
    EXPECT_TRUE(!kept ||
                std::ranges::equal(arena.bytes(operand_places[i]), call.operands[i].bytes()))
        << "wrote into operand " << i;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_TRUE(arena.guards_intact(result_places[i])) << "wrote outside result " << i;
    std::ranges::copy(arena.bytes(result_places[i]), results[i].bytes().begin());
  }
  return results;
}

}  // namespace tessera
