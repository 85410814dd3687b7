// SPDX-License-Identifier: Apache-2.0
// The spelling of every small enum of the IR, as printed and parsed.
#include <array>

#include "ir/module.h"
#include "ir/optimizer.h"

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
// Slots have names of their own.
constexpr std::array<std::string_view, 10> kFlatRoles{
    "weights", "gradient", "weights_shard", "reduced", "gradient_shard",
    "master",  "",         "average",       "load",    "gradient_at_rest"};
constexpr std::array<std::string_view, 5> kStateRoles{"parameter", "master", "", "average",
                                                      "cache"};
constexpr std::array<std::string_view, 7> kLifetimes{"none",    "persistent", "window", "slot",
                                                     "scratch", "prepared",   "away"};
constexpr std::array<std::string_view, 4> kForms{"maths", "step", "local", "planned"};

template <typename Spec, size_t N>
bool set_role_of(Spec& spec, const std::array<std::string_view, N>& names, std::string_view text) {
  using Role = decltype(spec.role);
  const bool is_slot = find_slot(text) != nullptr;
  const std::optional<Role> role = is_slot ? Role::Slot : find<Role>(names, text);
  if (role) spec.role = *role;
  if (is_slot) spec.slot = text;
  return role.has_value();
}

}  // namespace

std::string_view name(InputKind kind) { return kInputKinds.at(static_cast<size_t>(kind)); }
std::string_view name(OutputKind kind) { return kOutputKinds.at(static_cast<size_t>(kind)); }
std::string_view name(Lifetime lifetime) { return kLifetimes.at(static_cast<size_t>(lifetime)); }
std::string_view name(MemorySpace space) { return space == MemorySpace::Host ? "host" : "device"; }
std::string_view name(Form form) { return kForms.at(static_cast<size_t>(form)); }

std::optional<InputKind> input_kind_from_name(std::string_view text) {
  return find<InputKind>(kInputKinds, text);
}
std::optional<OutputKind> output_kind_from_name(std::string_view text) {
  return find<OutputKind>(kOutputKinds, text);
}
std::optional<Lifetime> lifetime_from_name(std::string_view text) {
  return find<Lifetime>(kLifetimes, text);
}
std::optional<Form> form_from_name(std::string_view text) { return find<Form>(kForms, text); }

std::string_view role_name(const StateSpec& state) {
  return state.role == StateRole::Slot ? state.slot
                                       : kStateRoles.at(static_cast<size_t>(state.role));
}
std::string_view role_name(const FlatSpec& flat) {
  return flat.role == FlatRole::Slot ? flat.slot : kFlatRoles.at(static_cast<size_t>(flat.role));
}
bool set_role(StateSpec& state, std::string_view text) {
  return set_role_of(state, kStateRoles, text);
}
bool set_role(FlatSpec& flat, std::string_view text) { return set_role_of(flat, kFlatRoles, text); }

}  // namespace tessera
