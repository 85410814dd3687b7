// SPDX-License-Identifier: Apache-2.0
#include "compiler/window_layout.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/flat_uses.h"

namespace tessera {
namespace {

struct Stretch {
  int begin, end;  // positions of calls, over all scripts, both inclusive
};

enum class WindowKind : uint8_t { Weights, Gradient, Staged, OffRest };

struct Window {
  int block;
  std::string flat;
  WindowKind kind;
  int64_t bytes;
  bool adds_up;  // a whole gradient, which backwards write
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

std::optional<WindowKind> kind_of(const BlockClass& block_class, const FlatSpec& flat) {
  if (flat.staged) return WindowKind::Staged;
  if (flat.role == FlatRole::Weights && find_flat(block_class, flat.bundle, FlatRole::WeightsShard))
    return WindowKind::Weights;
  const bool shard = find_flat(block_class, flat.bundle, FlatRole::GradientShard) != nullptr;
  if (flat.role == (shard ? FlatRole::GradientShard : FlatRole::Gradient) &&
      find_flat(block_class, flat.bundle, FlatRole::GradientAtRest))
    return WindowKind::OffRest;
  if (flat.role == FlatRole::Gradient && shard) return WindowKind::Gradient;
  return std::nullopt;
}

std::vector<Window> windows_of(const Module& module) {
  std::vector<Window> windows;
  for (int block = 0; block < static_cast<int>(module.blocks.size()); ++block) {
    const BlockClass& block_class = module.class_of(module.blocks[static_cast<size_t>(block)]);
    for (const GraphInput& input : block_class.graph.inputs()) {
      if (!input.flat) continue;
      const Value& value = block_class.graph.value(input.value);
      if (const std::optional<WindowKind> kind = kind_of(block_class, *input.flat))
        windows.push_back({.block = block,
                           .flat = value.name,
                           .kind = *kind,
                           .bytes = align_up(value.type.bytes()),
                           .adds_up = input.flat->role == FlatRole::Gradient});
    }
  }
  return windows;
}

bool contains(const std::vector<int>& blocks, int block) {
  return std::find(blocks.begin(), blocks.end(), block) != blocks.end();
}

// Follows which windows are alive at each call of all scripts.
class Lives {
 public:
  Lives(const Module& module, const Program& program, std::vector<Window>& windows)
      : module_(module),
        program_(program),
        windows_(windows),
        uses_(module, program),
        open_(windows.size(), false) {}

  void mark() {
    for (const Script& script : program_.scripts)
      for (const ScriptCall& call : script.calls) {
        ++position_;
        for (size_t i = 0; i < windows_.size(); ++i) switch (windows_[i].kind) {
            case WindowKind::Weights:
              mark_weights(call, windows_[i]);
              break;
            case WindowKind::Gradient:
              mark_gradient(call, i);
              break;
            case WindowKind::Staged:
              mark_staged(call, i);
              break;
            case WindowKind::OffRest:
              mark_off_rest(call, i);
              break;
          }
      }
  }

 private:
  bool has(RoutineKind routine, int block) const {
    return !program_.class_of(program_.blocks[static_cast<size_t>(block)]).routine(routine).empty();
  }

  void mark_weights(const ScriptCall& call, Window& window) {
    const bool gathers = call.routine == RoutineKind::Gather && call.block == window.block;
    if (gathers || contains(uses_.weights_read(call), window.block))
      window.touch(position_, gathers);
  }

  // Begins with its first writer and ends where its sum is there.
  void mark_gradient(const ScriptCall& call, size_t i) {
    Window& window = windows_[i];
    const bool own = call.block == window.block;
    const bool reduces = own && call.routine == RoutineKind::Reduce;
    const bool waits_later = has(RoutineKind::ReduceWait, window.block);
    const bool settles =
        own && call.routine == (waits_later ? RoutineKind::ReduceWait : RoutineKind::Reduce);
    if (!reduces && !settles && !contains(uses_.gradients_written(call), window.block)) return;
    touch(i, settles);
  }

