// SPDX-License-Identifier: Apache-2.0
#include "core/precision.h"

namespace tessera {
namespace {

constexpr std::string_view kPure = "pure_bf16";

}  // namespace

std::string name(Precision precision) {
  return std::string(precision.pure ? kPure : name(precision.compute));
}

std::optional<Precision> precision_from_name(std::string_view text) {
  if (text == kPure) return Precision(DType::Bf16, true);
  const auto dtype = dtype_from_name(text);
  if (!dtype || !is_float(*dtype)) return {};
  return *dtype;
}

}  // namespace tessera
