// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl/nccl_communicator.h"

#include <algorithm>
#include <utility>

#include "comm/collective_header.h"
#include "comm/failure/peer_error.h"
#include "comm/nccl/nccl_failure.h"
#include "comm/nccl/nccl_parts.h"
#include "comm/nccl/poll.h"
#include "comm/row_moves.h"
#include "core/error.h"

namespace tessera {
namespace {

size_t aligned(int64_t bytes) { return (static_cast<size_t>(bytes) + 255) / 256 * 256; }

ncclDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::Fp64:
      return ncclFloat64;
    case DType::Fp32:
      return ncclFloat32;
    case DType::Bf16:
      return ncclBfloat16;
    case DType::Int32:
      return ncclInt32;
    case DType::E4m3:
    case DType::E5m2:
      break;
  }
  check_failed("dtype", __FILE__, __LINE__, "");
}

ncclRedOp_t operation(Reduction reduction) {
  switch (reduction) {
    case Reduction::Sum:
      return ncclSum;
    case Reduction::Mean:
      return ncclAvg;
    case Reduction::Min:
      return ncclMin;
    case Reduction::Max:
      return ncclMax;
  }
  check_failed("reduction", __FILE__, __LINE__, "");
}

int64_t part_bytes(const Collective& collective) {
  return header_of(collective, 0).elements * size_bytes(collective.dtype);
}

// What has to be copied aside.
int64_t packed_parts(const Collective& c, int members) {
  const int64_t parts = parts_read(c, members);
  return are_dense(c.input_parts, parts) ? 0 : parts;
}
int64_t unpacked_parts(const Collective& c, int members) {
  const int64_t parts = parts_written(c, members);
  return are_dense(c.output_parts, parts) ? 0 : parts;
}

}  // namespace

