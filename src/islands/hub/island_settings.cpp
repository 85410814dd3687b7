// SPDX-License-Identifier: Apache-2.0
#include "islands/hub/island_settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "islands/hub/message.h"

namespace tessera {
namespace {

constexpr const char *kOptimizer = "islands.outer_optimizer",
                     *kRate = "islands.outer_learning_rate", *kMomentum = "islands.outer_momentum",
                     *kWire = "islands.wire", *kDType = "dtype of master weights",
                     *kIslands = "number of islands";

UserError unreadable_setting(const std::string& name) {
  return user_error("an island says nothing that can be read about {}", name)
      .help("use the same version of tessera for all islands and their hub");
}

const std::string& text_of_setting(const std::map<std::string, std::string>& texts,
                                   const std::string& name) {
  const auto found = texts.find(name);
  if (found == texts.end()) throw unreadable_setting(name);
  return found->second;
}

template <typename T>
T number_of_setting(const std::map<std::string, std::string>& texts, const std::string& name) {
  const std::string& text = text_of_setting(texts, name);
  T value{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size())
    throw unreadable_setting(name);
  return value;
}

template <typename Enum, size_t N>
Enum choice_of_setting(const std::map<std::string, std::string>& texts, const std::string& name,
                       const std::array<std::string_view, N>& names) {
  const auto found = std::ranges::find(names, text_of_setting(texts, name));
  if (found == names.end()) throw unreadable_setting(name);
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::map<std::string, std::string> to_texts(const IslandSettings& settings) {
  std::map<std::string, std::string> texts = settings.others;
  texts[kOptimizer] = name(settings.outer.optimizer);
  texts[kRate] = fmt::format("{}", settings.outer.learning_rate);
  texts[kMomentum] = fmt::format("{}", settings.outer.momentum);
  texts[kWire] = name(settings.format.wire);
  texts[kDType] = name(settings.format.dtype);
  texts[kIslands] = fmt::format("{}", settings.islands);
  return texts;
}

IslandSettings settings_of(const std::map<std::string, std::string>& texts) {
  constexpr std::array<std::string_view, 2> kDTypes{"fp32", "fp64"};
  IslandSettings settings;
  settings.outer = {
      .optimizer = choice_of_setting<OuterOptimizer>(texts, kOptimizer, kOuterOptimizers),
      .learning_rate = number_of_setting<double>(texts, kRate),
      .momentum = number_of_setting<double>(texts, kMomentum)};
  if (!std::isfinite(settings.outer.learning_rate)) throw unreadable_setting(kRate);
  if (!std::isfinite(settings.outer.momentum)) throw unreadable_setting(kMomentum);
  settings.format = {
      .wire = choice_of_setting<IslandWire>(texts, kWire, kIslandWires),
      .dtype = choice_of_setting<int>(texts, kDType, kDTypes) == 0 ? DType::Fp32 : DType::Fp64};
  settings.islands = number_of_setting<int>(texts, kIslands);
  if (settings.islands < 1 || settings.islands > kMostIslands) throw unreadable_setting(kIslands);
  for (const auto& [name, text] : texts)
    if (name != kOptimizer && name != kRate && name != kMomentum && name != kWire &&
        name != kDType && name != kIslands)
      settings.others.emplace(name, text);
  return settings;
}

std::string difference(const std::map<std::string, std::string>& own,
                       const std::map<std::string, std::string>& others, int64_t island) {
  for (const auto& [name, text] : others) {
    const auto found = own.find(name);
    if (found == own.end()) return fmt::format("island {} says nothing about {}", island, name);
    if (found->second != text)
      return fmt::format("{} is {} in island {}, and {} in the others", name, found->second, island,
                         text);
  }
  for (const auto& [name, text] : own)
    if (!others.contains(name))
      return fmt::format("island {} has {}, of which the others say nothing", island, name);
  return {};
}

}  // namespace tessera
