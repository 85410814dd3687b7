// SPDX-License-Identifier: Apache-2.0
// Checkpoints as they were written before format 3, stored beside these tests.
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/convert.h"
#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "files/digest.h"

namespace tessera {
namespace {

const std::filesystem::path kStored = BEFORE_FORMAT_3;

void expect_same_tensors(const Checkpoint& a, const Checkpoint& b) {
  ASSERT_EQ(a.tensors().size(), b.tensors().size());
  for (const auto& [name, tensor] : a.tensors())
    EXPECT_EQ(a.read_whole(name), b.read_whole(name)) << name;
}

TEST(OldFormat, IsReadAndVerified) {
  const Checkpoint folder(kStored / "step-00000002"), file(kStored / "one.safetensors");
  folder.verify();
  file.verify();
  EXPECT_EQ(folder.facts().position.step, 2);
  EXPECT_EQ(folder.tensors().size(), 6u);
  expect_same_tensors(folder, file);
}

TEST(OldFormat, IsRefusedWhereABitHasFlipped) {
  const TemporaryFolder copies;
  std::filesystem::copy(kStored, copies.path(), std::filesystem::copy_options::recursive);
  for (const char* damaged : {"one.safetensors", "step-00000002/rank-00001.safetensors"}) {
    std::string bytes = read_text(copies.path() / damaged);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    copies.write(damaged, bytes);
  }
  for (const char* name : {"one.safetensors", "step-00000002"})
    EXPECT_NE(user_error_of([&] { Checkpoint(copies.path() / name).verify(); }).find("is corrupt"),
              std::string::npos)
        << name;
}

TEST(OldFormat, IsConvertedToTheNewOne) {
  const TemporaryFolder out;
  const Checkpoint old(kStored / "step-00000002");
  for (const char* to : {"run", "one.safetensors"}) {
    const Checkpoint converted(convert_checkpoint(old, out.path() / to, {}));
    converted.verify();
    expect_same_tensors(old, converted);
    for (const StoredFile& file : converted.manifest().files)
      EXPECT_EQ(file.digest_kind, DigestKind::Xxh3);
  }
  const auto step = out.path() / "run" / "checkpoints" / "step-00000002";
  EXPECT_TRUE(
      read_text(step / "manifest.json").starts_with(R"({"format":"tessera-checkpoint-3",)"));
}

// As `xxhsum -H3` gives it.
TEST(ManifestDigests, OfFilesAreThoseOfTheirBytes) {
  const TemporaryFolder out;
  const Checkpoint old(kStored / "one.safetensors");
  const Checkpoint converted(convert_checkpoint(old, out.path() / "run", {}));
  for (const StoredFile& file : converted.manifest().files) {
    const std::string bytes = read_text(converted.path() / file.name);
    EXPECT_EQ(file.digest, digest_of(std::as_bytes(std::span(bytes))));
  }
}

}  // namespace
}  // namespace tessera
