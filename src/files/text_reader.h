// SPDX-License-Identifier: Apache-2.0
// The text of one file from its beginning to its end, unpacked on the way (unpacked_file.h), whole
// or line by line. What is not text is refused (text_file.h). Takes the memory of a line, and of a
// window of the compression, whatever the file claims.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "files/unpacked_file.h"

namespace tessera {

class TextReader {
 public:
  // A UserError where there is no such file, or it is not text.
  explicit TextReader(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }

  // The next bytes, at most as many as there is room for; 0 only at the end.
  size_t read(std::span<char> to);
  // The next line without its newline, valid until the next call; nothing at the end. A line of
  // more than `kLongestLine` bytes is a UserError.
  std::optional<std::string_view> line();
  static constexpr size_t kLongestLine = 256 << 20;

  int64_t line_number() const { return lines_; }            // of the last line, from 1 on
  int64_t line_begin() const { return line_begin_; }        // its first byte in the unpacked text
  int64_t text_position() const { return text_position_; }  // bytes of text given

  // Of the file itself, to show progress by.
  int64_t file_position() const { return file_->position(); }
  int64_t file_bytes() const { return file_->file_bytes(); }

 private:
  bool fill();  // false at the end

  std::filesystem::path path_;
  std::unique_ptr<UnpackedFile> file_;
  std::string buffer_;  // text that has not been given yet begins at begin_
  size_t begin_ = 0;
  bool ended_ = false;
  int64_t lines_ = 0, line_begin_ = 0, text_position_ = 0;
};

}  // namespace tessera
