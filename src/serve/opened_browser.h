// SPDX-License-Identifier: Apache-2.0
// A page opened in the user's browser, where there is a display. Every user of a machine can read
// the command lines of its processes, so the address, which holds a token, reaches the browser in a
// file that its owner alone can read.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace tessera {

bool has_display();

class OpenedBrowser {
 public:
  explicit OpenedBrowser(const std::string& address);
  ~OpenedBrowser();  // removes the file; the browser stays
  OpenedBrowser(const OpenedBrowser&) = delete;
  OpenedBrowser& operator=(const OpenedBrowser&) = delete;

 private:
  std::filesystem::path file_;
  pid_t process_ = 0;
};

}  // namespace tessera
