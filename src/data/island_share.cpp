// SPDX-License-Identifier: Apache-2.0
#include "data/island_share.h"

namespace tessera {
namespace {

class ShareSource : public SampleSource {
 public:
  ShareSource(const SampleSource& whole, const IslandShare& share)
      : whole_(whole),
        own_(share.batch / share.microbatches / share.islands),
        microbatch_(share.batch / share.microbatches),
        begin_(share.index * own_) {
    TESSERA_CHECK(own_ * share.islands * share.microbatches == share.batch, "{} of {}",
                  share.islands, share.batch);
  }

  std::span<const InputField> fields() const override { return whole_.fields(); }

  // Microbatches of all islands follow each other, whatever step they are of.
  void fill(int64_t sample_index, Batch& batch, int64_t row) const override {
    whole_.fill(sample_index / own_ * microbatch_ + begin_ + sample_index % own_, batch, row);
  }

 private:
  const SampleSource& whole_;
  int64_t own_, microbatch_;  // samples of a microbatch: this island's, and all
  int64_t begin_;             // within a microbatch of all
};

}  // namespace

std::unique_ptr<SampleSource> share_of_island(const SampleSource& whole, const IslandShare& share) {
  return std::make_unique<ShareSource>(whole, share);
}

}  // namespace tessera
