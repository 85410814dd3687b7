// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster.h"

#include <algorithm>

#include "core/choices.h"
#include "core/error.h"
#include "files/small_file.h"
#include "sim/named_clusters.h"

namespace tessera {

namespace {

const Figure* find_peak(const ClusterDevice& device, Arithmetic arithmetic) {
  for (const auto& [known, figure] : device.peak_flops)
    if (known == arithmetic) return &figure;
  return nullptr;
}

std::vector<Arithmetic> needed_peaks(const ClusterDevice& device, Precision precision) {
  if (device.cores > 0) return {arithmetic_of(accumulator_of(precision.compute))};
  std::vector<Arithmetic> needed{arithmetic_of(precision.compute)};
  if (precision.fp8) needed.insert(needed.begin(), Arithmetic::Fp8);
  return needed;
}

}  // namespace

double ClusterDevice::peak(Arithmetic arithmetic) const {
  for (int wide = static_cast<int>(arithmetic); wide >= 0; --wide)
    if (const Figure* figure = find_peak(*this, static_cast<Arithmetic>(wide)))
      return figure->value;
  TESSERA_CHECK(!peak_flops.empty(), "device {} has no peak", name);
  return std::ranges::min_element(peak_flops, {}, [](const auto& peak) { return peak.first; })
      ->second.value;
}

void check_precision(const Cluster& cluster, Precision precision) {
  const ClusterDevice& device = cluster.device;
  for (const Arithmetic needed : needed_peaks(device, precision)) {
    if (find_peak(device, needed)) continue;
    std::vector<std::string> known;
    for (const auto& [arithmetic, figure] : device.peak_flops) known.emplace_back(name(arithmetic));
    throw user_error("{} of cluster {} has no peak_flops.{}, which precision {} needs", device.name,
                     cluster.name, name(needed), name(precision))
        .at("train.precision")
        .help(fmt::format("use {}, for which the cluster has peaks, or another cluster",
                          join_choices(known)));
  }
}

std::vector<std::string> cluster_names() {
  std::vector<std::string> names;
  for (const NamedCluster& each : named_clusters()) names.emplace_back(each.name);
  return names;
}

std::string cluster_choices(const std::string& mistyped) {
  const std::string near = nearest_name(mistyped, cluster_names());
  return near.empty() ? "use one that `tessera clusters` lists, such as dgx-h100"
                      : fmt::format("did you mean {}? `tessera clusters` lists them all", near);
}

Cluster load_cluster(const std::string& name_or_file) {
  for (const NamedCluster& each : named_clusters())
    if (each.name == name_or_file)
      return parse_cluster(each.toml, fmt::format("clusters/{}.toml", each.name));
  const std::optional<std::string> text = find_small_file(name_or_file);
  if (!text)
    throw user_error("there is no cluster {}, and no such file", name_or_file)
        .at("--cluster " + name_or_file)
        .help(cluster_choices(name_or_file) + ", or give the path of a cluster file");
  return parse_cluster(*text, name_or_file);
}

}  // namespace tessera
