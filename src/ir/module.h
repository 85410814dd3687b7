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
enum class Form : uint8_t { Maths, Step, Planned };
std::string_view name(Form form);
std::optional<Form> form_from_name(std::string_view text);

struct BlockClass {
  std::string name;
  Graph graph;
  int64_t slot_bytes = 0;  // set by plan_memory: one microbatch's kept activations
};

struct Block {
  std::string name;
  int class_index = 0;
  // Parameters that are another block's: class parameter -> full state name ("embedding.table").
  std::vector<std::pair<std::string, std::string>> ties;
};

struct Module {
  std::string name;
  Form form = Form::Maths;
  std::vector<BlockClass> classes;
  std::vector<Block> blocks;
  int64_t scratch_bytes = 0;  // set by plan_memory: the largest need of any routine

  const BlockClass& class_of(const Block& block) const {
    return classes[static_cast<size_t>(block.class_index)];
  }
  int find_class(std::string_view class_name) const;  // kNone when absent
  int find_block(std::string_view block_name) const;  // kNone when absent
  // The full name of a block's state, through its tie if it has one.
  std::string state_name(const Block& block, std::string_view input) const;
};

}  // namespace tessera
