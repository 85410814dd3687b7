// SPDX-License-Identifier: Apache-2.0
// A model that Tessera does not have, trained on meshes of ranks from outside of Tessera's tree:
// attention and an mlp side by side in each layer, on tokens of a file. Checks that every mesh has
// the losses of one rank, that plans are verified and simulated, and that a run goes on on another
// mesh. Usage: own_model [folder for its files]
#include <tessera/tessera.h>

#include <cmath>
#include <cstdio>

using namespace tessera;

namespace {

constexpr int64_t kVocabulary = 61, kSteps = 8;

Module build_side_by_side(const OwnModelRequest& request) {
  const Dim batch{"batch", request.shape.batch}, seq{"seq", request.shape.seq};
  const Dim vocab{"vocab", kVocabulary}, d{"d", 32}, mlp{"mlp", 64};
  const Dim kv_heads{"kv_heads", 2}, group{"group", 2}, e{"e", 8};
  ModuleBuilder module("side_by_side", request.compute);

  BlockBuilder& first = module.block_class("embedding");
  Tensor table = first.parameter("table", {vocab, d}, normal(0.1));
  first.returns(embedding(table, first.batch("tokens", {batch, seq})));

  BlockBuilder& layer = module.block_class("layer");
  Tensor x = layer.stream("x", {batch, seq, d});
  Tensor positions = layer.batch("positions", {batch, seq});
  Tensor document = layer.batch("document", {batch, seq});
  Tensor h = rms_norm(x, layer.parameter("norm", {d}, ones()), 1e-5);
  Tensor q = matmul(h, layer.parameter("wq", {d, kv_heads, group, e}, normal(0.1)));
  Tensor k = matmul(h, layer.parameter("wk", {d, kv_heads, e}, normal(0.1)));
  Tensor v = matmul(h, layer.parameter("wv", {d, kv_heads, e}, normal(0.1)));
  Tensor seen = attention(rope(q, positions, {}), rope(k, positions, {}), v, positions, document);
  Tensor up = gelu(matmul(h, layer.parameter("up", {d, mlp}, normal(0.1))));
  Tensor from_attention = matmul(seen, layer.parameter("wo", {kv_heads, group, e, d}, normal(0.1)));
  Tensor from_mlp = matmul(up, layer.parameter("down", {mlp, d}, normal(0.1)));
  layer.returns(add(add(x, from_attention), from_mlp));

  BlockBuilder& head = module.block_class("head");
  Tensor y = head.stream("y", {batch, seq, d});
  y = rms_norm(y, head.parameter("norm", {d}, ones()), 1e-5);
  Tensor words = head.parameter("table", {vocab, d}, normal(0.1));
  head.returns_loss(output_loss(y, words, head.batch("labels", {batch, seq})));

  module.block("embedding", "embedding");
  for (int i = 0; i < 3; ++i) module.block(fmt::format("layer.{}", i), "layer");
  module.block("head", "head", {{"table", "embedding.table"}});  // one table for both ends
  return module.build();
}

// Walks of a few step sizes around the vocabulary: something to learn.
void write_tokens(const std::filesystem::path& file) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0, at = 0; i < 40'000; ++i) {
    at = (at + 1 + (i / 97) % 5) % kVocabulary;
    tokens.push_back(static_cast<int32_t>(at));
  }
  write_token_shard(file, tokens, kVocabulary);
}

class Example {
 public:
  explicit Example(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
    write_tokens(folder_ / "tokens.bin");
  }

  Config config(const std::string& run, std::vector<std::string> more) const {
    std::vector<std::string> settings{"train.precision=fp64", "train.batch=8",
                                      "train.microbatches=2", "train.seq=16",
                                      "train.warmup_steps=2", "train.eval_every=0",
                                      "train.threads=2",      "run.peak_gflops=100"};
    settings.push_back(fmt::format("train.steps={}", kSteps));
    settings.push_back("data.path=" + (folder_ / "tokens.bin").string());
    settings.push_back("run.out=" + (folder_ / run).string());
    settings.insert(settings.end(), more.begin(), more.end());
    return load_config(
        {.name = "side_by_side", .vocabulary = kVocabulary, .build = build_side_by_side}, {},
        settings);
  }

  // The losses are those of one rank, verify agrees, and the simulator knows the step.
  void try_mesh(const std::string& mesh, const std::string& zero = "auto") {
    const Config run = config("mesh", {"mesh=" + mesh, "plan.zero=" + zero});
    const std::vector<double> losses = train(run, {.overwrite = true, .quiet = true}).losses;
    if (one_rank_.empty()) one_rank_ = losses;
    double off = losses.size() == one_rank_.size() ? 0 : 1;
    for (size_t i = 0; i < losses.size() && off < 1; ++i)
      off = std::max(off, std::abs(losses[i] - one_rank_[i]));
    const VerifyReport proof = verify(run);
    const Simulation step = simulate(run, "dgx-h100").simulation;
    fmt::print(
        "{:<16} zero {:<4}  loss {:.6f} -> {:.6f}  off by {:.0e}  verify: {:<9}  {:.2f} ms on an "
        "H100\n",
        mesh.empty() ? "one rank" : mesh, zero, losses.front(), losses.back(), off,
        proof.equal() ? "equal" : "NOT equal", 1e3 * step.step_seconds);
    expect(off < 1e-9, "losses equal those of one rank");
    expect(proof.equal(), "the plan is verified");
    expect(step.peak_bytes > 0, "the step is simulated");
  }

  // Half of the steps on one mesh, the others on another: the same losses.
  void try_resume() {
    const std::vector<std::string> saving{"checkpoint.every=4", "mesh=dp=2,tp=2"};
    std::vector<std::string> half = saving;
    half.push_back(fmt::format("train.steps={}", kSteps / 2));
    // The decay of the learning rate ends where the steps do: it must not depend on the halt.
    half.push_back("train.schedule=constant");
    train(config("resumed", half), {.overwrite = true, .quiet = true});
    const Config whole = config("whole", {"train.schedule=constant"});
    const std::vector<double> straight = train(whole, {.overwrite = true, .quiet = true}).losses;
    const Config rest =
        config("resumed", {"checkpoint.every=4", "mesh=pp=2,fsdp=2", "train.schedule=constant"});
    const std::vector<double> losses = train(rest, {.resume = true, .quiet = true}).losses;
    const double off = std::abs(losses.back() - straight.back());
    const auto saved = open_stored_model((folder_ / "resumed").string());
    fmt::print(
        "resumed on pp=2,fsdp=2 after dp=2,tp=2: {} steps more, off by {:.0e}; {} tensors saved\n",
        losses.size(), off, saved->tensors().size());
    expect(losses.size() == kSteps / 2 && off < 1e-9, "a resumed run has the same losses");
    expect(saved->tensors().contains("layer.2.wq"), "checkpoints have the model's own names");
  }

  bool good() const { return failures_ == 0; }

 private:
  void expect(bool held, const char* what) {
    if (held) return;
    ++failures_;
    fmt::print("FAILED: {}\n", what);
  }

  std::filesystem::path folder_;
  std::vector<double> one_rank_;
  int failures_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    Example example(argc > 1 ? argv[1] : "own_model_out");
    example.try_mesh("");
    example.try_mesh("dp=2");
    example.try_mesh("tp=2");
    example.try_mesh("pp=2");
    example.try_mesh("dp=2", "3");
    example.try_mesh("fsdp=2,tp=2");
    example.try_resume();
    return example.good() ? 0 : 1;
  } catch (const UserError& error) {
    fmt::print(stderr, "{}\n", error.report());
    return kUserExitStatus;
  }
}
