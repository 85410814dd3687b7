// SPDX-License-Identifier: Apache-2.0
// Follows the pieces that travel round a ring: whose piece of a dim a value is, and which ranks'
// terms it sums, so that a piece at the wrong place or a sum that lacks a rank is refused.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "ir/graph.h"
#include "mesh/mesh.h"

namespace tessera {

class RingPieces {
 public:
  RingPieces(const Mesh& mesh, const Graph& graph) : mesh_(mesh), graph_(graph) {}

  // In the order of the nodes. Gives what is wrong, or "".
  std::string follow(const Node& node);

  struct Sum {
    AxisIds axes;
    std::string dim;
  };
  // That of a rank's own piece, with the terms of all ranks.
  std::optional<Sum> whole_sum(ValueId value) const;

 private:
  struct Piece {
    std::string axes = {}, dim = {};  // dim: "" of what is gathered
    int64_t hop = 0;                  // it is that of the rank `hop` positions before
    uint64_t terms = 0;               // bit i: it holds a term of the rank i positions before
  };

  const Piece* piece(ValueId value) const;
  std::string follow_join(const Node& node);
  std::string follow_kernel(const Node& node);
  int64_t ranks(const std::string& axes) const;

  const Mesh& mesh_;
  const Graph& graph_;
  std::map<ValueId, Piece> pieces_;
};

}  // namespace tessera
