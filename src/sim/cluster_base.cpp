// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster_base.h"

#include <algorithm>

#include "core/choices.h"
#include "core/error.h"
#include "sim/cluster.h"
#include "sim/named_clusters.h"

namespace tessera {
namespace {

bool is_like(const TomlValue& a, const TomlValue& b) {
  const auto same = [&](std::string_view key) {
    const TomlValue *in_a = a.find(key), *in_b = b.find(key);
    return (in_a ? in_a->text : "") == (in_b ? in_b->text : "");
  };
  return same("op") && same("kernel");
}

// What `own` does not say is said by `base`. Devices are joined key by key, efficiencies op by op;
// levels and collectives are replaced as a whole.
TomlValue joined(const TomlValue& base, const TomlValue& own) {
  TomlValue result = own;
  for (const auto& [key, value] : base.entries) {
    const auto found =
        std::ranges::find(result.entries, key, &std::pair<std::string, TomlValue>::first);
    if (found == result.entries.end()) {
      result.entries.emplace_back(key, value);
    } else if (key == "device" || key == "peak_flops") {
      found->second = joined(value, found->second);
    } else if (key == "efficiency") {
      for (const TomlValue& table : value.items)
        if (std::ranges::none_of(found->second.items,
                                 [&](const TomlValue& each) { return is_like(each, table); }))
          found->second.items.push_back(table);
    }
  }
  return result;
}

}  // namespace

TomlValue with_base(const TomlValue& table, const std::string& origin) {
  const TomlValue* base = table.find("based_on");
  if (base == nullptr) return table;
  const auto named =
      std::ranges::find(named_clusters(), std::string_view(base->text), &NamedCluster::name);
  if (named == named_clusters().end())
    throw user_error("there is no cluster {} to be based on", base->text)
        .at(fmt::format("{}:{}", origin, base->line))
        .help(fmt::format("use {}", join_choices(cluster_names())));
  const std::string base_origin = fmt::format("clusters/{}.toml", named->name);
  const TomlValue inner = with_base(parse_toml(named->toml, base_origin, ""), base_origin);
  return joined(inner, table);
}

}  // namespace tessera
