// SPDX-License-Identifier: Apache-2.0
#include "files/mapped_file.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

constexpr int kStatus = 3;

// Reads all of a file that is made shorter once it is mapped.
void read_shortened(const std::filesystem::path& path, size_t left) {
  explain_mapping_faults(kStatus);
  const MappedFile file(path);
  std::filesystem::resize_file(path, left);
  int sum = 0;
  for (const std::byte byte : file.bytes()) sum += static_cast<int>(byte);
  std::exit(sum == 0 ? 0 : 1);
}

TEST(MappingFaultDeathTest, NamesTheFileAndTheByteInWhicheverThreadItIs) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "some shard.bin";
  folder.write("some shard.bin", std::string(20'000, 'x'));
  const std::string told = "cannot read " + path.string() + " at byte 8192: ";
  EXPECT_EXIT(read_shortened(path, 8000), testing::ExitedWithCode(kStatus), told);
  folder.write("some shard.bin", std::string(20'000, 'x'));
  EXPECT_EXIT(std::thread([&] { read_shortened(path, 8000); }).join(),
              testing::ExitedWithCode(kStatus), told);
}

}  // namespace
}  // namespace tessera
