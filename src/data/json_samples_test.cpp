// SPDX-License-Identifier: Apache-2.0
#include "data/json_samples.h"

#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"

namespace tessera {
namespace {

using Row = std::vector<int32_t>;

Row row_of(Batch& batch, const char* field, int64_t row) {
  const auto values = batch.row<int32_t>(batch.field_index(field), row);
  return {values.begin(), values.end()};
}

TEST(JsonSamples, WithoutLabelsAskForTheNextTokens) {
  const TemporaryFolder folder;
  const RowSamples samples =
      json_samples(folder.write("t.json", R"({"tokens": [[5, 9, 2, 7], [3, 4]]})"), 10);
  EXPECT_EQ(samples.rows().size(), 2u);
  EXPECT_EQ(samples.seq(), 4);
  Batch batch(samples.fields(), 2);
  fill_batch(samples, 0, batch);
  EXPECT_EQ(row_of(batch, "tokens", 0), Row({5, 9, 2, 7}));
  EXPECT_EQ(row_of(batch, "labels", 0), Row({9, 2, 7, -1}));
  EXPECT_EQ(row_of(batch, "tokens", 1), Row({3, 4, 0, 0}));
  EXPECT_EQ(row_of(batch, "labels", 1), Row({4, -1, -1, -1}));
  EXPECT_EQ(row_of(batch, "positions", 1), Row({0, 1, 2, 3}));
  EXPECT_EQ(row_of(batch, "document", 1), Row({0, 0, 0, 0}));
}

TEST(JsonSamples, TakeEveryNegativeLabelForNone) {
  const TemporaryFolder folder;
  const RowSamples samples = json_samples(
      folder.write("t.json", R"({"tokens": [[5, 9, 2]], "labels": [[-100, 1, -1]]})"), 10);
  Batch batch(samples.fields(), 1);
  fill_batch(samples, 0, batch);
  EXPECT_EQ(row_of(batch, "labels", 0), Row({-1, 1, -1}));
}

TEST(JsonSamples, OfAGivenLengthAreWindowsOfLongerRows) {
  const TemporaryFolder folder;
  const RowSamples samples =
      json_samples(folder.write("t.json", R"({"tokens": [[5, 9, 2, 7, 1], [3, 4]]})"), 10, 2);
  EXPECT_EQ(samples.seq(), 2);
  ASSERT_EQ(samples.rows().size(), 3u);  // the fifth token of the first row has no label
  Batch batch(samples.fields(), 3);
  fill_batch(samples, 0, batch);
  EXPECT_EQ(row_of(batch, "tokens", 0), Row({5, 9}));
  EXPECT_EQ(row_of(batch, "labels", 0), Row({9, 2}));
  EXPECT_EQ(row_of(batch, "tokens", 1), Row({2, 7}));
  EXPECT_EQ(row_of(batch, "labels", 1), Row({7, 1}));
  EXPECT_EQ(row_of(batch, "tokens", 2), Row({3, 4}));
  EXPECT_EQ(row_of(batch, "labels", 2), Row({4, -1}));
}

TEST(JsonSamples, RefuseWhatIsNoToken) {
  const TemporaryFolder folder;
  const auto refusal = [&](const char* json) {
    const std::string path = folder.write("t.json", json).string();
    const std::string message = user_error_of([&] { json_samples(path, 10); });
    return message.starts_with(path + ": ") ? message.substr(path.size() + 2) : message;
  };
  EXPECT_EQ(refusal(R"({"tokens": [[-1]]})"),
            "row 0 of tokens has -1, but the model has a vocabulary of 10");
  EXPECT_EQ(refusal(R"({"tokens": [[18446744073709551615]]})"),
            "row 0 of tokens has 18446744073709551615, but the model has a vocabulary of 10");
  EXPECT_EQ(refusal(R"({"tokens": [[1.5]]})"), "tokens has 1.5");
  EXPECT_EQ(refusal(R"({"tokens": [[]]})"), "row 0 of tokens is not a list of numbers");
  EXPECT_EQ(refusal(R"({"tokens": [[1]], "labels": []})"),
            "labels do not have as many rows as tokens, 1");
  EXPECT_EQ(refusal(R"({"tokens": [[[1]]]})"), "it is nested more than 3 deep");
}

}  // namespace
}  // namespace tessera