NcclCommunicator::NcclCommunicator(std::unique_ptr<Communicator> bootstrap, std::vector<int> ranks,
                                   cudaStream_t compute, double deadline_seconds)
    : bootstrap_(std::move(bootstrap)),
      ranks_(std::move(ranks)),
      compute_(compute),
      deadline_seconds_(deadline_seconds) {
  try {
    check_runtime(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream");
    make_comm();
    connect();
  } catch (...) {
    release();
    throw;
  }
}

NcclCommunicator::~NcclCommunicator() {
  constexpr double kFarewellSeconds = 5;
  if (comm_ && cudaStreamQuery(stream_) == cudaSuccess) {
    ncclResult_t state = nccl_.CommFinalize(comm_);
    const bool quiet = poll(
        kFarewellSeconds,
        [&] {
          return nccl_.CommGetAsyncError(comm_, &state) != ncclSuccess || state != ncclInProgress;
        },
        [] { return 0; });
    if (quiet && state == ncclSuccess) nccl_.CommDestroy(std::exchange(comm_, nullptr));
  }
  release();
}

// Aborts what is still under way: nobody will wait for it.
void NcclCommunicator::release() {
  abort();
  if (aborting_.joinable()) aborting_.join();
  for (const auto& [ticket, event] : done_) cudaEventDestroy(event);
  for (const cudaEvent_t each : free_events_) cudaEventDestroy(each);
  for (void* each : rooms_) cudaFree(each);
  if (stream_) cudaStreamDestroy(stream_);
}

void NcclCommunicator::make_comm() {
  ncclUniqueId id{};
  if (rank() == 0) check(nccl_.GetUniqueId(&id), "make an id");
  static_assert(sizeof id % sizeof(int32_t) == 0);
  auto* bytes = reinterpret_cast<std::byte*>(&id);
  const Parts parts = contiguous_parts(sizeof id / sizeof(int32_t));
  bootstrap_->run({.kind = CollectiveKind::Broadcast,
                   .dtype = DType::Int32,
                   .input = bytes,
                   .input_parts = parts,
                   .output = bytes,
                   .output_parts = parts,
                   .name = "NCCL's id"});
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  check(nccl_.CommInitRankConfig(&comm_, size(), id, rank(), &config), "start NCCL");
  settle("start NCCL");
}

// NCCL would connect two members at the first message between them, and wait for both.
void NcclCommunicator::connect() {
  const auto elements = static_cast<int64_t>(size());
  std::byte* data = room(static_cast<size_t>(2 * elements) * sizeof(int32_t));
  const Collective greeting{.kind = CollectiveKind::AllToAll,
                            .dtype = DType::Int32,
                            .input = data,
                            .input_parts = contiguous_parts(1),
                            .output = data + static_cast<size_t>(elements) * sizeof(int32_t),
                            .output_parts = contiguous_parts(1),
                            .name = "connect"};
  enqueue({&greeting, 1});
}

std::string NcclCommunicator::title(const Collective& collective) const {
  return fmt::format("{} {} over {}", tessera::name(collective.kind), collective.name,
                     group_text(name(), ranks_));
}

void NcclCommunicator::check(ncclResult_t result, const std::string& what) const {
  if (result == ncclSuccess || result == ncclInProgress) [[likely]]
    return;
  const int own = ranks_[static_cast<size_t>(rank())];
  throw PeerError(own, fmt::format("rank {}: {}: NCCL: {}: {}", own, what,
                                   nccl_.GetErrorString(result), nccl_.GetLastError(comm_)));
}

void NcclCommunicator::settle(const std::string& what) {
  ncclResult_t state = ncclInProgress;
  const bool settled = poll(
      deadline_seconds_,
      [&] {
        check(nccl_.CommGetAsyncError(comm_, &state), what);
        return state != ncclInProgress;
      },
      [] { return 0; });
  check(state, what);
  if (settled) return;
  abort();
  const int own = ranks_[static_cast<size_t>(rank())];
  throw PeerError(own, fmt::format("rank {}: {}, over {}, took longer than {} s: a peer is late, "
                                   "or lost",
                                   own, what, group_text(name(), ranks_), deadline_seconds_));
}

std::string NcclCommunicator::unfinished() const { return progress_.unfinished(); }

std::string NcclCommunicator::failure() const {
  ncclResult_t state = ncclSuccess;
  if (!comm_ || (nccl_.CommGetAsyncError(comm_, &state) == ncclSuccess &&
                 (state == ncclSuccess || state == ncclInProgress)))
    return "";
  return fmt::format("NCCL: {}: {}", nccl_.GetErrorString(state), nccl_.GetLastError(comm_));
}

// Kernels that hang end at once, but NCCL waits for graphs with its kernels to go: not here.
void NcclCommunicator::abort() {
  if (comm_) aborting_ = std::thread(nccl_.CommAbort, std::exchange(comm_, nullptr));
}

cudaEvent_t NcclCommunicator::event() {
  cudaEvent_t made = nullptr;
  if (free_events_.empty()) {
    check_runtime(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "make an event");
  } else {
    made = free_events_.back();
    free_events_.pop_back();
  }
  return made;
}

std::byte* NcclCommunicator::room(size_t bytes) {
  if (bytes > room_bytes_) {
    void* larger = nullptr;
    check_runtime(cudaMalloc(&larger, std::max(bytes, 2 * room_bytes_)), "allocate GPU memory");
    rooms_.push_back(larger);
    room_bytes_ = std::max(bytes, 2 * room_bytes_);
  }
  return rooms_.empty() ? nullptr : static_cast<std::byte*>(rooms_.back());
}

Ticket NcclCommunicator::start(const Collective& collective) {
  Ticket ticket = 0;
  start_together({&collective, 1}, {&ticket, 1});
  return ticket;
}

void NcclCommunicator::start_together(std::span<const Collective> collectives,
                                      std::span<Ticket> tickets) {
  const int own = ranks_[static_cast<size_t>(rank())];
  if (!comm_) throw PeerError(own, fmt::format("{} was aborted", group_text(name(), ranks_)));
  for (const Collective& collective : collectives) check_collective(collective, rank(), size());
  const cudaEvent_t ready = event();
  check_runtime(cudaEventRecord(ready, compute_), "record an event");
  check_runtime(cudaStreamWaitEvent(stream_, ready, 0), "wait for an event");
  free_events_.push_back(ready);
  enqueue(collectives);
  for (Ticket& ticket : tickets) {
    ticket = next_ticket_++;
    check_runtime(cudaEventRecord(done_[ticket] = event(), stream_), "record an event");
  }
}

void NcclCommunicator::wait(Ticket ticket) {
  const auto found = done_.find(ticket);
  TESSERA_CHECK(found != done_.end(), "ticket {} of {} is not in flight", ticket, name());
  check_runtime(cudaStreamWaitEvent(compute_, found->second, 0), "wait for an event");
  free_events_.push_back(found->second);
  done_.erase(found);
}

void NcclCommunicator::enqueue(std::span<const Collective> collectives) {
  const std::string what = title(collectives.front());
  progress_.begin(stream_, what);
  if (moves_rows(collectives.front().kind)) {
    TESSERA_CHECK(collectives.size() == 1, "{} together with others", what);
    enqueue_rows(collectives.front(), what);
    return progress_.end(stream_);
  }
  const std::vector<Staged> staged = stage(collectives);
  call_together(staged, what);
  for (const Staged& each : staged)
    if (each.to != each.collective->output)
      unpack_parts(each.to, each.collective->output, each.collective->output_parts,
                   parts_written(*each.collective, size()), size_bytes(each.collective->dtype),
                   stream_);
  progress_.end(stream_);
}

void NcclCommunicator::call_together(std::span<const Staged> staged, const std::string& what) {
  check(nccl_.GroupStart(), what);
  ncclResult_t refused = ncclSuccess;
  for (const Staged& each : staged)
    if (refused == ncclSuccess || refused == ncclInProgress) refused = call(each);
  const ncclResult_t ended = nccl_.GroupEnd();
  check(refused, what);
  check(ended, what);
  settle(what);
}

// NCCL is told sizes when a step is recorded, and how many rows there are is known to the GPU when
// it runs: each message has room for the most that could be. One member after the other, at a
// distance that is the same for all, so that room for two messages is enough; this one itself is
// the first.
void NcclCommunicator::enqueue_rows(const Collective& rows, const std::string& what) {
  const CollectiveHeader header = header_of(rows, 0);
  const int64_t most = rows.table.most > 0 ? rows.table.most : rows.table.rows;
  const Parts parts = contiguous_parts(most * (header.elements / rows.table.rows));
  const size_t bytes = aligned(parts.elements() * size_bytes(rows.dtype));
  std::byte *sent = room(2 * bytes), *received = sent + bytes;
  const auto with = [&](int from, int to) {
    return moved_rows(header, rows.table, size(), from, to);
  };
  for (int distance = 0; distance < size(); ++distance) {
    const int to = (rank() + distance) % size(), from = (rank() + size() - distance) % size();
    enqueue_row_packing(with(rank(), to), rows.input, sent, most, stream_);
    check_runtime(cudaGetLastError(), "pack rows of experts");
    const Collective send{.kind = CollectiveKind::Send,
                          .dtype = rows.dtype,
                          .input = sent,
                          .input_parts = parts,
                          .root = to,
                          .name = rows.name};
    const Collective receive{.kind = CollectiveKind::Recv,
                             .dtype = rows.dtype,
                             .output = received,
                             .output_parts = parts,
                             .root = from,
                             .name = rows.name};
    const Staged both[] = {{&send, sent, nullptr}, {&receive, nullptr, received}};
    call_together(both, what);
    enqueue_row_unpacking(with(from, rank()), received, rows.output, most, stream_);
    check_runtime(cudaGetLastError(), "unpack rows of experts");
  }
}

std::vector<NcclCommunicator::Staged> NcclCommunicator::stage(
    std::span<const Collective> collectives) {
  size_t bytes = 0;
  for (const Collective& c : collectives)
    bytes += aligned(packed_parts(c, size()) * part_bytes(c)) +
             aligned(unpacked_parts(c, size()) * part_bytes(c));
  std::byte* next = bytes > 0 ? room(bytes) : nullptr;
  const auto take = [&](int64_t size) { return std::exchange(next, next + aligned(size)); };
  std::vector<Staged> staged;
  for (const Collective& c : collectives) {
    staged.push_back({&c, c.input, c.output});
    if (const int64_t parts = packed_parts(c, size()); parts > 0) {
      std::byte* packed = take(parts * part_bytes(c));
      pack_parts(c.input, c.input_parts, parts, size_bytes(c.dtype), packed, stream_);
      staged.back().from = packed;
    }
    if (const int64_t parts = unpacked_parts(c, size()); parts > 0)
      staged.back().to = take(parts * part_bytes(c));
  }
  return staged;
}

ncclResult_t NcclCommunicator::call(const Staged& staged) const {
  const Collective& c = *staged.collective;
  const auto count = static_cast<size_t>(header_of(c, 0).elements);
  const ncclDataType_t type = data_type(c.dtype);
  const ncclRedOp_t reduce = operation(c.reduction);
  const std::byte* from = staged.from;
  std::byte* to = staged.to;
  ncclResult_t result = ncclSuccess;
  switch (c.kind) {
    case CollectiveKind::AllReduce:
      return nccl_.AllReduce(from, to, count, type, reduce, comm_, stream_);
    case CollectiveKind::AllGather:
      return nccl_.AllGather(from, to, count, type, comm_, stream_);
    case CollectiveKind::ReduceScatter:
      return nccl_.ReduceScatter(from, to, count, type, reduce, comm_, stream_);
    case CollectiveKind::Broadcast:
      return nccl_.Broadcast(from, to, count, type, c.root, comm_, stream_);
    case CollectiveKind::Reduce:
      return nccl_.Reduce(from, to, count, type, reduce, c.root, comm_, stream_);
    case CollectiveKind::Send:
      return nccl_.Send(from, count, type, c.root, comm_, stream_);
    case CollectiveKind::Recv:
      return nccl_.Recv(to, count, type, c.root, comm_, stream_);
    case CollectiveKind::AllToAll:
      for (int peer = 0; peer < size(); ++peer) {
        const int64_t at = peer * part_bytes(c);
        result = nccl_.Send(from + at, count, type, peer, comm_, stream_);
        if (result == ncclSuccess || result == ncclInProgress)
          result = nccl_.Recv(to + at, count, type, peer, comm_, stream_);
        if (result != ncclSuccess && result != ncclInProgress) break;
      }
      return result;
    default:  // no op is one of the others
      check_failed("a collective of an op", __FILE__, __LINE__, std::string(tessera::name(c.kind)));
  }
}

}  // namespace tessera
