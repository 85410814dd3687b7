// SPDX-License-Identifier: Apache-2.0
#include "data/document_choice.h"

#include <span>

#include "files/digest.h"

namespace tessera {

uint64_t document_digest(std::string_view text) {
  Digest digest;
  digest.add(std::as_bytes(std::span(text)));
  return digest.number();
}

DigestSet::DigestSet(size_t most) {
  size_t slots = 16;
  while (slots < 2 * most) slots *= 2;
  slots_.assign(slots, 0);
}

bool DigestSet::add(uint64_t digest) {
  if (digest == 0) return std::exchange(has_zero_, true);
  size_t at = digest & (slots_.size() - 1);
  while (slots_[at] != 0 && slots_[at] != digest) at = (at + 1) & (slots_.size() - 1);
  return std::exchange(slots_[at], digest) == digest;
}

}  // namespace tessera
