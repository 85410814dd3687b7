// SPDX-License-Identifier: Apache-2.0
#include "islands/wire_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/random.h"

namespace tessera {
namespace {

std::vector<double> some_values(int count, double size) {
  const RandomStream stream(7, "change");
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(size * stream.normal(static_cast<uint64_t>(i)));
  return values;
}

std::vector<double> there_and_back(const WireFormat& format, const std::vector<double>& values) {
  std::vector<double> back(values.size());
  format.decode(format.encode(values), back);
  return back;
}

TEST(WireFormat, ExactKeepsEveryBitOfItsDtype) {
  const std::vector<double> values = some_values(1000, 1e-3);
  EXPECT_EQ(there_and_back({IslandWire::Exact, DType::Fp64}, values), values);
  const std::vector<double> rounded = there_and_back({IslandWire::Exact, DType::Fp32}, values);
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(rounded[i], static_cast<double>(static_cast<float>(values[i])));
}

TEST(WireFormat, IntegersErrByHalfAStepOfTheirOwnBlock) {
  std::vector<double> values = some_values(256, 1e-3);
  for (const double value : some_values(101, 10)) values.push_back(value);
  for (const auto& [wire, largest] : {std::pair(IslandWire::Int8, 127), {IslandWire::Int4, 7}}) {
    const std::vector<double> back = there_and_back({wire, DType::Fp32}, values);
    for (const size_t block : {size_t{0}, size_t{256}}) {
      const size_t end = std::min(values.size(), block + 256);
      double most = 0;
      for (size_t i = block; i < end; ++i) most = std::max(most, std::abs(values[i]));
      for (size_t i = block; i < end; ++i)
        EXPECT_LE(std::abs(back[i] - values[i]), 0.5001 * most / largest) << name(wire) << i;
    }
  }
}

TEST(WireFormat, IntegersOfWhatTheyGaveAreTheSame) {
  for (const IslandWire wire : {IslandWire::Int8, IslandWire::Int4}) {
    const WireFormat format{wire, DType::Fp32};
    const std::vector<double> once = there_and_back(format, some_values(601, 1));
    const std::vector<double> twice = there_and_back(format, once);
    for (size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(twice[i], once[i], 1e-6 * 4);
    EXPECT_EQ(there_and_back(format, std::vector<double>(300)), std::vector<double>(300));
  }
}

TEST(WireFormat, ItsBytesAreAsManyAsItSays) {
  for (const int count : {1, 255, 256, 257, 1000})
    for (const IslandWire wire : {IslandWire::Exact, IslandWire::Int8, IslandWire::Int4}) {
      const WireFormat format{wire, DType::Fp32};
      EXPECT_EQ(static_cast<int64_t>(format.encode(some_values(count, 1)).size()),
                format.bytes(count));
    }
  EXPECT_EQ((WireFormat{IslandWire::Int8, DType::Fp32}.bytes(1000)), 1000 + 4 * 4);
  EXPECT_EQ((WireFormat{IslandWire::Int4, DType::Fp32}.bytes(1001)), 501 + 4 * 4);
}

TEST(WireFormat, RefusesWhatIsTooShortOrNotFinite) {
  const WireFormat exact{IslandWire::Exact, DType::Fp32}, eight{IslandWire::Int8, DType::Fp32};
  std::vector<double> values(10);
  std::vector<std::byte> bytes = exact.encode(values);
  EXPECT_THROW(eight.decode(bytes, values), UserError);
  bytes.pop_back();
  EXPECT_THROW(exact.decode(bytes, values), UserError);
  bytes = eight.encode(std::vector<double>(10, 1.0));
  const float bad = std::numeric_limits<float>::infinity();
  std::memcpy(bytes.data(), &bad, sizeof(bad));
  EXPECT_THROW(eight.decode(bytes, values), UserError);
}

}  // namespace
}  // namespace tessera
