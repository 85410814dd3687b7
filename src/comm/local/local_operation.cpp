// SPDX-License-Identifier: Apache-2.0
#include "comm/local/local_operation.h"

namespace tessera {

bool LocalOperation::has_reached(int other, Stage stage) const {
  if (!channel->has_started(other, header.number)) return false;
  if (stage == Stage::Started) return true;
  const Mailbox* theirs = channel->find(other, header.number);
  return !theirs || reached(theirs->word.value.load(std::memory_order_acquire),
                            word_at(header.number, Stage::Done));
}

LocalOperation::Awaited LocalOperation::awaited(int other) const {
  Mailbox* theirs =
      channel->has_started(other, header.number) ? channel->find(other, header.number) : nullptr;
  if (theirs) return {&theirs->word, word_at(header.number, Stage::Done)};
  return {&channel->progress[other].started, static_cast<uint32_t>(header.number) + 1};
}

}  // namespace tessera
