// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/open_mpi_segments.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

TEST(OpenMpiSegments, OfOneJobAreRemovedAndThoseOfOthersAreNot) {
  const TemporaryFolder folder;
  const std::vector<std::string> kept = {"vader_segment.a.host.0.4da30002.0",
                                         "vader_segment.a.host.4da30001.77.0",
                                         "other.a.host.0.4da30001.0"};
  for (const char* name :
       {"vader_segment.a.host.0.4da30001.0", "vader_segment.a.host.0.4da30001.1"})
    std::ofstream(folder.path() / name);
  for (const std::string& name : kept) std::ofstream(folder.path() / name);
  remove_open_mpi_segments(0x4da30001, folder.path());
  size_t left = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ++left;
    EXPECT_NE(std::find(kept.begin(), kept.end(), entry.path().filename()), kept.end()) << entry;
  }
  EXPECT_EQ(left, kept.size());
}

TEST(OpenMpiSegments, BelongToNobodyOutsideAJob) { EXPECT_FALSE(open_mpi_job_of(getpid())); }

}  // namespace
}  // namespace tessera
