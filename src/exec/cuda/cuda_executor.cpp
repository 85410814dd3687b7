// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/cuda_executor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "exec/cuda/first_values.h"
#include "ir/op_list.h"
#include "program/buffer_types.h"
#include "program/pieces.h"

namespace tessera {
namespace {

constexpr int64_t kStagingBytes = 32 << 20;
constexpr int kPoison = 0xff;  // an all-ones pattern is a NaN in every float dtype

// The first of two allocations, where both fit.
int64_t fitting(int64_t first, int64_t second) {
  require_free_memory(first + second + MatrixProducts::kWorkspaceBytes);
  return first;
}

// Every batch input and step value, each on cache lines of its own.
int64_t input_bytes(const Program& program) {
  int64_t bytes = 0;
  for (const HostBuffer& each : program.batch_inputs)
    bytes += program.microbatches * (align_for_gpu(each.type.bytes()) + 256);
  for (const HostBuffer& each : program.step_values) bytes += align_for_gpu(each.type.bytes());
  return bytes;
}

}  // namespace

bool launches_block() {
  const char* value = std::getenv("CUDA_LAUNCH_BLOCKING");
  return value && std::string_view(value) != "0";
}

CudaExecutor::CudaExecutor(Program program, ExecutorOptions options, CudaPeers peers)
    : RankExecutor(std::move(program), peers.world ? peers.world->rank() : 0),
      options_(std::move(options)),
      own_stream_(peers.stream ? nullptr : std::make_unique<DeviceStream>()),
      stream_(peers.stream ? *peers.stream : *own_stream_),
      wait_for_(peers.wait_for ? std::move(peers.wait_for)
                               : [](const DeviceStream& stream) { stream.wait(); }),
      batches_(program_),
      layout_(program_, attention_),
      states_(fitting(layout_.state_bytes, layout_.bytes)),
      memory_(layout_.bytes),
      groups_(program_, peers.world),
      runner_(groups_, stream_mover()),
      host_states_(program_.host_persistent_bytes),
      host_slots_(program_.host_slot_bytes),
      host_scratch_(program_.host_scratch_bytes),
      staging_(std::min(kStagingBytes, layout_.all_bytes())),
      inputs_(input_bytes(program_)) {
  options_.wait_for_each |= launches_block();
  const int ranks = peers.world ? peers.world->size() : 1;
  TESSERA_CHECK(ranks == program_.mesh.num_ranks(), "{} ranks for a mesh of {}", ranks,
                program_.mesh.num_ranks());
  poison_arenas();
  write_rank_values();
}

// States stay where they are: they are the same in both programs, and lie at the same places.
void CudaExecutor::replace_program(Program program, ProgramChange change) {
  await();
  const Layout next(program, attention_);
  require_free_memory(std::max<int64_t>(0, next.bytes - layout_.bytes));
  take_program(std::move(program), change);
  graphs_.forget();
  host_kernels_.forget();
  timed_scripts_.clear();
  layout_ = next;
  memory_.replace(layout_.bytes);
  host_slots_.replace(program_.host_slot_bytes);
  host_scratch_.replace(program_.host_scratch_bytes);
  inputs_.replace(input_bytes(program_));
  inputs_used_ = 0;
  poison_arenas();
  write_rank_values();
}

void CudaExecutor::poison_arenas() {
  if (options_.poison)
    for (const Lifetime lifetime : {Lifetime::Window, Lifetime::Slot, Lifetime::Scratch})
      poison(arena(lifetime));
}

std::span<std::byte> CudaExecutor::arena(Lifetime lifetime) const {
  size_t which = 0;
  switch (lifetime) {
    case Lifetime::Persistent:
      return {states_.data(), static_cast<size_t>(program_.persistent_bytes)};
    case Lifetime::Window:
      break;
    case Lifetime::Slot:
      which = 1;
      break;
    case Lifetime::Scratch:
      which = 2;
      break;
    case Lifetime::Prepared:
    case Lifetime::Away:
    case Lifetime::None:
      check_failed("lifetime", __FILE__, __LINE__, "");
  }
  return {memory_.data() + layout_.arenas[which], static_cast<size_t>(layout_.sizes[which])};
}

std::span<std::byte> CudaExecutor::host_arena(Lifetime lifetime) const {
  const PinnedMemory& memory = lifetime == Lifetime::Persistent ? host_states_
                               : lifetime == Lifetime::Slot     ? host_slots_
                                                                : host_scratch_;
  return {memory.data(), static_cast<size_t>(memory.bytes())};
}

MemorySpace CudaExecutor::space_at(const std::byte* address) const {
  const bool host =
      host_states_.holds(address) || host_slots_.holds(address) || host_scratch_.holds(address);
  return host ? MemorySpace::Host : MemorySpace::Device;
}

ByteMover CudaExecutor::stream_mover() {
  return {.copy =
              [this](std::byte* to, const std::byte* from, int64_t bytes) {
                copy(to, from, static_cast<size_t>(bytes), "copy a buffer");
              },
          .clear =
              [this](std::byte* to, int64_t bytes) {
                check_cuda(cudaMemsetAsync(to, 0, static_cast<size_t>(bytes), stream_.get()),
                           "clear a buffer");
              },
          .start_copy =
              [this](std::byte* to, const std::byte* from, int64_t bytes) {
                host_copies_.start(space_at(to), to, from, bytes, stream_);
              },
          .await_copy = [this](const std::byte* to) { host_copies_.wait(to, stream_); }};
}

void CudaExecutor::copy_in(std::byte* to, std::span<const std::byte> bytes) {
  const auto most = static_cast<size_t>(staging_.bytes());
  for (size_t at = 0; at < bytes.size(); at += most) {
    const auto part = bytes.subspan(at, std::min(bytes.size() - at, most));
    std::memcpy(staging_.data(), part.data(), part.size());
    copy(to + at, staging_.data(), part.size(), "copy to the GPU");
    await();
  }
}

void CudaExecutor::copy_out(std::span<std::byte> bytes, const std::byte* from) const {
  const auto most = static_cast<size_t>(staging_.bytes());
  for (size_t at = 0; at < bytes.size(); at += most) {
    const auto part = bytes.subspan(at, std::min(bytes.size() - at, most));
    copy(staging_.data(), from + at, part.size(), "copy from the GPU");
    await();
    std::memcpy(part.data(), staging_.data(), part.size());
  }
}

bool CudaExecutor::make_first_value(const StateBuffer& state, const StateBuffer& origin,
                                    uint64_t seed) {
  const FirstValues values(origin.spec.init, RandomStream(seed, origin.name));
  if (!values.can_make(state.type.dtype)) return false;
  const StateBuffer* own = program_.find_state(state.name);
  if (!own) return true;
  const DType dtype = own->type.dtype;
  const bool rests_on_host = own->place.space == MemorySpace::Host;
  if (rests_on_host && memory_.bytes() < size_bytes(dtype)) return false;
  for_each_piece(program_, rank(), own->type, own->placement, own->place,
                 [&](int64_t offset, int64_t element, int64_t count) {
                   if (rests_on_host)
                     make_on_host(values, dtype, host_arena(own->place.lifetime).data() + offset,
                                  element, count);
                   else
                     values.write(dtype, arena(own->place.lifetime).data() + offset, element, count,
                                  stream_);
                 });
  if (rests_on_host) write_rank_values();  // they are in the arenas, too
  return true;
}

// By way of the arenas, which hold nothing yet: a core would take minutes for billions of values.
void CudaExecutor::make_on_host(const FirstValues& values, DType dtype, std::byte* to,
                                int64_t element, int64_t count) {
  const int64_t size = size_bytes(dtype);
  const int64_t most = std::min<int64_t>(memory_.bytes(), int64_t{1} << 30) / size;
  for (int64_t at = 0; at < count; at += most) {
    const int64_t now = std::min(most, count - at);
    values.write(dtype, memory_.data(), element + at, now, stream_);
    copy(to + at * size, memory_.data(), static_cast<size_t>(now * size), "copy first values");
  }
  poison({memory_.data(), static_cast<size_t>(std::min(most, count) * size)});
}

void CudaExecutor::write_batch(const HostBuffer& input, int microbatch,
                               std::span<const std::byte> bytes) {
  RankExecutor::write_batch(input, microbatch, bytes);
  const HostBuffer* own = program_.find_batch_input(input.name);
  if (!own || own->type.dtype != DType::Int32) return;
  std::vector<std::byte> pieces(static_cast<size_t>(own->type.bytes()));
  for_each_piece(program_, rank(), *own, [&](int64_t offset, int64_t element, int64_t count) {
    std::memcpy(pieces.data() + offset, bytes.data() + element * int64_t{sizeof(int32_t)},
                static_cast<size_t>(count) * sizeof(int32_t));
  });
  batches_.note(*own, microbatch, pieces);
}

void CudaExecutor::copy_input(std::byte* to, std::span<const std::byte> bytes) {
  const auto size = static_cast<int64_t>(bytes.size());
  if (inputs_used_ == 0) inputs_copied_.wait();
  if (inputs_used_ + size > inputs_.bytes()) {  // written twice before a script ran
    await();
    inputs_used_ = 0;
  }
  std::byte* pinned = inputs_.data() + inputs_used_;
  inputs_used_ += size;
  std::memcpy(pinned, bytes.data(), bytes.size());
  copy(to, pinned, bytes.size(), "copy an input to the GPU");
}

void CudaExecutor::close_inputs() {
  inputs_copied_.record(stream_);
  inputs_used_ = 0;
}

void CudaExecutor::poison(std::span<std::byte> bytes) {
  if (bytes.empty()) return;
  check_cuda(cudaMemsetAsync(bytes.data(), kPoison, bytes.size(), stream_.get()), "fill with NaNs");
}

// What a kernel did wrong comes to light in a later call, when more have been enqueued.
std::string CudaExecutor::async_error_hint() const {
  const cudaError_t status = cudaStreamQuery(stream_.get());
  const bool sound = status == cudaSuccess || status == cudaErrorNotReady ||
                     status == cudaErrorStreamCaptureUnsupported;
  return sound || options_.wait_for_each
             ? ""
             : ", here or before; CUDA_LAUNCH_BLOCKING=1 names the instruction";
}

void CudaExecutor::copy(void* to, const void* from, size_t bytes, const char* what) const {
  const cudaError_t status = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get());
  if (status != cudaSuccess)
    throw CudaError(fmt::format("{}: {}{}", what, cudaGetErrorString(status), async_error_hint()));
}

