// SPDX-License-Identifier: Apache-2.0
#include "huggingface/tokenizer_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "chat/chat_files.h"
#include "core/error.h"
#include "files/atomic_file.h"
#include "files/json.h"
#include "files/text_file.h"

namespace tessera {
namespace {

constexpr int kTokenizerDepth = 64;

// The folder itself. In a Hugging Face cache a snapshot is a folder of links to blobs next to the
// snapshots.
std::filesystem::path tree_around(const std::filesystem::path& folder) {
  const std::filesystem::path whole = std::filesystem::canonical(folder);
  const std::filesystem::path around = whole.parent_path();
  return around.filename() == "snapshots" ? around.parent_path() : whole;
}

void require_inside(const std::filesystem::path& file, const std::filesystem::path& folder) {
  const std::filesystem::path target = std::filesystem::canonical(file), tree = tree_around(folder);
  if (std::mismatch(tree.begin(), tree.end(), target.begin(), target.end()).first == tree.end())
    return;
  throw user_error("{} is a link that leads out of the model's folder", file.string())
      .help("if it belongs to the model, put a copy of the file in place of the link");
}

// Two words per line, after a first line that may name the version.
bool is_list_of_merges(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const bool merge = std::ranges::count(line, ' ') == 1 && line.front() != ' ' &&
                       line.back() != ' ' && line.back() != '\r';
    if (!line.empty() && !merge && !line.starts_with("#version")) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

void require_kind(const MappedFile& file) {
  if (file.path().extension() == ".jinja") return require_text(file.bytes(), file.path());
  const std::string_view text{reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size()};
  const bool merges = file.path().extension() == ".txt";
  Json json;
  const std::string wrong = !merges ? parse_json(text, kTokenizerDepth, json)
                            : is_list_of_merges(text)
                                ? ""
                                : "is not a list of merges, two words per line";
  if (!wrong.empty())
    throw user_error("{} {}", file.path().string(), wrong)
        .help("it would be copied with the model: repair it or remove it");
}

}  // namespace

TokenizerFiles::TokenizerFiles(const std::filesystem::path& folder) {
  for (const char* name :
       {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.json",
        "merges.txt", "generation_config.json", kChatTemplateFile}) {
    if (!std::filesystem::exists(folder / name)) continue;
    require_inside(folder / name, folder);
    files_.emplace_back(name, folder / name);
    require_kind(files_.back().second);
  }
}

std::vector<std::string> TokenizerFiles::copy_to(const std::filesystem::path& to) const {
  std::vector<std::string> copied;
  for (const auto& [name, file] : files_) {
    if (std::filesystem::exists(to / name)) continue;
    AtomicFile copy(to / name, static_cast<int64_t>(file.bytes().size()));
    copy.write(file.bytes());
    copy.commit();
    copied.push_back(name);
  }
  return copied;
}

std::filesystem::path tokenizer_folder(const std::filesystem::path& checkpoint) {
  const std::filesystem::path whole = std::filesystem::absolute(checkpoint).lexically_normal();
  if (!std::filesystem::is_directory(whole)) return whole.parent_path();
  const std::filesystem::path around = whole.parent_path();
  return around.filename() == "checkpoints" ? around.parent_path() : whole;
}

}  // namespace tessera
