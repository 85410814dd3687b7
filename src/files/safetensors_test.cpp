// SPDX-License-Identifier: Apache-2.0
#include "files/safetensors.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstring>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"

namespace tessera {
namespace {

using testing::Test;

std::string file_bytes(const std::string& json, size_t data_bytes) {
  const uint64_t length = json.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + json + std::string(data_bytes, 'x');
}

class Safetensors : public Test {
 protected:
  std::string error_of(const std::string& bytes) const {
    const auto path = folder_.write("bad.safetensors", bytes);
    std::string message = user_error_of([&] { SafetensorsReader reader(path); });
    const std::string head = path.string() + " is not a complete safetensors file: ";
    return message.starts_with(head) ? message.substr(head.size()) : message;
  }
  std::string error_of_header(const std::string& json, size_t data_bytes = 8) const {
    return error_of(file_bytes(json, data_bytes));
  }

  TemporaryFolder folder_;
};

TEST_F(Safetensors, GivesBackNamesShapesBytesAndMetadata) {
  const auto path = folder_.path() / "a.safetensors";
  const std::vector<float> weight{1.5f, -2, 3, 4, 5, 6};
  const std::vector<double> moment{0.25, 1e-300};
  SafetensorsWriter writer(path,
                           {{"w", DType::Fp32, {2, 3}},
                            {"empty", DType::Int32, {0, 4}},
                            {"half", DType::Bf16, {1}},
                            {"m", DType::Fp64, {2}},
                            {"count", DType::Int32, {}}},
                           {{"step", "12"}, {"quote", "say \"hi\"\n"}});
  const Bf16 half = to_bf16(1.0f);
  const int32_t count = -7;
  writer.write("w", std::as_bytes(std::span(weight)));
  writer.write("empty", {});
  writer.write("half", std::as_bytes(std::span(&half, 1)));
  writer.write("m", std::as_bytes(std::span(moment)));
  writer.write("count", std::as_bytes(std::span(&count, 1)));
  writer.commit();

  const SafetensorsReader reader(path);
  EXPECT_EQ(reader.tensors().size(), 5u);
  EXPECT_EQ(reader.get("w").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(reader.get("w").bytes.data(), weight.data(), 24), 0);
  EXPECT_EQ(std::memcmp(reader.get("m").bytes.data(), moment.data(), 16), 0);
  EXPECT_EQ(std::memcmp(reader.get("count").bytes.data(), &count, 4), 0);
  EXPECT_EQ(reader.get("half").dtype, DType::Bf16);
  EXPECT_TRUE(reader.get("count").shape.empty());
  EXPECT_EQ(reader.metadata().at("step"), "12");
  EXPECT_EQ(reader.metadata().at("quote"), "say \"hi\"\n");
  EXPECT_EQ(reader.find("v"), nullptr);
}

TEST_F(Safetensors, PadsTheHeaderToEightBytesWithSpaces) {
  const auto path = folder_.path() / "a.safetensors";
  SafetensorsWriter writer(path, {{"w", DType::Fp32, {1}}}, {});
  const float one = 1;
  writer.write("w", std::as_bytes(std::span(&one, 1)));
  writer.commit();
  const std::string bytes = read_text(path);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  EXPECT_EQ(bytes.size(), 8 + length + 4);
  EXPECT_EQ(bytes.substr(8, length).find_last_not_of(' '), bytes.find_last_of('}') - 8);
}

TEST_F(Safetensors, LeavesTheOldFileUntilTheNewOneIsCommitted) {
  const auto path = folder_.write("a.safetensors", "old");
  {
    SafetensorsWriter writer(path, {{"w", DType::Fp32, {1}}}, {});
    EXPECT_EQ(read_text(path), "old");
  }
  EXPECT_EQ(read_text(path), "old");
  EXPECT_FALSE(std::filesystem::exists(path.string() + ".tmp"));
}

// Stands in for a full disk: the kernel refuses to let the file grow.
TEST_F(Safetensors, NamesFileAndBytesWhenTheDiskIsFullAndRemovesThePartialFile) {
  const auto path = folder_.write("a.safetensors", "old");
  const std::vector<float> big(1 << 16);
  struct rlimit before {};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small { 4096, before.rlim_max };
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string message = user_error_of([&] {
    SafetensorsWriter writer(path, {{"w", DType::Fp32, {1 << 16}}}, {});
    writer.write("w", std::as_bytes(std::span(big)));
    writer.commit();
  });
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(message,
            "cannot write " + path.string() + ": file too large after 4096 of 262216 bytes");
  EXPECT_EQ(read_text(path), "old");
  EXPECT_FALSE(std::filesystem::exists(path.string() + ".tmp"));
}

TEST_F(Safetensors, SaysWhichFolderCannotBeWrittenTo) {
  const auto path = folder_.path() / "none" / "a.safetensors";
  EXPECT_EQ(user_error_of([&] { SafetensorsWriter writer(path, {}, {}); }),
            "cannot write " + path.string() + ": no such file or directory");
}

TEST_F(Safetensors, RefusesTruncatedFilesAtEveryLength) {
  const auto path = folder_.path() / "a.safetensors";
  SafetensorsWriter writer(path, {{"w", DType::Fp32, {4}}, {"v", DType::Fp64, {1}}}, {{"k", "v"}});
  const std::vector<std::byte> bytes(16);
  writer.write("w", bytes);
  writer.write("v", std::span(bytes).first(8));
  writer.commit();
  const std::string whole = read_text(path);
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(error_of(whole.substr(0, length)), "(no UserError was thrown)") << length;
  EXPECT_EQ(error_of(whole.substr(0, 7)), "it has 7 bytes, a header needs 8");
  EXPECT_EQ(error_of(whole.substr(0, whole.size() - 1)),
            "tensor v ends at byte 24, the data at 23");
  EXPECT_EQ(error_of(whole + "z"), "its tensors have 24 bytes, 25 follow the header");
}

// Whatever a flipped byte makes of the header, it is refused or stays inside the file.
TEST_F(Safetensors, SurvivesEveryFlippedByte) {
  const std::string json =
      R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"v":{"dtype":"I32","shape":[1],"data_offsets":[8,12]}})";
  const std::string whole = file_bytes(json, 12);
  int accepted = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const int flip : {1, 64}) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(bytes[i] ^ flip);
      const auto path = folder_.write("flipped.safetensors", bytes);
      try {
        const SafetensorsReader reader(path);
        ++accepted;
        for (const SafetensorsTensor& tensor : reader.tensors())
          for (const std::byte b : tensor.bytes) ASSERT_NE(b, std::byte{0});
      } catch (const UserError&) {
      }
    }
  }
  EXPECT_GT(accepted, 0);  // a changed letter of a name is still a whole file
}

