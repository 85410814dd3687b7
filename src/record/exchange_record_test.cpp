// SPDX-License-Identifier: Apache-2.0
#include "record/exchange_record.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(ExchangeRecord, ComesBackFromItsLine) {
  const ExchangeRecord record{.step = 25,
                              .sent_step = 20,
                              .round = 1,
                              .fragment = 3,
                              .islands = {0, 2},
                              .bytes = 1000,
                              .waited_seconds = 0.25,
                              .change_norm = 1.5};
  const auto back = parse_exchange(to_json_line(record));
  ASSERT_TRUE(back);
  EXPECT_EQ(to_json_line(*back), to_json_line(record));
  EXPECT_EQ(back->islands, record.islands);
  EXPECT_FALSE(back->missed);
  EXPECT_TRUE(parse_exchange(to_json_line({.missed = true}))->missed);
  EXPECT_FALSE(parse_exchange("{\"step\": 3"));
}

}  // namespace
}  // namespace tessera
