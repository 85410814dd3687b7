// SPDX-License-Identifier: Apache-2.0
// Runs every tests/passes/<pass>/<claim>.ir: a module, a line `---`, and the module as that pass
// leaves it, or the error it gives. `--update` writes what came out into the files instead.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/verifier.h"
#include "passes/fusion/fold_largest_entries.h"
#include "passes/fusion/fuse.h"
#include "passes/fusion/join_norm_gradients.h"
#include "passes/fusion/join_rebuilt_swiglu.h"
#include "passes/gradient/build_backward.h"
#include "passes/gradient/count_loads.h"
#include "passes/gradient/gradient_norm.h"
#include "passes/gradient/shard_states.h"
#include "passes/gradient/update_parameters.h"
#include "passes/memory/plan_memory.h"
#include "passes/offload/offload_activations.h"
#include "passes/offload/offload_gradients.h"
#include "passes/offload/offload_states.h"
#include "passes/overlap/overlap.h"
#include "passes/overlap/ring_matmuls.h"
#include "passes/placement/localize.h"
#include "passes/placement/propagate_placements.h"
#include "passes/placement/size_pools.h"
#include "passes/precision/quantize_before_gather.h"
#include "passes/precision/use_fp8.h"
#include "passes/recompute/recompute.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

const std::string kSeparator = "---\n";

std::vector<std::string> listed(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> names;
  for (std::string name; std::getline(stream, name, '+');) names.push_back(name);
  return names;
}

// The usual plan for the mesh that the module names, changed by a line `# plan: <word>...` with
// words such as sequence_parallel, ulysses, zero=1, shard_axes=fsdp+cp, kv_heads=2,
// experts=ep+tp, expert_count=4, recompute=attention, offload=states and dims.tp=mlp+seq.
void change_plan(const std::string& word, PlanRequest& request, PlanSizes& sizes) {
  const size_t equals = std::min(word.find('='), word.size());
  const std::string key = word.substr(0, equals),
                    value = word.substr(std::min(equals + 1, word.size()));
  if (key == "sequence_parallel")
    request.sequence_parallel = true;
  else if (key == "ulysses")
    request.context = ContextKind::Ulysses;
  else if (key == "zero")
    request.zero = std::stoi(value);
  else if (key == "recompute")
    request.recompute.kind = value == "attention"              ? RecomputeKind::Attention
                             : value == "block_keep_attention" ? RecomputeKind::KeepAttention
                                                               : RecomputeKind::Cheap;
  else if (key == "offload")
    request.offload = parse_offload(value);
  else if (key == "kv_heads")
    sizes.kv_heads = std::stoi(value);
  else if (key == "experts")
    request.experts = listed(value);
  else if (key == "expert_count")
    sizes.experts = std::stoi(value);
  else if (key == "shard_axes")
    request.shard_axes = listed(value);
  else if (key.starts_with("dims."))
    request.dims.emplace_back(key.substr(5), listed(value));
  else
    TESSERA_CHECK(false, "{} is no word of a plan", word);
}

// Words of use_fp8: fp8_blocks, fp8_at_use, e4m3_gradients.
bool change_fp8(const std::string& word, Fp8Plan& fp8) {
  fp8.blocks = fp8.blocks || word == "fp8_blocks";
  fp8.at_use = fp8.at_use || word == "fp8_at_use";
  if (word == "e4m3_gradients") fp8.gradients = Fp8::E4m3;
  return word == "fp8_blocks" || word == "fp8_at_use" || word == "e4m3_gradients";
}

// As the user wrote them: make_plan may have split tp in two.
std::vector<Axis> axes_of_user(const Mesh& mesh) {
  std::vector<Axis> axes;
  for (const Axis& axis : mesh.axes())
    if (axis.name == "tp.kv" && axes.back().name == "tp")
      axes.back().size *= axis.size;
    else
      axes.push_back({axis.name == "tp.group" ? "tp" : axis.name, axis.size});
  return axes;
}

