// SPDX-License-Identifier: Apache-2.0
// Any bytes as what a manifest's digest covers, with the digest that fits, so that the fuzzer gets
// behind it; and as a whole manifest.
#include <span>

#include "checkpoint/manifest.h"
#include "files/digest.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string_view covered = text_of(data, size);
  may_refuse([&] { parse_manifest(covered, "input"); });
  Digest digest;
  digest.add(std::as_bytes(std::span(covered.data(), covered.size())));
  const std::string head = R"({"format":"tessera-checkpoint-2","digest":")" + digest.text();
  must_read_back(
      head + std::string(covered),
      [](std::string_view text) { return parse_manifest(text, "input"); },
      [](const Manifest& manifest) { return to_text(manifest); });
  return 0;
}
