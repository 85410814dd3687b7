// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/unicode.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

#include "core/error.h"
#include "core/utf8.h"

namespace tessera {
namespace {

// Everything below U+0300 is already composed, and nothing composes with a following ASCII
// character: a stretch to compose ends before one.
bool may_change(unsigned char byte) { return byte >= 0xCC; }

void append_composed(std::string& out, std::string_view stretch) {
  utf8proc_uint8_t* raw = nullptr;
  const utf8proc_ssize_t bytes =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(stretch.data()),
                   static_cast<utf8proc_ssize_t>(stretch.size()), &raw,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(raw, &std::free);
  TESSERA_CHECK(bytes >= 0, "{}", utf8proc_errmsg(bytes));
  out.append(reinterpret_cast<const char*>(raw), static_cast<size_t>(bytes));
}

}  // namespace

std::string_view compose(std::string_view text, std::string& composed) {
  composed.clear();
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    if (!may_change(static_cast<unsigned char>(text[at]))) {
      ++at;
      continue;
    }
    size_t begin = at;
    while (begin > done && static_cast<unsigned char>(text[begin]) >= 0x80) --begin;
    size_t end = at;
    while (end < text.size() && static_cast<unsigned char>(text[end]) >= 0x80) ++end;
    composed.append(text.substr(done, begin - done));
    append_composed(composed, text.substr(begin, end - begin));
    done = at = end;
  }
  if (done == 0) return text;
  composed.append(text.substr(done));
  return composed;
}

bool is_white_space(uint32_t code) {
  if (code < 0x80) return code == ' ' || (code >= '\t' && code <= '\r');
  if (code == 0x85) return true;
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

bool is_word_character(uint32_t code) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return code == 0x200C || code == 0x200D;  // joiners
  }
}

bool is_printable(uint32_t code) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return code == ' ';
    default:
      return true;
  }
}

uint32_t upper_case(uint32_t code) {
  return static_cast<uint32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code)));
}

uint32_t lower_case(uint32_t code) {
  return static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
}

}  // namespace tessera
