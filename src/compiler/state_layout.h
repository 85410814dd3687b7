// SPDX-License-Identifier: Apache-2.0
// Assigns memory to a rank's states: parameters on their own, and those of a bundle, with their
// gradients and the optimizer's states, in the bundle's flat buffers. Buffers that come and go
// within a script are in windows, all others are permanent.
#pragma once

#include <map>

#include "compiler/window_layout.h"
#include "ir/memory.h"
#include "program/program.h"

namespace tessera {

// Bytes of an arena are taken from its end, one buffer after the other, and counted by kind.
inline int64_t take(int64_t& arena, int64_t bytes) {
  const int64_t offset = arena;
  arena += align_up(bytes);
  return offset;
}

inline void count(Program& program, BufferKind kind, int64_t bytes) {
  program.bytes_by_kind[static_cast<size_t>(kind)] += bytes;
}

class StateLayout {
 public:
  StateLayout(const Module& module, Program& program) : module_(module), program_(program) {}

  void lay_out();

  // Of a flat buffer, by its name in the block's class.
  int64_t offset_of_flat(int block, const std::string& name) const {
    return flats_.at({block, name}).offset;
  }
  // Of a parameter that the block reads, wherever its owner is: in the bundle's flat buffer of that
  // role, or on its own.
  int64_t offset_of(int block, const std::string& parameter, FlatRole role) const;

 private:
  struct Place {
    Lifetime lifetime = Lifetime::None;
    int64_t offset = 0;
    MemorySpace space = MemorySpace::Device;
  };

  const BlockClass& class_of(int block) const {
    return module_.class_of(module_.blocks[static_cast<size_t>(block)]);
  }
  std::string full_name(int block, std::string_view state) const {
    return module_.state_name(module_.blocks[static_cast<size_t>(block)], state);
  }
  void lay_out_windows_of_script();
  void lay_out_block(int block);
  void lay_out_bundle(int block, const Bundle& bundle);
  Place lay_out_flat(int block, const GraphInput& input);
  void add_states(int block, const Bundle& bundle, size_t i);
  // The flat buffer of that role, as the place of the bundle's i-th parameter; empty when absent.
  FlatPlace place_of(int block, const Bundle& bundle, size_t i, FlatRole role,
                     std::string_view slot = {}) const;
  FlatPlace first_of(int block, const Bundle& bundle, size_t i, FlatRole first,
                     FlatRole second) const;

  const Module& module_;
  Program& program_;
  std::map<std::pair<int, std::string>, Place> flats_;  // by block and name in the class
  WindowLayout windows_;
  int64_t windows_begin_ = 0;
};

}  // namespace tessera
