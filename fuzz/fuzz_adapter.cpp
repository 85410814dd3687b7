// SPDX-License-Identifier: Apache-2.0
// Any bytes as PEFT's adapter_config.json: adapters that are accepted are written and read back the
// same.
#include "fuzz_input.h"
#include "huggingface/adapter_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  std::optional<LoraSettings> read;
  may_refuse([&] { read = parse_adapter_json(text_of(data, size), "input"); });
  if (!read) return 0;
  const LoraSettings again = parse_adapter_json(adapter_json(*read, {"q_proj"}), "printed");
  must(again.rank == read->rank && again.alpha == read->alpha && again.base == read->base,
       "adapters read back");
  return 0;
}
