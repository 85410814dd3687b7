// SPDX-License-Identifier: Apache-2.0
#include "samples/sample_config.h"

#include <charconv>

#include "core/error.h"
#include "serve/page_files.h"

namespace tessera {

// The table that the build writes.
std::span<const EmbeddedFile> sample_files();

namespace {

// "llama3-8b on 8 ranks of dgx-h100"
void read_machine(std::string_view line, SampleConfig& sample) {
  const size_t on = line.find(" on "), of = line.find(" of ");
  TESSERA_CHECK(on != line.npos && of != line.npos && on < of, "{}: {}", sample.name, line);
  const std::string_view ranks = line.substr(on + 4);
  sample.model = line.substr(0, on);
  sample.cluster = line.substr(of + 4);
  std::from_chars(ranks.data(), ranks.data() + ranks.size(), sample.ranks);
}

}  // namespace

SampleConfig parse_sample(std::string_view name, std::string_view text) {
  SampleConfig sample{.name = std::string(name.substr(0, name.rfind(".toml")))};
  bool first_paragraph = true;
  while (text.starts_with('#')) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line.remove_prefix(std::min<size_t>(2, line.size()));
    if (line.empty()) first_paragraph = false;
    if (first_paragraph) sample.purpose += (sample.purpose.empty() ? "" : " ") + std::string(line);
    if (line.starts_with("For:")) read_machine(line.substr(line.find_first_not_of(' ', 4)), sample);
    if (line.starts_with("Cost:")) sample.cost = line.substr(line.find_first_not_of(' ', 5));
  }
  TESSERA_CHECK(!sample.model.empty(), "{} has no line For:", name);
  sample.body = text.substr(std::min(text.find_first_not_of('\n'), text.size()));
  return sample;
}

std::vector<SampleConfig> sample_configs() {
  std::vector<SampleConfig> samples;
  for (const EmbeddedFile& file : sample_files())
    samples.push_back(parse_sample(file.path, file.bytes));
  return samples;
}

}  // namespace tessera
