// SPDX-License-Identifier: Apache-2.0
// Which documents are read, in which order and on which side of the split: functions of a
// document's digest (XXH3, 64 bits, of its text), its number and the seed, the same for text as
// bytes and for text that becomes tokens.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/random.h"

namespace tessera {

uint64_t document_digest(std::string_view text);

// The digests that have come: a table of twice their number, with linear probing.
class DigestSet {
 public:
  explicit DigestSet(size_t most);
  bool add(uint64_t digest);  // whether it was there already

 private:
  std::vector<uint64_t> slots_;  // 0: free
  bool has_zero_ = false;
};

class DocumentSplit {
 public:
  DocumentSplit(uint64_t seed, double share) : stream_(seed, "held_out_documents"), share_(share) {}
  bool holds_out(uint64_t digest) const { return share_ > 0 && draw(digest) < share_; }
  double draw(uint64_t digest) const { return stream_.uniform(digest); }

 private:
  RandomStream stream_;
  double share_;
};

inline constexpr std::string_view kTrainOrder = "document_order";
inline constexpr std::string_view kHeldOutOrder = "held_out_document_order";

template <typename T>
void shuffle_documents(std::vector<T>& documents, uint64_t seed, std::string_view purpose) {
  if (documents.size() < 2) return;
  const Permutation order(documents.size(), RandomStream(seed, purpose));
  std::vector<T> shuffled(documents.size());
  for (size_t i = 0; i < documents.size(); ++i) shuffled[i] = documents[order(i)];
  documents = std::move(shuffled);
}

}  // namespace tessera
