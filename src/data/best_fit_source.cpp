// SPDX-License-Identifier: Apache-2.0
#include "data/best_fit_source.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "data/token_sampler.h"

namespace tessera {
namespace {

constexpr int64_t kChunk = 1 << 16;  // tokens read at a time

}  // namespace

BestFitSource::BestFitSource(std::unique_ptr<TokenSource> source, int64_t seq, double held_out)
    : source_(std::move(source)), seq_(seq) {
  std::vector<Piece> pieces = find_pieces();
  const int64_t all = source_->num_tokens();
  const std::optional<int64_t> own_border = source_->held_out_begin();
  const int64_t border = own_border ? *own_border : all - held_out_tokens(all, held_out, seq);
  const auto last = std::partition_point(pieces.begin(), pieces.end(),
                                         [&](const Piece& piece) { return piece.begin < border; });
  pack({pieces.begin(), last});
  if (held_out > 0 || own_border) held_out_begin_ = static_cast<int64_t>(windows_.size()) * seq;
  pack({last, pieces.end()});
}

std::vector<BestFitSource::Piece> BestFitSource::find_pieces() const {
  std::vector<Piece> pieces;
  std::vector<int32_t> tokens(kChunk);
  std::vector<uint8_t> opens(kChunk);
  const int64_t all = source_->num_tokens();
  for (int64_t begin = 0; begin < all; begin += kChunk) {
    const auto count = static_cast<size_t>(std::min(kChunk, all - begin));
    source_->read(begin, std::span(tokens).first(count), std::span(opens).first(count));
    for (size_t i = 0; i < count; ++i) {
      const bool opened = opens[i] != 0 || pieces.empty() || pieces.back().length == seq_;
      if (opened) pieces.push_back({begin + static_cast<int64_t>(i), 0});
      ++pieces.back().length;
    }
  }
  return pieces;
}

void BestFitSource::pack(std::span<Piece> pieces) {
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.length > b.length; });
  std::map<int64_t, std::vector<size_t>> by_room;  // windows that have some
  for (const Piece& piece : pieces) {
    const auto fullest = by_room.lower_bound(piece.length);
    size_t window = windows_.size();
    int64_t room = seq_;
    if (fullest == by_room.end()) {
      windows_.emplace_back();
    } else {
      room = fullest->first;
      window = fullest->second.back();
      fullest->second.pop_back();
      if (fullest->second.empty()) by_room.erase(fullest);
    }
    windows_[window].push_back(piece);
    if (room > piece.length) by_room[room - piece.length].push_back(window);
  }
}

int64_t BestFitSource::num_tokens() const {
  return static_cast<int64_t>(windows_.size()) * seq_ + 1;
}

template <typename F>
void BestFitSource::for_each_stretch(int64_t begin, int64_t end, F f) const {
  TESSERA_CHECK(begin >= 0 && end <= num_tokens(), "tokens {} to {} of {}", begin, end,
                num_tokens());
  const auto windows = static_cast<int64_t>(windows_.size());
  for (int64_t window = begin / seq_; window < windows && window * seq_ < end; ++window) {
    int64_t at = window * seq_;
    for (const Piece& piece : windows_[static_cast<size_t>(window)]) {
      const int64_t from = std::max(at, begin), to = std::min(at + piece.length, end);
      if (from < to)
        f(Stretch{.at = from,
                  .in_source = piece.begin + from - at,
                  .length = to - from,
                  .opens = from == at});
      at += piece.length;
    }
  }
}

void BestFitSource::read(int64_t begin, std::span<int32_t> tokens,
                         std::span<uint8_t> opens_document) const {
  std::ranges::fill(tokens, 0);
  std::ranges::fill(opens_document, uint8_t{1});
  const int64_t end = begin + static_cast<int64_t>(tokens.size());
  for_each_stretch(begin, end, [&](const Stretch& stretch) {
    const auto at = static_cast<size_t>(stretch.at - begin);
    const auto length = static_cast<size_t>(stretch.length);
    source_->read(stretch.in_source, tokens.subspan(at, length), {});
    if (opens_document.empty()) return;
    std::ranges::fill(opens_document.subspan(at, length), uint8_t{0});
    opens_document[at] = stretch.opens ? 1 : 0;
  });
}

void BestFitSource::read_learned(int64_t begin, std::span<uint8_t> learned) const {
  std::ranges::fill(learned, uint8_t{0});
  const int64_t end = begin + static_cast<int64_t>(learned.size());
  for_each_stretch(begin, end, [&](const Stretch& stretch) {
    source_->read_learned(stretch.in_source,
                          learned.subspan(static_cast<size_t>(stretch.at - begin),
                                          static_cast<size_t>(stretch.length)));
  });
}

}  // namespace tessera
