// SPDX-License-Identifier: Apache-2.0
#include "data/mixture.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/random.h"

namespace tessera {
namespace {

constexpr int64_t kBlock = 10'000;

}  // namespace

std::vector<int64_t> shares_of(std::span<const double> weights) {
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<int64_t> shares;
  std::vector<std::pair<double, size_t>> rests;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double exact = weights[i] / all * kBlock;
    shares.push_back(static_cast<int64_t>(exact));
    rests.emplace_back(static_cast<double>(shares[i]) - exact, i);
  }
  // Rounds down; the remainder goes to those that lost most by rounding, the first of equals.
  std::sort(rests.begin(), rests.end());
  int64_t left = kBlock - std::accumulate(shares.begin(), shares.end(), int64_t{0});
  for (size_t i = 0; i < rests.size() && left > 0; ++i, --left) ++shares[rests[i].second];
  return shares;
}

Mixture::Mixture(std::vector<std::unique_ptr<SampleSource>> sources,
                 std::span<const double> weights, uint64_t seed)
    : sources_(std::move(sources)), ends_(shares_of(weights)), seed_(seed) {
  TESSERA_CHECK(!sources_.empty() && sources_.size() == weights.size());
  std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
}

Mixture::Place Mixture::place_of(int64_t sample_index) const {
  const int64_t block = sample_index / kBlock;
  const RandomStream blocks(seed_, "mixture");
  const RandomStream keys(blocks.bits(static_cast<uint64_t>(block)), "block");
  const auto element =
      static_cast<int64_t>(Permutation(kBlock, keys)(static_cast<uint64_t>(sample_index % kBlock)));
  const auto source =
      static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), element) - ends_.begin());
  const int64_t begin = source == 0 ? 0 : ends_[source - 1], share = ends_[source] - begin;
  return {source, block * share + element - begin};
}

void Mixture::fill(int64_t sample_index, Batch& batch, int64_t row) const {
  const Place place = place_of(sample_index);
  sources_[place.source]->fill(place.sample, batch, row);
}

}  // namespace tessera
