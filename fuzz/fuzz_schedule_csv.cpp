// SPDX-License-Identifier: Apache-2.0
// Any text as a custom schedule. One that is taken prints and reads back.
#include "fuzz_input.h"
#include "schedule/schedule_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  may_refuse([&] {
    const std::string printed = to_csv(parse_schedule_csv(text_of(data, size), "input"));
    must(to_csv(parse_schedule_csv(printed, "printed")) == printed, "a schedule reads back");
  });
  return 0;
}
