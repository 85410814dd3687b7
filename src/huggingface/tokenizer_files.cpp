// SPDX-License-Identifier: Apache-2.0
#include "huggingface/tokenizer_files.h"

#include "files/atomic_file.h"
#include "files/mapped_file.h"

namespace tessera {

std::vector<std::string> copy_tokenizer_files(const std::filesystem::path& from,
                                              const std::filesystem::path& to) {
  std::vector<std::string> copied;
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
                           "vocab.json", "merges.txt", "generation_config.json"}) {
    if (!std::filesystem::exists(from / name) || std::filesystem::exists(to / name)) continue;
    const MappedFile file(from / name);
    AtomicFile copy(to / name, static_cast<int64_t>(file.bytes().size()));
    copy.write(file.bytes());
    copy.commit();
    copied.emplace_back(name);
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
