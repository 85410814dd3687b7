// SPDX-License-Identifier: Apache-2.0
// What the hub tells people and programs: a sentence on standard error and a line in events.jsonl
// for whatever happens to an island, and rounds.jsonl, a line for each exchange that closed.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "files/json.h"
#include "files/record_file.h"
#include "islands/island_link.h"

namespace tessera {

// An exchange that closed, as the hub saw it.
struct RoundRecord {
  ExchangeId exchange;
  std::vector<int> islands = {};  // that took part
  std::vector<int> members = {};  // that could have
  int64_t bytes_in = 0;           // of changes
  int64_t bytes_out = 0;          // of the combined change, to each of them
  double waited_seconds = 0;      // from the first change to the last one
  int64_t step = 0;               // the last that an island has reached
  int64_t tokens = 0;             // that all islands have trained on, those that left included
  double mean_loss = 0;  // of the islands that took part, at their last steps; 0: not known
};

Json to_json(const RoundRecord& record);

class HubRecord {
 public:
  using Say = std::function<void(const std::string& sentence)>;
  // Without a folder nothing is written.
  HubRecord(const std::optional<std::filesystem::path>& folder, Say say);

  // `kind`: "joined", "left", "silent", ...
  void event(const std::string& kind, std::optional<int64_t> island, const std::string& sentence);
  void round(const RoundRecord& record);

 private:
  double seconds() const;

  Say say_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::optional<LineFile> events_, rounds_;
};

}  // namespace tessera