void CudaExecutor::await() const {
  try {
    wait_for_(stream_);
  } catch (const CudaError& error) {
    throw CudaError(error.what() + async_error_hint());
  }
}

// "%y %mean"
std::string CudaExecutor::values_of(const ProgramBlock& block,
                                    const Instruction& instruction) const {
  std::string values;
  const std::span<const int> written = writes(instruction);
  for (const int result : written.empty() ? reads(instruction) : written)
    values += (values.empty() ? "%" : " %") +
              program_.class_of(block).buffers[static_cast<size_t>(result)].name;
  return values;
}

void CudaExecutor::enqueue(const ScriptCall& call, const ProgramBlock& block,
                           const Instruction& instruction) {
  const BoundCall& bound = bind(call, block, instruction, accumulator_);
  const ProgramClass& program_class = program_.class_of(block);
  if (options_.fault && !search_ &&
      options_.fault(rank(), {program_, call, program_class, instruction, bound, false,
                              std::chrono::steady_clock::now()}))
    put_nan(bound);
  if (observes()) times_->begin(stream_, call, program_class, instruction, bound);
  if (space_of(instruction, program_class) == MemorySpace::Host)
    return host_kernels_.enqueue(call, instruction, bound, stream_);
  if (instruction.as<KernelInstruction>()) return enqueue_kernel(block, instruction, bound);
  if (has_peers(instruction, program_))
    runner_.title = fmt::format("{} of {}, microbatch {}", values_of(block, instruction),
                                block.name, call.microbatch);
  awaited_ = runner_.run(instruction, call.channel, bound.operands, bound.results);
}

