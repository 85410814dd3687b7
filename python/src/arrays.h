// SPDX-License-Identifier: Apache-2.0
// NumPy arrays that own what a vector held: nothing is copied.
#pragma once

#include <pybind11/numpy.h>

#include <memory>
#include <vector>

namespace tessera {

template <typename T>
pybind11::capsule keep_alive(std::unique_ptr<T> held) {
  return {held.release(), [](void* p) { delete static_cast<T*>(p); }};
}

template <typename T>
pybind11::array_t<T> moved_array(std::vector<T> values) {
  auto held = std::make_unique<std::vector<T>>(std::move(values));
  const std::vector<T>& view = *held;
  const pybind11::capsule owner = keep_alive(std::move(held));
  return pybind11::array_t<T>(static_cast<pybind11::ssize_t>(view.size()), view.data(), owner);
}

}  // namespace tessera
