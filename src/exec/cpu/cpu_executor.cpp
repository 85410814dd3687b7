// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/cpu_executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "ir/op_def.h"
#include "ir/op_list.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

constexpr auto kPoison = std::byte{0xff};  // an all-ones pattern is a NaN in every float dtype

using Clock = std::chrono::steady_clock;

// Where peers are processes, they must reach what collectives read and write.
Arena arena_for(RankWorld* world, int64_t bytes) {
  std::byte* shared = world && bytes > 0 ? world->allocate(bytes) : nullptr;
  return shared ? Arena(shared, bytes) : Arena(bytes);
}

}  // namespace

CpuExecutor::CpuExecutor(Program program, CpuExecutorOptions options)
    : RankExecutor(std::move(program), options.world ? options.world->rank() : 0),
      options_(std::move(options)),
      groups_(options_.world ? std::make_unique<RankGroups>(program_, *options_.world) : nullptr),
      persistent_(arena_for(options_.world, program_.persistent_bytes)),
      window_(arena_for(options_.world, program_.window_bytes)),
      slots_(arena_for(options_.world, program_.slot_bytes)),
      scratch_(arena_for(options_.world, program_.scratch_bytes)),
      threads_(options_.threads) {
  TESSERA_CHECK(options_.threads <= program_.threads, "{} threads, but workspaces for {}",
                options_.threads, program_.threads);
  if (options_.poison)
    for (const Lifetime lifetime : {Lifetime::Window, Lifetime::Slot, Lifetime::Scratch})
      poison(arena(lifetime));
  const int ranks = options_.world ? options_.world->size() : 1;
  TESSERA_CHECK(ranks == program_.mesh.num_ranks(), "{} ranks for a mesh of {}", ranks,
                program_.mesh.num_ranks());
  write_rank_values();
}

std::span<std::byte> CpuExecutor::arena(Lifetime lifetime) const {
  const auto span_of = [](const Arena& arena) {
    return std::span(arena.data(), static_cast<size_t>(arena.bytes()));
  };
  switch (lifetime) {
    case Lifetime::Persistent:
      return span_of(persistent_);
    case Lifetime::Window:
      return span_of(window_);
    case Lifetime::Slot:
      return span_of(slots_);
    case Lifetime::Scratch:
      return span_of(scratch_);
    case Lifetime::None:
      break;
  }
  check_failed("lifetime", __FILE__, __LINE__, "");
}

void CpuExecutor::copy_in(std::byte* to, std::span<const std::byte> bytes) {
  std::memcpy(to, bytes.data(), bytes.size());
}

void CpuExecutor::copy_out(std::span<std::byte> bytes, const std::byte* from) const {
  std::memcpy(bytes.data(), from, bytes.size());
}

void CpuExecutor::poison(std::span<std::byte> bytes) {
  std::fill(bytes.begin(), bytes.end(), kPoison);
}

namespace {

bool stands_still(OpKind op) { return op == OpKind::wait || op_def(op).communicates; }

// A send or receive, or a collective along the pipeline's axis too ("dp+pp").
bool crosses_stages(const Program& program, const ScriptCall& call, const CpuCall& cpu_call) {
  if (program.pipeline_axis < 0) return false;
  if (call.channel != kNone || call.routine == RoutineKind::ReduceTied) return true;
  const std::string& axis = program.mesh.axes()[static_cast<size_t>(program.pipeline_axis)].name;
  return cpu_call.op != OpKind::wait &&
         cpu_call.attributes.word("axes").find(axis) != std::string::npos;
}

}  // namespace

void CpuExecutor::run_timed(const ScriptCall& call, const CpuCall& cpu_call) {
  const auto begin = Clock::now();
  cpu_kernel(cpu_call.op)(cpu_call);
  (crosses_stages(program_, call, cpu_call) ? times_.bubble_seconds
                                            : times_.exposed_communication_seconds) +=
      seconds_since(begin);
}

void CpuExecutor::run(const ScriptCall& call) {
  const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
  const ProgramClass& program_class = program_.class_of(block);
  size_t accumulator = 0;
  if (options_.poison) poison_before(call, block);
  for (const Instruction& instruction : program_class.routine(call.routine)) {
    const BoundCall& bound = bind(call, block, instruction, accumulator);
    const CpuCall cpu_call{.op = instruction.op,
                           .attributes = instruction.attributes,
                           .operands = bound.operands,
                           .results = bound.results,
                           .accumulate = bound.accumulate,
                           .workspace = bound.workspace,
                           .threads = threads_,
                           .groups = groups_.get(),
                           .in_flight = &in_flight_,
                           .channel = call.channel};
    if (options_.observer)
      options_.observer({program_, call, program_class, instruction, bound, false, Clock::now()});
    if (groups_ && stands_still(instruction.op))
      run_timed(call, cpu_call);
    else
      cpu_kernel(instruction.op)(cpu_call);
    if (options_.observer)
      options_.observer({program_, call, program_class, instruction, bound, true, Clock::now()});
    if (options_.poison) poison_after(call, block, instruction);
  }
}

void CpuExecutor::run(std::string_view script) { run(program_.script(script)); }

void CpuExecutor::run(const Script& script) {
  times_ = {};
  const auto begin = Clock::now();
  for (const ScriptCall& call : script.calls) run(call);
  times_.run_seconds = seconds_since(begin);
  TESSERA_CHECK(in_flight_.empty(), "script {} ends with collectives in flight", script.name);
}

}  // namespace tessera
