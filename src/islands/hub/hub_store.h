// SPDX-License-Identifier: Apache-2.0
// The hub's outer state on disk, so that the hub can be ended in any way and started again. A
// fragment is a file of its own, under a new name whenever it changes; state.json, which appears
// whole or not at all, says which files count, with their digests.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "islands/island_link.h"

namespace tessera {

// What of the hub outlives its process, beside the outer state.
struct HubState {
  std::string life = {};  // of the run: drawn when the first island founded it
  std::map<std::string, std::string> settings = {};
  std::vector<int64_t> rounds = {};           // by fragment, the last that was applied; -1: none
  std::vector<CombinedChange> combined = {};  // by fragment, that of this round
  std::vector<int> members = {};
};

struct StoredBlob {
  std::string name = {}, digest = {};
  int64_t bytes = 0;
};
struct StoredFragment {
  StoredBlob parameters = {}, momentum = {}, combined = {};
  int64_t round = -1;
  std::vector<int64_t> islands = {};  // of the combined change
};

class HubStore {
 public:
  // `before_save` is called by the thread that saves, for tests.
  explicit HubStore(std::filesystem::path folder, std::function<void()> before_save = {});

  // Nothing where the folder has none. A UserError where it is damaged.
  std::optional<std::pair<HubState, OuterSnapshot>> load();
  // These fragments; the others are as they were saved. None: all of them.
  void save(const HubState& state, const OuterSnapshot& outer, const std::vector<int>& fragments);

 private:
  StoredBlob write_blob(const std::string& name, const std::vector<std::byte>& bytes) const;
  std::vector<std::byte> read_blob(const StoredBlob& blob) const;
  void write_fragment(const HubState& state, const OuterSnapshot& outer, int fragment);
  void write_manifest(const HubState& state, const OuterSnapshot& outer) const;
  void remove_others() const;

  std::filesystem::path folder_;
  std::function<void()> before_save_;
  std::vector<StoredFragment> fragments_;
};

}  // namespace tessera
