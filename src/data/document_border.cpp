// SPDX-License-Identifier: Apache-2.0
#include "data/document_border.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.h"
#include "data/token_sampler.h"

namespace tessera {

DocumentBorder::DocumentBorder(std::unique_ptr<TokenSource> source, double held_out, int64_t seq)
    : source_(std::move(source)) {
  constexpr int64_t kLookTokens = 1 << 16;
  const int64_t all = source_->num_tokens();
  std::vector<int32_t> tokens;
  std::vector<uint8_t> opens;
  const int64_t from = std::max<int64_t>(0, all - held_out_tokens(all, held_out, seq));
  for (int64_t at = from; at < all; at += kLookTokens) {
    tokens.resize(static_cast<size_t>(std::min(kLookTokens, all - at)));
    opens.resize(tokens.size());
    source_->read(at, tokens, opens);
    const auto first = std::find(opens.begin(), opens.end(), uint8_t{1});
    if (first == opens.end()) continue;
    border_ = at + (first - opens.begin());
    return;
  }
  throw user_error("no document begins among the last {} tokens", all - from)
      .at("data.split")
      .help(
          "hold out more (data.held_out), say which token ends documents (data.document_end), or "
          "use data.split=tokens");
}

}  // namespace tessera
