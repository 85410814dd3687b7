// SPDX-License-Identifier: Apache-2.0
#include "planner/floor.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "compiler/compile.h"
#include "ir/op_list.h"
#include "models/build_model.h"
#include "models/model_size.h"
#include "passes/pipeline/assign_stages.h"
#include "schedule/schedule_kinds.h"
#include "sim/collective_cost.h"
#include "system/threads.h"

namespace tessera {

namespace {
constexpr double kRounding = 1 - 1e-9;  // sums in another order than the simulator's

Candidate without_recompute(Candidate candidate) {
  candidate.recompute = RecomputeKind::None;
  candidate.every = 1;
  return candidate;
}
}  // namespace

Floors::Floors(const PlanTask& task, int threads)
    : task_(task),
      threads_(threads),
      parameters_(static_cast<double>(parameter_count(task.run.model))) {
  const Module module = build_model(task.run.model, {.batch = 1, .seq = task.run.seq()},
                                    task.run.precision, HeadKind::Loss);
  for (const Block& block : module.blocks) classes_.push_back(module.class_of(block).name);
  for (const std::string& name : classes_) ++blocks_of_class_[name];
}

Floors::ShapeKey Floors::shape_key(const Candidate& candidate, int values) const {
  Candidate own = shape_of(task_, candidate);
  if (own.recompute != RecomputeKind::Fit) values = 0;
  if (values == 0 && own.recompute == RecomputeKind::Fit) own.recompute = RecomputeKind::None;
  return {own, values};
}

const ShapeProfile& Floors::shape(const Candidate& candidate, int values) {
  const auto [found, fresh] = shapes_.try_emplace(shape_key(candidate, values));
  if (fresh) found->second = profile_shape(task_, found->first.first, found->first.second);
  return found->second;
}

void Floors::prepare(std::span<const Candidate> candidates, const std::function<void()>& done) {
  std::set<ShapeKey> keys;
  for (const Candidate& candidate : candidates)
    keys.insert(shape_key(without_recompute(candidate), 0));
  profile({keys.begin(), keys.end()}, done);
}

void Floors::profile(const std::vector<ShapeKey>& keys, const std::function<void()>& done) {
  constexpr size_t kBetweenReports = 32;
  std::vector<std::map<ShapeKey, ShapeProfile>::iterator> missing;
  for (const ShapeKey& key : keys)
    if (const auto [found, fresh] = shapes_.try_emplace(key); fresh) missing.push_back(found);
  for (size_t begin = 0; begin < missing.size(); begin += kBetweenReports) {
    run_parts(std::min(kBetweenReports, missing.size() - begin), threads_, [&](size_t i, size_t) {
      auto& [key, profile] = *missing[begin + i];
      profile = profile_shape(task_, key.first, key.second);
    });
    if (done) done();
  }
}

const ByClass<StateProfile>& Floors::states(const Candidate& candidate) {
  const Candidate own = states_of(task_, candidate);
  const auto [found, fresh] = states_.try_emplace(own);
  if (fresh) found->second = profile_states(task_, own);
  return found->second;
}

const std::vector<int>& Floors::blocks_per_stage(const Candidate& candidate) {
  const int64_t samples = task_.run.batch() / candidate.microbatches(task_.run.batch());
  const int stages = candidate.pp() * candidate.chunks;
  const auto [found, fresh] = cuts_.try_emplace({samples, stages});
  if (fresh) {
    const Module module = build_model(task_.run.model, {.batch = samples, .seq = task_.run.seq()},
                                      task_.run.precision, HeadKind::Loss);
    found->second = balance(block_costs(module, {}), stages);
  }
  return found->second;
}

const ScheduleTable& Floors::table(const Candidate& candidate) {
  const int64_t microbatches = candidate.microbatches(task_.run.batch());
  const auto key = std::tuple(candidate.schedule, candidate.pp(), candidate.chunks, microbatches);
  auto found = tables_.find(key);
  if (found == tables_.end())
    found = tables_
                .emplace(key, ScheduleTable(make_schedule(candidate.schedule, candidate.pp(),
                                                          candidate.chunks,
                                                          static_cast<int>(microbatches))))
                .first;
  return found->second;
}

Floor Floors::first(const Candidate& candidate) {
  Floor floor = quick(without_recompute(candidate));
  if (candidate.recompute == RecomputeKind::None) return floor;
  floor.bytes = 0;  // what is stored does not depend on recomputation
  const ShapeProfile& profile = shape(without_recompute(candidate), 0);
  for (const auto& [name, blocks] : blocks_of_class_)
    floor.bytes += blocks * rest_bytes(candidate, profile.blocks.at(name)) / candidate.pp();
  return floor;
}

// Of a candidate that rebuilds to fit: the seconds of rebuilding nothing, the bytes of everything.
// Streams between stages are free once they are sent; where blocks are rebuilt, or the backward is
// split, a microbatch need not keep all at one time.
Floor Floors::quick(const Candidate& candidate) {
  const ShapeProfile &fast = shape(candidate, 0), &small = shape(candidate, kAllValues.values);
  const bool keeps = candidate.recompute != RecomputeKind::Blocks &&
                     !(candidate.recompute == RecomputeKind::Fit && splits_backward(candidate));
  double seconds = 0, bytes = 0, kept = 0, sent = 0, on_host = 0;
  for (const auto& [name, blocks] : blocks_of_class_) {
    const BlockProfile& block = small.blocks.at(name);
    seconds += blocks * fast.blocks.at(name).seconds();
    bytes += blocks * rest_bytes(candidate, block);
    on_host += blocks * host_bytes(candidate, block);
    kept += blocks * static_cast<double>(block.kept_bytes);
    sent = std::max(sent, static_cast<double>(block.returned_bytes));
  }
  if (candidate.pp() > 1) kept -= sent * candidate.pp() * candidate.chunks;
  if (keeps) bytes += std::max(0.0, kept);
  const auto microbatches = static_cast<double>(candidate.microbatches(task_.run.batch()));
  const double copies = on_host > 0 && task_.cluster.host && !candidate.updates_on_host
                            ? on_host / task_.cluster.host->bandwidth.value
                            : 0;
  return {.seconds = kRounding * (microbatches * seconds + copies) / candidate.pp(),
          .bytes = bytes / candidate.pp() + static_cast<double>(small.scratch_bytes)};
}

ShapeProfile Floors::shape_to_fit(const Candidate& candidate, int& least_values) {
  ShapeProfile fastest = shape(candidate, kAllValues.values);
  const int all = fastest.rebuilt_values;
  std::vector<ShapeKey> keys;
  for (int values = 1; values < all; ++values) keys.push_back(shape_key(candidate, values));
  profile(keys);
  least_values = 0;
  for (int values = 1; values < all; ++values) {
    const ShapeProfile& own = shape(candidate, values);
    if (bytes(candidate, own) > static_cast<double>(task_.rank_memory_bytes())) continue;
    if (least_values == 0) least_values = values;
    for (auto& [name, block] : fastest.blocks) {
      const BlockProfile& other = own.blocks.at(name);
      block.forward = std::min(block.forward, other.forward);
      block.input_grad = std::min(block.input_grad, other.input_grad);
      block.weight_grad = std::min(block.weight_grad, other.weight_grad);
    }
  }
  if (least_values == 0) least_values = all;
  return fastest;
}

Floor Floors::loose(const Candidate& candidate) {
  if (candidate.recompute != RecomputeKind::Fit) return scheduled(candidate);
  ShapeProfile profile = shape(candidate, kAllValues.values);
  for (const auto& [name, count] : blocks_of_class_) {
    BlockProfile& block = profile.blocks.at(name);
    const BlockProfile& fast = shape(candidate, 0).blocks.at(name);
    block.forward = fast.forward;
    block.input_grad = fast.input_grad;
    block.weight_grad = fast.weight_grad;
  }
  return scheduled(candidate, profile);
}

Floor Floors::scheduled(const Candidate& candidate) {
  if (candidate.recompute != RecomputeKind::Fit) return scheduled(candidate, shape(candidate, 0));
  int values = 0;
  const ShapeProfile profile = shape_to_fit(candidate, values);
  Floor floor = scheduled(candidate, profile);
  floor.values = values;
  return floor;
}

Floor Floors::scheduled(const Candidate& candidate, const ShapeProfile& profile) {
  Floor floor{.bytes = bytes(candidate, profile)};
  if (floor.bytes <= static_cast<double>(task_.rank_memory_bytes()))
    floor.seconds = kRounding * least_seconds(table(candidate),
                                              stages(candidate, profile, &states(candidate)), true);
  return floor;
}

double Floors::bytes(const Candidate& candidate, const ShapeProfile& profile) {
  return least_bytes(table(candidate).schedule, stages(candidate, profile, nullptr)) +
         static_cast<double>(profile.scratch_bytes);
}

// The widest between ranks of two stages: of the first pair, and of those that face the end of a
// unit.
StageFloor::Hop Floors::hop(const Candidate& candidate, const ShapeProfile& profile, int from,
                            int to) const {
  if (from == to) return {};
  int64_t bytes = 0;
  for (const auto& [name, block] : profile.blocks) bytes = std::max(bytes, block.stream_bytes);
  const int apart = task_.ranks / candidate.pp();
  const std::array ends{std::min(from, to) * apart, std::max(from, to) * apart};
  GroupShape widest = group_shape(task_.cluster, ends);
  for (const Level& level : task_.cluster.levels) {
    const int to_end = level.ranks - 1 - ends[0] % level.ranks;
    if (to_end >= apart) continue;
    const std::array beside{ends[0] + to_end, ends[1] + to_end};
    const GroupShape shape = group_shape(task_.cluster, beside);
    if (shape.size() > widest.size()) widest = shape;
  }
  return {.seconds = collective_seconds(task_.cluster, CollectiveOp::Shift, widest,
                                        static_cast<double>(bytes)),
          .level = widest.size() - 1};
}

std::vector<StageFloor> Floors::stages(const Candidate& candidate, const ShapeProfile& profile,
                                       const ByClass<StateProfile>* by_class) {
  static const StateProfile kNoSeconds;
  std::map<std::string_view, BlockFloor> floors;
  for (const auto& [name, count] : blocks_of_class_)
    floors[name] = {&profile.blocks.at(name), by_class ? &by_class->at(name) : &kNoSeconds};
  std::vector<BlockFloor> blocks;
  for (const std::string& name : classes_) blocks.push_back(floors.at(name));
  std::vector<StageFloor> result;
  const std::vector<int>& ranks = table(candidate).schedule.rank_of_stage;
  size_t begin = 0;
  for (const int count : blocks_per_stage(candidate)) {
    result.push_back(
        floor_of_stage(candidate, std::span(blocks).subspan(begin, static_cast<size_t>(count))));
    const size_t stage = result.size() - 1;
    result.back().hop =
        stage == 0 ? StageFloor::Hop{} : hop(candidate, profile, ranks[stage - 1], ranks[stage]);
    begin += static_cast<size_t>(count);
  }
  return result;
}

}  // namespace tessera
