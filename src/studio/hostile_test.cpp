// SPDX-License-Identifier: Apache-2.0
// Questions that nobody means well: any of them gets an answer or a UserError, within bounds.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "config/config_fields.h"
#include "mesh/axes.h"
#include "models/model_field.h"
#include "models/presets.h"
#include "sim/cluster.h"
#include "studio/testing/sample_runs.h"

namespace tessera {
namespace {

class Hostile {
 private:
  bool chance(double share) { return std::uniform_real_distribution<>(0, 1)(random_) < share; }
  int number(int below) { return std::uniform_int_distribution<>(0, below - 1)(random_); }
  template <typename List>
  const auto& pick(const List& list) {
    return list[static_cast<size_t>(number(static_cast<int>(list.size())))];
  }

 public:
  explicit Hostile(uint64_t seed) : random_(seed) {}

  Question question() {
    Question question;
    Json run = Json::object();
    if (chance(0.8)) run["model"] = pick(presets()).name;
    if (chance(0.9)) run["cluster"] = pick(cluster_names());
    Json set = Json::object();
    if (chance(0.8)) set["mesh"] = mesh();
    Config config;
    const std::vector<ConfigField> fields = config_fields(config);
    for (int i = 0; i < number(8); ++i)
      if (chance(0.7)) {
        const ConfigField& field = pick(fields);
        set[field.key] = text_for(field);
      } else {
        set[fmt::format("model.{}", pick(model_fields()).key)] = nasty();
      }
    run["set"] = set;
    question.fields["run"] = chance(0.98) ? run : Json(nasty());
    return question;
  }

 private:
  std::string nasty() {
    static const std::vector<std::string> kTexts{"",
                                                 "0",
                                                 "1",
                                                 "2",
                                                 "3",
                                                 "4",
                                                 "8",
                                                 "16",
                                                 "64",
                                                 "100",
                                                 "1000",
                                                 "4096",
                                                 "1000000",
                                                 "1e9",
                                                 "-1",
                                                 "1e18",
                                                 "1.5",
                                                 "nan",
                                                 "inf",
                                                 "2147483648",
                                                 "true",
                                                 "auto",
                                                 "999999999999999999999",
                                                 "7",
                                                 "a=b",
                                                 "\xff\xfe",
                                                 "3,2,2,3",
                                                 "dp,fsdp,tp",
                                                 "tp",
                                                 "0.5",
                                                 "8GB"};
    return pick(kTexts);
  }
  std::string mesh() {
    std::string text;
    for (const AxisRow& row : kAxes)
      if (chance(0.4)) {
        constexpr std::array<int, 8> kSizes{1, 2, 2, 2, 3, 4, 8, 128};
        text += fmt::format("{}{}={}", text.empty() ? "" : ",", row.name, pick(kSizes));
      }
    return chance(0.95) ? text : text + "," + nasty();
  }
  std::string text_for(const ConfigField& field) {
    if (const auto* choices = std::get_if<Choices>(&field.allowed); choices && chance(0.9))
      return std::string(pick(*choices));
    return chance(0.3) ? fmt::format("{}", 1 << number(12)) : nasty();
  }

  std::mt19937_64 random_;
};

// TESSERA_HOSTILE asks for more, from another seed on.
TEST(HostileQuestions, GetAnAnswerOrAUserError) {
  const char* more = std::getenv("TESSERA_HOSTILE");
  const uint64_t first = more ? std::strtoull(more, nullptr, 10) : 0;
  const uint64_t count = more ? 3000 : 150;
  int answered = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    Question question = Hostile(seed).question();
    SCOPED_TRACE(fmt::format("{}: {}", seed, question.fields.dump()));
    for (const std::string_view kind : {"try", "slices", "memory_at", "placements", "ir"}) {
      if (kind != "try" && seed % 5 != 0) continue;
      try {
        ask(kind, question);
        ++answered;
      } catch (const UserError& error) {
        EXPECT_FALSE(error.message().empty());
      } catch (const std::exception& error) {
        ADD_FAILURE() << kind << ": " << error.what();
      }
    }
  }
  EXPECT_GT(answered, 10);
}

}  // namespace
}  // namespace tessera
