// SPDX-License-Identifier: Apache-2.0
// The question `clocks`: a step of a run as its trace has it, beside the same step as the simulator
// has it. Slices of both are laid to the same instructions; what differs most comes first.
#include <algorithm>
#include <cmath>
#include <map>

#include "studio/kinds.h"
#include "studio/question_fields.h"
#include "studio/runs/measured_lanes.h"
#include "studio/runs/run_plan.h"
#include "studio/runs/traced_step.h"
#include "studio/step_slices.h"

namespace tessera {
namespace {

// Of an instruction on both clocks, over all ranks.
struct OnBothClocks {
  double measured = 0, simulated = 0;  // seconds
  int64_t measured_count = 0, simulated_count = 0;
  bool hidden = false;  // a transfer beside kernels
};

class Clocks {
 public:
  Clocks(const SimulatedStep& simulated, const TracedStep& traced,
         const InstructionNumbers& numbers)
      : simulated_(simulated), traced_(traced), numbers_(numbers) {
    for (const AlignedSlice& slice : traced.slices) add_measured(slice);
    for (const SimulatedRank& rank : simulated.simulation.ranks) {
      for (const Slice& slice : rank.trace.kernels) add_simulated(slice, rank.alike);
      for (const Slice& slice : rank.trace.collectives) add_simulated(slice, rank.alike);
    }
  }

  // Largest first, transfers beside kernels last. Seconds are means over ranks, so that those which
  // are not hidden add up to the step.
  Json differences() const {
    std::vector<std::tuple<bool, double, Json>> rows;
    for (const auto& [number, both] : both_) {
      const double measured = both.measured / measured_ranks(),
                   simulated = both.simulated / simulated_.ranks();
      rows.emplace_back(both.hidden, -std::abs(measured - simulated),
                        Json{{"instruction", number},
                             {"measured_seconds", measured},
                             {"simulated_seconds", simulated},
                             {"difference_seconds", measured - simulated},
                             {"measured_slices", both.measured_count},
                             {"simulated_slices", both.simulated_count},
                             {"hidden", both.hidden}});
    }
    std::ranges::stable_sort(rows, {}, [](const auto& row) {
      return std::pair(std::get<bool>(row), std::get<double>(row));
    });
    Json list = Json::array();
    for (auto& row : rows) list.push_back(std::move(std::get<Json>(row)));
    return list;
  }

  // Between instructions and before or after them: mean over ranks.
  double seconds_outside() const {
    double busy = 0;
    for (const auto& [number, both] : both_)
      if (!both.hidden) busy += both.measured;
    return traced_.end_seconds - traced_.begin_seconds - busy / measured_ranks();
  }

  double measured_ranks() const { return static_cast<double>(ranks_.size()); }

  // Instructions that one of the clocks has alone.
  Json alone(bool measured) const {
    const auto count = std::ranges::count_if(both_, [&](const auto& each) {
      const OnBothClocks& both = each.second;
      return measured ? both.simulated_count == 0 : both.measured_count == 0;
    });
    return static_cast<int64_t>(count);
  }

 private:
  OnBothClocks& both_of(const Instruction& instruction) {
    OnBothClocks& both = both_[numbers_.at(&instruction)];
    both.hidden = is_started(instruction);
    return both;
  }
  void add_measured(const AlignedSlice& slice) {
    OnBothClocks& both = both_of(*slice.instruction);
    both.measured += slice.end_seconds - slice.begin_seconds;
    ++both.measured_count;
    ranks_.insert(slice.rank);
  }
  void add_simulated(const Slice& slice, int alike) {
    OnBothClocks& both = both_of(*slice.instruction);
    both.simulated += alike * (slice.end_seconds - slice.begin_seconds);
    both.simulated_count += alike;
  }

  const SimulatedStep& simulated_;
  const TracedStep& traced_;
  const InstructionNumbers& numbers_;
  std::map<uint32_t, OnBothClocks> both_;
  std::set<int> ranks_;
};

}  // namespace

Answer answer_clocks(const Question& question) {
  require_known_fields(question.fields, {"run", "step"});
  const FoundRun run = asked_run_folder(question, "run");
  const auto wanted = find_whole(question.fields, "step", {1, 1'000'000});
  const RunPlan plan = plan_of(run);
  const AskedRun& asked = plan.asked;
  const SimulatedStep step =
      simulate_slices(asked.config, asked.cluster, spec_to_simulate(asked.cluster, asked.config));
  const TracedStep traced = read_traced_step(run, plan.trace, step.compiled.programs, wanted);
  Answer answer = slices_of(step, true);
  const InstructionNumbers numbers = number_instructions(step.compiled.programs, answer.json);
  const Clocks clocks(step, traced, numbers);
  const int64_t drawn = add_measured_lanes(answer, traced, step.compiled.programs, numbers);
  Json& json = answer.json;
  const double measured = traced.end_seconds - traced.begin_seconds;
  json["run"] = plan.run;
  json["cluster"] = plan.cluster;
  json["calibrated"] = asked.cluster.calibrated;
  json["step"] = traced.step;
  json["steps"] = std::vector<int64_t>(traced.steps.begin(), traced.steps.end());
  json["measured_seconds"] = measured;
  json["simulated_seconds"] = step.simulation.step_seconds;
  json["step_seconds"] = std::max(measured, step.simulation.first_seconds);  // of the axis
  json["outside_seconds"] = clocks.seconds_outside();
  json["measured_ranks"] = static_cast<int64_t>(clocks.measured_ranks());
  json["drawn_ranks"] = drawn;
  json["aligned_slices"] = traced.slices.size();
  json["unaligned"] = Json{{"unknown_slices", traced.unknown},
                           {"slices_outside_steps", traced.outside},
                           {"only_measured", clocks.alone(true)},
                           {"only_simulated", clocks.alone(false)}};
  json["differences"] = clocks.differences();
  return answer;
}

}  // namespace tessera
