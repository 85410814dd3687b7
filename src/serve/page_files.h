// SPDX-License-Identifier: Apache-2.0
// The files of the page: compiled into the binary, or read from a folder while one writes them.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "serve/page_service.h"

namespace tessera {

struct EmbeddedFile {
  std::string_view path, bytes;  // "index.html"
};

// All files of web/, by name; the build writes the table.
std::span<const EmbeddedFile> embedded_files();

// "/" is index.html.
std::optional<PageFile> find_embedded_file(std::string_view path);

// The files that a folder has when they are asked for. A UserError where there is no such folder.
std::function<std::optional<PageFile>(std::string_view path)> files_of_folder(
    const std::filesystem::path& folder);

// The media type that a name's ending stands for; nothing where a page has no such files.
std::optional<std::string_view> media_type(std::string_view name);

}  // namespace tessera
