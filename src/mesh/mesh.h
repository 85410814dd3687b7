// SPDX-License-Identifier: Apache-2.0
// A mesh: ranks laid out over named axes. Axes stand in the order given; the last one varies
// fastest over ranks, so that its groups are neighbours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct Axis {
  std::string name;
  int size = 1;
  bool operator==(const Axis&) const = default;
};

using AxisIds = std::vector<int>;  // positions in Mesh::axes(), ascending

class Mesh {
 public:
  Mesh() = default;
  explicit Mesh(std::vector<Axis> axes);  // sizes of 1 or more, names unique: else a UserError

  const std::vector<Axis>& axes() const { return axes_; }
  int num_axes() const { return static_cast<int>(axes_.size()); }
  int num_ranks() const;
  int find(std::string_view axis) const;  // -1 when absent
  int size(int axis) const { return axes_[static_cast<size_t>(axis)].size; }
  int size(const AxisIds& axes) const;  // of their product

  int coordinate(int rank, int axis) const;
  // Where a rank stands among those of group(rank, axes).
  int index(int rank, const AxisIds& axes) const;
  // The ranks that differ from `rank` along these axes alone, in order of index().
  std::vector<int> group(int rank, const AxisIds& axes) const;

  // "dp+cp", and back: how the IR writes axes.
  std::string word(const AxisIds& axes) const;
  AxisIds parse_word(std::string_view word) const;

  bool operator==(const Mesh&) const = default;

 private:
  int stride(int axis) const;
  std::vector<Axis> axes_;
};

std::string to_string(const Mesh& mesh);  // "dp=2,tp=4"; "1" for a mesh of one rank

}  // namespace tessera
