// SPDX-License-Identifier: Apache-2.0
// Lines on standard output, each as soon as it is known. Where nobody reads them any more, the
// program says so once and continues without them.
#pragma once

#include <string_view>

namespace tessera {

class LinePrinter {
 public:
  LinePrinter();  // from now on a closed pipe ends no process

  void print(std::string_view line);  // without the newline; by one thread at a time

 private:
  bool is_read_ = true;
};

}  // namespace tessera
