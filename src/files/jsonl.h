// SPDX-License-Identifier: Apache-2.0
// Files of documents, one a line: {"text": "one document"}.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace tessera {

bool is_jsonl(const std::filesystem::path& path);  // by its ending

// Calls with the document of each line that is not empty. `lines` are whole lines of the file at
// `path`, from byte `at` on. A UserError names the byte of a line that is no document.
void read_jsonl(std::string_view lines, const std::filesystem::path& path, int64_t at,
                const std::function<void(std::string document)>& document);

}  // namespace tessera
