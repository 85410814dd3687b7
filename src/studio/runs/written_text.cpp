// SPDX-License-Identifier: Apache-2.0
#include "studio/runs/written_text.h"

#include "studio/question_fields.h"

namespace tessera {
namespace {

constexpr int64_t kMostTokens = 4096;
constexpr double kHighestTemperature = 100;

double bounded(const Json& fields, const char* field, double highest, double otherwise) {
  const double value = find_number(fields, field).value_or(otherwise);
  if (value < 0 || value > highest)
    throw user_error("{} is out of bounds", field)
        .at(field)
        .help(fmt::format("give a number from 0 to {}", highest));
  return value;
}

}  // namespace

GenerateOptions asked_choice(const Json& fields) {
  GenerateOptions options;
  TokenChoice& choice = options.choice;
  options.tokens = find_whole(fields, "tokens", {1, kMostTokens}).value_or(options.tokens);
  choice.top_k = find_whole(fields, "top_k", {0, int64_t{1} << 30}).value_or(choice.top_k);
  choice.top_p = bounded(fields, "top_p", 1, choice.top_p);
  choice.temperature = bounded(fields, "temperature", kHighestTemperature, choice.temperature);
  options.seed =
      static_cast<uint64_t>(find_whole(fields, "seed", {0, int64_t{1} << 50}).value_or(1));
  return options;
}

}  // namespace tessera
