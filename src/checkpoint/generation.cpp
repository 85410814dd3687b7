// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/generation.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>
#include <random>
#include <thread>

#include "checkpoint/checkpoint_folder.h"
#include "core/error.h"
#include "files/storage_error.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

struct Content {
  int64_t number = 0;
  uint64_t token = 0;
};

// Nothing if the file cannot be read, or holds something else.
std::optional<Content> content_of(int file) {
  std::array<char, 64> text{};
  Content content;
  if (::pread(file, text.data(), text.size() - 1, 0) <= 0 ||
      std::sscanf(text.data(), "%ld %lx", &content.number, &content.token) < 1)
    return std::nullopt;
  return content;
}

// The file, open and locked for the lifetime of this object. `create` is O_CREAT if it may not
// exist yet, or 0.
class LockedFile {
 public:
  LockedFile(const std::filesystem::path& path, double patience_seconds, int create)
      : path_(path), file_(::open(path.c_str(), O_RDWR | O_CLOEXEC | create, 0644)) {
    if (file_ < 0 && errno == ENOENT && create == 0) throw folder_is_gone(path.parent_path());
    if (file_ < 0) fail("cannot open", errno);
    const auto limit = Clock::now() + std::chrono::duration<double>(patience_seconds);
    while (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
      // Without locks in the file system, the number and the token still protect.
      if (errno != EWOULDBLOCK && errno != EINTR) break;
      if (Clock::now() > limit) {
        ::close(file_);
        throw user_error("another process has locked {} for {:.3g} s", path.string(),
                         patience_seconds)
            .help("two runs use the same folder: end one, or choose another with --out");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  ~LockedFile() { ::close(file_); }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  // A file that cannot be read matches no number.
  Content read() const { return content_of(file_).value_or(Content{}); }
  void write(const Content& content) const {
    const std::string text = fmt::format("{:020} {:016x}\n", content.number, content.token);
    if (::pwrite(file_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
        ::fsync(file_) != 0)
      fail("cannot write", errno);
  }

 private:
  [[noreturn]] void fail(const char* what, int error) const {
    throw user_error("{} {}: {}", what, path_.string(), errno_text(error))
        .help("choose another folder with --out");
  }

  std::filesystem::path path_;
  int file_;
};

}  // namespace

Generation::Generation(const std::filesystem::path& checkpoints, double patience_seconds)
    : path_(checkpoints / "generation"), patience_seconds_(patience_seconds) {
  std::error_code error;
  std::filesystem::create_directories(checkpoints, error);
  const LockedFile file(path_, patience_seconds, O_CREAT);
  std::random_device random;
  token_ = (uint64_t{random()} << 32) | random();
  number_ = file.read().number + 1;
  file.write({number_, token_});
}

bool Generation::while_newest(const std::function<void()>& act) const {
  const LockedFile file(path_, patience_seconds_, 0);
  const Content now = file.read();
  if (now.number != number_ || now.token != token_) return false;
  act();
  return true;
}

bool Generation::taken_over() const {
  const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const std::optional<Content> now = content_of(file);
  ::close(file);
  return now && (now->number != number_ || now->token != token_);
}

}  // namespace tessera
