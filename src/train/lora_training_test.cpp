// SPDX-License-Identifier: Apache-2.0
// Adapters trained beside a stored model: what checkpoints hold, resuming on another mesh, merging,
// and folders of PEFT in and out.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/joined_source.h"
#include "config/run_spec.h"
#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "data/row_samples.h"
#include "data/synthetic_batch.h"
#include "exec/make_executor.h"
#include "files/json.h"
#include "huggingface/export_folder.h"
#include "huggingface/peft_folder.h"
#include "inference/evaluate_model.h"
#include "inference/merged_model.h"
#include "inference/stored_model.h"
#include "inference/text_generator.h"
#include "models/lora.h"
#include "train/continued_config.h"
#include "train/trainer.h"

namespace tessera {
namespace {

class LoraTraining : public testing::Test {
 protected:
  std::string path(const std::string& run) const { return (folder_.path() / run).string(); }

  std::vector<std::string> settings(const std::string& run, std::vector<std::string> more) const {
    std::vector<std::string> all{"train.batch=4",           "train.warmup_steps=2",
                                 "train.steps=4",           "train.seq=16",
                                 "train.eval_every=0",      "train.threads=1",
                                 "data.story_bytes=100000", "checkpoint.every=100",
                                 "run.peak_gflops=100",     "run.out=" + path(run),
                                 "train.schedule=constant"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  void train_base(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"model.layers=2", "model.width=32", "model.heads=4",
                               "model.kv_heads=2", "model.head_size=8", "model.mlp_size=64",
                               "model.context=16", "train.steps=20", "train.learning_rate=0.01"});
    Trainer(load_config(std::nullopt, settings("base", more)), {.quiet = true}).run();
  }

  TrainSummary adapt(const std::string& from, const std::string& run, std::vector<std::string> more,
                     bool resume = false) const {
    const auto stored = open_stored_model(from);
    const ContinuedConfig continued = continued_config(*stored, {}, settings(run, std::move(more)));
    return Trainer(continued.config, {.resume = resume, .init_from = stored.get(), .quiet = true})
        .run();
  }

  static double loss_of(const StateSource& stored) {
    Config config = with_mesh(config_of(stored), {});
    config.train.batch = 2;
    config.train.microbatches = 1;
    const RunSpec spec = resolve(config);
    const auto executor = make_executor(spec, compile(spec, {.training = false}).programs, {});
    stored.load_weights(*executor, false);
    write_verification_batch(*executor, 1, {.vocabulary = spec.model.vocabulary});
    executor->run("evaluate");
    return executor->read_step("loss");
  }

