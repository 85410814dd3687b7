// SPDX-License-Identifier: Apache-2.0
#include "inference/text_samples.h"

#include <algorithm>

#include "core/error.h"
#include "data/text_documents.h"

namespace tessera {

RowSamples text_samples(const std::string& text, const std::string& field, const TokenText& words,
                        int64_t seq) {
  std::vector<RowSamples::Row> rows;
  const TextDocuments documents(text, field);
  for (const std::string_view document : documents.all()) {
    const std::vector<int32_t> tokens = words.encode(document);
    // Rows share a token: the last label of one is the first that the next one reads.
    for (auto begin = tokens.begin(); tokens.end() - begin > 1;) {
      const auto end = begin + std::min<int64_t>(seq, tokens.end() - begin - 1);
      rows.push_back({.tokens = {begin, end}, .labels = {begin + 1, end + 1}});
      begin = end;
    }
  }
  if (rows.empty())
    throw user_error("{} is one token: there is none to follow it", text)
        .help("give a longer text");
  return {std::move(rows), seq};
}

int64_t label_bytes(const RowSamples& samples, int64_t rows, const TokenText& words) {
  size_t bytes = 0;
  for (int64_t i = 0; i < rows; ++i)
    for (const int32_t label : samples.rows()[static_cast<size_t>(i)].labels)
      bytes += words.show(label).size();
  return static_cast<int64_t>(bytes);
}

}  // namespace tessera
