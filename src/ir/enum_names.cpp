// SPDX-License-Identifier: Apache-2.0
// The spelling of every small enum of the IR, as printed and parsed.
#include <array>

#include "ir/module.h"

namespace tessera {
namespace {

template <typename Enum, size_t N>
std::optional<Enum> find(const std::array<std::string_view, N>& names, std::string_view text) {
  for (size_t i = 0; i < N; ++i)
    if (names[i] == text) return static_cast<Enum>(i);
  return std::nullopt;
}

constexpr std::array<std::string_view, 7> kInputKinds{"stream",          "batch", "step", "state",
                                                      "output_gradient", "flat",  "rank"};
constexpr std::array<std::string_view, 6> kOutputKinds{"stream", "input_gradient", "gradient",
                                                       "state",  "step",           "flat"};
constexpr std::array<std::string_view, 9> kFlatRoles{"weights", "gradient",       "weights_shard",
                                                     "reduced", "gradient_shard", "master",
                                                     "moment1", "moment2",        "average"};
constexpr std::array<std::string_view, 5> kStateRoles{"parameter", "master", "moment1", "moment2",
                                                      "average"};
constexpr std::array<std::string_view, 5> kLifetimes{"none", "persistent", "window", "slot",
                                                     "scratch"};
constexpr std::array<std::string_view, 4> kForms{"maths", "step", "local", "planned"};

}  // namespace

std::string_view name(InputKind kind) { return kInputKinds.at(static_cast<size_t>(kind)); }
std::string_view name(OutputKind kind) { return kOutputKinds.at(static_cast<size_t>(kind)); }
std::string_view name(StateRole role) { return kStateRoles.at(static_cast<size_t>(role)); }
std::string_view name(FlatRole role) { return kFlatRoles.at(static_cast<size_t>(role)); }
std::string_view name(Lifetime lifetime) { return kLifetimes.at(static_cast<size_t>(lifetime)); }
std::string_view name(Form form) { return kForms.at(static_cast<size_t>(form)); }

std::optional<InputKind> input_kind_from_name(std::string_view text) {
  return find<InputKind>(kInputKinds, text);
}
std::optional<OutputKind> output_kind_from_name(std::string_view text) {
  return find<OutputKind>(kOutputKinds, text);
}
std::optional<StateRole> state_role_from_name(std::string_view text) {
  return find<StateRole>(kStateRoles, text);
}
std::optional<FlatRole> flat_role_from_name(std::string_view text) {
  return find<FlatRole>(kFlatRoles, text);
}
std::optional<Lifetime> lifetime_from_name(std::string_view text) {
  return find<Lifetime>(kLifetimes, text);
}
std::optional<Form> form_from_name(std::string_view text) { return find<Form>(kForms, text); }

}  // namespace tessera
