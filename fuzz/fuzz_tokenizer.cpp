// SPDX-License-Identifier: Apache-2.0
// Any bytes as a tokenizer.json and, after a zero byte, a text for it. A tokenizer that is accepted
// encodes any text into tokens that it has.
#include "fuzz_input.h"
#include "tokenizer/encoder.h"
#include "tokenizer/tokenizer_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string_view input = text_of(data, size);
  const size_t end = std::min(input.find('\0'), input.size());
  const std::string_view text =
      end < input.size() ? input.substr(end + 1) : "It's  the 1234 \xE7\x8B\x90\xE7\x8B\xB8\xFF\n";
  may_refuse([&] {
    const Tokenizer tokenizer = parse_tokenizer(input.substr(0, end), "input");
    const std::vector<int32_t> ids = Encoder(tokenizer).encode(text);
    for (const int32_t id : ids)
      must(id >= 0 && id < tokenizer.vocabulary_size(), "an id is in the vocabulary");
    must(tokenizer.decode(ids).size() <= 1'000'000, "a text of tokens is not endless");
  });
  return 0;
}
