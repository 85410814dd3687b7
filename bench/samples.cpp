// SPDX-License-Identifier: Apache-2.0
// tessera_samples: the samples of a run in the order in which its steps read them, seq + 1 tokens
// each, as one token shard in the llm.c layout, so that a peer trains on the same.
#include <fmt/format.h>

#include <cstring>

#include "config/run_spec.h"
#include "core/error.h"
#include "data/training_data.h"
#include "files/atomic_file.h"

namespace tessera {
namespace {

constexpr int32_t kMagic = 20240520, kVersionOfTwoBytes = 1;
constexpr int64_t kMostTokens = 1 << 16;

// Samples [0, count) of the training split.
std::vector<uint16_t> tokens_of(const SampleSource& samples, int64_t count) {
  std::vector<uint16_t> all;
  Batch one(samples.fields(), 1);
  const size_t tokens = one.field_index("tokens"), labels = one.field_index("labels");
  for (int64_t sample = 0; sample < count; ++sample) {
    fill_batch(samples, sample, one);
    for (const int32_t token : one.row<int32_t>(tokens, 0))
      all.push_back(static_cast<uint16_t>(token));
    all.push_back(static_cast<uint16_t>(one.row<int32_t>(labels, 0).back()));
  }
  return all;
}

std::string shard_of(std::span<const uint16_t> tokens) {
  std::vector<int32_t> header(256);
  header[0] = kMagic;
  header[1] = kVersionOfTwoBytes;
  header[2] = static_cast<int32_t>(tokens.size());
  std::string bytes(header.size() * sizeof(int32_t) + tokens.size_bytes(), '\0');
  std::memcpy(bytes.data(), header.data(), header.size() * sizeof(int32_t));
  std::memcpy(bytes.data() + header.size() * sizeof(int32_t), tokens.data(), tokens.size_bytes());
  return bytes;
}

void run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2)
    throw user_error("a file and a config key are needed at least")
        .help("tessera_samples samples.bin model.preset=gpt2-124m train.steps=500 ...");
  const Config config = parse_config("", "arguments", std::span(arguments).subspan(1));
  const ModelConfig model = resolve_model(config);
  if (!model.has_sequence() || model.vocabulary > kMostTokens)
    throw user_error("samples are tokens of two bytes, but {} has a vocabulary of {}",
                     preset_name(config), model.vocabulary)
        .help(fmt::format("use a model with 1 to {} kinds of token", kMostTokens));
  const TrainingData data = open_training_data(config, model, DType::Fp32);
  write_file_atomically(arguments[0],
                        shard_of(tokens_of(*data.train, config.train.steps * config.train.batch)));
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  try {
    tessera::run({argv + 1, argv + argc});
    return 0;
  } catch (const tessera::UserError& error) {
    fmt::print(stderr, "{}\n", error.report());
    return 2;
  }
}
