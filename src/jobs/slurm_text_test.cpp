// SPDX-License-Identifier: Apache-2.0
// What Slurm 22.05 printed.
#include "jobs/slurm_text.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(SlurmTime, IsReadInEachOfItsForms) {
  EXPECT_EQ(parse_slurm_time("4:59"), 299);
  EXPECT_EQ(parse_slurm_time("1:02:03"), 3723);
  EXPECT_EQ(parse_slurm_time("2-00:00:10"), 172810);
  EXPECT_EQ(parse_slurm_time("1-02"), 93600);
  EXPECT_EQ(parse_slurm_time("90"), 5400);
  for (const char* none : {"UNLIMITED", "NOT_SET", "INVALID", "", "1-", "1:2:3:4", "-5"})
    EXPECT_FALSE(parse_slurm_time(none).has_value()) << none;
}

TEST(SlurmQueue, HasOurJobsAlone) {
  const std::vector<QueuedJob> jobs = parse_queue(
      "2|RUNNING|None|2|4:59|tessera:/scratch/a|b\n"
      "1|PENDING|BeginTime|4|5:00|tessera:/scratch/c\n"
      "7_[3-5%1]|PENDING|JobArrayTaskLimit|1|UNLIMITED|tessera:/scratch/d\n"
      "9|RUNNING|None|1|1:00|another program\n"
      "10|RUNNING|None|1|1:00|(null)\n\n");
  ASSERT_EQ(jobs.size(), 3U);
  EXPECT_EQ(jobs[0].id, "2");
  EXPECT_EQ(jobs[0].state, "running");
  EXPECT_EQ(jobs[0].reason, "");
  EXPECT_EQ(jobs[0].nodes, 2);
  EXPECT_EQ(jobs[0].left_seconds, 299);
  EXPECT_EQ(jobs[0].run, "/scratch/a|b");
  EXPECT_EQ(jobs[1].reason, "BeginTime");
  EXPECT_EQ(jobs[2].id, "7_[3-5%1]");
  EXPECT_FALSE(jobs[2].left_seconds.has_value());
}

TEST(SlurmPartitions, SayHowLongJobsMayBeAndHowLongTheyAreWarned) {
  const std::vector<Partition> found = parse_partitions(
      "PartitionName=low AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=YES "
      "QoS=N/A DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=20 Hidden=NO "
      "MaxNodes=UNLIMITED MaxTime=UNLIMITED MinNodes=0 LLN=NO Nodes=host[0-3] PriorityJobFactor=1 "
      "PriorityTier=1 OverSubscribe=NO OverTimeLimit=NONE PreemptMode=REQUEUE State=UP "
      "TotalCPUs=4\n"
      "PartitionName=high Default=NO GraceTime=0 MaxTime=1-00:00:00 PriorityTier=3 "
      "PreemptMode=OFF\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "low");
  EXPECT_TRUE(found[0].is_default);
  EXPECT_TRUE(found[0].requeues);
  EXPECT_EQ(found[0].grace_seconds, 20);
  EXPECT_FALSE(found[0].longest_seconds.has_value());
  EXPECT_FALSE(found[1].is_default);
  EXPECT_FALSE(found[1].requeues);
  EXPECT_EQ(found[1].longest_seconds, 86400);
}

}  // namespace
}  // namespace tessera
