// SPDX-License-Identifier: Apache-2.0
#include "system/shell_words.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

using Words = std::vector<std::string>;

Words words(std::string_view text) { return shell_words(text, "--with"); }

TEST(ShellWords, AreDividedByBlanks) {
  EXPECT_EQ(words("mpirun  --hostfile\thosts "), (Words{"mpirun", "--hostfile", "hosts"}));
  EXPECT_EQ(words(""), Words{});
  EXPECT_EQ(words(" "), Words{});
}

TEST(ShellWords, KeepBlanksBetweenQuotes) {
  EXPECT_EQ(words("a 'b c' \"d e\""), (Words{"a", "b c", "d e"}));
  EXPECT_EQ(words("--mca plm_rsh_agent='ssh -q'x"), (Words{"--mca", "plm_rsh_agent=ssh -qx"}));
  EXPECT_EQ(words("a '' b"), (Words{"a", "", "b"}));
}

TEST(ShellWords, TakeAQuotedQuoteAsItIs) {
  EXPECT_EQ(words(R"(a\ b "c\"d" 'e\f' "g\h" '"')"), (Words{"a b", "c\"d", "e\\f", "g\\h", "\""}));
}

TEST(ShellWords, MustCloseTheirQuotes) {
  EXPECT_THROW(words("mpirun 'a b"), UserError);
  EXPECT_THROW(words("mpirun \"a b"), UserError);
}

}  // namespace
}  // namespace tessera
