// SPDX-License-Identifier: Apache-2.0
#include "sim/stage_hops.h"

#include <algorithm>
#include <array>

#include "mesh/axes.h"

namespace tessera {

StageHops::StageHops(const Program& program, const Cluster& cluster, bool split_sends)
    : cluster_(cluster) {
  const Mesh& mesh = program.mesh;
  const int axis = program.pipeline_axis, ranks = mesh.num_ranks();
  int apart = 1;  // of the same rank in two neighbouring stages
  while (!program.channels.empty() && mesh.size(axis) > 1 && mesh.coordinate(apart, axis) == 0)
    ++apart;
  for (const StageChannel& channel : program.channels) {
    GroupShape& widest = hops_.emplace_back();
    for (int rank = channel.from * apart; rank < ranks; ++rank) {
      if (rank / apart % mesh.size(axis) != channel.from) {
        rank += apart * (mesh.size(axis) - 1) - 1;
        continue;
      }
      const int to = rank + (channel.to - channel.from) * apart;
      const std::array ends{std::min(rank, to), std::max(rank, to)};
      const GroupShape shape = rank == to ? GroupShape{1} : group_shape(cluster, ends);
      if (shape.size() > widest.size()) widest = shape;
    }
  }
  if (const int tp = mesh.find("tp"); split_sends && tp >= 0 && mesh.size(tp) > 1)
    gathers_ = group_shapes(cluster, mesh, {tp});
}

double StageHops::seconds(int channel, double bytes) const {
  const double parts = gathers_.empty() ? 1 : gathers_.front().back();
  double gather = 0;
  for (const GroupShape& shape : gathers_)
    gather = std::max(gather, collective_seconds(cluster_, CollectiveOp::AllGather, shape, bytes));
  return send_seconds(cluster_, hop(channel), bytes / parts) + gather;
}

}  // namespace tessera
