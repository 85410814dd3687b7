// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/cuda_mesh.h"

#include <cstdio>
#include <cstdlib>

#include "comm/local/run_ranks.h"
#include "system/say.h"

namespace tessera {

CudaMesh::CudaMesh(const std::vector<Program>& programs, ExecutorOptions options)
    : LocalMesh(view_of(programs)),
      options_(std::move(options)),
      hub_(num_ranks()),
      watch_(
          options_.deadline_seconds, [this] { return progress(); }, [this] { leave_stuck(); }) {
  options_.wait_for_each |= launches_block();
  for (int rank = 0; rank < num_ranks(); ++rank)
    ranks_.push_back(std::make_unique<CudaExecutor>(
        at_place(programs, rank), options_,
        CudaPeers{
            .world = &hub_.world(rank),
            .stream = &hub_.stream(rank),
            .wait_for = [this](const DeviceStream& stream) { watched([&] { stream.wait(); }); }}));
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
    for (const auto& rank : ranks_) {
      served_ = rank->rank();
      moved |= rank->advance();
    }
  }
  served_ = -1;
  for (const auto& rank : ranks_)
    TESSERA_CHECK(rank->ended(), "script {} is stuck: rank {} is in {}; {}", script, rank->rank(),
                  rank->position(), hub_.unfinished());
  behind_all(first_stream());
}

void CudaMesh::replace_programs(std::vector<Program> programs, ProgramChange change) {
  change_view(programs, change);
  graphs_.forget();
  for (const auto& rank : ranks_) rank->replace_program(at_place(programs, rank->rank()), change);
}

// A failure report names the steps that are done.
void CudaMesh::write_step(std::string_view name, double value) {
  if (name == "step") step_ = static_cast<int64_t>(value) - 1;
  LocalMesh::write_step(name, value);
}

void CudaMesh::run(std::string_view script) {
  watched([&] { run_watched(script); });
}

void CudaMesh::run_watched(std::string_view script) {
  std::string key(script);
  for (const auto& rank : ranks_) {
    rank->close_inputs();
    key += rank->plain_causal() ? ", plain causal" : ", documents";
  }
  behind_all(first_stream());
  timer_.begin(first_stream());
  const auto enqueue = [&] { walk(script); };
  const bool as_graph = !options_.wait_for_each && !options_.fault;
  if (options_.observer) {
    for (const auto& rank : ranks_) rank->time_script(key);
    const ZeroTime zero(first_stream());
    if (as_graph)
      graphs_.run(key + ", timed", first_stream(), enqueue);
    else
      enqueue();
    for (const auto& rank : ranks_) rank->report_times(zero);
  } else if (as_graph) {
    graphs_.run(key, first_stream(), enqueue);
  } else {
    enqueue();
  }
  timer_.end(first_stream());
  all_behind(first_stream());
}

NonFinite CudaMesh::find_non_finite(std::string_view script) {
  std::vector<NonFinite> found;
  watched([&] {
    for (const auto& rank : ranks_) rank->begin_search(rank->program().script(script));
    behind_all(first_stream());
    walk(script);
    all_behind(first_stream());
    for (const auto& rank : ranks_) found.push_back(rank->end_search());
  });
  return first_of(found);
}

void CudaMesh::stop_observing() {
  options_.observer = {};
  for (const auto& rank : ranks_) rank->stop_observing();
}

std::vector<RankTimes> CudaMesh::rank_times() const {
  return std::vector<RankTimes>(ranks_.size(), {.run_seconds = timer_.seconds()});
}

template <typename Work>
void CudaMesh::watched(const Work& work) {
  watch_.begin();
  try {
    work();
  } catch (const UserError&) {
    watch_.end();
    throw;
  } catch (const std::exception& error) {
    watch_.end();
    const int rank = served_;
    report(rank < 0 ? error.what() : fmt::format("rank {}: {}", rank, error.what()));
    throw;
  }
  watch_.end();
}

int64_t CudaMesh::progress() const {
  int64_t moves = hub_.progress();
  for (const auto& rank : ranks_) moves += rank->enqueued();
  return moves;
}

// The first cause alone.
void CudaMesh::report(const std::string& cause) {
  if (!options_.on_failure || std::exchange(reported_, true)) return;
  std::vector<RankReport> reports(static_cast<size_t>(num_ranks()), RankReport{.step = step_});
  hub_.add_waits(reports);
  for (const auto& rank : ranks_)
    if (rank->walks()) reports[static_cast<size_t>(rank->rank())].where = "in " + rank->position();
  options_.on_failure(cause, reports);
}

// A call of CUDA that never returns cannot be ended, and neither can memory that it uses.
void CudaMesh::leave_stuck() {
  const int rank = served_;
  const std::string flying = hub_.in_flight();
  const std::string where =
      rank >= 0 ? fmt::format("rank {} hangs in {}", rank, this->rank(rank).position())
                : fmt::format("the GPU hangs in {}", flying.empty() ? "no collective" : flying);
  const std::string cause =
      fmt::format("{}: nothing has moved for {:.3g} s", where, options_.deadline_seconds);
  report(cause);
  say(stderr, "error: {}\n help: a rank does not end; leaving without it\n", cause);
  std::fflush(nullptr);
  std::_Exit(kPeerExitStatus);
}

}  // namespace tessera
