// SPDX-License-Identifier: Apache-2.0
// The question `ir`: the IR after any pass, by line, with the line of C++ and the passes that each
// comes from.
#include <map>
#include <set>

#include "config/compile_step.h"
#include "core/choices.h"
#include "models/build_model.h"
#include "studio/asked_run.h"
#include "studio/ir_lines.h"
#include "studio/kinds.h"
#include "studio/question_fields.h"
#include "studio/simulated_step.h"

namespace tessera {
namespace {

// Before any pass: the maths on one device.
constexpr std::string_view kModelPass = kMadeByModel;

// One run of the passes; where the compiler looks for what fits there are several.
struct PassHistory {
  std::map<std::string, Module, std::less<>> kept = {};     // the passes asked for, and the last
  std::vector<std::pair<std::string, size_t>> passes = {};  // with their nodes

  void add(std::string_view pass, const Module& module, bool keep) {
    size_t nodes = 0;
    for (const BlockClass& block_class : module.classes) nodes += block_class.graph.nodes().size();
    passes.emplace_back(pass, nodes);
    if (keep) kept.insert_or_assign(std::string(pass), module);
  }
};

Json line_json(const Module& module, const PrintedLine& line) {
  Json json{{"text", line.text}, {"kind", name(line.kind)}};
  if (line.class_index == kNone) return json;
  const BlockClass& block_class = module.classes[static_cast<size_t>(line.class_index)];
  json["class"] = block_class.name;
  if (line.values.empty()) return json;
  json["names"] = Json::array();
  for (const ValueId value : line.values)
    json["names"].push_back(block_class.graph.value(value).name);
  add_origin(json, module, line);
  return json;
}

std::vector<std::string> pass_names(const PassPipeline& pipeline) {
  std::vector<std::string> names{std::string(kModelPass)};
  for (const Pass& pass : pipeline.passes()) names.emplace_back(pass.name);
  return names;
}

// All runs of the passes, and the compiled step, which is the last one of one of them.
Compiled compile_with_history(const RunSpec& spec, const std::set<std::string>& wanted,
                              std::vector<PassHistory>& runs) {
  const Module model = build_model(spec.model, spec.microbatch, spec.precision, HeadKind::Loss);
  CompileStepOptions options{.check = false};
  options.pipeline.after_pass = [&](int position, const Pass& pass, const Module& module) {
    if (position == 1 || runs.empty()) {
      runs.emplace_back();
      runs.back().add(kModelPass, model, wanted.contains(std::string(kModelPass)));
    }
    runs.back().add(pass.name, module,
                    wanted.contains(std::string(pass.name)) || module.form == Form::Planned);
  };
  return compile(spec, options);
}

const PassHistory& history_of(const Compiled& compiled, const std::vector<PassHistory>& runs) {
  const std::string text = print(compiled.module);
  for (const PassHistory& run : runs)
    if (print(run.kept.at(run.passes.back().first)) == text) return run;
  TESSERA_CHECK(false, "the compiled module is that of no run");
}

Json passes_json(const PassPipeline& pipeline, const PassHistory& history) {
  Json passes = Json::array();
  passes.push_back({{"name", kModelPass},
                    {"summary", "the maths of the model, on one device"},
                    {"nodes", history.passes.front().second}});
  for (const Pass& pass : pipeline.passes())
    for (const auto& [ran, nodes] : history.passes)
      if (ran == pass.name)
        passes.push_back({{"name", pass.name}, {"summary", pass.summary}, {"nodes", nodes}});
  return passes;
}

}  // namespace

Answer answer_ir(const Question& question) {
  require_known_fields(question.fields, {"run", "passes"});
  const AskedRun run = asked_run(question);
  const RunSpec spec = spec_to_simulate(run.cluster, run.config);
  const PassPipeline pipeline = training_pipeline(spec.optimizer, spec.plan, {});
  const std::vector<std::string> known = pass_names(pipeline);
  const std::vector<std::string> asked =
      find_texts(question.fields, "passes").value_or(std::vector{known.back()});
  for (const std::string& pass : asked)
    if (std::ranges::count(known, pass) == 0)
      throw user_error("there is no pass {}", pass)
          .at("passes")
          .help(fmt::format("use {}", join_choices(known)));
  std::vector<PassHistory> runs;
  const Compiled compiled = compile_with_history(spec, {asked.begin(), asked.end()}, runs);
  const PassHistory& history = history_of(compiled, runs);
  Json texts = Json::array();
  for (const std::string& pass : asked) {
    const Module& module = history.kept.at(pass);
    Json lines = Json::array();
    for (const PrintedLine& line : print_lines(module)) lines.push_back(line_json(module, line));
    texts.push_back({{"pass", pass}, {"lines", lines}});
  }
  return {{{"passes", passes_json(pipeline, history)}, {"ir", texts}}};
}

}  // namespace tessera
