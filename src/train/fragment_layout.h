// SPDX-License-Identifier: Apache-2.0
// How the parameters of a program are cut into fragments that islands exchange: all parameters in
// the order of their names, one after the other, in parts of as many elements. It depends on the
// model alone, so that islands may run on different meshes.
#pragma once

#include <span>
#include <vector>

#include "exec/executor.h"

namespace tessera {

class FragmentLayout {
 public:
  // `program` must outlive it.
  FragmentLayout(const HostView& program, int fragments);

  int fragments() const { return static_cast<int>(begins_.size()) - 1; }
  // In which they are exchanged: fp64 where the master weights are, else fp32.
  DType dtype() const { return dtype_; }
  int64_t elements(int fragment) const;

  // Of the master weights. All processes of a job call these together, and all have the values.
  std::vector<double> read(const Executor& executor, int fragment) const;
  // The weights that the step computes with follow, and moving averages where they are asked for.
  void write(Executor& executor, int fragment, std::span<const double> values,
             bool averages = false) const;

 private:
  struct Part {
    const StateBuffer* master;  // or the parameter itself, where it has none
    const StateBuffer* parameter;
    const StateBuffer* average;  // null: none
    int64_t begin = 0;           // of its first element, in the order of all
  };
  // Calls f(part, first element of the part, how many, first element of the fragment).
  template <typename F>
  void for_each_part(int fragment, F&& f) const;

  std::vector<Part> parts_;
  std::vector<int64_t> begins_;  // of fragments; and the end
  DType dtype_ = DType::Fp32;
};

}  // namespace tessera
