// SPDX-License-Identifier: Apache-2.0
// A conversation, as a line of a .jsonl file has it: {"messages": [{"role", "content"}, ...]}, or
// ShareGPT's {"conversations": [{"from", "value"}, ...]}.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "files/json.h"

namespace tessera {

struct Conversation {
  Json messages;                      // {"role", "content"}, and whatever else they had
  std::vector<JsonMember> variables;  // tools, where the line has some
};

// A UserError that names `place` where the line is no conversation.
Conversation read_conversation(std::string_view line, const std::string& place);

std::string role_of(const Json& message);

}  // namespace tessera