  TemporaryFolder folder_;
};

const std::vector<std::string> kLora{"lora.rank=4", "train.learning_rate=0.02"};

std::vector<std::string> with(std::vector<std::string> all, std::vector<std::string> more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST_F(LoraTraining, BeginsWithTheLossOfItsBaseAndLearns) {
  train_base();
  const TrainSummary summary = adapt(path("base"), "lora", with(kLora, {"train.steps=30"}));
  const TrainSummary whole = adapt(path("base"), "whole", {"train.steps=1"});
  EXPECT_NEAR(summary.first_loss, whole.first_loss, 1e-5);
  EXPECT_LT(summary.last_loss, summary.first_loss - 0.05);
}

TEST_F(LoraTraining, SavesAdaptersAloneAndTheDigestOfTheBase) {
  train_base();
  adapt(path("base"), "lora", kLora);
  const Checkpoint adapters = find_checkpoint(path("lora")), base = find_checkpoint(path("base"));
  EXPECT_EQ(adapters.facts().base, base.digest());
  for (const auto& [name, tensor] : adapters.tensors())
    EXPECT_NE(name.find("_lora_"), std::string::npos) << name;
  EXPECT_LT(adapters.manifest().bytes(), base.manifest().bytes() / 3);
}

TEST_F(LoraTraining, OfLongerSamplesLeavesTheBaseOutToo) {
  train_base();
  adapt(path("base"), "lora", with(kLora, {"train.seq=32"}));
  const Checkpoint adapters = find_checkpoint(path("lora"));
  EXPECT_EQ(adapters.facts().base, find_checkpoint(path("base")).digest());
  EXPECT_FALSE(adapters.tensors().contains("layer.0.wq"));
}

TEST_F(LoraTraining, WithoutABaseSavesAll) {
  Trainer(load_config(std::nullopt, settings("alone", with(kLora, {"model.layers=1"}))),
          {.quiet = true})
      .run();
  const Checkpoint whole = find_checkpoint(path("alone"));
  EXPECT_TRUE(whole.facts().base.empty());
  EXPECT_TRUE(whole.tensors().contains("layer.0.wq"));
  EXPECT_FALSE(whole.tensors().contains("layer.0.wq.moment1"));
  EXPECT_TRUE(whole.tensors().contains("layer.0.wq_lora_a.moment1"));
}

TEST_F(LoraTraining, ResumesOnAnotherMesh) {
  train_base();
  const std::vector<std::string> exact = with(kLora, {"train.precision=fp64"});
  const TrainSummary whole = adapt(path("base"), "whole", with(exact, {"train.steps=6"}));
  adapt(path("base"), "cut", with(exact, {"train.steps=3", "mesh=dp=2"}));
  const TrainSummary rest =
      adapt(path("base"), "cut", with(exact, {"train.steps=6", "mesh=fsdp=2,tp=2"}), true);
  EXPECT_EQ(rest.first_step, 3);
  ASSERT_EQ(rest.losses.size(), 3u);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(rest.losses[i], whole.losses[i + 3], 1e-9 * whole.losses[i + 3]);
}

// The config of the run's folder names the base.
TEST_F(LoraTraining, ResumesFromItsOwnConfig) {
  train_base();
  adapt(path("base"), "lora", with(kLora, {"train.steps=3"}));
  Config config = load_config(path("lora") + "/config.toml", {});
  config.train.steps = 5;
  const TrainSummary rest = Trainer(config, {.resume = true, .quiet = true}).run();
  EXPECT_EQ(rest.first_step, 3);
  EXPECT_EQ(rest.steps, 5);
}

TEST_F(LoraTraining, RefusesToGoOnBesideAnotherBase) {
  train_base();
  adapt(path("base"), "lora", with(kLora, {"train.steps=3"}));
  std::filesystem::remove_all(path("base"));
  train_base({"train.seed=2"});
  const std::string resumed =
      user_error_of([&] { adapt(path("base"), "lora", with(kLora, {"train.steps=5"}), true); });
  EXPECT_NE(resumed.find("was saved beside other weights than those of"), std::string::npos)
      << resumed;
  const std::string opened = user_error_of([&] { open_stored_model(path("lora")); });
  EXPECT_NE(opened.find("was saved beside other weights than those of"), std::string::npos)
      << opened;
}

TEST_F(LoraTraining, IsReadWithItsBaseAndMerges) {
  train_base();
  adapt(path("base"), "lora", with(kLora, {"train.steps=20", "train.precision=fp64"}));
  const auto adapted = open_stored_model(path("lora"));
  const MergedModel merged(*adapted, false);
  const double loss = loss_of(*adapted);
  EXPECT_NEAR(loss_of(merged), loss, 1e-6);  // the base is fp32
  EXPECT_GT(std::abs(loss_of(*open_stored_model(path("base"))) - loss), 1e-3);
  EXPECT_FALSE(merged.tensors().contains("layer.0.wq_lora_a"));
}

TEST_F(LoraTraining, IsEvaluatedWithItsAdapters) {
  train_base();
  adapt(path("base"), "lora", with(kLora, {"train.steps=20"}));
  const auto adapted = open_stored_model(path("lora"));
  const auto loss_with = [](const StateSource& stored, const LoraSettings& lora) {
    RowSamples::Row row;
    for (int32_t i = 0; i < 16; ++i) row.tokens.push_back(97 + i), row.labels.push_back(98 + i);
    std::vector<std::string> settings = model_settings(resolve_model(config_of(stored)), lora);
    settings.insert(settings.end(), {"train.seq=16", "train.batch=2"});
    return evaluate_model(stored, load_config({}, settings), RowSamples({row, row}, 16), 2, false)
        .loss;
  };
  const LoraSettings lora = config_of(*adapted).lora;
  const double loss = loss_with(*adapted, lora);
  EXPECT_NEAR(loss_with(MergedModel(*adapted, false), {}), loss, 1e-5);
  EXPECT_GT(std::abs(loss_with(*open_stored_model(path("base")), {}) - loss), 1e-3);
  EXPECT_NE(user_error_of([&] { loss_with(*adapted, {}); }).find("has adapters"),
            std::string::npos);
}

TEST_F(LoraTraining, WritesTheSameTextMerged) {
  train_base();
  adapt(path("base"), "lora", with(kLora, {"train.steps=20"}));
  const auto adapted = open_stored_model(path("lora"));
  const MergedModel merged(*adapted, false);
  const auto text_of = [](const StateSource& stored) {
    const Config config = config_of(stored);
    TextGenerator generator(resolve_model(config), DType::Fp32, {.window = 16, .threads = 1});
    stored.load_weights(generator.executor(), false);
    std::vector<int32_t> tokens;
    generator.generate({65, 66}, {.tokens = 10, .choice = {.temperature = 0}}, [&](int32_t token) {
      tokens.push_back(token);
      return true;
    });
    return tokens;
  };
  EXPECT_EQ(text_of(*adapted), text_of(merged));
}

TEST_F(LoraTraining, GoesOnWithAdaptersThatAreStored) {
  train_base();
  adapt(path("base"), "lora", with(kLora, {"train.steps=10"}));
  const TrainSummary more = adapt(path("lora"), "more", {"train.learning_rate=0.02"});
  EXPECT_NEAR(more.first_loss, adapt(path("lora"), "again", {}).first_loss, 1e-6);
  const Checkpoint saved = find_checkpoint(path("more"));
  EXPECT_EQ(saved.facts().base, find_checkpoint(path("base")).digest());
  const std::string changed = user_error_of([&] { adapt(path("lora"), "other", {"lora.rank=2"}); });
  EXPECT_NE(changed.find("has adapters of rank 4, alpha 16 and targets all"), std::string::npos)
      << changed;
}

std::map<std::string, std::vector<std::byte>> tensors_of(const std::string& file) {
  const SafetensorsReader reader(file);
  std::map<std::string, std::vector<std::byte>> all;
  for (const SafetensorsTensor& tensor : reader.tensors())
    all[tensor.name] = {tensor.bytes.begin(), tensor.bytes.end()};
  return all;
}

// Out to PEFT, in again as a run that does nothing, and out once more.
TEST_F(LoraTraining, GoesToPeftAndBackBitForBit) {
  train_base();
  const Checkpoint base = find_checkpoint(path("base"));
  export_folder(base, resolve_model(config_of(base)), path("hf"), {});
  for (const char* precision : {"fp32", "bf16"}) {
    const std::string in = std::string("train.precision=") + precision, run = precision;
    adapt(path("hf"), run, with(kLora, {in, "lora.targets=q_proj,v_proj,gate_proj"}));
    export_peft_folder(*open_stored_model(path(run)), path(run + "_peft"), {});
    adapt(path(run + "_peft"), run + "_again", {in, "train.learning_rate=0", "train.steps=1"});
    export_peft_folder(*open_stored_model(path(run + "_again")), path(run + "_peft2"), {});
    EXPECT_EQ(tensors_of(path(run + "_peft") + "/adapter_model.safetensors"),
              tensors_of(path(run + "_peft2") + "/adapter_model.safetensors"));
  }
}

TEST_F(LoraTraining, HasPeftsNamesShapesAndKeys) {
  train_base();
  const Checkpoint base = find_checkpoint(path("base"));
  export_folder(base, resolve_model(config_of(base)), path("hf"), {});
  adapt(path("hf"), "lora", with(kLora, {"lora.targets=q_proj,down_proj,up_proj"}));
  export_peft_folder(*open_stored_model(path("lora")), path("peft"), {});
  const SafetensorsReader file(path("peft") + "/adapter_model.safetensors");
  std::vector<std::string> names;
  for (const SafetensorsTensor& tensor : file.tensors()) names.push_back(tensor.name);
  std::ranges::sort(names);
  std::vector<std::string> expected;
  for (const char* layer : {"0", "1"})
    for (const char* module : {"mlp.down_proj", "mlp.up_proj", "self_attn.q_proj"})
      for (const char* which : {"A", "B"})
        expected.push_back(fmt::format("base_model.model.model.layers.{}.{}.lora_{}.weight", layer,
                                       module, which));
  EXPECT_EQ(names, expected);
  using Shape = std::vector<int64_t>;
  const std::string q = "base_model.model.model.layers.0.self_attn.q_proj.lora_";
  EXPECT_EQ(file.get(q + "A.weight").shape, (Shape{4, 32}));
  EXPECT_EQ(file.get(q + "B.weight").shape, (Shape{32, 4}));
  EXPECT_EQ(file.get("base_model.model.model.layers.1.mlp.down_proj.lora_A.weight").shape,
            (Shape{4, 64}));
  std::ifstream text(path("peft") + "/adapter_config.json");
  const Json json = parse_json(std::string(std::istreambuf_iterator<char>(text), {}));
  EXPECT_EQ(*json.find("peft_type"), Json("LORA"));
  EXPECT_EQ(*json.find("r"), Json(4));
  EXPECT_EQ(*json.find("lora_alpha"), Json(16));
  EXPECT_EQ(*json.find("base_model_name_or_path"), Json(path("hf")));
  EXPECT_EQ(json.find("target_modules")->items().size(), 3u);
}

// W + B A * alpha / r, with A and B as PEFT stores them, is what the merged folder has.
TEST_F(LoraTraining, MergesAsPeftDoes) {
  train_base();
  const Checkpoint base = find_checkpoint(path("base"));
  export_folder(base, resolve_model(config_of(base)), path("hf"), {});
  adapt(path("hf"), "lora", with(kLora, {"train.steps=10"}));
  const auto adapted = open_stored_model(path("lora"));
  export_peft_folder(*adapted, path("peft"), {});
  const MergedModel merged(*adapted, false);
  export_folder(merged, merged.model(), path("merged"), {});
  const SafetensorsReader before(path("hf") + "/model.safetensors"),
      after(path("merged") + "/model.safetensors"),
      adapter(path("peft") + "/adapter_model.safetensors");
  for (const char* module : {"model.layers.1.self_attn.k_proj", "model.layers.0.mlp.gate_proj",
                             "model.layers.0.mlp.up_proj", "model.layers.1.mlp.down_proj"}) {
    const auto values = [](const SafetensorsTensor& tensor) {
      std::vector<float> all(tensor.bytes.size() / sizeof(float));
      std::memcpy(all.data(), tensor.bytes.data(), tensor.bytes.size());
      return all;
    };
    const std::string name = module, lora = "base_model.model." + name + ".lora_";
    const std::vector<float> w = values(before.get(name + ".weight")),
                             m = values(after.get(name + ".weight")),
                             a = values(adapter.get(lora + "A.weight")),
                             b = values(adapter.get(lora + "B.weight"));
    const auto outputs = static_cast<size_t>(after.get(name + ".weight").shape[0]),
               inputs = static_cast<size_t>(after.get(name + ".weight").shape[1]);
    for (size_t o = 0; o < outputs; ++o)
      for (size_t i = 0; i < inputs; ++i) {
        double sum = static_cast<double>(w[o * inputs + i]);
        for (size_t k = 0; k < 4; ++k)
          sum +=
              16.0 / 4 * static_cast<double>(b[o * 4 + k]) * static_cast<double>(a[k * inputs + i]);
        ASSERT_NEAR(static_cast<double>(m[o * inputs + i]), sum, 1e-6) << name;
      }
  }
}

TEST_F(LoraTraining, OfAPeftFolderThatItDoesNotKnowIsRefused) {
  train_base();
  const Checkpoint base = find_checkpoint(path("base"));
  export_folder(base, resolve_model(config_of(base)), path("hf"), {});
  adapt(path("hf"), "lora", kLora);
  export_peft_folder(*open_stored_model(path("lora")), path("peft"), {});
  const std::string config = path("peft") + "/adapter_config.json";
  const auto with_change = [&](const std::string& from, const std::string& to) {
    std::ifstream in(config);
    std::string text(std::istreambuf_iterator<char>(in), {});
    const std::string kept = text;
    text.replace(text.find(from), from.size(), to);
    std::ofstream(config) << text;
    const std::string error = user_error_of([&] { open_stored_model(path("peft")); });
    std::ofstream(config) << kept;
    return error;
  };
  const std::string at = config + ": ";
  EXPECT_EQ(with_change("\"use_dora\": false", "\"use_dora\": true"),
            at + "use_dora is true, but only false is supported");
  EXPECT_EQ(with_change("\"LORA\"", "\"IA3\""),
            at + R"(peft_type is "IA3", but only "LORA" is supported)");
  EXPECT_EQ(with_change("\"rank_pattern\": {}", "\"rank_pattern\": {\"q_proj\": 2}"),
            at + "it has a rank_pattern");
  for (const char* word : {"pissa", "pissa_niter_4", "olora", "loftq"})
    EXPECT_EQ(with_change("\"init_lora_weights\": true",
                          fmt::format("\"init_lora_weights\": \"{}\"", word)),
              fmt::format("{}init_lora_weights is \"{}\", which changes the weights of the base",
                          at, word));
  EXPECT_EQ(with_change("\"init_lora_weights\": true", "\"init_lora_weights\": \"gaussian\"")
                .find("init_lora_weights"),
            std::string::npos);
  EXPECT_EQ(with_change("\"revision\": null", "\"alora_invocation_tokens\": [5]"),
            at + "alora_invocation_tokens is [5]");
  EXPECT_NE(with_change("\"r\": 4", "\"r\": 3").find("but the model and r require"),
            std::string::npos);
  EXPECT_NE(with_change(path("hf"), "someone/llama").find("which is no folder here"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera
