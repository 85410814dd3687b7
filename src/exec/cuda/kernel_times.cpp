// SPDX-License-Identifier: Apache-2.0
// A kernel's calls go round over copies of its operands, recorded as a graph: neither the cache nor
// the host's pace is measured.
#include <algorithm>
#include <map>
#include <numeric>

#include "core/narrow_floats.h"
#include "core/random.h"
#include "exec/cuda/causal_attention.h"
#include "exec/cuda/cuda_call.h"
#include "exec/cuda/cuda_device.h"
#include "exec/cuda/device_graph.h"
#include "exec/cuda/matrix_products.h"
#include "ir/op_list.h"
#include "ir/optimizer.h"
#include "program/buffer_types.h"

namespace tessera {
namespace {

constexpr int64_t kSpreadBytes = int64_t{512} << 20;  // ten times the largest GPU's cache
constexpr int64_t kPatternElements = 1 << 20;
constexpr int kRounds = 5;

// Floats of both signs below one in size, or between 0.25 and 1.25; integers below 1000, small ones
// often, as words of a text are. The first is 0: a rank's index.
template <typename T>
T made_value(double u, bool of_both_signs) {
  if constexpr (std::is_same_v<T, int32_t>)
    return static_cast<int32_t>(1000 * u * u);
  else if constexpr (std::is_same_v<T, uint8_t>)  // finite as e4m3 and as e5m2
    return fp8_bits(rounded_to_fp8(static_cast<float>(200 * (2 * u - 1)), Fp8::E4m3), Fp8::E4m3);
  else
    return store<T>(static_cast<Accumulator<T>>(of_both_signs ? 2 * u - 1 : 0.25 + u));
}

template <typename T>
std::vector<std::byte> pattern_of(bool of_both_signs) {
  const RandomStream stream(1, "kernel_times");
  std::vector<std::byte> bytes(static_cast<size_t>(kPatternElements) * sizeof(T));
  auto* values = reinterpret_cast<T*>(bytes.data());
  for (int64_t i = 0; i < kPatternElements; ++i)
    values[i] = made_value<T>(i == 0 ? 0 : stream.uniform(static_cast<uint64_t>(i)), of_both_signs);
  return bytes;
}

// By way of the GPU's power limit products of numbers of one sign are faster than those of data. An
// optimizer's second moments and sum of squares have one.
bool takes_both_signs(OpKind op) { return find_optimizer(op) == nullptr; }

struct CallTypes {
  OpKind op;
  Attributes attributes;
  std::vector<TensorType> operands, results;
  uint64_t accumulate = 0;
  OpCall call() const { return {op, attributes, operands, results}; }
};

class KernelTimer {
 public:
  explicit KernelTimer(double warm_seconds) : warm_seconds_(warm_seconds) {}

  double seconds(const CallTypes& types) {
    const std::vector<int64_t> places = places_of(types);
    size_t free_bytes = 0, all_bytes = 0;
    check_cuda(cudaMemGetInfo(&free_bytes, &all_bytes), "ask for free memory");
    const int64_t room = static_cast<int64_t>(free_bytes) - (int64_t{256} << 20);
    const int64_t most = std::clamp<int64_t>(kSpreadBytes / places.back(), 1, 16);
    const int64_t copies = std::min(most, room / places.back());
    if (copies < 1) return 0;
    const DeviceMemory memory(copies * places.back());
    for (int64_t copy = 0; copy < copies; ++copy)
      fill(types, places, memory.data() + copy * places.back());
    const auto enqueue = [&](int64_t i) {
      run(types, places, memory.data() + i % copies * places.back());
    };
    const double first = time([&] { enqueue(0); });  // also where cuBLASLt chooses its algorithm
    const int64_t repeats = std::clamp<int64_t>(static_cast<int64_t>(2e-3 / first), 2, 32);
    DeviceGraph graph;
    graph.record(stream_, [&] {
      for (int64_t i = 0; i < repeats; ++i) enqueue(i);
    });
    const auto round = [&] { return time([&] { graph.launch(stream_); }); };
    double warmed = round();
    while (warmed < warm_seconds_) warmed += round();
    std::vector<double> rounds;
    for (int i = 0; i < kRounds; ++i) rounds.push_back(round());
    std::ranges::sort(rounds);
    return rounds[kRounds / 2] / static_cast<double>(repeats);
  }

 private:
  // Offsets of operands, results and the workspace; the last one is the size of all.
  std::vector<int64_t> places_of(const CallTypes& types) {
    std::vector<int64_t> places{0};
    for (const auto* each : {&types.operands, &types.results})
      for (const TensorType& type : *each)
        places.push_back(places.back() + align_for_gpu(std::max<int64_t>(type.bytes(), 1)));
    places.push_back(places.back() + align_for_gpu(cuda_workspace_bytes(types.call(), attention_)));
    return places;
  }

  template <typename Work>
  double time(Work&& work) {
    timer_.begin(stream_);
    work();
    timer_.end(stream_);
    return std::max(timer_.seconds(), 1e-7);
  }

  const DeviceMemory& pattern(DType dtype, bool of_both_signs) {
    std::unique_ptr<DeviceMemory>& made = patterns_[{dtype, of_both_signs}];
    if (made) return *made;
    const std::vector<std::byte> bytes = fp8_from_dtype(dtype) ? pattern_of<uint8_t>(of_both_signs)
                                         : dtype == DType::Int32
                                             ? pattern_of<int32_t>(of_both_signs)
                                         : dtype == DType::Bf16 ? pattern_of<Bf16>(of_both_signs)
                                         : dtype == DType::Fp32 ? pattern_of<float>(of_both_signs)
                                                                : pattern_of<double>(of_both_signs);
    made = std::make_unique<DeviceMemory>(static_cast<int64_t>(bytes.size()));
    made->fill(bytes);
    return *made;
  }

  // Rows that there are for each expert in the call's pool, whose dims follow each other.
  static int64_t slots_of(const CallTypes& types, const Dim& expert) {
    for (const TensorType& type : types.operands)
      for (size_t i = 0; i + 1 < type.dims.size(); ++i)
        if (type.dims[i] == expert) return type.dims[i + 1].size;
    return 0;
  }

  // Every expert has as many rows: `ends` of a full pool.
  void fill_ends(const CallTypes& types, const Dim& expert, std::byte* to) {
    std::vector<int32_t> ends(static_cast<size_t>(expert.size));
    for (size_t i = 0; i < ends.size(); ++i)
      ends[i] = static_cast<int32_t>(static_cast<int64_t>(i + 1) * slots_of(types, expert));
    check_cuda(cudaMemcpyAsync(to, ends.data(), ends.size() * sizeof(int32_t),
                               cudaMemcpyHostToDevice, stream_.get()),
               "fill GPU memory");
    check_cuda(cudaStreamSynchronize(stream_.get()), "fill GPU memory");
  }

  void fill(const CallTypes& types, const std::vector<int64_t>& places, std::byte* to) {
    for (size_t i = 0; i < types.operands.size(); ++i) {
      const auto& declared = op_def(types.op).operands;
      if (i < declared.size() && declared[i].name == "ends") {
        fill_ends(types, types.operands[i].dims[0], to + places[i]);
        continue;
      }
      const DeviceMemory& from = pattern(types.operands[i].dtype, takes_both_signs(types.op));
      const int64_t bytes = types.operands[i].bytes();
      for (int64_t at = 0; at < bytes; at += from.bytes())
        check_cuda(cudaMemcpyAsync(to + places[i] + at, from.data(),
                                   static_cast<size_t>(std::min(bytes - at, from.bytes())),
                                   cudaMemcpyDeviceToDevice, stream_.get()),
                   "fill GPU memory");
    }
  }

  void run(const CallTypes& types, const std::vector<int64_t>& places, std::byte* data) {
    std::vector<TensorRef> operands, results;
    for (size_t i = 0; i < types.operands.size(); ++i)
      operands.push_back({&types.operands[i], data + places[i]});
    for (size_t i = 0; i < types.results.size(); ++i)
      results.push_back({&types.results[i], data + places[types.operands.size() + i]});
    const int64_t workspace = places[places.size() - 2];
    cuda_kernel(types.op)(
        {{.operands = operands,
          .results = results,
          .accumulate = types.accumulate,
          .workspace = {data + workspace, static_cast<size_t>(places.back() - workspace)}},
         types.op,
         types.attributes,
         stream_.get(),
         products_,
         attention_,
         /*plain_causal=*/true});
  }

