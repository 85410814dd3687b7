// SPDX-License-Identifier: Apache-2.0
// Any bytes as what the digest of a message between islands covers, with the digest that fits, and
// as a whole head: what is taken is written and read back the same.
#include <span>

#include "files/digest.h"
#include "fuzz_input.h"
#include "islands/hub/message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string_view text = text_of(data, size);
  may_refuse([&] { read_message(text, {}); });
  must_read_back(
      fmt::format("tessera-islands-{} {}\n{}", kIslandsProtocol,
                  digest_of(std::as_bytes(std::span(text))), text),
      [](std::string_view head) { return read_message(head, {}); },
      [](const Message& message) { return head_of(message); });
  return 0;
}
