// SPDX-License-Identifier: Apache-2.0
#include "compiler/pass_pipeline.h"

#include <algorithm>
#include <chrono>

#include "compiler/stamp_origins.h"
#include "ir/verifier.h"

namespace tessera {

void PassPipeline::add(Pass pass) {
  TESSERA_CHECK(pass.requires_form <= form_, "{} needs form {}, but gets {}", pass.name,
                name(pass.requires_form), name(form_));
  form_ = std::max(form_, pass.ensures_form);
  passes_.push_back(std::move(pass));
}

void PassPipeline::require_known(const std::string& pass_name) const {
  std::string known;
  for (const Pass& pass : passes_) {
    if (pass.name == pass_name) return;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", pass.name);
  }
  throw user_error("there is no pass {}", pass_name).help("the passes are " + known);
}

std::vector<PassReport> PassPipeline::run(Module& module, const PipelineOptions& options) const {
  for (const std::string& pass_name : options.disabled) require_known(pass_name);
  if (!options.stop_after.empty()) require_known(options.stop_after);
  std::vector<PassReport> reports;
  stamp_origins(module, kMadeByModel);
  int position = 0;
  for (const Pass& pass : passes_) {
    ++position;
    if (std::find(options.disabled.begin(), options.disabled.end(), pass.name) !=
        options.disabled.end()) {
      if (pass.ensures_form > pass.requires_form)
        throw user_error(
            "pass {} cannot be disabled: later passes need the form that it leaves ({})", pass.name,
            name(pass.ensures_form));
      continue;
    }
    const auto begin = std::chrono::steady_clock::now();
    PassReport report{.name = std::string(pass.name), .seconds = 0, .counts = pass.run(module)};
    stamp_origins(module, pass.name);
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (options.verify) verify(module);
    reports.push_back(std::move(report));
    if (options.after_pass) options.after_pass(position, pass, module);
    if (pass.name == options.stop_after) break;
  }
  return reports;
}

}  // namespace tessera
