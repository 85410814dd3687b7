// SPDX-License-Identifier: Apache-2.0
// Text that a config gives with a tokenizer, as sources of tokens that are made ahead of the step.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "config/config.h"
#include "data/token_source.h"

namespace tessera {

// What takes long at the start: which work it is, bytes done, and of all.
using DataProgress = std::function<void(std::string_view work, int64_t done, int64_t all)>;

struct TextTokens {
  std::unique_ptr<TokenSource> train;
  std::unique_ptr<TokenSource> held_out;       // null: not split by document
  DataShuffle shuffle = DataShuffle::Windows;  // what is left to do: windows, blocks or none
  std::string note;                            // for the user: what there is
};

// `split`: whether documents of it are to be held out.
TextTokens open_text_tokens(const std::string& path, const DataConfig& data, bool split,
                            bool best_fit, const DataProgress& progress);

}  // namespace tessera
