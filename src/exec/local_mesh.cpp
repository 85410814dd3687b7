// SPDX-License-Identifier: Apache-2.0
#include "exec/local_mesh.h"

namespace tessera {

int64_t LocalMesh::planned_bytes() const {
  int64_t bytes = 0;
  for (int r = 0; r < num_ranks(); ++r) bytes += rank(r).planned_bytes();
  return bytes;
}

void LocalMesh::write_state(const StateBuffer& state, std::span<const std::byte> bytes) {
  for (int r = 0; r < num_ranks(); ++r) rank(r).write_state(state, bytes);
}

void LocalMesh::read_state(const StateBuffer& state, std::span<std::byte> bytes) const {
  for (int r = 0; r < num_ranks(); ++r) rank(r).read_state(state, bytes);
}

void LocalMesh::read_gradient(const StateBuffer& parameter, std::span<std::byte> bytes) const {
  for (int r = 0; r < num_ranks(); ++r) rank(r).read_gradient(parameter, bytes);
}

void LocalMesh::write_batch(const HostBuffer& input, int microbatch,
                            std::span<const std::byte> bytes) {
  for (int r = 0; r < num_ranks(); ++r) rank(r).write_batch(input, microbatch, bytes);
}

void LocalMesh::write_step(std::string_view name, double value) {
  for (int r = 0; r < num_ranks(); ++r) rank(r).write_step(name, value);
}

// From the first rank whose stage has it.
double LocalMesh::read_step(std::string_view name) const {
  for (int r = 0; r < num_ranks(); ++r)
    if (rank(r).program().find_step_value(name)) return rank(r).read_step(name);
  return rank(0).read_step(name);
}

std::vector<int32_t> LocalMesh::read_loads() const {
  std::vector<int32_t> loads(static_cast<size_t>(num_loads(view_)));
  for (int r = 0; r < num_ranks(); ++r) rank(r).read_loads(view_, loads);
  return loads;
}

std::vector<RankStates*> LocalMesh::rank_states() {
  std::vector<RankStates*> states;
  for (int r = 0; r < num_ranks(); ++r) states.push_back(&rank(r));
  return states;
}

void LocalMesh::read_output(std::span<std::byte> bytes) const {
  for (int r = 0; r < num_ranks(); ++r) rank(r).read_output(bytes);
}

}  // namespace tessera
