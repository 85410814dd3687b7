// SPDX-License-Identifier: Apache-2.0
// The outer state that a run begins with, while the island that founds it sends it to the hub.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "islands/hub/island_settings.h"
#include "islands/hub/transfer.h"
#include "islands/island_link.h"

namespace tessera {

class FirstState {
 public:
  // Of a hello whose settings and sizes have been looked at.
  explicit FirstState(const Message& hello);

  int64_t island() const { return island_; }
  const std::map<std::string, std::string>& settings() const { return settings_; }
  const std::vector<int64_t>& state_bytes() const { return state_bytes_; }

  // A UserError where it is none of its pieces.
  void add(const Message& piece);
  bool has_all() const;
  // A UserError where its digest is not what the hello said.
  OuterSnapshot take();

 private:
  int64_t island_;
  ExchangeId next_;
  std::string digest_;
  std::map<std::string, std::string> settings_;
  std::vector<int64_t> state_bytes_;
  std::vector<BlobKind> kinds_;
  std::map<std::pair<BlobKind, int64_t>, IncomingBlob> blobs_;
};

// Of a whole state; that of two states is equal where they are.
std::string digest_of(const OuterSnapshot& outer);

}  // namespace tessera
