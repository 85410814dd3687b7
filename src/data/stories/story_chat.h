// SPDX-License-Identifier: Apache-2.0
// Conversations about the world of the built-in stories: sums, facts, stories on request, questions
// about a story. A conversation is a pure function of (seed, index, split). Every question has a
// key, and a digest of the key decides its split: no sum and no wording of a fact is in both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/stories/story_cast.h"

namespace tessera {

enum class StorySplit : uint8_t { Training, HeldOut };

// What can be asked only after an exchange: about the story that was told, or a name that was said.
struct StoryFollowUp {
  std::string question, answer;
  bool of_answer = false;  // whether it depends on what was answered, so that a model that answered
                           // otherwise cannot be asked it
};

struct StoryExchange {
  std::string question, answer;
  std::string key;                 // what is asked, without its wording where that would not do
  std::vector<std::string> wrong;  // other answers; none where there are many right ones
  std::vector<std::string> needs;  // then: what each of those contains
  std::optional<StoryFollowUp> follow_up = {};
};

using MakeExchange = StoryExchange (*)(StoryDraws& draws);

// A kind of question. Of the weights' sum, its weight is its share.
struct StoryTopic {
  std::string_view name;
  uint64_t weight;
  MakeExchange make;
};
const std::vector<StoryTopic>& story_topics();

struct StoryConversation {
  std::string_view topic;                // of the last exchange
  std::vector<StoryExchange> exchanges;  // one or more
};

StorySplit split_of(std::string_view key);
StoryConversation make_conversation(uint64_t seed, uint64_t index, StorySplit split);

}  // namespace tessera
