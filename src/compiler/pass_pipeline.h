// SPDX-License-Identifier: Apache-2.0
// Runs passes in order: verifies after each (unless told not to), times and counts it, dumps the IR
// where asked. Whether the forms chain is checked when the pipeline is made, so a misordered one
// fails before it runs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "passes/pass.h"

namespace tessera {

struct PipelineOptions {
  std::vector<std::string> disabled = {};  // passes to leave out, by name
  std::string stop_after = {};             // run no pass after this one
  bool verify = true;                      // the module after each pass
  // Called with (position, pass, module) after each pass that ran.
  std::function<void(int, const Pass&, const Module&)> after_pass = {};
};

struct PassReport {
  std::string name;
  double seconds = 0;
  PassCounts counts;
};

class PassPipeline {
 public:
  explicit PassPipeline(Form begins_with) : form_(begins_with) {}

  void add(Pass pass);
  const std::vector<Pass>& passes() const { return passes_; }
  std::vector<PassReport> run(Module& module, const PipelineOptions& options) const;

 private:
  void require_known(const std::string& pass_name) const;
  Form form_;
  std::vector<Pass> passes_;
};

}  // namespace tessera
