// SPDX-License-Identifier: Apache-2.0
#include "run_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "comm/mpi/mpi_process.h"
#include "core/error.h"
#include "studio/run_on_cluster.h"

namespace tessera {

bool RunSettings::names(std::string_view key) const {
  return std::ranges::any_of(settings, [&](const RunSetting& each) { return each.key == key; });
}

std::vector<std::string> RunSettings::overrides(const Cluster* cluster) const {
  std::vector<std::string> all;
  const auto add = [&all](const std::string& key, const std::string& value) {
    all.push_back(fmt::format("{}={}", key, value));
  };
  if (cluster && !file)
    for (const auto& [key, value] : defaults_on(*cluster)) add(key, value);
  for (const RunSetting& each : settings) add(each.key, each.value);
  return all;
}

Config RunSettings::in_words_of_python(const std::function<Config()>& f) const {
  try {
    return f();
  } catch (const UserError& error) {
    for (const RunSetting& each : settings)
      if (error.place() == fmt::format("--set {}={}", each.key, each.value))
        throw UserError(error.message())
            .at(each.keyword.empty() ? fmt::format("set={{'{}': '{}'}}", each.key, each.value)
                                     : fmt::format("{}={}", each.keyword, each.value))
            .help(error.advice());
    throw;
  }
}

void require_no_launcher(std::string_view call) {
  if (launched_by_mpi())
    throw user_error("{} runs all ranks as threads of one process, but mpirun or srun started it",
                     call)
        .help("start it without a launcher; `tessera train` trains under mpirun");
}

Config RunSettings::load(const Cluster* cluster) const {
  return in_words_of_python([&] { return load_config(file, overrides(cluster)); });
}

}  // namespace tessera
