// SPDX-License-Identifier: Apache-2.0
#include "measure/run_peak.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "core/random.h"
#include "files/atomic_file.h"
#include "files/json.h"

namespace tessera {

namespace fs = std::filesystem;

fs::path user_cache_folder() {
  // The specification of XDG folders: a path that is not absolute counts as not given.
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && fs::path(cache).is_absolute())
    return fs::path(cache) / "tessera";
  if (const char* home = std::getenv("HOME"); home && fs::path(home).is_absolute())
    return fs::path(home) / ".cache" / "tessera";
  return {};
}

fs::path PeakCache::file_of(const std::string& machine) const {
  return folder_ / fmt::format("peak-{:016x}.json", hash_text(machine));
}

std::optional<double> PeakCache::find(const std::string& machine) const {
  if (folder_.empty()) return {};
  std::ifstream file(file_of(machine));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Json json = parse_json(text);
  const Json *of = json.find("machine"), *rate = json.find("flops_per_second");
  if (!of || *of != machine || !rate) return {};
  const double flops_per_second = rate->number().value_or(0);
  if (!std::isfinite(flops_per_second) || flops_per_second <= 0) return {};
  return flops_per_second;
}

void PeakCache::keep(const std::string& machine, double flops_per_second) const {
  if (folder_.empty() || find(machine).value_or(0) >= flops_per_second) return;
  try {
    fs::create_directories(folder_);
    const Json json{{"flops_per_second", flops_per_second}, {"machine", machine}};
    write_file_atomically(file_of(machine), json.dump() + "\n");
  } catch (const std::exception&) {  // another run measures again
  }
}

}  // namespace tessera
