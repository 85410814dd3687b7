// SPDX-License-Identifier: Apache-2.0
#include "files/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

// The vectors of RFC 3720, appendix B.4.
TEST(Crc32c, HasThePublishedValues) {
  std::string rising;
  for (char byte = 0; byte < 32; ++byte) rising += byte;
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43u);
  EXPECT_EQ(crc32c(rising), 0x46DD794Eu);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(""), 0u);
}

}  // namespace
}  // namespace tessera
