// SPDX-License-Identifier: Apache-2.0
#include "data/chat_format.h"

#include "chat/chat_files.h"
#include "core/error.h"
#include "tokenizer/tokenizer_file.h"

namespace tessera {
namespace {

std::filesystem::path folder_of_tokenizer(const DataConfig& data) {
  if (data.tokenizer.empty()) return {};
  const std::filesystem::path folder = tokenizer_file_of(data.tokenizer).parent_path();
  return folder.empty() ? "." : folder;
}

std::string trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(' ') - begin + 1));
}

}  // namespace

ChatFormat open_chat_format(const DataConfig& data) {
  std::optional<Tokenizer> tokenizer;
  if (!data.tokenizer.empty()) tokenizer.emplace(read_tokenizer(data.tokenizer));
  ChatTemplate chat = read_chat_template(folder_of_tokenizer(data),
                                         tokenizer ? &*tokenizer : nullptr, data.chat_template);
  return {.tokenizer = std::move(tokenizer), .chat = std::move(chat)};
}

std::set<std::string> chat_roles_of(const DataConfig& data) {
  std::set<std::string> roles;
  for (std::string_view rest = data.chat_roles; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    if (std::string role = trimmed(rest.substr(0, comma)); !role.empty())
      roles.insert(std::move(role));
    rest.remove_prefix(std::min(rest.size(), comma + 1));
  }
  if (roles.empty())
    throw user_error("data.chat_roles names no role")
        .at("data.chat_roles")
        .help("name whose turns are learned, such as assistant");
  return roles;
}

}  // namespace tessera
