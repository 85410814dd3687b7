// SPDX-License-Identifier: Apache-2.0
#include "islands/hub/hub_record.h"

#include "system/seconds_since.h"

namespace tessera {

Json to_json(const RoundRecord& record) {
  return {{"round", record.exchange.round},
          {"fragment", record.exchange.fragment},
          {"islands", record.islands},
          {"members", record.members},
          {"bytes_in", record.bytes_in},
          {"bytes_out", record.bytes_out},
          {"waited_seconds", record.waited_seconds},
          {"step", record.step},
          {"tokens", record.tokens},
          {"mean_loss", record.mean_loss > 0 ? Json(record.mean_loss) : Json()}};
}

HubRecord::HubRecord(const std::optional<std::filesystem::path>& folder, Say say)
    : say_(std::move(say)) {
  if (!folder) return;
  const Warn warn = [this](const std::string& text) { say_(text); };
  events_.emplace(*folder / "events.jsonl", /*resumed=*/true, warn);
  rounds_.emplace(*folder / "rounds.jsonl", /*resumed=*/true, warn);
}

double HubRecord::seconds() const { return seconds_since(begin_); }

void HubRecord::event(const std::string& kind, std::optional<int64_t> island,
                      const std::string& sentence) {
  say_(sentence);
  if (!events_) return;
  Json json{{"event", kind}, {"seconds", seconds()}};
  if (island) json["island"] = *island;
  json["text"] = sentence;
  events_->write(json.dump());
}

void HubRecord::round(const RoundRecord& record) {
  if (!rounds_) return;
  Json json = to_json(record);
  json["seconds"] = seconds();
  rounds_->write(json.dump());
}

}  // namespace tessera