void CudaExecutor::look_at(const ScriptCall& call, const Instruction& instruction) {
  const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
  size_t accumulator = 0;  // of no matter here
  search_->look_at(call, instruction, bind(call, block, instruction, accumulator), stream_);
}

void CudaExecutor::enqueue_kernel(const ProgramBlock& block, const Instruction& instruction,
                                  const BoundCall& bound) {
  const KernelInstruction& kernel = *instruction.as<KernelInstruction>();
  BoundCall own = bound;
  if (layout_.workspace_bytes > instruction.workspace_bytes)
    own.workspace = {memory_.data() + layout_.workspace,
                     static_cast<size_t>(layout_.workspace_bytes)};
  cuda_kernel(kernel.op)({own, kernel.op, kernel.attributes, stream_.get(), products_, attention_,
                          batches_.plain() && batches_.follows(block, instruction),
                          options_.repeatable});
}

void CudaExecutor::begin(const Script& script) {
  script_ = &script;
  next_call_ = next_instruction_ = accumulator_ = 0;
  awaited_ = nullptr;
  if (observes()) times_->clear();
}

// Rows that nothing writes must not hold what the step left there.
void CudaExecutor::begin_search(const Script& script) {
  search_ = std::make_unique<NonFiniteSearch>(program_, script);
  for (const Lifetime lifetime : {Lifetime::Slot, Lifetime::Scratch})
    if (const std::span<std::byte> bytes = arena(lifetime); !bytes.empty())
      check_cuda(cudaMemsetAsync(bytes.data(), 0, bytes.size(), stream_.get()), "clear memory");
}

