// SPDX-License-Identifier: Apache-2.0
// Any text as a custom schedule. One that is taken prints and reads back.
#include "fuzz_input.h"
#include "schedule/schedule_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  must_read_back(
      text_of(data, size), [](std::string_view text) { return parse_schedule_csv(text, "input"); },
      [](const auto& read) { return to_csv(read); });
  return 0;
}
