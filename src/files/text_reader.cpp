// SPDX-License-Identifier: Apache-2.0
#include "files/text_reader.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "files/text_file.h"

namespace tessera {
namespace {

constexpr size_t kReaderBlock = 1 << 18;

}  // namespace

TextReader::TextReader(std::filesystem::path path)
    : path_(std::move(path)), file_(open_unpacked(path_)) {
  while (buffer_.size() < kTextLook && fill()) {
  }
  require_text(std::as_bytes(std::span(buffer_)), path_);
}

bool TextReader::fill() {
  if (ended_) return false;
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  const size_t old = buffer_.size();
  buffer_.resize(old + kReaderBlock);
  const size_t count = file_->read(std::as_writable_bytes(std::span(buffer_).subspan(old)));
  buffer_.resize(old + count);
  ended_ = count == 0;
  return !ended_;
}

size_t TextReader::read(std::span<char> to) {
  size_t count = std::min(to.size(), buffer_.size() - begin_);
  if (count > 0)
    std::copy_n(buffer_.data() + begin_, count, to.data());
  else if (!ended_)
    ended_ = !to.empty() && (count = file_->read(std::as_writable_bytes(to))) == 0;
  begin_ = std::min(begin_ + count, buffer_.size());
  text_position_ += static_cast<int64_t>(count);
  return count;
}

std::optional<std::string_view> TextReader::line() {
  size_t searched = 0, end;
  while ((end = buffer_.find('\n', begin_ + searched)) == std::string::npos) {
    searched = buffer_.size() - begin_;
    if (searched > kLongestLine)
      throw user_error("line {} of {} has more than {} bytes", lines_ + 1, path_.string(),
                       kLongestLine)
          .help("split it: a line is one document, and is held in memory");
    if (!fill()) break;
  }
  const bool last = end == std::string::npos;
  if (last) end = buffer_.size();
  if (last && end == begin_) return std::nullopt;
  const std::string_view line(buffer_.data() + begin_, end - begin_);
  begin_ = end + (last ? 0 : 1);
  ++lines_;
  line_begin_ = text_position_;
  text_position_ += static_cast<int64_t>(line.size()) + (last ? 0 : 1);
  return line;
}

}  // namespace tessera