NonFinite CudaExecutor::end_search() {
  await();
  const std::unique_ptr<NonFiniteSearch> search = std::move(search_);
  return search->first(program_, rank());
}

NonFinite CudaExecutor::find_non_finite(std::string_view name) {
  const Script& script = program_.script(name);
  begin_search(script);
  begin(script);
  advance();
  TESSERA_CHECK(ended(), "rank {} is at {}", rank(), position());
  return end_search();
}

bool CudaExecutor::advance() {
  bool moved = false;
  for (; !ended(); ++next_call_, next_instruction_ = accumulator_ = 0) {
    const ScriptCall& call = script_->calls[next_call_];
    if (search_ && changes_states(call)) continue;
    const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
    const auto& routine = program_.class_of(block).routine(call.routine);
    if (options_.poison && next_instruction_ == 0 && !awaited_) poison_before(call, block);
    for (; next_instruction_ < routine.size(); ++next_instruction_) {
      const Instruction& instruction = routine[next_instruction_];
      try {
        if (!awaited_) {
          enqueue(call, block, instruction);
          ++enqueued_;
          moved = true;
        }
        if (awaited_) {
          if (!runner_.may_wait(awaited_)) return moved;
          runner_.wait(std::exchange(awaited_, nullptr));
          moved = true;
        }
        if (options_.wait_for_each) await();
      } catch (const CudaError& error) {
        throw CudaError(fmt::format(
            "{} of block {}, microbatch {}, making {}: {}{}", name(instruction), block.name,
            call.microbatch, values_of(block, instruction), error.what(), async_error_hint()));
      }
      if (observes()) times_->end(stream_);
      if (search_) look_at(call, instruction);
      if (options_.poison) poison_after(call, block, instruction);
    }
  }
  TESSERA_CHECK(runner_.empty(), "script {} ends with collectives in flight", script_->name);
  return moved;
}

std::string CudaExecutor::position() const {
  const ScriptCall& call = script_->calls[next_call_];
  const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
  const Instruction& instruction =
      program_.class_of(block).routine(call.routine)[next_instruction_];
  return fmt::format("{} of {}, microbatch {}, at {}", name(call.routine), block.name,
                     call.microbatch, name(instruction));
}

void CudaExecutor::report_times(const ZeroTime& zero) {
  await();
  times_->report(program_, rank(), options_.observer, zero);
}

void CudaExecutor::run(std::string_view name) {
  const Script& script = program_.script(name);
  const auto enqueue_all = [&] {
    begin(script);
    advance();
    TESSERA_CHECK(ended(), "rank {} is at {}", rank(), position());
  };
  const std::string key = script.name + (batches_.plain() ? ", plain causal" : "");
  close_inputs();
  timer_.begin(stream_);
  const bool as_graph = !options_.wait_for_each && !options_.fault;
  if (options_.observer) {
    time_script(key);
    const ZeroTime zero(stream_);
    if (as_graph)
      graphs_.run(key + ", timed", stream_, enqueue_all);
    else
      enqueue_all();
    report_times(zero);
  } else if (as_graph) {
    graphs_.run(key, stream_, enqueue_all);
  } else {
    enqueue_all();
  }
  timer_.end(stream_);
}

}  // namespace tessera
