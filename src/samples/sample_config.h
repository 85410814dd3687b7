// SPDX-License-Identifier: Apache-2.0
// The files of examples/configs as they were at build time. Each begins with what it is for and the
// machine that its values are right for; its comments say why each value is what it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct SampleConfig {
  std::string name;          // "one_gpu"
  std::string purpose = {};  // the first paragraph of its head
  std::string model = {}, cluster = {};
  int ranks = 1;
  std::string cost = {};  // of its head, as predicted when it was written
  std::string body = {};  // the file after its head

  std::string file() const { return "examples/configs/" + name + ".toml"; }
};

// What the text of a file says; `name` is that of the file.
SampleConfig parse_sample(std::string_view name, std::string_view text);

// By name.
std::vector<SampleConfig> sample_configs();

}  // namespace tessera
