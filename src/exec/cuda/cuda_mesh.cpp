// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/cuda_mesh.h"

namespace tessera {

CudaMesh::CudaMesh(const std::vector<Program>& programs, ExecutorOptions options)
    : LocalMesh(view_of(programs)), options_(std::move(options)), hub_(num_ranks()) {
  options_.wait_for_each |= launches_block();
  for (int rank = 0; rank < num_ranks(); ++rank)
    ranks_.push_back(std::make_unique<CudaExecutor>(
        at_place(programs, rank), options_,
        CudaPeers{.world = &hub_.world(rank), .stream = &hub_.stream(rank)}));
}

void CudaMesh::behind_all(const DeviceStream& stream) const {
  for (const auto& rank : ranks_) {
    joint_.record(rank->stream());
    hold_back(stream, joint_);
  }
}

void CudaMesh::all_behind(const DeviceStream& stream) const {
  joint_.record(stream);
  for (const auto& rank : ranks_) hold_back(rank->stream(), joint_);
}

void CudaMesh::walk(std::string_view script) {
  all_behind(first_stream());
  for (const auto& rank : ranks_) rank->begin(rank->program().script(script));
  for (bool moved = true; moved;) {
    moved = false;
    for (const auto& rank : ranks_) moved |= rank->advance();
  }
  for (const auto& rank : ranks_)
    TESSERA_CHECK(rank->ended(), "script {} is stuck: rank {} is in {}; {}", script, rank->rank(),
                  rank->position(), hub_.unfinished());
  behind_all(first_stream());
}

void CudaMesh::replace_programs(std::vector<Program> programs) {
  graphs_.forget();
  for (const auto& rank : ranks_) rank->replace_program(at_place(programs, rank->rank()));
}

void CudaMesh::run(std::string_view script) {
  for (const auto& rank : ranks_) rank->close_inputs();
  behind_all(first_stream());
  timer_.begin(first_stream());
  if (options_.observer) {
    const ZeroTime zero(first_stream());
    walk(script);
    for (const auto& rank : ranks_) rank->report_times(zero);
  } else if (options_.wait_for_each) {
    walk(script);
  } else {
    std::string key(script);
    for (const auto& rank : ranks_) key += rank->plain_causal() ? ", plain causal" : ", documents";
    graphs_.run(key, first_stream(), [&] { walk(script); });
  }
  timer_.end(first_stream());
  all_behind(first_stream());
}

void CudaMesh::stop_observing() {
  options_.observer = {};
  for (const auto& rank : ranks_) rank->stop_observing();
}

std::vector<RankTimes> CudaMesh::rank_times() const {
  return std::vector<RankTimes>(ranks_.size(), {.run_seconds = timer_.seconds()});
}

}  // namespace tessera
