// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/cpu_executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>

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

std::span<std::byte> span_of(const Arena& arena) {
  return {arena.data(), static_cast<size_t>(arena.bytes())};
}

}  // namespace

CpuExecutorOptions options_of_rank(const ExecutorOptions& options, int rank, RankWorld* world) {
  CpuExecutorOptions own{.threads = options.threads, .world = world, .poison = options.poison};
  if (options.observer)
    own.observer = [observer = options.observer, rank](const InstructionEvent& event) {
      observer(rank, event);
    };
  if (options.fault)
    own.fault = [fault = options.fault, rank](const InstructionEvent& event) {
      return fault(rank, event);
    };
  return own;
}

CpuExecutor::CpuExecutor(Program program, CpuExecutorOptions options)
    : RankExecutor(std::move(program), options.world ? options.world->rank() : 0),
      options_(std::move(options)),
      groups_(program_, options_.world),
      runner_(groups_, memory_mover()),
      persistent_(arena_for(options_.world, program_.persistent_bytes)),
      window_(arena_for(options_.world, program_.window_bytes)),
      slots_(arena_for(options_.world, program_.slot_bytes)),
      scratch_(arena_for(options_.world, program_.scratch_bytes)),
      host_persistent_(program_.host_persistent_bytes),
      host_slots_(program_.host_slot_bytes),
      host_scratch_(program_.host_scratch_bytes),
      threads_(options_.threads) {
  TESSERA_CHECK(options_.threads <= program_.threads, "{} threads, but workspaces for {}",
                options_.threads, program_.threads);
  poison_arenas();
  const int ranks = options_.world ? options_.world->size() : 1;
  TESSERA_CHECK(ranks == program_.mesh.num_ranks(), "{} ranks for a mesh of {}", ranks,
                program_.mesh.num_ranks());
  write_rank_values();
}

// What is given back first need not be there beside what is taken.
void CpuExecutor::replace_program(Program program, ProgramChange change) {
  take_program(std::move(program), change);
  for (Arena* arena : {&window_, &slots_, &scratch_, &host_slots_, &host_scratch_})
    *arena = Arena();
  window_ = arena_for(options_.world, program_.window_bytes);
  slots_ = arena_for(options_.world, program_.slot_bytes);
  scratch_ = arena_for(options_.world, program_.scratch_bytes);
  host_slots_ = Arena(program_.host_slot_bytes);
  host_scratch_ = Arena(program_.host_scratch_bytes);
  poison_arenas();
  write_rank_values();
}

void CpuExecutor::poison_arenas() {
  if (options_.poison)
    for (const Lifetime lifetime : {Lifetime::Window, Lifetime::Slot, Lifetime::Scratch})
      poison(arena(lifetime));
  if (options_.poison)
    for (const Lifetime lifetime : {Lifetime::Slot, Lifetime::Scratch})
      poison(host_arena(lifetime));
}

std::span<std::byte> CpuExecutor::arena(Lifetime lifetime) const {
  switch (lifetime) {
    case Lifetime::Persistent:
      return span_of(persistent_);
    case Lifetime::Window:
      return span_of(window_);
    case Lifetime::Slot:
      return span_of(slots_);
    case Lifetime::Scratch:
      return span_of(scratch_);
    case Lifetime::Prepared:
    case Lifetime::Away:
    case Lifetime::None:
      break;
  }
  check_failed("lifetime", __FILE__, __LINE__, "");
}

std::span<std::byte> CpuExecutor::host_arena(Lifetime lifetime) const {
  return span_of(lifetime == Lifetime::Persistent ? host_persistent_
                 : lifetime == Lifetime::Slot     ? host_slots_
                                                  : host_scratch_);
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

// A wait counts as a bubble between stages, and where copies of a parameter are joined.
void CpuExecutor::run_timed(const ScriptCall& call, const Instruction& instruction,
                            const BoundCall& bound) {
  const auto begin = Clock::now();
  run_instruction(instruction, call.channel, bound, runner_, threads_);
  const bool bubble = call.channel != kNone || call.routine == RoutineKind::ReduceTied ||
                      crosses_stages(instruction, program_);
  (bubble ? times_.bubble_seconds : times_.exposed_communication_seconds) += seconds_since(begin);
}

void CpuExecutor::tell(const InstructionEvent& event) {
  if (options_.observer) options_.observer(event);
  if (options_.fault && !event.finished && options_.fault(event)) put_nan(event.bound);
}

void CpuExecutor::look_at(const ScriptCall& call, const Instruction& instruction,
                          const BoundCall& bound) {
  for (size_t i = 0; i < bound.results.size() && !found_->found; ++i)
    if (may_look_at(instruction, bound, i) && !is_finite(bound.results[i]))
      *found_ = non_finite_at(program_, rank(), call, instruction, i);
}

void CpuExecutor::run(const ScriptCall& call) {
  const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
  const ProgramClass& program_class = program_.class_of(block);
  size_t accumulator = 0;
  if (options_.poison) poison_before(call, block);
  for (const Instruction& instruction : program_class.routine(call.routine)) {
    const BoundCall& bound = bind(call, block, instruction, accumulator);
    if (!found_) tell({program_, call, program_class, instruction, bound, false, Clock::now()});
    if (options_.world && (communicates(instruction) || instruction.as<WaitInstruction>()))
      run_timed(call, instruction, bound);
    else
      run_instruction(instruction, call.channel, bound, runner_, threads_);
    if (!found_)
      tell({program_, call, program_class, instruction, bound, true, Clock::now()});
    else
      look_at(call, instruction, bound);
    if (options_.poison) poison_after(call, block, instruction);
  }
}

void CpuExecutor::run(std::string_view script) { run(program_.script(script)); }

// Rows that nothing writes must not hold what the step left there.
NonFinite CpuExecutor::find_non_finite(std::string_view script) {
  for (const Lifetime lifetime : {Lifetime::Slot, Lifetime::Scratch})
    std::ranges::fill(arena(lifetime), std::byte{0});
  NonFinite found;
  found_ = &found;
  run(program_.script(script));
  found_ = nullptr;
  return found;
}

void CpuExecutor::run(const Script& script) {
  times_ = {};
  const auto begin = Clock::now();
  for (const ScriptCall& call : script.calls)
    if (!found_ || !changes_states(call)) run(call);
  times_.run_seconds = seconds_since(begin);
  TESSERA_CHECK(runner_.empty(), "script {} ends with collectives in flight", script.name);
}

ByteMover memory_mover() {
  return {.copy = [](std::byte* to, const std::byte* from,
                     int64_t bytes) { std::memcpy(to, from, static_cast<size_t>(bytes)); },
          .clear = [](std::byte* to,
                      int64_t bytes) { std::memset(to, 0, static_cast<size_t>(bytes)); }};
}

void run_instruction(const Instruction& instruction, int channel, const BoundCall& bound,
                     InstructionRunner& runner, ThreadPool& threads) {
  if (const auto* kernel = instruction.as<KernelInstruction>())
    return cpu_kernel(kernel->op)({bound, kernel->op, kernel->attributes, threads});
  if (const std::byte* awaited = runner.run(instruction, channel, bound.operands, bound.results))
    runner.wait(awaited);
}

}  // namespace tessera
