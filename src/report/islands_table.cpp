// SPDX-License-Identifier: Apache-2.0
#include "report/islands_table.h"

#include <fmt/format.h>

#include "core/quantities.h"
#include "report/figure_text.h"

namespace tessera {
namespace {

struct Exchanges {
  int64_t times = 0, missed = 0, sent_bytes = 0;
  double waited_seconds = 0, islands = 0, last_norm = 0;
};

Exchanges sum_of(const std::vector<ExchangeRecord>& records) {
  Exchanges sum;
  for (const ExchangeRecord& record : records) {
    if (record.missed) {
      ++sum.missed;
      continue;
    }
    ++sum.times;
    sum.sent_bytes += record.bytes;
    sum.waited_seconds += record.waited_seconds;
    sum.islands += static_cast<double>(record.islands.size());
    sum.last_norm = record.change_norm;
  }
  if (sum.times > 0) sum.islands /= static_cast<double>(sum.times);
  return sum;
}

}  // namespace

std::string headline_of_islands(const Report& report) {
  Exchanges most;
  for (const auto& [island, records] : report.islands)
    if (const Exchanges own = sum_of(records); own.waited_seconds >= most.waited_seconds)
      most = own;
  return fmt::format("islands: {} exchanges, {} sent by each, {} waited at most", most.times,
                     short_bytes(most.sent_bytes), seconds_text(most.waited_seconds));
}

DocumentTable islands_table(const Report& report) {
  DocumentTable table{.heading = "Exchanges between islands",
                      .columns = {"island", "exchanges", "islands in each", "missed", "sent",
                                  "waited", "norm of its last change"},
                      .rows = {}};
  for (const auto& [island, records] : report.islands) {
    const Exchanges sum = sum_of(records);
    table.rows.push_back({fmt::format("{}", island), fmt::format("{}", sum.times),
                          fmt::format("{:.3g}", sum.islands), fmt::format("{}", sum.missed),
                          short_bytes(sum.sent_bytes), seconds_text(sum.waited_seconds),
                          fmt::format("{:.3g}", sum.last_norm)});
  }
  table.note =
      "Missed: exchanges that closed without the island, which took the newest weights. As many "
      "bytes came back as were sent.";
  return table;
}

Json islands_json(const Report& report) {
  Json islands = Json::array();
  for (const auto& [island, records] : report.islands) {
    const Exchanges sum = sum_of(records);
    islands.push_back({{"island", island},
                       {"exchanges", sum.times},
                       {"missed", sum.missed},
                       {"sent_bytes", sum.sent_bytes},
                       {"waited_seconds", sum.waited_seconds}});
  }
  return islands;
}

}  // namespace tessera
