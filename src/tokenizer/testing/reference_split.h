// SPDX-License-Identifier: Apache-2.0
// For tests: the splitting rules of GPT-2, Llama 3 and Qwen written by hand without regular
// expressions, and byte-pair encoding by its definition. Slow and simple.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

std::vector<std::string> reference_gpt2_split(std::string_view text);
// Llama 3 takes up to three digits at a time, Qwen one.
std::vector<std::string> reference_llama3_split(std::string_view text, size_t max_digits);

using ReferenceRanks = std::map<std::pair<std::string, std::string>, int>;
std::vector<std::string> reference_bpe(std::string_view word, const ReferenceRanks& ranks);

}  // namespace tessera
