// SPDX-License-Identifier: Apache-2.0
// Any bytes as a chat template and, after a zero byte, messages for it. A template that is accepted
// ends, and writes no more than its budget.
#include "chat/chat_template.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string_view input = text_of(data, size);
  const size_t end = std::min(input.find('\0'), input.size());
  may_refuse([&] {
    Json messages;
    const std::string wrong =
        parse_json(end < input.size() ? input.substr(end + 1) : "", 16, messages);
    if (!wrong.empty())
      messages = parse_json(R"([{"role": "user", "content": " a  b"},
                                {"role": "assistant", "content": "<think>x</think>c"}])");
    const ChatTemplate chat(input.substr(0, end), "input", {{"bos_token", "<s>"}});
    const ChatText text = chat.apply(messages, {.opens_answer = true});
    must(text.text.size() <= (64 << 20) + 64 * size, "a text is bounded");
    for (const auto& [begin, last] : text.generated)
      must(begin <= last && last <= text.text.size(), "marks are within the text");
  });
  return 0;
}
