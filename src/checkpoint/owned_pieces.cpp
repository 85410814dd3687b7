// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/owned_pieces.h"

#include <algorithm>

#include "mesh/held_box.h"
#include "program/pieces.h"

namespace tessera {
namespace {

constexpr int64_t kLeastElements = 1 << 14;  // below this, a tensor is not split among copies

// The rank's index among those that hold the same elements.
struct Copies {
  int64_t index = 0, count = 1;
};

Copies copies_of(const Program& program, int rank, const StateBuffer& state) {
  AxisIds axes;
  for (int axis = 0; axis < program.mesh.num_axes(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    const bool splits =
        i < state.placement.size() && state.placement[i].kind == AxisPlacement::Kind::Shard;
    const AxisIds& sharded = state.place.shard_axes;
    const bool shards = std::find(sharded.begin(), sharded.end(), axis) != sharded.end();
    if (!splits && !shards && axis != program.pipeline_axis) axes.push_back(axis);
  }
  return {.index = program.mesh.index(rank, axes), .count = program.mesh.size(axes)};
}

// What one of the copies writes of `elements`: an equal share, or all of a small tensor.
std::pair<int64_t, int64_t> share_of(const Copies& copies, int64_t elements, size_t state) {
  if (elements >= kLeastElements)
    return {elements * copies.index / copies.count, elements * (copies.index + 1) / copies.count};
  const bool mine = static_cast<int64_t>(state) % copies.count == copies.index;
  return {0, mine ? elements : 0};
}

int64_t most_owned_bytes_of(const Program& program, int rank) {
  int64_t bytes = 0;
  for (const StateBuffer& state : program.states) {
    if (state.spec.replica || state.spec.in_base) continue;
    int64_t elements = 0;
    for_each_piece(program, rank, state.type, state.placement, state.place,
                   [&](int64_t, int64_t, int64_t count) { elements += count; });
    const int64_t copies = copies_of(program, rank, state).count;
    if (elements >= kLeastElements) elements = (elements + copies - 1) / copies;
    bytes += elements * size_bytes(state.type.dtype);
  }
  return bytes;
}

class Collected {
 public:
  Collected(OwnedPiece& owned, std::pair<int64_t, int64_t> share)
      : owned_(owned), share_(share), element_bytes_(size_bytes(owned.state->type.dtype)) {}

  // Adds a stretch that the rank holds, as far as it is within the rank's share.
  void add(int64_t offset, int64_t count) {
    const int64_t begin = std::max(at_, share_.first), end = std::min(at_ + count, share_.second);
    if (begin < end) {
      const ArenaStretch more{offset + (begin - at_) * element_bytes_,
                              (end - begin) * element_bytes_};
      auto& all = owned_.stretches;
      if (!all.empty() && all.back().offset + all.back().bytes == more.offset)
        all.back().bytes += more.bytes;
      else
        all.push_back(more);
    }
    at_ += count;
  }

 private:
  OwnedPiece& owned_;
  std::pair<int64_t, int64_t> share_;
  int64_t element_bytes_, at_ = 0;
};

}  // namespace

Shape shape_of(const TensorType& type) {
  Shape shape;
  for (const Dim& dim : type.dims) shape.push_back(dim.size);
  return shape;
}

std::vector<OwnedPiece> owned_pieces(const Program& program, int rank) {
  std::vector<OwnedPiece> all;
  for (size_t i = 0; i < program.states.size(); ++i) {
    const StateBuffer& state = program.states[i];
    if (state.spec.replica || state.spec.in_base) continue;
    TESSERA_CHECK(state.place.lifetime == Lifetime::Persistent, "{} is not persistent", state.name);
    const auto held = [&](const auto& piece) {
      for_each_piece(program, rank, state.type, state.placement, state.place, piece);
    };
    int64_t first = -1, elements = 0;
    held([&](int64_t, int64_t element, int64_t count) {
      if (first < 0) first = element;
      elements += count;
    });
    if (elements == 0) continue;
    const auto share = share_of(copies_of(program, rank, state), elements, i);
    if (share.first == share.second) continue;
    const HeldBox box = held_box(program.mesh, rank, state.type.dims, state.placement);
    OwnedPiece owned{.state = &state, .piece = {.first = box.first, .count = box.count}};
    owned.piece.begin = index_in_box(shape_of(state.type), owned.piece, first) + share.first;
    owned.piece.end = owned.piece.begin + share.second - share.first;
    Collected collected(owned, share);
    held([&](int64_t offset, int64_t, int64_t count) { collected.add(offset, count); });
    all.push_back(std::move(owned));
  }
  return all;
}

int64_t most_owned_bytes(std::span<const Program> programs) {
  int64_t most = 0;
  for (size_t place = 0; place < programs.size(); ++place) {
    // The first rank of the group: the shards of the others are no larger.
    const Program& program = programs[place];
    int rank = 0;
    while (&at_place(programs, rank) != &program) ++rank;
    most = std::max(most, most_owned_bytes_of(program, rank));
  }
  return most;
}

}  // namespace tessera
