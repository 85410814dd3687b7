// SPDX-License-Identifier: Apache-2.0
#include "comm/local/local_hub.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>

namespace tessera {

struct LocalHub::Control {
  std::atomic<uint32_t> lock{0};
  std::atomic<int64_t> control_used{0}, arena_used{0};
  std::atomic<Channel*> channels{nullptr};
};

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{5};
constexpr int64_t kPage = 4096;
int64_t rounded_up(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }

// Held for a few microseconds, and by whoever makes groups only.
class Lock {
 public:
  explicit Lock(std::atomic<uint32_t>& word) : word_(word) {
    while (word_.exchange(1, std::memory_order_acquire) != 0) sched_yield();
  }
  ~Lock() { word_.store(0, std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::atomic<uint32_t>& word_;
};

int available_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

LocalHub::LocalHub(const LocalHubOptions& options)
    : options_(options), spins_(options.ranks <= available_cores()) {
  TESSERA_CHECK(options.ranks > 0, "{} ranks", options.ranks);
  // Address space only: pages exist once they are touched. A member of a group needs about 200 kB.
  control_bytes_ = (int64_t{64} << 20) + options.ranks * (int64_t{16} << 20);
  bytes_ = control_bytes_ + rounded_up(options.arena_bytes, kPage);
  void* mapped = mmap(nullptr, static_cast<size_t>(bytes_), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    throw user_error("cannot map {} MB of shared memory for {} ranks: {}", bytes_ >> 20,
                     options.ranks, std::strerror(errno))
        .help("use fewer ranks, or allow more address space (ulimit -v)");
  base_ = static_cast<std::byte*>(mapped);
  control_ = new (base_) Control;
  control_->control_used = rounded_up(sizeof(Control), 64);
  seats_ = make<Seat>(options.ranks);
  failure_ = make<Failure>(1);
}

LocalHub::~LocalHub() { munmap(base_, static_cast<size_t>(bytes_)); }

template <typename T>
T* LocalHub::make(int64_t count) {
  const int64_t bytes = rounded_up(count * static_cast<int64_t>(sizeof(T)), 64);
  const int64_t begin = control_->control_used.fetch_add(bytes);
  if (begin + bytes > control_bytes_)
    throw user_error("no room left for groups: {} MB are taken", control_bytes_ >> 20)
        .help("make each group once and keep it, and have fewer collectives in flight");
  // Mailboxes are left as the mapping has them, zero, so that unused slots cost no memory.
  if constexpr (std::is_same_v<T, Mailbox>) return reinterpret_cast<T*>(base_ + begin);
  return new (base_ + begin) T[static_cast<size_t>(count)]{};
}

std::byte* LocalHub::allocate(int64_t bytes) {
  const int64_t begin = control_->arena_used.fetch_add(rounded_up(bytes, kPage));
  const int64_t room = bytes_ - control_bytes_;
  TESSERA_CHECK(begin + bytes <= room, "shared arena: {} bytes wanted, {} of {} left", bytes,
                room - begin, room);
  return base_ + control_bytes_ + begin;
}

Channel* LocalHub::find(const Channel* parent, const std::vector<int>& ranks,
                        int occurrence) const {
  for (Channel* channel = control_->channels; channel != nullptr; channel = channel->next)
    if (channel->parent == parent && channel->occurrence == occurrence &&
        std::equal(ranks.begin(), ranks.end(), channel->members().begin(),
                   channel->members().end()))
      return channel;
  return nullptr;
}

Channel& LocalHub::channel(const Channel* parent, const std::vector<int>& ranks, int occurrence) {
  const Lock lock(control_->lock);
  if (Channel* known = find(parent, ranks, occurrence)) return *known;
  Channel* channel = make<Channel>(1);
  const auto size = static_cast<int64_t>(ranks.size());
  channel->parent = parent;
  channel->occurrence = occurrence;
  channel->size = static_cast<int32_t>(size);
  channel->ranks = make<int32_t>(size);
  std::copy(ranks.begin(), ranks.end(), channel->ranks);
  channel->progress = make<MemberProgress>(size);
  channel->mailboxes = make<Mailbox>(size * kChains);
  channel->next = control_->channels;
  control_->channels = channel;
  return *channel;
}

Mailbox& LocalHub::another_mailbox() { return *make<Mailbox>(1); }

void LocalHub::fail(int rank, int guilty_rank, Failure::Kind kind, const std::string& text) {
  seats_[rank].life = Seat::Failed;
  abandon(rank);
  if (failure_->state.value == 1 && failure_->rank == rank)
    write_failure(rank, guilty_rank, kind, text);
}

void LocalHub::abandon(int rank) {
  uint32_t none = 0;
  if (failure_->state.value.compare_exchange_strong(none, 1)) failure_->rank = rank;
  await_no_touching(rank);
}

void LocalHub::write_failure(int rank, int guilty_rank, Failure::Kind kind,
                             const std::string& text) {
  failure_->rank = rank;
  failure_->guilty_rank = guilty_rank;
  failure_->kind = kind;
  const size_t length = std::min(text.size(), Failure::kTextBytes - 1);
  std::memcpy(failure_->text, text.data(), length);
  failure_->state.set(2);
}

// The caller may free its buffers next. Touching ends soon, unless its process was killed
// meanwhile.
void LocalHub::await_no_touching(int rank) const {
  const auto limit = Clock::now() + kPatience;
  for (int other = 0; other < options_.ranks; ++other)
    while (other != rank && seats_[other].reading > 0 && seats_[other].life == Seat::Running &&
           Clock::now() < limit)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
}

void LocalHub::end(int rank) {
  if (failure_->state.value == 1 && failure_->rank == rank)
    write_failure(rank, rank, Failure::Peer,
                  fmt::format("rank {} ended with collectives in flight", rank));
  uint32_t running = Seat::Running;
  seats_[rank].life.compare_exchange_strong(running, Seat::Ended);
}

const Failure& LocalHub::failure() const {
  // Who is killed between finding a failure and writing it leaves it empty.
  const auto limit = Clock::now() + kPatience;
  while (failure_->state.value.load() != 2 && Clock::now() < limit) sched_yield();
  return *failure_;
}

}  // namespace tessera
