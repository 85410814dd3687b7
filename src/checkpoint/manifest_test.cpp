// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/manifest.h"

#include <gtest/gtest.h>

#include "core/testing/user_error_of.h"
#include "files/digest.h"

namespace tessera {
namespace {

Manifest small() {
  const TensorPiece box{.first = {2, 0}, .count = {2, 3}, .begin = 0, .end = 6};
  const TensorPiece cut{.first = {0, 0}, .count = {4, 3}, .begin = 5, .end = 7};
  return {.facts = {.position = {.step = 3, .next_sample = 12, .tokens = 99},
                    .seed = 7,
                    .mesh = "dp=2",
                    .config_toml = "[model]\npreset = \"tiny\"\n"},
          .files = {{.name = "rank-00000.safetensors",
                     .bytes = 100,
                     .digest = "01",
                     .header_digest = "00",
                     .pieces = {{"a", DType::Fp32, {4, 3}, box, "11"},
                                {"b", DType::Bf16, {4, 3}, cut, "22"}}}}};
}

// With a matching digest, as if someone wrote it on purpose.
std::string error_of_body(const std::string& body) {
  const std::string head = R"({"format":"tessera-checkpoint-3","digest":")";
  const std::string covered = "\"," + body;
  const std::string digest = digest_of(std::as_bytes(std::span(covered)));
  return user_error_of([&] { parse_manifest(head + digest + covered, "m"); });
}

std::string body_with(const std::string& files) {
  return R"("step":1,"next_sample":1,"tokens":1,"seed":1,"mesh":"1","config":"","files":)" + files +
         "}";
}

TEST(Manifest, ReadsBackWhatItWrites) {
  const Manifest read = parse_manifest(to_text(small()), "m");
  EXPECT_EQ(to_text(read), to_text(small()));
  EXPECT_EQ(read.facts.config_toml, small().facts.config_toml);
  EXPECT_EQ(read.files[0].pieces[1].piece, small().files[0].pieces[1].piece);
  EXPECT_EQ(read.bytes(), 100);
}

TEST(Manifest, CarriesTheRunThatWroteItWhereOneIsKnown) {
  EXPECT_EQ(parse_manifest(to_text(small()), "m").facts.run, "");
  Manifest of_run = small();
  of_run.facts.run = "0123456789abcdef";
  EXPECT_EQ(parse_manifest(to_text(of_run), "m").facts.run, "0123456789abcdef");
  of_run.facts.run = "\033[31m";
  EXPECT_EQ(user_error_of([&] { parse_manifest(to_text(of_run), "m"); }),
            "the manifest m has a run that is not 16 hexadecimal digits");
}

TEST(Manifest, EveryChangedByteIsRefused) {
  const std::string whole = to_text(small());
  for (size_t i = 0; i < whole.size(); ++i)
    for (const int flip : {1, 32}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      EXPECT_NE(user_error_of([&] { parse_manifest(changed, "m"); }), "(no UserError was thrown)")
          << i;
    }
}

TEST(Manifest, RefusesWhatSomebodyWroteOnPurpose) {
  const auto file = [](const char* name, const char* tensors) {
    return body_with(
        fmt::format(R"([{{"name":"{}","bytes":1,"digest":"0","header_digest":"0","tensors":{}}}])",
                    name, tensors));
  };
  EXPECT_EQ(error_of_body("\"step\":-1}"),
            "the manifest m has a step that is not an integer of at least 0");
  EXPECT_EQ(error_of_body("\"step\":1}"), "the manifest m has no next_sample");
  EXPECT_EQ(error_of_body(body_with("3")), "the manifest m has a files that is not a list");
  for (const std::string& nothing : {body_with("[]"), file("a", "[]")})
    EXPECT_EQ(error_of_body(nothing), "the manifest m lists no tensor: there is nothing to load");
  for (const char* name : {"../x", "/etc/passwd", ".hidden", "", "a/b"})
    EXPECT_EQ(error_of_body(file(name, "[]")), "the manifest m names a file outside its folder");
  EXPECT_EQ(error_of_body(file("a", R"([{"name":"w","dtype":"fp31"}])")),
            "the manifest m has w in an unknown dtype");
  EXPECT_EQ(
      error_of_body(file(
          "a",
          R"([{"name":"w","dtype":"fp32","shape":[4],"first":[3],"count":[2],"digest":"0"}])")),
      "the manifest m has a part of w that exceeds the tensor [4]");
  EXPECT_EQ(error_of_body(body_with(std::string(100000, '['))),
            "the manifest m is nested more than 6 deep");
  EXPECT_EQ(error_of_body("\"step\":1,\"step\":2}"), "the manifest m names step twice");
}

}  // namespace
}  // namespace tessera
