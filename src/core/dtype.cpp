// SPDX-License-Identifier: Apache-2.0
#include "core/dtype.h"

#include <array>

namespace tessera {
namespace {

struct Row {
  std::string_view name;
  int64_t size_bytes;
};
constexpr std::array<Row, 6> kRows{
    {{"fp64", 8}, {"fp32", 4}, {"bf16", 2}, {"int32", 4}, {"e4m3", 1}, {"e5m2", 1}}};

const Row& row(DType dtype) { return kRows.at(static_cast<size_t>(dtype)); }

}  // namespace

int64_t size_bytes(DType dtype) { return row(dtype).size_bytes; }

std::string_view name(DType dtype) { return row(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view text) {
  for (size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].name == text) return static_cast<DType>(i);
  return std::nullopt;
}

bool is_float(DType dtype) { return dtype < DType::Int32; }

DType accumulator_of(DType dtype) { return dtype == DType::Bf16 ? DType::Fp32 : dtype; }

}  // namespace tessera
