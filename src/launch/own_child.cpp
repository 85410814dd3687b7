// SPDX-License-Identifier: Apache-2.0
#include "launch/own_child.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "core/error.h"
#include "files/storage_error.h"
#include "system/process.h"

namespace tessera {
namespace {

constexpr const char* kOwnProgram = "/proc/self/exe";

// By its path, so that it has its name; refused where another program has that path by now.
std::string own_program() {
  std::error_code none;
  std::string path = std::filesystem::read_symlink(kOwnProgram, none).string();
  struct stat own {
  }, found{};
  if (none || ::stat(kOwnProgram, &own) != 0 || ::stat(path.c_str(), &found) != 0 ||
      own.st_dev != found.st_dev || own.st_ino != found.st_ino)
    throw UserError("the program was replaced or removed since it began")
        .help("start tessera again, and then the run");
  return path;
}

// Between fork and exec: only what is safe when other threads hold locks.
[[noreturn]] void become_child(pid_t parent, char** words, int output) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
  ::setpgid(0, 0);  // a terminal's signals are for the parent
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execv(words[0], words);
  ::_exit(127);
}

int exit_code(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

pid_t child_at(pid_t parent, size_t place, size_t count) {
  const std::vector<pid_t> children = children_of(parent);
  return children.size() == count && place < count ? children[place] : 0;
}

}  // namespace

OwnChild::OwnChild(const std::vector<std::string>& words, const std::filesystem::path& output) {
  std::vector<std::string> all = {own_program()};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int file =
      ::open(output.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (file < 0)
    throw user_error("cannot write {}: {}", output.string(), errno_text(errno))
        .help("check the folder and its permissions");
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) become_child(parent, arguments.data(), file);
  const int error = errno;
  ::close(file);
  if (process_ < 0)
    throw user_error("the system cannot create a process: {}", errno_text(error))
        .help("end other programs, or raise the limit of processes (ulimit -u)");
  ::setpgid(process_, process_);  // here and in the child, because either may be first
}

std::optional<int> OwnChild::ended() {
  int status = 0;
  if (!code_ && ::waitpid(process_, &status, WNOHANG) == process_) code_ = exit_code(status);
  return code_;
}

void OwnChild::send(int signal) {
  if (!ended()) ::kill(process_, signal);
}

bool kill_child_of(pid_t parent, size_t place, size_t count) {
  const pid_t process = child_at(parent, place, count);
  if (process == 0) return false;
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  const bool is_old_kernel = handle < 0 && errno == ENOSYS;  // before 5.3
  // Looked at again: the handle is then that of the child, whatever happens to its number.
  const bool same = child_at(parent, place, count) == process;
  bool sent = false;
  if (same && handle >= 0)
    sent = ::syscall(SYS_pidfd_send_signal, handle, SIGKILL, nullptr, 0) == 0;
  else if (same && is_old_kernel)
    sent = ::kill(process, SIGKILL) == 0;
  if (handle >= 0) ::close(handle);
  return sent;
}

}  // namespace tessera
