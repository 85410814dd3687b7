// SPDX-License-Identifier: Apache-2.0
#include "serve/opened_browser.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace tessera {
namespace {

std::string_view environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Readable by its owner alone, as mkostemps makes them.
std::filesystem::path write_redirect(const std::string& address) {
  const std::string_view own = environment_value("XDG_RUNTIME_DIR");
  std::string name = fmt::format("{}/tessera-studio-XXXXXX.html", own.empty() ? "/tmp" : own);
  const int file = ::mkostemps(name.data(), 5, O_CLOEXEC);
  if (file < 0) return {};
  const std::string text = fmt::format(
      "<!doctype html><meta charset=\"utf-8\"><title>Tessera Studio</title>"
      "<meta http-equiv=\"refresh\" content=\"0; url={0}\"><a href=\"{0}\">Tessera Studio</a>\n",
      address);
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(file);
  if (written) return name;
  ::unlink(name.c_str());
  return {};
}

// In a session of its own, so that Ctrl-C does not end the browser, and silent. 0: not started.
pid_t start_opener(const std::filesystem::path& file) {
  posix_spawn_file_actions_t streams;
  posix_spawn_file_actions_init(&streams);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&streams, stream, "/dev/null", O_RDWR, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
  std::string program = "xdg-open", argument = file.string();
  std::array<char*, 3> words = {program.data(), argument.data(), nullptr};
  pid_t process = 0;
  if (posix_spawnp(&process, "xdg-open", &streams, &attributes, words.data(), environ) != 0)
    process = 0;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&streams);
  return process;
}

}  // namespace

bool has_display() {
  return !environment_value("DISPLAY").empty() || !environment_value("WAYLAND_DISPLAY").empty();
}

OpenedBrowser::OpenedBrowser(const std::string& address) : file_(write_redirect(address)) {
  if (!file_.empty()) process_ = start_opener(file_);
}

OpenedBrowser::~OpenedBrowser() {
  std::error_code ignored;
  if (!file_.empty()) std::filesystem::remove(file_, ignored);
  if (process_ > 0) ::waitpid(process_, nullptr, WNOHANG);
}

}  // namespace tessera
