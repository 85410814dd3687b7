// SPDX-License-Identifier: Apache-2.0
// Any text as a cluster file. What is read and printed reads back to the same text.
#include "fuzz_input.h"
#include "sim/cluster.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  may_refuse([&] {
    const std::string printed = to_toml(parse_cluster(text_of(data, size), "input"));
    must(to_toml(parse_cluster(printed, "printed")) == printed, "a cluster reads back");
  });
  return 0;
}