  DeviceStream stream_;
  DeviceTimer timer_;
  MatrixProducts products_;
  CausalAttention attention_;
  std::map<std::pair<DType, bool>, std::unique_ptr<DeviceMemory>> patterns_;
  double warm_seconds_;
};

Cost cost_of(const CallTypes& types) {
  const OpDef& def = op_def(types.op);
  Cost cost = def.cost ? def.cost(types.call())
                       : Cost{.bytes = bytes_of(types.operands) + bytes_of(types.results)};
  for (size_t i = 0; i < types.results.size(); ++i)
    if ((types.accumulate >> i) & 1u) cost.bytes += types.results[i].bytes();
  return cost;
}

std::string key_of(const CallTypes& types) {
  std::string key = fmt::format("{} {}", name(types.op), types.accumulate);
  for (const auto& [attribute, value] : types.attributes.entries())
    key += fmt::format(" {}={}", attribute, to_string(value));
  for (const auto* each : {&types.operands, &types.results})
    for (const TensorType& type : *each) key += fmt::format(" {}", to_string(type));
  return key;
}

struct Counted {
  CallTypes types;
  int calls = 0;
};

// In the order in which the script comes to them.
std::vector<Counted> distinct_calls(const Program& program, const Script& script,
                                    const std::function<bool(OpKind)>& wanted) {
  std::vector<Counted> all;
  std::map<std::string, size_t> index;
  for (const ScriptCall& call : script.calls) {
    const ProgramClass& from = program.class_of(program.blocks[static_cast<size_t>(call.block)]);
    size_t accumulator = 0;
    for (const Instruction& instruction : from.routine(call.routine)) {
      const auto* kernel = instruction.as<KernelInstruction>();
      if (!kernel) continue;
      CallTypes types{kernel->op, kernel->attributes, types_of(from, kernel->operands),
                      types_of(from, kernel->results)};
      for (const int result : instruction.accumulators)
        if (call.accumulate[accumulator++]) types.accumulate |= uint64_t{1} << result;
      if (!wanted(kernel->op)) continue;
      const auto [found, fresh] = index.try_emplace(key_of(types), all.size());
      if (fresh) all.push_back({std::move(types)});
      ++all[found->second].calls;
    }
  }
  return all;
}

}  // namespace

std::vector<KernelTime> CudaDevice::time_kernels(const Program& program, std::string_view script,
                                                 const std::function<bool(OpKind)>& wanted,
                                                 double warm_seconds) const {
  require_device(DeviceKind::Cuda);
  KernelTimer timer(warm_seconds);
  std::vector<KernelTime> times;
  for (const Counted& each : distinct_calls(program, program.script(script), wanted))
    times.push_back({.op = each.types.op,
                     .attributes = each.types.attributes,
                     .operands = each.types.operands,
                     .results = each.types.results,
                     .calls = each.calls,
                     .cost = cost_of(each.types),
                     .seconds = timer.seconds(each.types)});
  return times;
}

double CudaDevice::copy_rate() const {
  require_device(DeviceKind::Cuda);
  constexpr int64_t kBytes = int64_t{1} << 30;
  const DeviceMemory memory(2 * kBytes);
  const DeviceStream stream;
  DeviceTimer timer;
  double best = 0;
  for (int round = 0; round <= kRounds; ++round) {
    timer.begin(stream);
    check_cuda(cudaMemcpyAsync(memory.data() + kBytes, memory.data(), size_t{kBytes},
                               cudaMemcpyDeviceToDevice, stream.get()),
               "copy within the GPU");
    timer.end(stream);
    best = std::max(best, 2.0 * static_cast<double>(kBytes) / timer.seconds());
  }
  return best;
}

}  // namespace tessera
