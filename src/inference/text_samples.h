// SPDX-License-Identifier: Apache-2.0
// The documents of a path (data/text_documents.h) as rows of tokens in their order. Every token of
// a document except its first is a label once; a row does not see earlier rows.
#pragma once

#include <filesystem>

#include "data/row_samples.h"
#include "data/token_text.h"

namespace tessera {

// `field` of the lines of .jsonl files holds the document.
RowSamples text_samples(const std::string& text, const std::string& field, const TokenText& words,
                        int64_t seq);

// Bytes of text of the labels of the first rows.
int64_t label_bytes(const RowSamples& samples, int64_t rows, const TokenText& words);

}  // namespace tessera
