// SPDX-License-Identifier: Apache-2.0
#include "mesh/held_box.h"

#include <algorithm>

namespace tessera {

HeldBox held_box(const Mesh& mesh, int rank, const Dims& dims, const Placement& placement) {
  const Dims local = local_dims(mesh, dims, placement);
  HeldBox box;
  for (size_t i = 0; i < dims.size(); ++i) {
    box.first.push_back(mesh.index(rank, shard_axes(placement, dims[i].name)) * local[i].size);
    box.count.push_back(std::clamp<int64_t>(dims[i].size - box.first[i], 0, local[i].size));
  }
  return box;
}

}  // namespace tessera
