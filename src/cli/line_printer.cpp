// SPDX-License-Identifier: Apache-2.0
#include "cli/line_printer.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>

#include "files/storage_error.h"
#include "system/say.h"

namespace tessera {

LinePrinter::LinePrinter() { std::signal(SIGPIPE, SIG_IGN); }

void LinePrinter::print(std::string_view line) {
  if (!is_read_) return;
  const std::string text = fmt::format("{}\n", line);
  for (size_t written = 0; written < text.size();) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {  // whoever shares the pipe has made it so
      pollfd room{STDOUT_FILENO, POLLOUT, 0};
      ::poll(&room, 1, -1);
      continue;
    }
    if (count < 0) {
      is_read_ = false;
      say(stderr, "warning: standard output takes no more lines ({}); the run continues\n",
          errno_text(errno));
      return;
    }
    written += static_cast<size_t>(count);
  }
}

}  // namespace tessera
