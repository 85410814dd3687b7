// SPDX-License-Identifier: Apache-2.0
// What servers (vLLM, llama.cpp's converter, transformers) read beside weights and config.json:
// the tokenizer, the chat template in both places where it is looked for, and the tokens that end a
// text. Files that are there are kept, and completed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "huggingface/model_json.h"
#include "models/model_config.h"

namespace tessera {

class ServingFiles {
 public:
  // Of the files in `folder`; `tokenizer` is another place for a tokenizer.json, or empty.
  // `chat_template`: as for read_chat_template; empty: the one that the folder has, or none. A
  // vocabulary of 256 without a tokenizer is that of bytes, and gets one.
  ServingFiles(const std::filesystem::path& folder, const std::filesystem::path& tokenizer,
               const ModelConfig& model, const std::string& chat_template);

  const TextEnds& ends() const { return ends_; }

  // Over files of the same names; returns these.
  std::vector<std::string> write_to(const std::filesystem::path& to) const;

 private:
  std::vector<std::pair<std::string, std::string>> files_;  // name and text
  TextEnds ends_;
};

}  // namespace tessera
