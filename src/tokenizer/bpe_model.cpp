// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bpe_model.h"

#include <algorithm>

#include "core/error.h"

namespace tessera {

BpeModel::BpeModel(std::span<const BytesToken> tokens, std::span<const BpeMerge> merges,
                   bool ignore_merges)
    : byte_ids_(256, -1) {
  for (const BytesToken& token : tokens)
    if (token.bytes.size() == 1) byte_ids_[static_cast<unsigned char>(token.bytes[0])] = token.id;
  for (size_t byte = 0; byte < byte_ids_.size(); ++byte)
    if (byte_ids_[byte] < 0)
      throw user_error("the vocabulary has no token for byte 0x{:02x}", byte)
          .help("train the tokenizer with all 256 bytes in its alphabet");
  merges_.reserve(merges.size());
  for (size_t rank = 0; rank < merges.size(); ++rank)
    merges_[key(merges[rank].left, merges[rank].right)] = {static_cast<int32_t>(rank),
                                                           merges[rank].merged};
  if (!ignore_merges) return;
  word_bytes_.reserve(tokens.size());
  for (const BytesToken& token : tokens)
    whole_words_[word_bytes_.emplace_back(token.bytes)] = token.id;
}

// Queues the pair of a symbol and the next one, if it can merge.
void BpeModel::offer(int32_t at, Scratch& scratch) const {
  if (at < 0) return;
  const Scratch::Symbol& left = scratch.symbols[static_cast<size_t>(at)];
  if (left.next < 0) return;
  const auto found = merges_.find(key(left.id, scratch.symbols[static_cast<size_t>(left.next)].id));
  if (found == merges_.end()) return;
  scratch.heap.push_back({found->second.rank, at, found->second.id});
  std::push_heap(scratch.heap.begin(), scratch.heap.end());
}

void BpeModel::encode_word(std::string_view word, std::vector<int32_t>& ids,
                           Scratch& scratch) const {
  if (const auto whole = whole_words_.find(word); whole != whole_words_.end()) {
    ids.push_back(whole->second);
    return;
  }
  std::vector<Scratch::Symbol>& symbols = scratch.symbols;
  symbols.clear();
  scratch.heap.clear();
  const auto count = static_cast<int32_t>(word.size());
  for (int32_t i = 0; i < count; ++i)
    symbols.push_back({byte_ids_[static_cast<unsigned char>(word[static_cast<size_t>(i)])], i - 1,
                       i + 1 < count ? i + 1 : -1});
  for (int32_t i = 0; i < count; ++i) offer(i, scratch);
  while (!scratch.heap.empty()) {
    const Scratch::Candidate best = scratch.heap.front();
    std::pop_heap(scratch.heap.begin(), scratch.heap.end());
    scratch.heap.pop_back();
    Scratch::Symbol& left = symbols[static_cast<size_t>(best.at)];
    if (left.id < 0 || left.next < 0) continue;  // merged since
    Scratch::Symbol& right = symbols[static_cast<size_t>(left.next)];
    const auto now = merges_.find(key(left.id, right.id));
    if (now == merges_.end() || now->second.id != best.merged) continue;  // another pair since
    left.id = best.merged;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) symbols[static_cast<size_t>(left.next)].previous = best.at;
    offer(left.previous, scratch);
    offer(best.at, scratch);
  }
  for (int32_t at = 0; at >= 0; at = symbols[static_cast<size_t>(at)].next)
    ids.push_back(symbols[static_cast<size_t>(at)].id);
}

}  // namespace tessera
