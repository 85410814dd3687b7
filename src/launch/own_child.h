// SPDX-License-Identifier: Apache-2.0
// A child process that runs this same program: no shell, no other program, in a process group of
// its own, with its output in a file. Signals reach it and nobody else, because it is waited for
// here alone: until then the system gives its number to no other process.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

class OwnChild {
 public:
  // `words` follow the program's name. When the calling thread ends, and with it the program, the
  // child gets SIGTERM: start it from a thread that lives as long as the program does.
  OwnChild(const std::vector<std::string>& words, const std::filesystem::path& output);
  OwnChild(const OwnChild&) = delete;
  OwnChild& operator=(const OwnChild&) = delete;

  pid_t process() const { return process_; }
  // The exit code that a shell would give, once it has ended.
  std::optional<int> ended();
  void send(int signal);  // nothing where it has ended

 private:
  pid_t process_;
  std::optional<int> code_;
};

// Sends SIGKILL to the process that is child number `place` of `parent`, in the order in which they
// were started, where `parent` has `count` of them. False: it has not, or they change just now.
bool kill_child_of(pid_t parent, size_t place, size_t count);

}  // namespace tessera