  // Begins where it is copied from the host or written, ends where it has been read or copied back.
  void mark_staged(const ScriptCall& call, size_t i) {
    if (call.block != windows_[i].block || !reaches(call, windows_[i].flat)) return;
    const bool ends =
        call.routine == RoutineKind::GatherWait || call.routine == RoutineKind::StatesOutDone;
    touch(i, ends);
  }

  // Of a gradient that rests on the host. Begins where it is copied from there or written, and ends
  // where it has been copied back or, unchanged, read for the last time before it comes again.
  void mark_off_rest(const ScriptCall& call, size_t i) {
    const Window& window = windows_[i];
    const bool own = call.block == window.block;
    const bool adds = window.adds_up && contains(uses_.gradients_written(call), window.block);
    if (!adds && !(own && reaches_part(call, window.flat))) return;
    if (own && call.routine == RoutineKind::GradientsIn) open_[i] = false;
    touch(i, own && call.routine == RoutineKind::GradientsOutDone);
  }

  // The buffer, or the part of it that is a rank's own.
  bool reaches_part(const ScriptCall& call, const std::string& flat) {
    if (reaches(call, flat)) return true;
    const BlockClass& block_class =
        module_.class_of(module_.blocks[static_cast<size_t>(call.block)]);
    const FlatSpec& whole = *block_class.graph.find_input(InputKind::Flat, flat)->flat;
    const GraphInput* part = find_flat(block_class, whole.bundle, FlatRole::Reduced);
    return part && reaches(call, block_class.graph.value(part->value).name);
  }

  void touch(size_t i, bool ends) {
    windows_[i].touch(position_, !open_[i]);
    open_[i] = !ends;
  }

  // Whether an instruction of the call reads or writes that buffer, or the memory that is it.
  bool reaches(const ScriptCall& call, const std::string& flat) {
    const int index = program_.blocks[static_cast<size_t>(call.block)].class_index;
    std::set<std::string>& reached = reached_[{index, call.routine}];
    if (reached.empty()) {
      const Graph& graph = module_.classes[static_cast<size_t>(index)].graph;
      reached.insert("");  // known
      for (const Instruction& instruction :
           program_.classes[static_cast<size_t>(index)].routine(call.routine))
        for (const std::span<const int> buffers : {reads(instruction), writes(instruction)})
          for (const int buffer : buffers) {
            reached.insert(graph.value(buffer).name);
            for (const GraphOutput& output : graph.outputs())
              if (output.kind == OutputKind::Flat && output.value == buffer)
                reached.insert(output.target);
          }
    }
    return reached.contains(flat);
  }

  const Module& module_;
  const Program& program_;
  std::vector<Window>& windows_;
  FlatUses uses_;
  int position_ = 0;
  std::vector<bool> open_;                                                // by window
  std::map<std::pair<int, RoutineKind>, std::set<std::string>> reached_;  // by class
};

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

int64_t most_alive(const std::vector<Window>& windows, WindowKind kind) {
  int64_t most = 0;
  for (const Window& at : windows)
    for (const Stretch& stretch : at.alive) {
      int64_t sum = 0;
      for (const Window& other : windows)
        if (other.kind == kind &&
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
  Lives(module, program, windows).mark();
  layout.bytes = place(windows);
  layout.weights_bytes = most_alive(windows, WindowKind::Weights);
  const int64_t others = layout.bytes - layout.weights_bytes;
  layout.staged_bytes = std::max<int64_t>(
      0, most_alive(windows, WindowKind::Staged) - most_alive(windows, WindowKind::Gradient));
  layout.staged_bytes = std::min(layout.staged_bytes, others);
  layout.gradient_bytes = others - layout.staged_bytes;
  for (const Window& window : windows)
    layout.offsets[static_cast<size_t>(window.block)].emplace_back(window.flat, window.offset);
  return layout;
}

}  // namespace tessera