TEST_F(Safetensors, SaysWhatIsWrongWithAHostileHeader) {
  EXPECT_EQ(error_of(std::string(8, '\xff') + "{}"),
            "its header claims 18446744073709551615 bytes");
  EXPECT_EQ(error_of_header("[1]"), "its header is not a JSON object");
  EXPECT_EQ(error_of_header("{\"w\":"), "its header is not JSON");
  EXPECT_EQ(error_of_header(std::string(100'000, '[')), "its header is nested more than 3 deep");
  EXPECT_EQ(error_of_header(R"({"w":1})"), "tensor w is not an object");
  EXPECT_EQ(error_of_header(R"({"w":{}})"), "tensor w has no dtype");
  EXPECT_EQ(error_of_header(R"({"w":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}})"),
            "tensor w has dtype F16, known are F64, F32, BF16 and I32");
  EXPECT_EQ(error_of_header(R"({"w":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})"),
            "tensor w has no list shape");
  EXPECT_EQ(error_of_header(R"({"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})"),
            "shape of tensor w holds -2");
  EXPECT_EQ(error_of_header(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})"),
            "data_offsets of tensor w are not a begin and an end");
  EXPECT_EQ(error_of_header(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,16]}})"),
            "tensor w ends at byte 16, the data at 8");
  EXPECT_EQ(error_of_header(R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})"),
            "tensor w has 8 bytes, its shape needs 12");
  EXPECT_EQ(error_of_header(
                R"({"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})"),
            "the shape of tensor w overflows");
  EXPECT_EQ(error_of_header(R"({"__metadata__":{"a":1}})"), "its __metadata__ a is not text");
}

TEST_F(Safetensors, RefusesTensorsThatOverlapLeaveGapsOrShareAName) {
  const auto two = [](const char* first, const char* second) {
    return fmt::format(R"({{"a":{{"dtype":"F32","shape":[1],"data_offsets":{}}},)"
                       R"("b":{{"dtype":"F32","shape":[1],"data_offsets":{}}}}})",
                       first, second);
  };
  EXPECT_EQ(error_of_header(two("[0,4]", "[4,8]")), "(no UserError was thrown)");
  EXPECT_EQ(error_of_header(two("[0,4]", "[0,4]")),
            "tensor b begins at byte 0, the one before it ends at 4");
  EXPECT_EQ(error_of_header(two("[0,4]", "[8,12]"), 12),
            "tensor b begins at byte 8, the one before it ends at 4");
  EXPECT_EQ(error_of_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                            R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                            4),
            "its header names a twice");
}

// Quadratic time would take longer than a test may.
TEST_F(Safetensors, ReadsAHundredThousandTensorsAtOnce) {
  constexpr int kTensors = 100'000;
  std::string json;
  for (int i = 0; i < kTensors; ++i)
    json += fmt::format(R"({}"t{}":{{"dtype":"F32","shape":[1],"data_offsets":[{},{}]}})",
                        i == 0 ? "{" : ",", i, 4 * i, 4 * i + 4);
  const auto path = folder_.write("many.safetensors", file_bytes(json + "}", 4 * kTensors));
  EXPECT_EQ(SafetensorsReader(path).tensors().size(), size_t{kTensors});
}

TEST_F(Safetensors, ANamedPipeIsRefusedInsteadOfWaitedFor) {
  const auto path = folder_.path() / "pipe.safetensors";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(user_error_of([&] { SafetensorsReader reader(path); }),
            fmt::format("cannot read {}: not a regular file", path.string()));
}

TEST_F(Safetensors, SaysThatATensorIsMissing) {
  const auto path = folder_.write("a.safetensors", file_bytes("{}", 0));
  const SafetensorsReader reader(path);
  EXPECT_EQ(user_error_of([&] { reader.get("w"); }),
            path.string() + " has no tensor w among its 0");
}

}  // namespace
}  // namespace tessera
