// SPDX-License-Identifier: Apache-2.0
// Any bytes as token files: two bytes with the length of the index, the index, the tokens; length 0
// is a shard without an index. What opens can be read from any position.
#include <vector>

#include "data/bin_source.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  if (size < 2) return 0;
  static const InputFolder folder, indexed;
  const std::string_view rest = text_of(data + 2, size - 2);
  const size_t index_bytes = std::min<size_t>(data[0] + 256u * data[1], rest.size());
  const InputFolder& used = index_bytes > 0 ? indexed : folder;
  if (index_bytes > 0) used.write("input.idx", rest.substr(0, index_bytes));
  const auto path = used.write("input.bin", rest.substr(index_bytes));
  may_refuse([&] {
    const BinSource source({.pattern = path.string(), .vocabulary = 50257, .document_end = 7});
    for (const int64_t begin : {int64_t{0}, source.num_tokens() / 2}) {
      std::vector<int32_t> tokens(static_cast<size_t>(source.num_tokens() - begin));
      std::vector<uint8_t> opens(tokens.size(), 2);
      source.read(begin, tokens, opens);
      for (size_t i = 0; i < tokens.size(); ++i)
        must(tokens[i] >= 0 && tokens[i] < 50257 && opens[i] < 2, "tokens are in the vocabulary");
    }
  });
  return 0;
}
