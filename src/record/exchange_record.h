// SPDX-License-Identifier: Apache-2.0
// One exchange between islands, as an island or a hub saw it: a line of exchanges.jsonl.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

inline constexpr const char* kExchangesFile = "exchanges.jsonl";

struct ExchangeRecord {
  int64_t step = 0;       // after which the result was applied
  int64_t sent_step = 0;  // after which the change was sent
  int64_t round = 0;
  int fragment = 0;
  std::vector<int> islands = {};  // that took part
  int64_t bytes = 0;              // of a change on the wire; the result has as many
  double waited_seconds = 0;
  double change_norm = 0;  // of the island's own change
  // It closed without this island, which took the newest weights and went on from `step`.
  bool missed = false;
};

std::string to_json_line(const ExchangeRecord& record);  // without the newline
std::optional<ExchangeRecord> parse_exchange(std::string_view line);
// Of a run's folder; empty where it has none.
std::vector<ExchangeRecord> read_exchanges(const std::filesystem::path& folder);

// By island, of a folder that holds those of several islands (island-0, ...) or is one's own; empty
// where there are none.
std::map<int, std::vector<ExchangeRecord>> read_islands(const std::filesystem::path& folder);

}  // namespace tessera
