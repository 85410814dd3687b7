// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/error.h"
#include "core/one_of.h"
#include "sim/named_clusters.h"

namespace tessera {

double Device::peak(DType dtype) const {
  const auto find = [&](DType wanted) -> const Figure* {
    for (const auto& [known, figure] : peak_flops)
      if (known == wanted) return &figure;
    return nullptr;
  };
  for (const DType wanted : {dtype, accumulator_of(dtype), DType::Fp32, DType::Fp64})
    if (const Figure* figure = find(wanted)) return figure->value;
  TESSERA_CHECK(!peak_flops.empty(), "device {} has no peak", name);
  return peak_flops.front().second.value;
}

std::vector<std::string> cluster_names() {
  std::vector<std::string> names;
  for (const NamedCluster& each : named_clusters()) names.emplace_back(each.name);
  return names;
}

std::string default_cluster_name(int ranks) { return ranks > 64 ? "llama3-h100" : "laptop"; }

Cluster load_cluster(const std::string& name_or_file) {
  for (const NamedCluster& each : named_clusters())
    if (each.name == name_or_file)
      return parse_cluster(each.toml, fmt::format("clusters/{}.toml", each.name));
  std::ifstream file(name_or_file);
  if (!file || std::filesystem::is_directory(name_or_file))
    throw user_error("there is no cluster {}, and no such file", name_or_file)
        .at("--cluster " + name_or_file)
        .help(fmt::format("use {}, or the path of a cluster file", one_of(cluster_names())));
  std::ostringstream text;
  text << file.rdbuf();
  return parse_cluster(text.str(), name_or_file);
}

}  // namespace tessera
