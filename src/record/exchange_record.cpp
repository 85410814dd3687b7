// SPDX-License-Identifier: Apache-2.0
#include "record/exchange_record.h"

#include <fmt/format.h>

#include <fstream>

#include "files/json.h"

namespace tessera {

std::string to_json_line(const ExchangeRecord& record) {
  Json json{{"step", record.step},
            {"sent_step", record.sent_step},
            {"round", record.round},
            {"fragment", record.fragment},
            {"islands", record.islands},
            {"bytes", record.bytes},
            {"waited_seconds", record.waited_seconds},
            {"change_norm", record.change_norm}};
  if (record.missed) json["missed"] = true;
  return json.dump();
}

std::optional<ExchangeRecord> parse_exchange(std::string_view line) {
  constexpr int kDeepest = 2;
  Json json;
  if (!parse_json(line, kDeepest, json).empty() || !json.is_object()) return std::nullopt;
  const auto whole = [&](std::string_view name) {
    const Json* found = json.find(name);
    return found ? found->integer().value_or(0) : 0;
  };
  const auto number = [&](std::string_view name) {
    const Json* found = json.find(name);
    return found ? found->number().value_or(0) : 0;
  };
  ExchangeRecord record{.step = whole("step"),
                        .sent_step = whole("sent_step"),
                        .round = whole("round"),
                        .fragment = static_cast<int>(whole("fragment")),
                        .bytes = whole("bytes"),
                        .waited_seconds = number("waited_seconds"),
                        .change_norm = number("change_norm")};
  if (const Json* islands = json.find("islands"))
    for (const Json& island : islands->items())
      record.islands.push_back(static_cast<int>(island.integer().value_or(0)));
  if (const Json* missed = json.find("missed")) record.missed = missed->flag().value_or(false);
  return record;
}

std::vector<ExchangeRecord> read_exchanges(const std::filesystem::path& folder) {
  std::vector<ExchangeRecord> records;
  std::ifstream file(folder / kExchangesFile);
  for (std::string line; std::getline(file, line);)
    if (auto record = parse_exchange(line)) records.push_back(std::move(*record));
  return records;
}

std::map<int, std::vector<ExchangeRecord>> read_islands(const std::filesystem::path& folder) {
  std::map<int, std::vector<ExchangeRecord>> islands;
  for (int i = 0; std::filesystem::is_directory(folder / fmt::format("island-{}", i)); ++i)
    if (auto own = read_exchanges(folder / fmt::format("island-{}", i)); !own.empty())
      islands[i] = std::move(own);
  if (auto own = read_exchanges(folder); islands.empty() && !own.empty())
    islands[0] = std::move(own);
  return islands;
}

}  // namespace tessera
