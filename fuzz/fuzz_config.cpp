// SPDX-License-Identifier: Apache-2.0
// Any text as a config. What is read and printed reads back to the same text.
#include "config/config.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  must_read_back(
      text_of(data, size), [](std::string_view text) { return parse_config(text, "input", {}); },
      [](const auto& read) { return to_toml(read); });
  return 0;
}
