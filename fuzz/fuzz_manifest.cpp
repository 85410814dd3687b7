// SPDX-License-Identifier: Apache-2.0
// Any bytes as what a manifest's digest covers, with the digest that fits, so that the fuzzer gets
// past it; and as a whole manifest.
#include <span>

#include "checkpoint/manifest.h"
#include "files/digest.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string_view covered = text_of(data, size);
  may_refuse([&] { parse_manifest(covered, "input"); });
  const auto with_digest = [&](const char* format, DigestKind kind) {
    return fmt::format(R"({{"format":"tessera-checkpoint-{}","digest":"{}{})", format,
                       digest_of(std::as_bytes(std::span(covered)), kind), covered);
  };
  may_refuse([&] { parse_manifest(with_digest("2", DigestKind::Own), "input"); });
  must_read_back(
      with_digest("3", DigestKind::Xxh3),
      [](std::string_view text) { return parse_manifest(text, "input"); },
      [](const Manifest& manifest) { return to_text(manifest); });
  return 0;
}
