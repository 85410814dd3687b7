// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/testing/mixed_text.h"

#include <array>
#include <string_view>

#include "core/random.h"
#include "core/utf8.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 40> kScraps{
    "The quick brown fox",
    " doesn't jump,",
    " they'LL say we've it's I'm you'd",
    "for (int i = 0; i < n; ++i) {\n\treturn a[i] != 0xFF;\n}\n",
    "def f(x):\n    return x ** 2  # done\n\n\n",
    "   \t ",
    "\r\n\r\n",
    "\n \n  \n",
    " 1234567 3.14159 2026-11-15",
    "Größe, naïve, cafe\xCC\x81, A\xCC\x8Angstro\xCC\x88m",
    " Быстрая коричневая лиса",
    "Γρήγορη αλεπού",
    "快速的棕色狐狸。",
    "素早い茶色の狐",
    "빠른 갈색 여우",
    "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB",  // a syllable in three jamo
    "الثعلب البني السريع",
    "השועל החום",
    "तेज़ भूरी लोमड़ी",
    "สุนัขจิ้งจอกสีน้ำตาล",
    "👩‍👩‍👧‍👦 👍🏽 🇪🇺 ☕️",
    "…—“quoted”«»",
    "\xC2\xA0\xE2\x80\x89\xE3\x80\x80",  // no-break, thin and ideographic space
    "\xC2\x85\xE2\x80\xA8\xE2\x80\xA9\xE1\xA0\x8E",
    "½ ² Ⅷ ٣٤٥ १२३",
    "<|endoftext|>",
    "<html><body class=\"x\">&nbsp;</body></html>",
    "https://example.org/a/b?c=d&e=%20f#g",
    "$\\frac{a}{b} \\leq \\sum_{i=1}^{n} x_i$",
    "!!!???...",
    "__init__ snake_case camelCase SCREAMING_CASE",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "'",
    "'S'T'RE'Ve",
    "\xC5\xBF'\xC5\xBF",  // the long s, which folds to s
    " ",
    "\n",
    "\t",
    "\x01\x02\x7F",
    "-----------------------------------\n",
};

constexpr std::array<std::string_view, 6> kInvalid{"\xFF",     "\xC3",         "\xE2\x82",
                                                   "\x80\x80", "\xED\xA0\x80", "\xC0\xAF"};

}  // namespace

std::string mixed_text(size_t bytes, uint64_t seed, bool with_invalid) {
  const RandomStream random(seed, "mixed text");
  uint64_t draws = 0;
  const auto below = [&](uint64_t bound) {
    return static_cast<size_t>(random.uniform(draws++) * static_cast<double>(bound));
  };
  std::string text;
  while (text.size() < bytes) {
    const size_t kind = below(16);
    if (kind == 0) {
      // Any character; surrogates are none.
      const auto code = static_cast<uint32_t>(below(below(2) == 0 ? 0x3000 : 0x110000));
      if (code < 0xD800 || code >= 0xE000) append_utf8(text, code);
    } else if (kind == 1 && with_invalid) {
      text += kInvalid[below(kInvalid.size())];
    } else {
      text += kScraps[below(kScraps.size())];
      if (below(2) == 0) text += ' ';
    }
  }
  return text;
}

}  // namespace tessera
