// SPDX-License-Identifier: Apache-2.0
#include "data/json_samples.h"

#include <algorithm>

#include "data/token_sampler.h"
#include "files/json.h"
#include "files/mapped_file.h"

namespace tessera {
namespace {

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
  const std::string wrong = parse_json(
      {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, kMaxDepth, json);
  if (!wrong.empty()) refuse(path, "it {}", wrong);
  const Json* tokens = json.find("tokens");
  if (!tokens || tokens->items().empty()) refuse(path, "it has no rows of tokens");
  return json;
}

struct Bounds {
  const std::filesystem::path& path;
  const char* what;
  int64_t lowest, below;
};

std::vector<int32_t> read_row(const Json& json, size_t row, const Bounds& bounds) {
  if (json.items().empty())
    refuse(bounds.path, "row {} of {} is not a list of numbers", row, bounds.what);
  std::vector<int32_t> numbers;
  for (const Json& item : json.items()) {
    const bool huge = item.number().value_or(0) >= 0x1p63;  // a whole number all the same
    if (!item.integer() && !huge) refuse(bounds.path, "{} has {}", bounds.what, item.dump());
    const int64_t number = item.integer().value_or(bounds.below);
    if (number < bounds.lowest || number >= bounds.below)
      refuse(bounds.path, "row {} of {} has {}, but the model has a vocabulary of {}", row,
             bounds.what, item.dump(), bounds.below);
    numbers.push_back(static_cast<int32_t>(std::max<int64_t>(number, kIgnoredLabel)));
  }
  return numbers;
}

// The first window is always kept, so that every row is a sample.
void add_windows(const RowSamples::Row& row, int64_t seq, std::vector<RowSamples::Row>& rows) {
  const auto length = static_cast<int64_t>(row.tokens.size());
  for (int64_t begin = 0; begin < length; begin += seq) {
    const int64_t end = std::min(length, begin + seq);
    RowSamples::Row window{.tokens = {row.tokens.begin() + begin, row.tokens.begin() + end},
                           .labels = {row.labels.begin() + begin, row.labels.begin() + end}};
    const bool labelled =
        std::ranges::any_of(window.labels, [](int32_t label) { return label != kIgnoredLabel; });
    if (begin == 0 || labelled) rows.push_back(std::move(window));
  }
}

}  // namespace

RowSamples json_samples(const std::filesystem::path& path, int64_t vocabulary, int64_t seq) {
  const Json json = read(path);
  const std::span<const Json> tokens = json.find("tokens")->items();
  const Json* labels = json.find("labels");
  if (labels && labels->items().size() != tokens.size())
    refuse(path, "labels do not have as many rows as tokens, {}", tokens.size());
  std::vector<RowSamples::Row> rows;
  size_t longest = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    RowSamples::Row row{.tokens = read_row(tokens[i], i, {path, "tokens", 0, vocabulary}),
                        .labels = {}};
    if (labels) {
      row.labels = read_row(labels->items()[i], i, {path, "labels", INT32_MIN, vocabulary});
    } else {
      row.labels.assign(row.tokens.begin() + 1, row.tokens.end());
      row.labels.push_back(kIgnoredLabel);
    }
    if (row.labels.size() != row.tokens.size())
      refuse(path, "row {} has {} tokens and {} labels", i, row.tokens.size(), row.labels.size());
    longest = std::max(longest, row.tokens.size());
    if (seq > 0)
      add_windows(row, seq, rows);
    else
      rows.push_back(std::move(row));
  }
  return {std::move(rows), seq > 0 ? seq : static_cast<int64_t>(longest)};
}

}  // namespace tessera
