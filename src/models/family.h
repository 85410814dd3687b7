// SPDX-License-Identifier: Apache-2.0
// The families of models, as one table: what a model of each has. How it is built is in the file of
// its name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

enum class Family : uint8_t { Mlp, Gpt, Llama, Qwen, Own };

struct FamilyRow {
  Family family;
  std::string_view name;
  std::string_view summary;
  bool has_sequence = false;  // of tokens, with heads that attend to it; else samples are vectors
  bool has_rope = false;      // rotated positions; else learned ones, where it has a sequence
  bool is_gated = false;      // swiglu; else another activation
  bool has_bias = false;      // may have
  bool has_qk_norm = false;   // may have
  bool has_experts = false;   // may have
  bool has_latent = false;    // may have latent attention
  bool is_own = false;        // brought by a program (own_model.h): no config names it
};

inline constexpr auto kFamilies = std::to_array<FamilyRow>({
    {.family = Family::Mlp,
     .name = "mlp",
     .summary = "a deep mlp with a squared loss, on vectors",
     .has_bias = true},
    {.family = Family::Gpt,
     .name = "gpt",
     .summary = "GPT-2: learned positions, layer norm",
     .has_sequence = true,
     .has_bias = true},
    {.family = Family::Llama,
     .name = "llama",
     .summary = "Llama 3: rope, rms norm, swiglu",
     .has_sequence = true,
     .has_rope = true,
     .is_gated = true,
     .has_qk_norm = true,
     .has_experts = true,
     .has_latent = true},
    {.family = Family::Qwen,
     .name = "qwen",
     .summary = "Qwen 3: Llama with normalised queries and keys",
     .has_sequence = true,
     .has_rope = true,
     .is_gated = true,
     .has_qk_norm = true,
     .has_experts = true},
    {.family = Family::Own,
     .name = "own",
     .summary = "a program's own",
     .has_sequence = true,
     .is_own = true},
});
static_assert([] {
  for (size_t i = 0; i < kFamilies.size(); ++i)
    if (kFamilies[i].family != static_cast<Family>(i)) return false;
  return true;
}());

constexpr const FamilyRow& row_of(Family family) { return kFamilies[static_cast<size_t>(family)]; }
constexpr std::string_view name(Family family) { return row_of(family).name; }

// Of those that a config can name.
constexpr const FamilyRow* find_family(std::string_view name) {
  for (const FamilyRow& row : kFamilies)
    if (row.name == name && !row.is_own) return &row;
  return nullptr;
}

// "gpt, llama or qwen": those that have it, or all.
std::string families_with(bool FamilyRow::*what);
std::string all_families();

}  // namespace tessera
