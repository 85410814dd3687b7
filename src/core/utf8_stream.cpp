// SPDX-License-Identifier: Apache-2.0
#include "core/utf8_stream.h"

#include <algorithm>

#include "core/utf8.h"

namespace tessera {
namespace {

// Whether more bytes could make it a character.
bool begins_character(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  const size_t wanted = lead >= 0xf0 && lead <= 0xf4   ? 4
                        : lead >= 0xe0 && lead <= 0xef ? 3
                        : lead >= 0xc2 && lead <= 0xdf ? 2
                                                       : 1;
  return bytes.size() < wanted && std::ranges::all_of(bytes.substr(1), [](char byte) {
           return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
         });
}

}  // namespace

std::string Utf8Stream::take(bool all) {
  std::string text;
  while (!waiting_.empty()) {
    const size_t valid = valid_prefix(waiting_);
    text += waiting_.substr(0, valid);
    waiting_.erase(0, valid);
    if (waiting_.empty() || (!all && begins_character(waiting_))) break;
    append_utf8(text, 0xfffd);
    waiting_.erase(0, 1);
  }
  return text;
}

}  // namespace tessera
