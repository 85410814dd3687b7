// SPDX-License-Identifier: Apache-2.0
// Questions about runs that together use every axis, schedule family, recomputation and kind of
// model.
#pragma once

#include <string>
#include <vector>

#include "studio/answers.h"

namespace tessera {

inline Question question_of(const std::string& text) { return parse_question(text); }

inline std::vector<std::string> sample_runs() {
  const auto run = [](const std::string& model, const std::string& cluster,
                      const std::string& set) {
    return R"({"model":")" + model + R"(","cluster":")" + cluster + R"(","set":{)" + set + "}}";
  };
  return {
      run("tiny", "laptop", ""),
      run("mlp", "laptop", R"("mesh":"dp=2")"),
      run("gpt2-124m", "dgx-a100", R"("mesh":"dp=2,tp=2","train.batch":"8")"),
      run("llama3-8b", "llama3-h100",
          R"("train.batch":"512","train.seq":"8192","mesh":"pp=4,fsdp=8,tp=2","plan.zero":"3",)"
          R"("train.microbatches":"8")"),
      run("llama3-8b", "dgx-h100",
          R"("mesh":"fsdp=4,cp=2","train.batch":"16","train.microbatches":"2",)"
          R"("plan.recompute":"block")"),
      run("llama3-8b", "dgx-h100",
          R"("mesh":"fsdp=2,cp=2,tp=2","plan.context":"ulysses","train.batch":"8",)"
          R"("plan.sequence_parallel":"true","plan.recompute":"attention")"),
      run("llama3-1b", "dgx-h100",
          R"("mesh":"pp=2,dp=2","plan.schedule":"zb_h1","train.batch":"16",)"
          R"("train.microbatches":"4","plan.zero":"1")"),
      run("llama3-1b", "dgx-h100",
          R"("mesh":"pp=2","plan.schedule":"zb_v","train.batch":"8","train.microbatches":"4")"),
      run("llama3-3b", "dgx-h100",
          R"("mesh":"pp=4","plan.schedule":"interleaved_1f1b","plan.chunks":"2",)"
          R"("train.batch":"8","train.microbatches":"8","plan.recompute":"every")"),
      run("llama3-8b", "h200", R"("plan.recompute":"fit","train.batch":"2","train.seq":"2048")"),
      run("llama3-1b", "h200",
          R"("plan.offload":"states,gradients,activations","train.precision":"bf16",)"
          R"("train.batch":"4","train.microbatches":"2","train.seq":"4096")"),
      run("llama3-8b", "dgx-h100", R"("train.precision":"fp8","mesh":"fsdp=8","train.batch":"8")"),
      run("qwen3-30b-a3b", "dgx-h100", R"("mesh":"fsdp=2,ep=8","train.batch":"16")"),
      run("tiny-moe", "laptop",
          R"("mesh":"dp=2,ep=2","plan.dispatch":"exchange","train.threads":"4")"),
      run("llama3-405b", "llama3-h100",
          R"("train.batch":"2048","train.seq":"8192","mesh":"pp=16,fsdp=128,tp=8",)"
          R"("plan.zero":"1","train.microbatches":"16","plan.recompute":"block")"),
  };
}

// `fields` with the run in front: asking(run, "\"pp\":1").
inline Question asking(const std::string& run, const std::string& fields = "") {
  return question_of(R"({"run":)" + run + (fields.empty() ? "" : "," + fields) + "}");
}

}  // namespace tessera
