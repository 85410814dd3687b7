// SPDX-License-Identifier: Apache-2.0
// Ctrl-C during long calls: the library asks now and then whether it should go on, and what
// Python's handler of the signal raised is raised when it has ended.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>

namespace tessera {

class Interrupt {
 public:
  // On the calling thread, without the GIL. Only the main thread of Python sees signals.
  bool none() {
    const pybind11::gil_scoped_acquire gil;
    if (!raised_ && PyErr_CheckSignals() != 0) raised_.emplace();
    return !raised_;
  }
  void rethrow() {
    const pybind11::gil_scoped_acquire gil;
    if (raised_) throw *raised_;
  }

 private:
  std::optional<pybind11::error_already_set> raised_;
};

}  // namespace tessera
