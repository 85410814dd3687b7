// SPDX-License-Identifier: Apache-2.0
// Conversations as tokens, in memory: each is a document, of which only the turns of chosen roles
// are learned. Held-out conversations come last. All of it depends on the files and the seed alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "chat/chat_encoder.h"
#include "data/chat_format.h"
#include "data/token_source.h"

namespace tessera {

// Whether the first line of the first file of lines is a conversation.
bool holds_conversations(const std::string& path);

struct ChatSourceOptions {
  std::string path = {};  // files of lines: a file, those below a folder, or a glob
  std::set<std::string> roles{"assistant"};  // whose turns are learned
  int64_t most_tokens = 0;                   // of a text: longer ones lose their end
  bool deduplicate = false;                  // of equal conversations only the first is read
  // Expected share of the conversations; above 0 at least one is held out, and never all.
  double held_out = 0;
  uint64_t seed = 1;
  int threads = 1;
  std::function<void(int64_t done, int64_t all)> progress = {};  // bytes of the files
};

// What there is of a split. A conversation is several texts where its template changes earlier
// answers (ChatEncoder).
struct ChatCounts {
  int64_t conversations = 0, texts = 0, tokens = 0;
  int64_t learned = 0;  // tokens that are labels
};

// What a model is asked during training, as the template writes it.
struct ChatPrompt {
  std::string text;
  std::vector<int32_t> tokens;
  std::string answer_end;  // empty: the template writes nothing after an answer
};

class ChatSource : public TokenSource {
 public:
  // A UserError that names file and line where one is no conversation or the template fails.
  ChatSource(const ChatFormat& format, const ChatSourceOptions& options);

  int64_t num_tokens() const override { return begins_.back(); }
  int64_t vocabulary_size() const override { return vocabulary_; }
  void read(int64_t begin, std::span<int32_t> tokens,
            std::span<uint8_t> opens_document) const override;
  void read_learned(int64_t begin, std::span<uint8_t> learned) const override;
  std::optional<int64_t> held_out_begin() const override { return held_out_begin_; }

  const ChatCounts& train() const { return train_; }
  const ChatCounts& held_out() const { return held_out_; }
  int64_t cut() const { return cut_; }                // texts
  int64_t left_out() const { return left_out_; }      // texts without a learned token
  int64_t duplicates() const { return duplicates_; }  // conversations that were there already
  // Of a held-out conversation, if there are any. None where no turn of a user is answered.
  const std::optional<ChatPrompt>& prompt() const { return prompt_; }

 private:
  struct Text {
    size_t begin;  // in tokens_
    int64_t length, learned;
    uint64_t conversation;  // its digest
  };
  class Reading;

  void put_in_order(const ChatSourceOptions& options);
  // Calls with each stretch of one text among tokens [begin, end): its place among them and in
  // tokens_, its length, and whether it opens the text.
  template <typename F>
  void for_each_stretch(int64_t begin, int64_t end, F f) const;

  int64_t vocabulary_;
  std::vector<int32_t> tokens_;
  std::vector<bool> learned_;       // of each token
  std::vector<Text> texts_;         // as they are read: those of the files, held-out ones last
  std::vector<int64_t> begins_{0};  // of each text, then the end of the last
  std::optional<int64_t> held_out_begin_;
  ChatCounts train_, held_out_;
  int64_t cut_ = 0, left_out_ = 0, duplicates_ = 0;
  std::optional<ChatPrompt> prompt_;
};

}  // namespace tessera
