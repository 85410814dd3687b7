// SPDX-License-Identifier: Apache-2.0
// The files of clusters/ as they were at build time, so that their names work in any folder.
#pragma once

#include <span>
#include <string_view>

namespace tessera {

struct NamedCluster {
  std::string_view name, toml;
};

std::span<const NamedCluster> named_clusters();

}  // namespace tessera
