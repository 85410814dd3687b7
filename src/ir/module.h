// SPDX-License-Identifier: Apache-2.0
// A module: the blocks of a model in the order data flows through them. Like blocks share a class,
// which is compiled once.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace tessera {

// What the passes have made of it so far; the verifier has a section for each.
enum class Form : uint8_t { Maths, Step, Local, Planned };
std::string_view name(Form form);
std::optional<Form> form_from_name(std::string_view text);

// Parameters that share a flat buffer, in order; each begins at a multiple of kFlatAlignment
// elements.
struct Bundle {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<int64_t> begins;  // by parameter, in elements
  int64_t elements = 0;         // of the whole buffer, padding included
  AxisIds rest = {};            // mesh axes over which its states at rest are sharded
  int shards = 1;               // ranks along those axes
  bool operator==(const Bundle&) const = default;
};
inline constexpr int64_t kFlatAlignment = 32;

struct BlockClass {
  std::string name;
  Graph graph;
  std::vector<Bundle> bundles = {};  // set by shard_states
  int64_t slot_bytes = 0;            // set by plan_memory: one microbatch's kept activations
  int64_t prepared_bytes = 0;        // the same: what is prepared once for all of a step's
  int64_t away_bytes = 0;            // the same: one microbatch's that goes to the host and back
};

inline constexpr int kEveryStage = -1;

struct Block {
  std::string name;
  int class_index = 0;
  // Parameters that are another block's: class parameter -> full state name ("embedding.table").
  std::vector<std::pair<std::string, std::string>> ties;
  int stage = 0;  // of the pipeline; kEveryStage: each rank has it
};

struct Module {
  std::string name;
  Form form = Form::Maths;
  Mesh mesh = {};  // set by propagate_placements
  // Set by assign_stages.
  int stages = 1;
  bool split_backward = false;  // input and weight gradients run apart
  std::vector<BlockClass> classes;
  std::vector<Block> blocks;
  // Set by plan_memory: the largest need of any routine, on the device and on the host.
  int64_t scratch_bytes = 0, host_scratch_bytes = 0;

  const BlockClass& class_of(const Block& block) const {
    return classes[static_cast<size_t>(block.class_index)];
  }
  int find_class(std::string_view class_name) const;  // kNone when absent
  int find_block(std::string_view block_name) const;  // kNone when absent
  // The full name of a block's state, through its tie if it has one.
  std::string state_name(const Block& block, std::string_view input) const;
};

// The flat buffer of that bundle and role, where it rests; null when the class has none.
const GraphInput* find_flat(const BlockClass& block_class, std::string_view bundle, FlatRole role,
                            std::string_view slot = {});
// The bundle that holds a parameter of the class itself; null when none does.
const Bundle* find_bundle(const BlockClass& block_class, std::string_view parameter);

// The block that owns a parameter, and what it is called there; through the tie if there is one. A
// replica is its block's own.
struct Owner {
  int block;
  std::string parameter;
};
Owner owner_of(const Module& module, int block, std::string_view parameter);

}  // namespace tessera
