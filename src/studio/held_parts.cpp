// SPDX-License-Identifier: Apache-2.0
#include "studio/held_parts.h"

#include <algorithm>
#include <map>

namespace tessera {
namespace {

int64_t elements_in(const Dims& dims) {
  int64_t elements = 1;
  for (const Dim& dim : dims) elements *= dim.size;
  return elements;
}

// Its number among those that are known, or a new one.
template <typename Key>
int number_of(std::map<Key, int>& known, Key key, bool& fresh) {
  const auto [at, added] = known.try_emplace(std::move(key), static_cast<int>(known.size()));
  fresh = added;
  return at->second;
}

}  // namespace

HeldBoxes boxes_in_use(std::span<const Program> programs, const StateBuffer& state) {
  const Mesh& mesh = programs.front().mesh;
  HeldBoxes held;
  std::map<std::pair<std::vector<int64_t>, std::vector<int64_t>>, int> known;
  for (int rank = 0; rank < mesh.num_ranks(); ++rank) {
    const StateBuffer* own = at_place(programs, rank).find_state(state.name);
    if (!own) {
      held.of_rank.push_back(kHoldsNothing);
      continue;
    }
    HeldBox box = held_box(mesh, rank, state.type.dims, own->placement);
    bool fresh = false;
    held.of_rank.push_back(number_of(known, std::pair(box.first, box.count), fresh));
    if (fresh) held.boxes.push_back(std::move(box));
  }
  return held;
}

HeldStretches stretches_at_rest(std::span<const Program> programs, const StateBuffer& state,
                                const HeldBoxes& boxes, bool gradient) {
  const Mesh& mesh = programs.front().mesh;
  HeldStretches held;
  std::map<HeldStretch, int> known;
  for (int rank = 0; rank < mesh.num_ranks(); ++rank) {
    const StateBuffer* own = at_place(programs, rank).find_state(state.name);
    const FlatPlace* place = own ? gradient ? &own->gradient : &own->place : nullptr;
    if (!place || place->lifetime == Lifetime::None) {
      held.of_rank.push_back(kHoldsNothing);
      continue;
    }
    const int64_t all = elements_in(local_dims(mesh, state.type.dims, own->placement));
    HeldStretch stretch{boxes.of_rank[static_cast<size_t>(rank)], 0, all};
    if (!place->shard_axes.empty()) {
      const int64_t first = mesh.index(rank, place->shard_axes) * place->shard_elements;
      stretch.begin = std::clamp<int64_t>(first - place->begin, 0, all);
      stretch.end = std::clamp<int64_t>(first + place->shard_elements - place->begin, 0, all);
    }
    if (stretch.begin == stretch.end) {
      held.of_rank.push_back(kHoldsNothing);
      continue;
    }
    bool fresh = false;
    held.of_rank.push_back(number_of(known, stretch, fresh));
    if (fresh) held.stretches.push_back(stretch);
  }
  return held;
}

}  // namespace tessera
