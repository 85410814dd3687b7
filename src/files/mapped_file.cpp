// SPDX-License-Identifier: Apache-2.0
#include "files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "files/regular_file.h"
#include "files/storage_error.h"

namespace tessera {

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  const RegularFile file = open_regular_file(path_);
  size_ = static_cast<size_t>(file.bytes());
  // An empty file cannot be mapped; its bytes are the empty span.
  void* memory = nullptr;
  if (size_ > 0) memory = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (memory == MAP_FAILED)
    throw user_error("cannot read {}: {}", path_.string(), errno_text(errno));
  data_ = static_cast<const std::byte*>(memory);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

// The handler may run anywhere, in malloc too: it calls nothing but open, read, write and _exit,
// and learns from /proc/self/maps which file lies at the address.
namespace {

std::atomic<int> fault_status = 0;  // a handler can reach nothing but a global

// A line of /proc/self/maps: "7f00-7f08 r--p 00002000 fe:01 1234      /data/shard.bin".
class MapsLine {
 public:
  explicit MapsLine(std::string_view line) : rest_(line) {
    begin_ = hex('-');
    end_ = hex(' ');
    word(' ');  // permissions
    offset_ = hex(' ');
    word(' ');  // device
    word(' ');  // inode
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }

  bool holds(uint64_t address) const { return begin_ <= address && address < end_; }
  uint64_t file_byte(uint64_t address) const { return offset_ + (address - begin_); }
  std::string_view path() const { return rest_; }

 private:
  std::string_view word(char end) {
    size_t length = 0;
    while (length < rest_.size() && rest_[length] != end) ++length;
    const std::string_view word = rest_.substr(0, length);
    rest_.remove_prefix(std::min(length + 1, rest_.size()));
    return word;
  }
  uint64_t hex(char end) {
    uint64_t number = 0;
    for (const char digit : word(end))
      number = number * 16 + static_cast<uint64_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    return number;
  }

  std::string_view rest_;
  uint64_t begin_ = 0, end_ = 0, offset_ = 0;
};

void put(std::string_view text) {
  [[maybe_unused]] const ssize_t told = ::write(STDERR_FILENO, text.data(), text.size());
}

void put(uint64_t number) {
  std::array<char, 20> digits;
  size_t first = digits.size();
  do digits[--first] = static_cast<char>('0' + number % 10);
  while ((number /= 10) > 0);
  put({digits.data() + first, digits.size() - first});
}

[[noreturn]] void end_with(const MapsLine& line, uint64_t address) {
  put("error: cannot read ");
  put(line.path());
  put(" at byte ");
  put(line.file_byte(address));
  put(": its disk does not give it, or the file was made shorter while it was in use\n"
      " help: look at dmesg and at the file; use another copy of it\n");
  ::_exit(fault_status);
}

// Ends the process where the address lies in a mapped file.
void look_up(uint64_t address) {
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return;
  std::array<char, PATH_MAX + 256> text;
  size_t filled = 0;
  while (true) {
    const ssize_t count = ::read(maps, text.data() + filled, text.size() - filled);
    if (count <= 0) break;
    filled += static_cast<size_t>(count);
    size_t begin = 0;
    while (const void* newline = std::memchr(text.data() + begin, '\n', filled - begin)) {
      const auto end = static_cast<size_t>(static_cast<const char*>(newline) - text.data());
      const MapsLine line({text.data() + begin, end - begin});
      if (line.holds(address) && line.path().starts_with('/')) end_with(line, address);
      begin = end + 1;
    }
    std::memmove(text.data(), text.data() + begin, filled - begin);
    filled -= begin;
  }
  ::close(maps);
}

void on_bus_error(int number, siginfo_t* info, void* /*context*/) {
  look_up(reinterpret_cast<uint64_t>(info->si_addr));
  std::signal(number, SIG_DFL);  // no file: the access is made again, and ends the process
}

}  // namespace

void explain_mapping_faults(int exit_status) {
  fault_status = exit_status;
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace tessera
