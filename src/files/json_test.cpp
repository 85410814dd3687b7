// SPDX-License-Identifier: Apache-2.0
#include "files/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "files/json_struct.h"

namespace tessera {

struct JsonTestRun {
  int64_t step = 0;
  double loss = 0;
  bool skipped = false;
  std::vector<std::string> notes = {};
  std::vector<JsonTestRun> parts = {};
};

template <typename Visit>
void visit_fields(JsonTestRun& run, const Visit& visit) {
  visit("step", run.step);
  visit("loss", run.loss);
  visit("skipped", run.skipped);
  visit("notes", run.notes);
  visit("parts", run.parts);
}

namespace {

TEST(Json, KeepsTheOrderOfMembersUnlessSorted) {
  Json json{{"b", 1}, {"a", Json::array({2.5, nullptr, true})}};
  json["c"]["y"] = "text";
  json["c"]["x"] = std::vector<int64_t>{1, -2};
  EXPECT_EQ(json.dump(), R"({"b":1,"a":[2.5,null,true],"c":{"y":"text","x":[1,-2]}})");
  EXPECT_EQ(sorted(json).dump(), R"({"a":[2.5,null,true],"b":1,"c":{"x":[1,-2],"y":"text"}})");
}

TEST(Json, IndentsByLevel) {
  const Json json{{"a", Json::array()}, {"b", Json::object()}, {"c", Json::array({1, "x"})}};
  EXPECT_EQ(json.dump(2), "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    \"x\"\n  ]\n}");
}

TEST(Json, PrintsNumbersThatReadBackTheSame) {
  EXPECT_EQ(Json(0.1).dump(), "0.1");
  EXPECT_EQ(Json(0.1F).dump(), "0.10000000149011612");
  EXPECT_EQ(Json(3.0).dump(), "3.0");
  EXPECT_EQ(Json(1e-5).dump(), "1e-05");
  EXPECT_EQ(Json(1e30).dump(), "1e+30");
  EXPECT_EQ(Json(-0.0).dump(), "-0.0");
  EXPECT_EQ(Json(std::numeric_limits<int64_t>::min()).dump(), "-9223372036854775808");
  EXPECT_EQ(Json(std::numeric_limits<uint64_t>::max()).dump(), "18446744073709551615");
  EXPECT_EQ(Json(std::nan("")).dump(), "null");
  EXPECT_EQ(Json(std::optional<int>()).dump(), "null");
}

TEST(Json, EscapesTextAndReplacesWhatIsNoUtf8) {
  EXPECT_EQ(Json("a\"\\\n\t\x01/é").dump(), R"("a\"\\\n\t\u0001/é")");
  EXPECT_EQ(Json("x\xff").dump(), "\"x\uFFFD\"");
}

TEST(Json, ReadsValuesOfTheirKindAlone) {
  const Json json = parse_json(R"({"i": 3, "d": 3.0, "s": "x", "b": true, "n": null, "l": [1]})");
  EXPECT_EQ(json.find("i")->integer(), 3);
  EXPECT_EQ(json.find("i")->number(), 3.0);
  EXPECT_EQ(json.find("d")->integer(), std::nullopt);
  EXPECT_EQ(*json.find("d"), 3);
  EXPECT_EQ(*json.find("s")->text(), "x");
  EXPECT_EQ(json.find("s")->number(), std::nullopt);
  EXPECT_EQ(json.find("b")->flag(), true);
  EXPECT_EQ(json.find("b")->integer(), std::nullopt);
  EXPECT_TRUE(json.find("n")->is_null());
  EXPECT_EQ(json.find("l")->items().size(), 1u);
  EXPECT_EQ(json.find("missing"), nullptr);
  EXPECT_EQ(parse_json("18446744073709551615").integer(), std::nullopt);
  EXPECT_EQ(parse_json("18446744073709551615").number(), 18446744073709551616.0);
}

TEST(Json, SaysWhatIsWrongWithAText) {
  Json json;
  EXPECT_EQ(parse_json("[[1]]", 2, json), "");
  EXPECT_EQ(json.dump(), "[[1]]");
  EXPECT_EQ(parse_json("[[[1]]]", 2, json), "is nested more than 2 deep");
  EXPECT_EQ(parse_json("[1", 2, json), "is not JSON");
  EXPECT_EQ(parse_json("", 2, json), "is not JSON");
  EXPECT_EQ(parse_json("[\"\xff\"]", 2, json), "is not JSON");
  EXPECT_EQ(parse_json(R"({"a": {"x": 1}, "b": {"x": 1, "x": 2}})", 2, json), "names x twice");
  EXPECT_TRUE(parse_json("{").is_null());
}

TEST(JsonStruct, ReadsBackAsWritten) {
  const JsonTestRun run{.step = 7,
                        .loss = 2.5,
                        .skipped = true,
                        .notes = {"a", "b"},
                        .parts = {{.step = 8}, {.notes = {"c"}}}};
  JsonTestRun read;
  ASSERT_TRUE(read_json(parse_json(to_json(run).dump()), read));
  EXPECT_EQ(to_json(read), to_json(run));
}

TEST(JsonStruct, KeepsWhatIsMissingAndRefusesOtherKinds) {
  JsonTestRun run{.step = 7};
  EXPECT_TRUE(read_json({{"loss", 3}}, run));
  EXPECT_EQ(run.step, 7);
  EXPECT_EQ(run.loss, 3.0);
  EXPECT_FALSE(read_json({{"step", "many"}}, run));
  EXPECT_FALSE(read_json({{"notes", 1}}, run));
  EXPECT_FALSE(read_json(Json::array(), run));
}

}  // namespace
}  // namespace tessera
