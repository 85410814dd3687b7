// SPDX-License-Identifier: Apache-2.0
#include "files/record_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <vector>

#include "core/error.h"
#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

// For its lifetime no file of this process grows beyond that: a write is cut short, then fails.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  sighandler_t handler_;
};

class RecordFileTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "records";
  std::vector<std::string> warnings_;
  Warn warn_ = [this](const std::string& text) { warnings_.push_back(text); };
};

TEST_F(RecordFileTest, DropsWhatDoesNotFitSaysSoOnceAndGoesOnWithWholeRecords) {
  RecordFile file(path_, {.warn = warn_});
  {
    const FullDisk full(14);
    for (const char* record : {"first\n", "second\n", "third\n", "fourth\n"}) file.write(record);
  }
  EXPECT_EQ(read_text(path_), "first\nsecond\nt");
  file.write("fifth\n");
  EXPECT_EQ(read_text(path_), "first\nsecond\nthird\nfifth\n");
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_EQ(warnings_[0], "cannot write " + path_.string() +
                              ": file too large; the run continues, and what it would record there "
                              "is dropped until it can be written again");
  EXPECT_EQ(file.losses(), "1 record of " + path_.string() + " could not be written and is lost");
}

TEST_F(RecordFileTest, FailsWhereNobodyIsTold) {
  EXPECT_THROW(RecordFile("/dev/full").write("record\n"), UserError);
  EXPECT_THROW(RecordFile(folder_.path() / "none" / "records", {.warn = warn_}), UserError);
}

TEST_F(RecordFileTest, CannotBeWrittenByWhoeverHasAnOlderOneOpen) {
  for (const bool resumed : {true, false}) {
    LineFile stale(path_, false, warn_);
    stale.write("old");
    LineFile newer(path_, resumed, warn_);
    stale.write("woken");
    newer.write("new");
    stale.write("woken");
    EXPECT_EQ(read_text(path_), resumed ? "old\nnew\n" : "new\n");
  }
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(RecordFileTest, GoesOnWithTheOldFileWhereThereIsNoRoomForANewOne) {
  folder_.write("records", "first\nto");
  folder_.write("records.tmp/in_the_way", "");
  LineFile(path_, true, warn_).write("second");
  EXPECT_EQ(read_text(path_), "first\nsecond\n");
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("continues with the old file"), std::string::npos) << warnings_[0];
}

TEST_F(RecordFileTest, OfAKilledProcessIsInNobodysWay) {
  folder_.write("records.tmp", "left by a crash");
  RecordFile(path_).write("first\n");
  EXPECT_EQ(read_text(path_), "first\n");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "records.tmp"));
}

TEST_F(RecordFileTest, KeepsTheLinesOfALongFileThatAreAsked) {
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += fmt::format("line {}\n", i);
  folder_.write("records", text);
  const auto keeps = [](std::string_view line) { return line == "line 41\n"; };
  LineFile(path_, true, warn_, keeps).write("on");
  EXPECT_EQ(read_text(path_), text.substr(0, text.find("line 42\n")) + "on\n");
}

}  // namespace
}  // namespace tessera
