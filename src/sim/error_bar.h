// SPDX-License-Identifier: Apache-2.0
// How far predictions of published runs of the nearest kind were off (docs/accuracy.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mesh/mesh.h"
#include "sim/cluster.h"

namespace tessera {

struct ErrorBar {
  std::string_view device;  // "A100", "H100"
  std::string_view reach;   // of its ranks: one device, a node, several nodes
  bool stages = false;      // of a pipeline
  int runs = 0;
  int percent = 0;  // eight of ten of them were predicted within this

  bool operator==(const ErrorBar&) const = default;
};

// The same of a kind of run, whatever the device.
struct KindBar {
  std::string_view kind;  // "fp8", "cp"
  int runs = 0;
  int percent = 0;
};
const KindBar* find_kind_bar(std::string_view kind);  // null: none was compared

// None where no published run was on such a device.
std::optional<ErrorBar> nearest_error_bar(const Cluster& cluster, const Mesh& mesh);

// "8 of 10 of 103 published runs like this (A100, several nodes, stages) were predicted within 11
// %"
std::string error_bar_text(const Cluster& cluster, const Mesh& mesh);

}  // namespace tessera
