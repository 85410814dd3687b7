// SPDX-License-Identifier: Apache-2.0
#include "train/data/json_samples.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

#include "files/bounded_json.h"
#include "files/mapped_file.h"
#include "train/data/token_sampler.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 3;  // file, rows, row

template <typename... Args>
[[noreturn]] void refuse(const std::filesystem::path& path, fmt::format_string<Args...> format,
                         Args&&... args) {
  throw user_error("{}: {}", path.string(), fmt::format(format, std::forward<Args>(args)...))
      .help(R"(write {"tokens": [[5, 9, 2], ...], "labels": [[9, 2, -1], ...]})");
}

Json read(const std::filesystem::path& path) {
  const MappedFile file(path);
  Json json;
  const std::string wrong = parse_bounded_json(
      {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, kMaxDepth, json);
  if (!wrong.empty()) refuse(path, "it {}", wrong);
  if (!json.is_object() || !json.contains("tokens") || !json["tokens"].is_array() ||
      json["tokens"].empty())
    refuse(path, "it has no rows of tokens");
  return json;
}

struct Bounds {
  const std::filesystem::path& path;
  const char* what;
  int64_t lowest, below;
};

std::vector<int32_t> read_row(const Json& json, size_t row, const Bounds& bounds) {
  if (!json.is_array() || json.empty())
    refuse(bounds.path, "row {} of {} is not a list of numbers", row, bounds.what);
  std::vector<int32_t> numbers;
  for (const Json& item : json) {
    if (!item.is_number_integer()) refuse(bounds.path, "{} has {}", bounds.what, item.dump());
    const int64_t number = item.is_number_unsigned() && item.get<uint64_t>() > uint64_t{INT64_MAX}
                               ? bounds.below
                               : item.get<int64_t>();
    if (number < bounds.lowest || number >= bounds.below)
      refuse(bounds.path, "row {} of {} has {}, the model a vocabulary of {}", row, bounds.what,
             item.dump(), bounds.below);
    numbers.push_back(static_cast<int32_t>(std::max<int64_t>(number, kIgnoredLabel)));
  }
  return numbers;
}

}  // namespace

JsonSamples::JsonSamples(const std::filesystem::path& path, int64_t vocabulary) {
  const Json json = read(path);
  const Json& tokens = json["tokens"];
  const bool labelled = json.contains("labels");
  if (labelled && (!json["labels"].is_array() || json["labels"].size() != tokens.size()))
    refuse(path, "labels are not as many rows as the {} of tokens", tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    Row row{.tokens = read_row(tokens[i], i, {path, "tokens", 0, vocabulary}), .labels = {}};
    if (labelled) {
      row.labels = read_row(json["labels"][i], i, {path, "labels", INT32_MIN, vocabulary});
    } else {
      row.labels.assign(row.tokens.begin() + 1, row.tokens.end());
      row.labels.push_back(kIgnoredLabel);
    }
    if (row.labels.size() != row.tokens.size())
      refuse(path, "row {} has {} tokens and {} labels", i, row.tokens.size(), row.labels.size());
    seq_ = std::max(seq_, static_cast<int64_t>(row.tokens.size()));
    rows_.push_back(std::move(row));
  }
  for (const char* name : {"tokens", "labels", "positions", "document"})
    fields_.push_back({.name = name, .dtype = DType::Int32, .elements = seq_});
}

void JsonSamples::fill(int64_t sample_index, Batch& batch, int64_t row) const {
  const Row& from = rows_[static_cast<size_t>(sample_index % samples())];
  const auto put = [&](size_t field, const std::vector<int32_t>& values, int32_t filler) {
    const auto to = batch.row<int32_t>(field, row);
    std::fill(std::copy(values.begin(), values.end(), to.begin()), to.end(), filler);
  };
  put(0, from.tokens, 0);
  put(1, from.labels, kIgnoredLabel);
  const auto positions = batch.row<int32_t>(2, row);
  std::iota(positions.begin(), positions.end(), 0);
  put(3, {}, 0);
}

}  // namespace tessera
