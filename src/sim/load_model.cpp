// SPDX-License-Identifier: Apache-2.0
#include "sim/load_model.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>
#include <span>

#include "core/error.h"

namespace tessera {
namespace {

double fullest_of(std::span<const double> loads, int64_t ranks) {
  const size_t own = loads.size() / static_cast<size_t>(ranks);
  double most = 0;
  for (size_t begin = 0; begin < loads.size(); begin += own)
    most = std::max(most, std::reduce(loads.begin() + static_cast<ptrdiff_t>(begin),
                                      loads.begin() + static_cast<ptrdiff_t>(begin + own)));
  const double sum = std::reduce(loads.begin(), loads.end());
  return sum > 0 ? most * static_cast<double>(ranks) / sum : 1;
}

// The mean of many draws; the same on every machine and in every run.
double expected_fullest(double sigma, int64_t experts, int64_t ranks) {
  constexpr int kDraws = 4000;
  std::mt19937_64 bits(1);
  const auto uniform = [&] { return (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53; };
  std::vector<double> loads(static_cast<size_t>(experts));
  double sum = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    for (double& load : loads) {
      const double radius = std::sqrt(-2 * std::log(uniform()));
      load = std::exp(sigma * radius * std::cos(2 * std::numbers::pi * uniform()));
    }
    sum += fullest_of(loads, ranks);
  }
  return sum / kDraws;
}

double measured_fullest(const LoadModel& load, int64_t experts, int64_t ranks) {
  double sum = 0;
  for (const std::vector<int64_t>& layer : load.counts) {
    if (static_cast<int64_t>(layer.size()) != experts)
      throw user_error("the measured loads are of {} experts, the model has {}", layer.size(),
                       experts)
          .at("--load")
          .help("measure a run of a model with as many experts");
    const std::vector<double> loads(layer.begin(), layer.end());
    sum += fullest_of(loads, ranks);
  }
  return sum / static_cast<double>(load.counts.size());
}

}  // namespace

LoadModel parse_load_model(const std::string& text) {
  using Kind = LoadModel::Kind;
  constexpr std::string_view kLognormal = "lognormal:";
  if (text == "uniform") return {};
  if (text == "worst") return {.kind = Kind::Worst};
  LoadModel load{.kind = Kind::Lognormal};
  const char* const end = text.data() + text.size();
  if (text.starts_with(kLognormal)) {
    const auto read = std::from_chars(text.data() + kLognormal.size(), end, load.sigma);
    if (read.ec == std::errc{} && read.ptr == end && load.sigma >= 0 && load.sigma <= 5)
      return load;
  }
  throw user_error("{} is no load of experts", text)
      .at("--load " + text)
      .help("give uniform, worst, lognormal:S with S from 0 to 5, or measured:FOLDER of a run");
}

double fullest_rank(const LoadModel& load, int64_t experts, int64_t ranks) {
  if (ranks <= 1 || load.kind == LoadModel::Kind::Uniform) return 1;
  if (load.kind == LoadModel::Kind::Worst) return std::numeric_limits<double>::infinity();
  return load.kind == LoadModel::Kind::Lognormal ? expected_fullest(load.sigma, experts, ranks)
                                                 : measured_fullest(load, experts, ranks);
}

}  // namespace tessera
