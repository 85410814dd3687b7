// SPDX-License-Identifier: Apache-2.0
#include "studio/memory_reason.h"

#include <algorithm>

#include "core/choices.h"
#include "core/quantities.h"
#include "mesh/axis_sizes.h"
#include "studio/compiled_step.h"

namespace tessera {
namespace {

bool grows_with_samples(BufferKind kind) {
  return kind == BufferKind::Activation || kind == BufferKind::Input || kind == BufferKind::Scratch;
}

std::string_view words_for(BufferKind kind) {
  if (kind == BufferKind::Optimizer) return "optimizer states";
  return kind == BufferKind::Scratch ? "scratch buffers" : name(kind);
}

std::vector<std::string> memory_remedies(const SimulatedStep& step, BufferKind kind,
                                         int64_t samples) {
  const AxisSizes axes = sizes_of(step.config.mesh);
  std::vector<std::string> found;
  if (!grows_with_samples(kind)) {
    if (axes.data_ranks() == 1)
      found.emplace_back("fsdp, with zero = 3");
    else if (resolve_zero(step.config) < 3)
      found.emplace_back("zero = 3");
  } else {
    if (samples > 1)
      found.push_back(fmt::format("more microbatches ({} of 1 sample)",
                                  samples * step.config.train.microbatches));
    if (step.spec.plan.recompute.kind <= RecomputeKind::Attention)
      found.emplace_back("recompute = fit");
    if (axes[AxisKind::Tp] > 1 && !step.config.plan.sequence_parallel)
      found.emplace_back("sequence parallel");
  }
  if (found.empty()) found.emplace_back("a larger pp");
  return found;
}

}  // namespace

std::string memory_reason(const SimulatedStep& step) {
  const std::vector<Program>& programs = step.compiled.programs;
  const Program& fullest = largest_program(programs);
  const auto most = std::ranges::max_element(fullest.bytes_by_kind);
  const auto kind = static_cast<BufferKind>(most - fullest.bytes_by_kind.begin());
  const TrainConfig& train = step.config.train;
  const int64_t samples =
      train.batch / sizes_of(step.config.mesh).data_ranks() / train.microbatches;
  std::string text = fmt::format(
      "{} take {} of the {} of {}", words_for(kind), short_bytes(*most),
      short_bytes(fullest.peak_bytes()),
      programs.size() > 1 ? fmt::format("stage {}", &fullest - programs.data()) : "each rank");
  if (grows_with_samples(kind))
    text += fmt::format("; a microbatch has {} sample{} of {} tokens on a rank", samples,
                        samples == 1 ? "" : "s", train.seq);
  return fmt::format("{}. Try {}.", text, join_choices(memory_remedies(step, kind, samples)));
}

}  // namespace tessera
