// SPDX-License-Identifier: Apache-2.0
#include "exec/job_executor.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "comm/reduce_words.h"

namespace tessera {

JobExecutor::JobExecutor(std::span<const Program> programs, std::unique_ptr<RankExecutor> own,
                         RankWorld& world)
    : view_(view_of(programs)), own_(std::move(own)), everyone_(world.everyone("states")) {
  add_up_planned_bytes();
}

void JobExecutor::replace_programs(std::vector<Program> programs, ProgramChange change) {
  if (change == ProgramChange::Inputs) view_ = view_of(programs);
  own_->replace_programs(std::move(programs), change);
  add_up_planned_bytes();
}

void JobExecutor::add_up_planned_bytes() {
  std::vector<int64_t> planned(static_cast<size_t>(everyone_->size()), 0);
  planned[static_cast<size_t>(own_->rank())] = own_->planned_bytes();
  put_together(std::as_writable_bytes(std::span(planned)));
  planned_bytes_ = std::accumulate(planned.begin(), planned.end(), int64_t{0});
}

bool JobExecutor::gives(const StateBuffer& state, bool gradient) const {
  const StateBuffer* own = own_->program().find_state(state.name);
  if (!own || own->spec.replica) return false;
  const FlatPlace& place = gradient ? own->gradient : own->place;
  const Program& program = own_->program();
  for (int axis = 0; axis < program.mesh.num_axes(); ++axis) {
    const bool splits =
        static_cast<size_t>(axis) < own->placement.size() &&
        own->placement[static_cast<size_t>(axis)].kind == AxisPlacement::Kind::Shard;
    const bool shards =
        std::find(place.shard_axes.begin(), place.shard_axes.end(), axis) != place.shard_axes.end();
    if (!splits && !shards && axis != program.pipeline_axis &&
        program.mesh.coordinate(own_->rank(), axis) != 0)
      return false;
  }
  return true;
}

// Everyone else has zeros there, so a sum of words gives the bits.
void JobExecutor::put_together(std::span<std::byte> bytes) const {
  words_.assign((bytes.size() + 3) / 4, 0);
  std::memcpy(words_.data(), bytes.data(), bytes.size());
  reduce_words(*everyone_, words_, Reduction::Sum, "read a state");
  std::memcpy(bytes.data(), words_.data(), bytes.size());
}

void JobExecutor::read_state(const StateBuffer& state, std::span<std::byte> bytes) const {
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  if (gives(state, false)) own_->read_state(state, bytes);
  put_together(bytes);
}

void JobExecutor::read_gradient(const StateBuffer& parameter, std::span<std::byte> bytes) const {
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  if (gives(parameter, true)) own_->read_gradient(parameter, bytes);
  put_together(bytes);
}

std::vector<int32_t> JobExecutor::read_loads() const {
  std::vector<int32_t> loads(static_cast<size_t>(num_loads(view_)), 0);
  const Program& program = own_->program();
  bool first = true;
  for (int axis = 0; axis < program.mesh.num_axes(); ++axis)
    first = first &&
            (axis == program.pipeline_axis || program.mesh.coordinate(own_->rank(), axis) == 0);
  if (first) own_->read_loads(view_, loads);
  put_together(std::as_writable_bytes(std::span(loads)));
  return loads;
}

double JobExecutor::read_step(std::string_view name) const {
  if (own_->program().pipeline_axis < 0) return own_->read_step(name);
  std::vector<double> values(static_cast<size_t>(everyone_->size()), 0);
  const bool has = own_->program().find_step_value(name) != nullptr;
  std::vector<double> known(values.size(), 0);
  if (has) {
    values[static_cast<size_t>(own_->rank())] = own_->read_step(name);
    known[static_cast<size_t>(own_->rank())] = 1;
  }
  put_together(std::as_writable_bytes(std::span(values)));
  put_together(std::as_writable_bytes(std::span(known)));
  const auto first = std::find(known.begin(), known.end(), 1.0) - known.begin();
  return values.at(static_cast<size_t>(first));
}

NonFinite JobExecutor::find_non_finite(std::string_view script) {
  std::vector<NonFinite> found(static_cast<size_t>(everyone_->size()));
  found[static_cast<size_t>(own_->rank())] = own_->find_non_finite(script);
  put_together(std::as_writable_bytes(std::span(found)));
  return first_of(found);
}

std::vector<RankTimes> JobExecutor::rank_times() const {
  std::vector<RankTimes> times(static_cast<size_t>(everyone_->size()));
  times[static_cast<size_t>(own_->rank())] = own_->rank_times().front();
  put_together(std::as_writable_bytes(std::span(times)));
  return times;
}

}  // namespace tessera
