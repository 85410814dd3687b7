// SPDX-License-Identifier: Apache-2.0
#include "data/token_text.h"

#include <algorithm>

#include "core/error.h"
#include "core/utf8.h"
#include "files/atomic_file.h"
#include "files/mapped_file.h"
#include "tokenizer/encoder.h"
#include "tokenizer/tokenizer_file.h"

namespace tessera {

std::filesystem::path tokenizer_of_config(const Config& config) {
  if (!config.data.tokenizer.empty()) return config.data.tokenizer;
  std::filesystem::path beside = config.data.path;
  if (beside.extension() != ".bin") return {};
  beside.replace_filename("tokenizer.json");
  std::error_code ignored;
  return std::filesystem::exists(beside, ignored) ? beside : std::filesystem::path();
}

void keep_tokenizer(const std::filesystem::path& tokenizer, const std::filesystem::path& folder) {
  if (tokenizer.empty()) return;
  const MappedFile file(tokenizer_file_of(tokenizer));
  AtomicFile copy(folder / "tokenizer.json");
  copy.write(file.bytes());
  copy.commit();
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const Utf8Character next = first_character(text);
    const bool control = next.code < 32 ? next.code != '\n' && next.code != '\t'
                                        : next.code >= 127 && next.code < 160;
    const size_t bytes = std::max<size_t>(next.bytes, 1);
    if (next.bytes == 0 || control)
      shown += '.';
    else
      shown += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return shown;
}

TokenText::TokenText(const std::filesystem::path& tokenizer, int64_t vocabulary)
    : vocabulary_(vocabulary) {
  if (tokenizer.empty()) return;
  tokenizer_.emplace(read_tokenizer(tokenizer));
  if (tokenizer_->vocabulary_size() > vocabulary)
    throw user_error("the tokenizer has {} tokens, but the model has a vocabulary of {}",
                     tokenizer_->vocabulary_size(), vocabulary)
        .at(tokenizer.string())
        .help(fmt::format("set model.vocabulary={}, or give the tokenizer that the data was "
                          "created with (data.tokenizer)",
                          tokenizer_->vocabulary_size()));
}

std::vector<int32_t> TokenText::encode(std::string_view text) const {
  if (tokenizer_) return Encoder(*tokenizer_).encode(text);
  std::vector<int32_t> bytes;
  for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
  return bytes;
}

std::string TokenText::show(int32_t token) const {
  if (tokenizer_) return std::string(tokenizer_->bytes_of(token));
  return is_text() ? std::string(1, static_cast<char>(token)) : fmt::format("{} ", token);
}

std::vector<int32_t> TokenText::opening() const {
  if (tokenizer_)
    if (const std::optional<int32_t> end = tokenizer_->document_end()) return {*end};
  return encode("\n");
}

std::vector<int32_t> TokenText::before_text() const {
  return tokenizer_ ? tokenizer_->spec().before : std::vector<int32_t>();
}

}  // namespace tessera
