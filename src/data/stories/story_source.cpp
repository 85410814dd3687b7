// SPDX-License-Identifier: Apache-2.0
#include "data/stories/story_source.h"

#include <algorithm>
#include <string>

#include "core/error.h"
#include "data/stories/story_text.h"

namespace tessera {
namespace {

constexpr int64_t kPageBytes = StorySource::kPageBytes;
constexpr uint64_t kStoriesPerPage =
    kPageBytes / kMinStoryBytes + 1;  // an upper bound, to number them

// The bytes [begin, end) of a page go to tokens[0 ..]; stories after `end` are not generated.
void read_page(uint64_t seed, int64_t page, int64_t begin, int64_t end, std::string& text,
               std::span<int32_t> tokens, std::span<uint8_t> opens_document) {
  text.clear();
  uint64_t story = static_cast<uint64_t>(page) * kStoriesPerPage;
  for (int64_t start = 0; start < end; start = static_cast<int64_t>(text.size())) {
    const int64_t left = kPageBytes - start;
    if (left >= kMaxStoryBytes + kMinGoodNightsBytes)
      append_story(seed, story++, text);
    else
      append_good_nights(seed, static_cast<uint64_t>(page), left, text);
    if (start >= begin && !opens_document.empty())
      opens_document[static_cast<size_t>(start - begin)] = 1;
  }
  for (int64_t i = begin; i < end; ++i)
    tokens[static_cast<size_t>(i - begin)] =
        static_cast<unsigned char>(text[static_cast<size_t>(i)]);
}

}  // namespace

StorySource::StorySource(uint64_t seed, int64_t bytes)
    : seed_(seed), num_pages_((bytes + kPageBytes - 1) / kPageBytes) {
  TESSERA_CHECK(bytes > 0);
}

void StorySource::read(int64_t begin, std::span<int32_t> tokens,
                       std::span<uint8_t> opens_document) const {
  const int64_t count = static_cast<int64_t>(tokens.size());
  TESSERA_CHECK(begin >= 0 && begin + count <= num_tokens(), "tokens {} + {} of {}", begin, count,
                num_tokens());
  std::fill(opens_document.begin(), opens_document.end(), uint8_t{0});
  thread_local std::string text;  // keeps its capacity, so that reading allocates only at first
  text.reserve(kPageBytes);
  for (int64_t done = 0; done < count;) {
    const int64_t page = (begin + done) / kPageBytes, offset = (begin + done) % kPageBytes;
    const int64_t here = std::min(kPageBytes - offset, count - done);
    const auto from = static_cast<size_t>(done), size = static_cast<size_t>(here);
    read_page(seed_, page, offset, offset + here, text, tokens.subspan(from, size),
              opens_document.empty() ? opens_document : opens_document.subspan(from, size));
    done += here;
  }
}

}  // namespace tessera
