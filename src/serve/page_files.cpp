// SPDX-License-Identifier: Apache-2.0
#include "serve/page_files.h"

#include <fmt/format.h>

#include <array>
#include <memory>

#include "files/closed_folder.h"
#include "files/digest.h"

namespace tessera {
namespace {

constexpr int64_t kMostFileBytes = 16 << 20;

// The name below the folder of the page; nothing where no file of it could have that name.
std::optional<std::string> name_of(std::string_view path) {
  if (path == "/") return "index.html";
  if (!path.starts_with('/')) return {};
  const std::string name(path.substr(1));
  const bool plain = name.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") ==
                     std::string::npos;
  const bool hidden = name.starts_with('.') || name.find("/.") != std::string::npos;
  const bool whole = !name.empty() && !name.starts_with('/') && !name.ends_with('/') &&
                     name.find("//") == std::string::npos;
  return plain && whole && !hidden ? std::optional(name) : std::nullopt;
}

PageFile page_file(std::string_view type, std::string bytes) {
  const std::string digest = digest_of(std::as_bytes(std::span(bytes)));
  return {
      .type = std::string(type), .bytes = std::move(bytes), .etag = fmt::format("\"{}\"", digest)};
}

}  // namespace

std::optional<std::string_view> media_type(std::string_view name) {
  constexpr auto types = std::to_array<std::pair<std::string_view, std::string_view>>({
      {".html", "text/html; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".json", "application/json"},
      {".svg", "image/svg+xml"},
      {".png", "image/png"},
      {".wasm", "application/wasm"},
  });
  for (const auto& [ending, type] : types)
    if (name.ends_with(ending)) return type;
  return {};
}

std::optional<PageFile> find_embedded_file(std::string_view path) {
  const std::optional<std::string> name = name_of(path);
  if (!name) return {};
  for (const EmbeddedFile& file : embedded_files())
    if (file.path == *name) return page_file(media_type(*name).value(), std::string(file.bytes));
  return {};
}

std::function<std::optional<PageFile>(std::string_view path)> files_of_folder(
    const std::filesystem::path& folder) {
  return [closed = std::make_shared<const ClosedFolder>(folder)](
             std::string_view path) -> std::optional<PageFile> {
    const std::optional<std::string> name = name_of(path);
    const auto type = name ? media_type(*name) : std::nullopt;
    if (!type) return {};
    std::optional<std::string> bytes = closed->read(*name, 0, kMostFileBytes);
    if (!bytes) return {};
    return page_file(*type, std::move(*bytes));
  };
}

}  // namespace tessera
