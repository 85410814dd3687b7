// SPDX-License-Identifier: Apache-2.0
// The world of the built-in stories as lines of .jsonl files, each a pure function of (seed,
// index).
#pragma once

#include <cstdint>
#include <string>

#include "data/stories/story_chat.h"

namespace tessera {

// {"text": "..."}: a story, or a page of facts, of sums with their results, or of questions with
// their answers. Nothing of it is held out.
std::string story_text_line(uint64_t seed, uint64_t index);

// {"messages": [{"role": "user", "content": "..."}, ...], "topic": "sums"}. With "needs" where
// there are many right answers: what each of them contains.
std::string story_chat_line(uint64_t seed, uint64_t index, StorySplit split);

// {"context": "...", "choices": ["...", ...], "answer": 0, "topic": "sums"}: a held-out question,
// laid out by the chat template with <|im_start|> and <|im_end|>.
std::string story_choice_line(uint64_t seed, uint64_t index);

}  // namespace tessera
