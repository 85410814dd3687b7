// SPDX-License-Identifier: Apache-2.0
#include "models/family.h"

#include <vector>

#include "core/choices.h"

namespace tessera {
namespace {

// Of those that a config can name.
template <typename Fits>
std::string list(Fits&& fits) {
  std::vector<std::string> names;
  for (const FamilyRow& row : kFamilies)
    if (!row.is_own && fits(row)) names.emplace_back(row.name);
  return join_choices(names);
}

}  // namespace

std::string families_with(bool FamilyRow::*what) {
  return list([&](const FamilyRow& row) { return row.*what; });
}

std::string all_families() {
  return list([](const FamilyRow&) { return true; });
}

}  // namespace tessera
