// SPDX-License-Identifier: Apache-2.0
#include "exec/topology.h"

#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

// A machine of two nodes: two GPUs and a card at one switch, a GPU at another bridge of the
// same root, one on the other node.
class FakeMachine : public testing::Test {
 protected:
  void SetUp() override {
    add_node(0, "0-3", "10 21");
    add_node(1, "4-7", "21 10");
    add_pci("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0", 0, true);
    add_pci("pci0000:00/0000:00:01.0/0000:01:00.0/0000:03:00.0", 0, true);
    add_pci("pci0000:00/0000:00:02.0/0000:04:00.0", 0, true);
    add_pci("pci0000:80/0000:80:01.0/0000:81:00.0", 1, true);
    const auto card = add_pci("pci0000:00/0000:00:01.0/0000:01:00.0/0000:05:00.0", 0, false);
    folder_.write("class/net/ib0/speed", "200000\n");
    folder_.write("class/net/lo/speed", "");
    std::filesystem::create_directory_symlink(card, folder_.path() / "class/net/ib0/device");
  }

  void add_node(int number, const std::string& cpus, const std::string& distances) {
    const std::string at = fmt::format("devices/system/node/node{}/", number);
    folder_.write(at + "cpulist", cpus + "\n");
    folder_.write(at + "distance", distances + "\n");
    folder_.write(at + "meminfo", fmt::format("Node {} MemTotal:  1024 kB\n", number));
  }

  std::filesystem::path add_pci(const std::string& path, int node, bool gpu) {
    folder_.write("devices/" + path + "/vendor", gpu ? "0x10de\n" : "0x15b3\n");
    folder_.write("devices/" + path + "/class", gpu ? "0x030200\n" : "0x020700\n");
    folder_.write("devices/" + path + "/numa_node", fmt::format("{}\n", node));
    const std::filesystem::path real = folder_.path() / "devices" / path;
    std::filesystem::create_directories(folder_.path() / "bus/pci/devices");
    std::filesystem::create_directory_symlink(real,
                                              folder_.path() / "bus/pci/devices" / real.filename());
    return real;
  }

  TemporaryFolder folder_;
};

TEST_F(FakeMachine, ShowsItsNodes) {
  const Topology topology = machine_topology(folder_.path());
  ASSERT_EQ(topology.nodes.size(), 2u);
  EXPECT_EQ(topology.nodes[1].cpus, "4-7");
  EXPECT_EQ(topology.nodes[1].memory_bytes, 1 << 20);
  EXPECT_EQ(topology.nodes[1].distances, (std::vector{21, 10}));
}

TEST_F(FakeMachine, ShowsGpusAndCardsOnABus) {
  const Topology topology = machine_topology(folder_.path());
  ASSERT_EQ(topology.devices.size(), 5u);
  EXPECT_EQ(topology.devices[0].name, "GPU0");
  EXPECT_EQ(topology.devices[3].address, "0000:81:00.0");
  EXPECT_EQ(topology.devices[3].node, 1);
  EXPECT_EQ(topology.devices[4].name, "ib0");
  EXPECT_EQ(topology.devices[4].what, "200000 Mb/s");
}

TEST_F(FakeMachine, TellsHowFarTwoOfThemAreApart) {
  const auto links = machine_topology(folder_.path()).links;
  EXPECT_EQ(links[0][0], DeviceLink::Itself);
  EXPECT_EQ(links[0][1], DeviceLink::Switch);
  EXPECT_EQ(links[0][4], DeviceLink::Switch);
  EXPECT_EQ(links[0][2], DeviceLink::HostBridge);
  EXPECT_EQ(links[0][3], DeviceLink::Far);
  EXPECT_EQ(links[3][0], DeviceLink::Far);
}

TEST(Topology, OfAMachineThatShowsNothingIsEmpty) {
  const TemporaryFolder nothing;
  const Topology topology = machine_topology(nothing.path());
  EXPECT_TRUE(topology.nodes.empty());
  EXPECT_TRUE(topology.devices.empty());
}

}  // namespace
}  // namespace tessera
