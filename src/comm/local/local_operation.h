// SPDX-License-Identifier: Apache-2.0
// A collective of ranks that share memory, between its start and its wait.
#pragma once

#include <string>

#include "comm/local/mailbox.h"
#include "comm/local/staging.h"

namespace tessera {

struct LocalOperation {
  Channel* channel = nullptr;
  int member = 0;  // this rank's place in the channel
  CollectiveHeader header;
  const std::string* group = nullptr;  // its name
  bool inlined = false;                // inputs are in the mailboxes
  Staged staged = {};
  RowTable table = {};  // of rows of experts
  int64_t record = 0;   // its entry

  Mailbox* own_mailbox = nullptr;

  // Of a member that has started it, until this one is done with it.
  Mailbox& mailbox(int other) const {
    return other == member ? *own_mailbox : *channel->find(other, header.number);
  }
  bool has_reached(int other, Stage stage) const;
  // What changes on the way there, and its value then.
  struct Awaited {
    SharedWord* word;
    uint32_t target;
  };
  Awaited awaited(int other) const;
};

}  // namespace tessera
