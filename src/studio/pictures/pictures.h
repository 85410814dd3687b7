// SPDX-License-Identifier: Apache-2.0
// Pictures of a step as SVG, made from its program and its simulation: for reports and pages.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "studio/pictures/timeline.h"

namespace tessera {

// What was compiled, in a line: model, batch, mesh, cluster, and what else the plan chose.
std::string picture_title(const SimulatedStep& step);

// The whole step: a row for each class of ranks, its kernels and its transfers by axis.
std::string draw_step(const Timeline& timeline, const std::string& title);
// One block in the middle, forward and backward, kernel by kernel, and what moves meanwhile.
std::string draw_block(const Timeline& timeline, const std::string& title);
// What lies in the memory of the fullest rank over the step, by kind. The slices must be kept.
std::string draw_memory(const SimulatedStep& step);
// Ranks in their nodes; what goes along each axis of the mesh, and over which links.
std::string draw_mesh(const SimulatedStep& step);
// Memory by kind and stage against the device's, and bytes by collective.
std::string draw_bytes(const SimulatedStep& step);

struct PictureRow {
  std::string_view name, summary;
  std::string (*draw)(const SimulatedStep& step);
};

inline constexpr auto kPictures = std::to_array<PictureRow>({
    {"step", "kernels and transfers of the whole step",
     [](const SimulatedStep& step) { return draw_step(timeline_of(step), picture_title(step)); }},
    {"block", "one block forward and backward, kernel by kernel",
     [](const SimulatedStep& step) { return draw_block(timeline_of(step), picture_title(step)); }},
    {"memory", "memory of the fullest rank over the step", draw_memory},
    {"mesh", "ranks in their nodes, and what goes along each axis", draw_mesh},
    {"bytes", "memory by kind, and bytes by collective", draw_bytes},
});

}  // namespace tessera
