// SPDX-License-Identifier: Apache-2.0
#include "comm/texts.h"

#include <limits>

#include "core/error.h"

namespace tessera {
namespace {

// Texts travel as words.
std::vector<int32_t> words_for(int32_t bytes) {
  return std::vector<int32_t>((static_cast<size_t>(bytes) + 3) / 4, 0);
}

Collective of_words(CollectiveKind kind, std::vector<int32_t>& words, bool input, bool output) {
  const Parts parts = contiguous_parts(std::ssize(words));
  auto* data = reinterpret_cast<std::byte*>(words.data());
  Collective collective{.kind = kind, .dtype = DType::Int32, .name = "texts"};
  if (input) {
    collective.input = data;
    collective.input_parts = parts;
  }
  if (output) {
    collective.output = data;
    collective.output_parts = parts;
  }
  return collective;
}

int32_t length_of(const std::string& text) {
  TESSERA_CHECK(text.size() <= std::numeric_limits<int32_t>::max(), "{} bytes", text.size());
  return static_cast<int32_t>(text.size());
}

std::string text_of(const std::vector<int32_t>& words, int32_t bytes) {
  return {reinterpret_cast<const char*>(words.data()), static_cast<size_t>(bytes)};
}

}  // namespace

std::vector<std::string> gather_strings(Communicator& group, std::string mine) {
  const auto members = static_cast<size_t>(group.size()), own = static_cast<size_t>(group.rank());
  std::vector<int32_t> lengths(members, 0);
  lengths[own] = length_of(mine);
  group.run(of_words(CollectiveKind::AllReduce, lengths, true, true));
  std::vector<std::string> texts(own == 0 ? members : 0);
  for (size_t from = 1; from < members; ++from) {
    if (own != 0 && own != from) continue;
    std::vector<int32_t> words = words_for(lengths[from]);
    if (own == from) mine.copy(reinterpret_cast<char*>(words.data()), mine.size());
    Collective move =
        of_words(own == 0 ? CollectiveKind::Recv : CollectiveKind::Send, words, own != 0, own == 0);
    move.root = own == 0 ? static_cast<int>(from) : 0;
    group.run(move);
    if (own == 0) texts[from] = text_of(words, lengths[from]);
  }
  if (own == 0) texts[0] = std::move(mine);
  return texts;
}

std::string broadcast_string(Communicator& group, std::string of_first) {
  std::vector<int32_t> length{group.rank() == 0 ? length_of(of_first) : 0};
  group.run(of_words(CollectiveKind::Broadcast, length, true, true));
  std::vector<int32_t> words = words_for(length[0]);
  if (group.rank() == 0) of_first.copy(reinterpret_cast<char*>(words.data()), of_first.size());
  if (!words.empty()) group.run(of_words(CollectiveKind::Broadcast, words, true, true));
  return text_of(words, length[0]);
}

}  // namespace tessera
