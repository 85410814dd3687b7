// SPDX-License-Identifier: Apache-2.0
// For tests: documents as the bytes of a Megatron .bin and of its .idx.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

struct MegatronBytes {
  std::string bin, idx;
};

template <typename N>
void append_number(std::string& bytes, N number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(N));
}

// A document is a list of sequences; T and `code` are the type of a token.
template <typename T>
MegatronBytes megatron_bytes(uint8_t code,
                             const std::vector<std::vector<std::vector<T>>>& documents) {
  std::string bin, lengths, pointers, borders;
  int64_t sequences = 0;
  append_number(borders, sequences);
  for (const auto& document : documents) {
    for (const std::vector<T>& sequence : document) {
      append_number(lengths, static_cast<int32_t>(sequence.size()));
      append_number(pointers, static_cast<int64_t>(bin.size()));
      for (const T token : sequence) append_number(bin, token);
      ++sequences;
    }
    append_number(borders, sequences);
  }
  std::string idx("MMIDIDX\0\0", 9);
  append_number(idx, uint64_t{1});
  append_number(idx, code);
  append_number(idx, static_cast<uint64_t>(sequences));
  append_number(idx, static_cast<uint64_t>(documents.size() + 1));
  return {bin, idx + lengths + pointers + borders};
}

}  // namespace tessera
