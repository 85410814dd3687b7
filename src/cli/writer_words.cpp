// SPDX-License-Identifier: Apache-2.0
#include "cli/writer_words.h"

#include <algorithm>

namespace tessera {

WriterOptions WriterWords::options() const {
  WriterOptions options = writer;
  const auto found = std::find(kDeviceNames.begin(), kDeviceNames.end(), device);
  options.device = static_cast<DeviceKind>(found - kDeviceNames.begin());
  return options;
}

void add_writer_words(Command command, WriterWords& words) {
  command
      .add_option("checkpoint", words.writer.from,
                  "a checkpoint, the output folder of a run, or a Hugging Face folder")
      .required();
  command
      .add_option("--base", words.writer.base,
                  "of adapters: where their base is now, if not where they name it")
      .type_name("FOLDER");
  command
      .add_option("--tokenizer", words.writer.tokenizer,
                  "a tokenizer.json; default: the one next to the model")
      .type_name("FILE");
  command
      .add_option("--temperature", words.choice.temperature,
                  "0 takes the most likely token, 1 samples from the model's distribution")
      .range(0.0, 100.0);
  command
      .add_option("--top-k", words.choice.top_k,
                  "sample from the k most likely tokens; 0: from all")
      .range(int64_t{0}, int64_t{1} << 30);
  command
      .add_option(
          "--top-p", words.choice.top_p,
          "sample from the most likely tokens whose probabilities add up to this; 1: from all")
      .range(0.0, 1.0);
  command.add_option("--seed", words.seed, "seed for sampling");
  command.add_option("--mesh", words.writer.mesh, "ranks by axis: tp=2; default: one rank");
  command.add_option("--device", words.device, "where to run, as for train")
      .choices({kDeviceNames.begin(), kDeviceNames.end()});
  command.add_option("--threads", words.writer.threads, "threads; 0: all cores")
      .range(int64_t{0}, int64_t{1024});
  command.add_flag("--averaged", words.writer.averaged, "use the moving average of the weights");
}

}  // namespace tessera
