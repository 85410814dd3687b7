// SPDX-License-Identifier: Apache-2.0
#include "mesh/mesh.h"

#include <algorithm>
#include <set>

#include "core/error.h"

namespace tessera {

Mesh::Mesh(std::vector<Axis> axes) : axes_(std::move(axes)) {
  std::set<std::string> names;
  int64_t ranks = 1;
  for (const Axis& axis : axes_) {
    if (axis.size < 1)
      throw user_error("mesh axis {} has size {}: use 1 or more", axis.name, axis.size);
    if (!names.insert(axis.name).second) throw user_error("mesh axis {} is given twice", axis.name);
    ranks *= axis.size;
    if (ranks > 1 << 20) throw user_error("the mesh has more than {} ranks", 1 << 20);
  }
}

int Mesh::num_ranks() const {
  int ranks = 1;
  for (const Axis& axis : axes_) ranks *= axis.size;
  return ranks;
}

int Mesh::find(std::string_view axis) const {
  for (int i = 0; i < num_axes(); ++i)
    if (axes_[static_cast<size_t>(i)].name == axis) return i;
  return -1;
}

int Mesh::size(const AxisIds& axes) const {
  int product = 1;
  for (const int axis : axes) product *= size(axis);
  return product;
}

int Mesh::stride(int axis) const {
  int stride = 1;
  for (int i = num_axes() - 1; i > axis; --i) stride *= size(i);
  return stride;
}

int Mesh::coordinate(int rank, int axis) const { return rank / stride(axis) % size(axis); }

int Mesh::index(int rank, const AxisIds& axes) const {
  int index = 0;
  for (const int axis : axes) index = index * size(axis) + coordinate(rank, axis);
  return index;
}

std::vector<int> Mesh::group(int rank, const AxisIds& axes) const {
  int first = rank;
  for (const int axis : axes) first -= coordinate(rank, axis) * stride(axis);
  std::vector<int> ranks(static_cast<size_t>(size(axes)));
  for (int i = 0; i < static_cast<int>(ranks.size()); ++i) {
    int member = first, rest = i;
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
      member += rest % size(*axis) * stride(*axis);
      rest /= size(*axis);
    }
    ranks[static_cast<size_t>(i)] = member;
  }
  return ranks;
}

std::string Mesh::word(const AxisIds& axes) const {
  std::string word;
  for (const int axis : axes)
    word += (word.empty() ? "" : "+") + axes_[static_cast<size_t>(axis)].name;
  return word;
}

AxisIds Mesh::parse_word(std::string_view word) const {
  AxisIds axes;
  while (!word.empty()) {
    const size_t end = std::min(word.find('+'), word.size());
    const int axis = find(word.substr(0, end));
    TESSERA_CHECK(axis >= 0, "no axis {} in mesh {}", word.substr(0, end), to_string(*this));
    axes.push_back(axis);
    word.remove_prefix(std::min(end + 1, word.size()));
  }
  return axes;
}

std::string to_string(const Mesh& mesh) {
  std::string text;
  for (const Axis& axis : mesh.axes())
    if (axis.size > 1)
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", axis.name, axis.size);
  return text.empty() ? "1" : text;
}

}  // namespace tessera
