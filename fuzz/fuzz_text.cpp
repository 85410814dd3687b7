// SPDX-License-Identifier: Apache-2.0
// Any bytes as a text file, packed or not. What opens as text reads the same whole, in pieces and
// line by line, and its lines are documents or are refused.
#include "files/text_file.h"
#include "files/text_reader.h"
#include "fuzz_input.h"
#include "tokenizer/text_pieces.h"

namespace {

using namespace tessera;

constexpr size_t kMost = 1 << 18;  // a few bytes can unpack to any number

// Nothing where there is more.
std::optional<std::string> whole_text(const std::filesystem::path& path) {
  TextReader reader(path);
  std::string text(kMost, '\0');
  size_t filled = 0;
  while (const size_t count = reader.read(std::span(text).subspan(filled))) filled += count;
  if (filled == kMost) return std::nullopt;
  text.resize(filled);
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const InputFolder folder;
  const auto path = folder.write("input.jsonl", text_of(data, size));
  may_refuse([&] {
    const std::optional<std::string> text = whole_text(path);
    if (!text) return;
    TextReader reader(path);
    std::string joined;
    while (const auto line = reader.line()) {
      must(reader.line_begin() == static_cast<int64_t>(joined.size()), "a line begins there");
      joined.append(*line);
      if (reader.text_position() > static_cast<int64_t>(joined.size())) joined += '\n';
    }
    must(joined == *text, "the lines are the text");
    must(reader.file_position() == static_cast<int64_t>(size), "the file is read to its end");
    TextReader again(path);
    TextPieces pieces([&](std::span<char> to) { return again.read(to.first(997)); }, 30);
    std::string piece, all;
    for (bool ends = false; !ends; all += piece) ends = pieces.next(piece);
    must(all == *text, "the pieces are the text");
    const std::string field = "text";
    read_jsonl(*text, {path, field}, 0, [&](const std::string& document) {
      must(document.size() <= text->size(), "a document is not longer than its line");
    });
  });
  return 0;
}
