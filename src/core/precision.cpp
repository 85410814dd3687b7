// SPDX-License-Identifier: Apache-2.0
#include "core/precision.h"

namespace tessera {
namespace {

struct Special {
  std::string_view name;
  bool pure, fp8;
};
constexpr Special kSpecial[] = {
    {"pure_bf16", true, false}, {"fp8", false, true}, {"pure_fp8", true, true}};

}  // namespace

std::string name(Precision precision) {
  for (const Special& special : kSpecial)
    if (precision.pure == special.pure && precision.fp8 == special.fp8)
      return std::string(special.name);
  return std::string(name(precision.compute));
}

std::optional<Precision> precision_from_name(std::string_view text) {
  for (const Special& special : kSpecial)
    if (text == special.name) return Precision(DType::Bf16, special.pure, special.fp8);
  const auto dtype = dtype_from_name(text);
  if (!dtype || !is_float(*dtype)) return {};
  return *dtype;
}

}  // namespace tessera
