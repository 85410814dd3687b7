// SPDX-License-Identifier: Apache-2.0
#include "mesh/placement.h"

#include <algorithm>

#include "core/error.h"
#include "mesh/held_box.h"

namespace tessera {

namespace {

AxisIds axes_of_kind(const Placement& placement, AxisPlacement::Kind kind) {
  AxisIds axes;
  for (size_t i = 0; i < placement.size(); ++i)
    if (placement[i].kind == kind) axes.push_back(static_cast<int>(i));
  return axes;
}

}  // namespace

AxisIds partial_axes(const Placement& placement) {
  return axes_of_kind(placement, AxisPlacement::Kind::Partial);
}

AxisIds replicated_axes(const Placement& placement) {
  return axes_of_kind(placement, AxisPlacement::Kind::Replicate);
}

AxisIds shard_axes(const Placement& placement, std::string_view dim) {
  AxisIds axes;
  for (const bool minor : {false, true})
    for (size_t i = 0; i < placement.size(); ++i)
      if (placement[i].is_shard(dim) && placement[i].minor == minor)
        axes.push_back(static_cast<int>(i));
  return axes;
}

Dims local_dims(const Mesh& mesh, const Dims& dims, const Placement& placement) {
  Dims local = dims;
  for (Dim& dim : local) {
    const int parts = mesh.size(shard_axes(placement, dim.name));
    dim.size = (dim.size + parts - 1) / parts;
  }
  return local;
}

std::string to_string(const Mesh& mesh, const Placement& placement) {
  std::string text;
  for (size_t i = 0; i < placement.size(); ++i) {
    const AxisPlacement& p = placement[i];
    if (p.kind == AxisPlacement::Kind::Replicate) continue;
    text += fmt::format("{}{}={}{}", text.empty() ? "" : " ", mesh.axes()[i].name,
                        p.kind == AxisPlacement::Kind::Partial ? "+" : p.dim, p.minor ? "'" : "");
  }
  return text;
}

void for_each_run(const Mesh& mesh, int rank, const Dims& dims, const Placement& placement,
                  const std::function<void(int64_t, int64_t, int64_t)>& run) {
  const Dims local = local_dims(mesh, dims, placement);
  const size_t n = dims.size();
  const auto [first, count] = held_box(mesh, rank, dims, placement);
  std::vector<int64_t> local_stride(n), global_stride(n);
  int64_t local_size = 1, global_size = 1;
  size_t split = 0;  // the innermost dim that is split; everything inside it is one run
  for (size_t i = n; i-- > 0;) {
    if (count[i] == 0) return;
    local_stride[i] = local_size;
    global_stride[i] = global_size;
    local_size *= local[i].size;
    global_size *= dims[i].size;
    if (split == 0 && count[i] != dims[i].size) split = i + 1;
  }
  if (split == 0) return run(0, 0, global_size);
  const size_t inner = split - 1;
  std::vector<int64_t> at(n, 0);
  for (;;) {
    int64_t to = 0, from = first[inner] * global_stride[inner];
    for (size_t i = 0; i < inner; ++i) {
      to += at[i] * local_stride[i];
      from += (first[i] + at[i]) * global_stride[i];
    }
    run(to, from, count[inner] * global_stride[inner]);
    size_t i = inner;
    while (i-- > 0 && ++at[i] == count[i]) at[i] = 0;
    if (i == static_cast<size_t>(-1)) return;
  }
}

}  // namespace tessera
