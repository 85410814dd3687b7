// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/encoder.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace tessera {

void Encoder::encode(std::string_view text, std::vector<int32_t>& ids) {
  ids_ = &ids;
  cut_text(text);
}

std::vector<int32_t> Encoder::encode(std::string_view text) {
  std::vector<int32_t> ids;
  encode(text, ids);
  return ids;
}

void Encoder::word(std::string_view word) {
  if (const auto known = cache_.find(word)) {
    ids_->insert(ids_->end(), known->begin(), known->end());
    return;
  }
  const size_t begin = ids_->size();
  tokenizer_.model().encode_word(word, *ids_, scratch_);
  cache_.add(word, std::span(*ids_).subspan(begin));
}

namespace {

constexpr size_t kSlots = 1 << 17;  // a power of two
constexpr size_t kMaxUsed = kSlots / 2;
constexpr size_t kMaxWordBytes = 64;

uint64_t hash_of(std::string_view word) {
  constexpr uint64_t kFactor = 0x9E3779B97F4A7C15u;
  uint64_t hash = word.size() * kFactor;
  for (size_t at = 0; at < word.size(); at += 8) {
    uint64_t part = 0;
    std::memcpy(&part, word.data() + at, std::min<size_t>(8, word.size() - at));
    hash = (hash ^ part) * kFactor;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

WordCache::WordCache() : slots_(kSlots) {}

// Where the word is, or the free slot where it would go.
size_t WordCache::slot_of(std::string_view word, uint64_t hash) const {
  for (size_t at = hash & (kSlots - 1);; at = (at + 1) & (kSlots - 1)) {
    const Slot& slot = slots_[at];
    if (slot.word_bytes == 0) return at;
    if (slot.check == hash >> 32 && slot.word_bytes == word.size() &&
        std::memcmp(words_.data() + slot.word_begin, word.data(), word.size()) == 0)
      return at;
  }
}

std::optional<std::span<const int32_t>> WordCache::find(std::string_view word) const {
  if (word.size() > kMaxWordBytes) return std::nullopt;
  const Slot& slot = slots_[slot_of(word, hash_of(word))];
  if (slot.word_bytes == 0) return std::nullopt;
  return std::span(ids_).subspan(slot.ids_begin, slot.num_ids);
}

void WordCache::add(std::string_view word, std::span<const int32_t> ids) {
  if (word.size() > kMaxWordBytes) return;
  if (used_ == kMaxUsed) {
    std::fill(slots_.begin(), slots_.end(), Slot{});
    used_ = 0;
    words_.clear();
    ids_.clear();
  }
  const uint64_t hash = hash_of(word);
  slots_[slot_of(word, hash)] = {
      static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(words_.size()),
      static_cast<uint32_t>(ids_.size()), static_cast<uint16_t>(word.size()),
      static_cast<uint16_t>(ids.size())};
  ++used_;
  words_ += word;
  ids_.insert(ids_.end(), ids.begin(), ids.end());
}

}  // namespace tessera
