// SPDX-License-Identifier: Apache-2.0
#include "tessera/config.h"

#include "files/digest.h"
#include "ir/printer.h"
#include "models/build_model.h"
#include "models/presets.h"

namespace tessera {
namespace {

std::string digest_of_maths(const OwnModel& model, int64_t seq) {
  const std::string text =
      print(build_model(model.sizes, {.batch = 1, .seq = seq}, DType::Fp32, HeadKind::Loss));
  return digest_of(std::as_bytes(std::span(text)));
}

// A run's config.toml has what is set here, from when it was written.
void check_own_settings(const ModelSettings& settings, const std::string& name,
                        const std::string& maths) {
  for (const auto& [key, text] : settings) {
    const std::string* ours = nullptr;
    const std::string preset(kOwnPreset);
    if (key == "preset") ours = &preset;
    if (key == "name") ours = &name;
    if (key == "maths") ours = &maths;
    if (!ours)
      throw user_error("model.{} is set, but the model {} is the program's own", key, name)
          .at("model." + key)
          .help("leave it out: the sizes of the model are those of its maths");
    if (text == *ours) continue;
    if (key == "maths")
      throw user_error(
          "the config is for maths with the digest {}, and those of the model {} "
          "have {}: it has other ops, sizes, names or first values",
          text, name, maths)
          .at("model.maths")
          .help("take the model as it was; or leave out model.maths to go on with this one");
    throw user_error("the config is for the model {}, and this program's is {}", text, name)
        .at("model." + key)
        .help("read it with the program whose model it is, or leave out its [model]");
  }
}

}  // namespace

Config load_config(OwnModel model, const std::optional<std::filesystem::path>& file,
                   const std::vector<std::string>& overrides) {
  // Weaker than the file, so that what the file says of another model is seen.
  Config config =
      load_config(file, overrides, std::vector{fmt::format("model.preset={}", kOwnPreset)});
  config.own_model = read_sizes(std::move(model), config.train.seq);
  const std::string& name = config.own_model->name;
  const std::string maths = digest_of_maths(*config.own_model, config.train.seq);
  check_own_settings(config.model, name, maths);
  config.model = {{"preset", std::string(kOwnPreset)}, {"name", name}, {"maths", maths}};
  return config;
}

}  // namespace tessera
