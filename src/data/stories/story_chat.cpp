// SPDX-License-Identifier: Apache-2.0
#include "data/stories/story_chat.h"

#include "core/error.h"

namespace tessera {
namespace {

constexpr uint64_t kMostTries = 1024;  // to find a question of a split
constexpr uint64_t kHeldOutOneIn = 10;
constexpr std::string_view kSecondTurn = "second_turn";

const StoryTopic& draw_topic(StoryDraws& draws) {
  uint64_t all = 0;
  for (const StoryTopic& topic : story_topics()) all += topic.weight;
  uint64_t left = draws.below(all);
  for (const StoryTopic& topic : story_topics()) {
    if (left < topic.weight) return topic;
    left -= topic.weight;
  }
  check_failed("weights add up", __FILE__, __LINE__, "");
}

}  // namespace

StorySplit split_of(std::string_view key) {
  const RandomStream stream(0, "held_out_question");
  return stream.below(hash_text(key), kHeldOutOneIn) == 0 ? StorySplit::HeldOut
                                                          : StorySplit::Training;
}

// What is held out has one exchange, and perhaps what follows it, so that its last answer depends
// on nothing else.
StoryConversation make_conversation(uint64_t seed, uint64_t index, StorySplit split) {
  StoryDraws draws(seed, "conversation", index);
  const uint64_t length = draws.below(5);
  const size_t exchanges = split == StorySplit::HeldOut || length < 3 ? 1 : length == 3 ? 2 : 3;
  StoryConversation conversation;
  for (uint64_t turn = 0; turn < exchanges; ++turn) {
    const StoryTopic& topic = draw_topic(draws);
    for (uint64_t tries = 0;; ++tries) {
      TESSERA_CHECK(tries < kMostTries, "no {} of this split", topic.name);
      StoryDraws own(seed, topic.name, (index * 3 + turn) * kMostTries + tries);
      StoryExchange exchange = topic.make(own);
      if (split_of(exchange.key) != split) continue;
      const std::optional<StoryFollowUp> next = exchange.follow_up;
      conversation.topic = topic.name;
      conversation.exchanges.push_back(std::move(exchange));
      if (next && !(next->of_answer && split == StorySplit::HeldOut) && draws.below(2) == 0) {
        conversation.topic = kSecondTurn;
        StoryExchange& second = conversation.exchanges.emplace_back();
        second.question = next->question;
        second.answer = next->answer;
      }
      break;
    }
  }
  return conversation;
}

}  // namespace tessera
