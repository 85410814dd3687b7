// SPDX-License-Identifier: Apache-2.0
// Words of other programs for keys and values of ours: what `lr`, `bfloat16` or `full` mean here.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tessera {

// The one of `choices` that a key's value stands for, in our spelling: "bf16" of "BFloat16". The
// text itself where it stands for none. A UserError where others have it and we do not (float16).
std::string our_value(std::string_view key, std::span<const std::string_view> choices,
                      const std::string& text);

// The key that one of another program stands for: "train.learning_rate" of "train.lr" or of "lr";
// empty: none is known.
std::string our_key(std::string_view key);

}  // namespace tessera