Plan plan_of(const std::string& input) {
  try {
    const Mesh mesh = parse_module(input).mesh;
    PlanRequest request{.mesh = axes_of_user(mesh)};
    PlanSizes sizes;
    Fp8Plan fp8;
    std::istringstream lines(input);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string word;
      if (!(words >> word && word == "#" && words >> word && word == "plan:")) continue;
      while (words >> word)
        if (!change_fp8(word, fp8)) change_plan(word, request, sizes);
    }
    Plan plan = make_plan(request, sizes);
    plan.fp8 = fp8;
    plan.tp_overlap = TpOverlap::Ring;  // which rings alone read
    return plan;
  } catch (const UserError&) {
    return {};  // the pass under test gives the same report
  }
}

// The three passes of states at rest as one: their claims are about what they make together.
Pass states_at_rest(const Plan& plan) {
  return {.name = "states_at_rest",
          .summary = "",
          .requires_form = Form::Local,
          .ensures_form = Form::Local,
          .run = [plan](Module& module) {
            for (const Pass& pass :
                 {shard_states(plan), gradient_norm(plan), update_parameters({}, plan)}) {
              pass.run(module);
              verify(module);
            }
            return PassCounts{};
          }};
}

std::vector<Pass> known_passes(const Plan& plan) {
  return {size_pools(plan),
          build_backward(),
          propagate_placements(plan),
          localize(plan),
          count_loads(plan),
          use_fp8(plan),
          recompute(plan, {.threads = 1}),
          fuse(),
          join_norm_gradients(),
          join_rebuilt_swiglu(),
          quantize_before_gather(plan),
          fold_largest_entries(),
          ring_matmuls(plan),
          offload_activations(plan, {.threads = 1}),
          states_at_rest(plan),
          offload_gradients(plan),
          offload_states(plan),
          overlap(),
          plan_memory({.threads = 1})};
}

std::string read(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The module after the pass, verified and read back; or the report of the UserError.
std::string after_pass(const Pass& pass, const std::string& input) {
  try {
    Module module = parse_module(input);
    TESSERA_CHECK(pass.requires_form <= module.form, "{} needs form {}", pass.name,
                  name(pass.requires_form));
    pass.run(module);
    verify(module);
    const std::string text = print(module);
    TESSERA_CHECK(print(parse_module(text)) == text, "does not read back:\n{}", text);
    return text;
  } catch (const UserError& error) {
    return error.report();
  }
}

class GoldenIr : public testing::Test {
 public:
  GoldenIr(fs::path path, bool update) : path_(std::move(path)), update_(update) {}

  void TestBody() override {
    const std::string folder = path_.parent_path().filename();
    const std::string whole = read(path_);
    const std::string input = whole.substr(0, whole.find("\n" + kSeparator)) + "\n";
    for (const Pass& pass : known_passes(plan_of(input)))
      if (pass.name == folder) return compare(pass);
    FAIL() << folder << " is not a pass";
  }

 private:
  void compare(const Pass& pass) {
    const std::string whole = read(path_);
    const size_t separator = whole.find("\n" + kSeparator);
    const std::string input = whole.substr(0, separator) + "\n";
    const std::string actual = after_pass(pass, input);
    if (update_) {
      std::ofstream(path_) << input << kSeparator << actual;
      return;
    }
    ASSERT_NE(separator, std::string::npos) << "no line ---; run `make golden-ir`";
    EXPECT_EQ(whole.substr(separator + 1 + kSeparator.size()), actual)
        << path_ << "\nrun `make golden-ir` if this is meant, and read the diff";
  }

  fs::path path_;
  bool update_;
};

std::vector<fs::path> cases() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(TESSERA_GOLDEN_IR))
    if (entry.path().extension() == ".ir") found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::string in_pascal_case(const std::string& snake) {
  std::string text;
  bool capital = true;
  for (const char c : snake) {
    if (c != '_') text += capital ? static_cast<char>(std::toupper(c)) : c;
    capital = c == '_';
  }
  return text;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const bool update = argc > 1 && std::string(argv[1]) == "--update";
  for (const auto& path : tessera::cases())
    testing::RegisterTest(
        tessera::in_pascal_case(path.parent_path().filename()).c_str(),
        tessera::in_pascal_case(path.stem()).c_str(), nullptr, nullptr, path.c_str(), 1,
        [path, update]() -> testing::Test* { return new tessera::GoldenIr(path, update); });
  return RUN_ALL_TESTS();
}
