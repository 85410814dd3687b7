// SPDX-License-Identifier: Apache-2.0
#include "compiler/window_layout.h"

#include <algorithm>

#include "compiler/flat_uses.h"

namespace tessera {
namespace {

struct Stretch {
  int begin, end;  // positions of calls, over all scripts, both inclusive
};

struct Window {
  int block;
  std::string flat;
  FlatRole role;
  int64_t bytes;
  std::vector<Stretch> alive = {};
  int64_t offset = kNone;

  bool meets(const Window& other) const {
    for (const Stretch& a : alive)
      for (const Stretch& b : other.alive)
        if (a.begin <= b.end && b.begin <= a.end) return true;
    return false;
  }
  void touch(int position, bool begins) {
    if (begins || alive.empty())
      alive.push_back({position, position});
    else
      alive.back().end = position;
  }
};

std::vector<Window> windows_of(const Module& module) {
  std::vector<Window> windows;
  for (int block = 0; block < static_cast<int>(module.blocks.size()); ++block) {
    const BlockClass& block_class = module.class_of(module.blocks[static_cast<size_t>(block)]);
    for (const Bundle& bundle : block_class.bundles)
      for (const FlatRole role : {FlatRole::Weights, FlatRole::Gradient}) {
        const bool weights = role == FlatRole::Weights;
        const bool comes_and_goes =
            weights ? find_flat(block_class, bundle.name, FlatRole::WeightsShard) != nullptr
                    : reduces_every_microbatch(block_class, bundle);
        if (!comes_and_goes) continue;
        const Value& value =
            block_class.graph.value(find_flat(block_class, bundle.name, role)->value);
        windows.push_back({.block = block,
                           .flat = value.name,
                           .role = role,
                           .bytes = align_up(value.type.bytes())});
      }
  }
  return windows;
}

bool contains(const std::vector<int>& blocks, int block) {
  return std::find(blocks.begin(), blocks.end(), block) != blocks.end();
}

// A gradient begins with its first writer and ends where its sum is there.
void mark_alive(const Module& module, const Program& program, std::vector<Window>& windows) {
  int position = 0;
  FlatUses uses(module, program);
  std::vector<bool> open(windows.size(), false);
  for (const Script& script : program.scripts)
    for (const ScriptCall& call : script.calls) {
      ++position;
      const std::vector<int>&read = uses.weights_read(call),
            &written = uses.gradients_written(call);
      for (size_t i = 0; i < windows.size(); ++i) {
        Window& window = windows[i];
        if (window.role == FlatRole::Weights) {
          const bool gathers = call.routine == RoutineKind::Gather && call.block == window.block;
          if (gathers || contains(read, window.block)) window.touch(position, gathers);
        } else {
          const bool own = call.block == window.block;
          const bool reduces = own && call.routine == RoutineKind::Reduce;
          const bool waits_later =
              !program.class_of(program.blocks[static_cast<size_t>(window.block)])
                   .routine(RoutineKind::ReduceWait)
                   .empty();
          const bool settles =
              own && call.routine == (waits_later ? RoutineKind::ReduceWait : RoutineKind::Reduce);
          if (!reduces && !settles && !contains(written, window.block)) continue;
          window.touch(position, !open[i]);
          open[i] = !settles;
        }
      }
    }
}

// Largest first, each at the lowest offset where it meets nobody.
int64_t place(std::vector<Window>& windows) {
  std::vector<Window*> order;
  for (Window& window : windows) order.push_back(&window);
  std::stable_sort(order.begin(), order.end(),
                   [](const Window* a, const Window* b) { return a->bytes > b->bytes; });
  int64_t bytes = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    std::vector<const Window*> others;
    for (size_t j = 0; j < i; ++j)
      if (order[i]->meets(*order[j])) others.push_back(order[j]);
    std::sort(others.begin(), others.end(),
              [](const Window* a, const Window* b) { return a->offset < b->offset; });
    int64_t offset = 0;
    for (const Window* other : others)
      if (offset + order[i]->bytes > other->offset)
        offset = std::max(offset, other->offset + other->bytes);
    order[i]->offset = offset;
    bytes = std::max(bytes, offset + order[i]->bytes);
  }
  return bytes;
}

int64_t most_alive(const std::vector<Window>& windows, bool weights) {
  int64_t most = 0;
  for (const Window& at : windows)
    for (const Stretch& stretch : at.alive) {
      int64_t sum = 0;
      for (const Window& other : windows)
        if ((other.role == FlatRole::Weights) == weights &&
            std::any_of(other.alive.begin(), other.alive.end(), [&](const Stretch& s) {
              return s.begin <= stretch.begin && stretch.begin <= s.end;
            }))
          sum += other.bytes;
      most = std::max(most, sum);
    }
  return most;
}

}  // namespace

int64_t WindowLayout::offset(int block, std::string_view flat) const {
  for (const auto& [name, at] : offsets[static_cast<size_t>(block)])
    if (name == flat) return at;
  return kNone;
}

WindowLayout lay_out_windows(const Module& module, const Program& program) {
  WindowLayout layout;
  layout.offsets.resize(module.blocks.size());
  std::vector<Window> windows = windows_of(module);
  if (windows.empty()) return layout;
  mark_alive(module, program, windows);
  layout.bytes = place(windows);
  layout.weights_bytes = most_alive(windows, true);
  layout.gradient_bytes = layout.bytes - layout.weights_bytes;
  for (const Window& window : windows)
    layout.offsets[static_cast<size_t>(window.block)].emplace_back(window.flat, window.offset);
  return layout;
}

}  // namespace tessera
