// SPDX-License-Identifier: Apache-2.0
#include "launch/command_output.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "core/error.h"
#include "files/storage_error.h"

namespace tessera {
namespace {

constexpr int kNotStarted = 127;
constexpr size_t kMostBytes = 16 << 20;

// Two ends of a pipe that no other child inherits.
struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
      throw user_error("cannot open a pipe: {}", errno_text(errno)).help("raise ulimit -n");
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(size_t end) {
    if (ends.at(end) >= 0) ::close(ends.at(end));
    ends.at(end) = -1;
  }
};

// 0, or an errno.
int start(const std::vector<std::string>& command, const Pipe& pipe, pid_t& process) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t streams;
  posix_spawn_file_actions_init(&streams);
  posix_spawn_file_actions_addopen(&streams, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&streams, pipe.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&streams, pipe.ends[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int error =
      posix_spawnp(&process, arguments[0], &streams, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&streams);
  return error;
}

}  // namespace

CommandOutput output_of(const std::vector<std::string>& command) {
  Pipe pipe;
  pid_t process = 0;
  if (const int error = start(command, pipe, process); error != 0)
    return {.code = kNotStarted, .text = errno_text(error)};
  pipe.close_end(1);
  CommandOutput output;
  std::array<char, 4096> part{};
  for (ssize_t count = 0; (count = ::read(pipe.ends[0], part.data(), part.size())) != 0;) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    if (output.text.size() < kMostBytes)
      output.text.append(part.data(), static_cast<size_t>(count));
  }
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  output.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return output;
}

}  // namespace tessera
