// SPDX-License-Identifier: Apache-2.0
#include "islands/hub/hub_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "core/testing/temporary_folder.h"
#include "files/folder.h"

namespace tessera {
namespace {

std::vector<std::byte> filled(size_t count, int value) {
  return std::vector<std::byte>(count, static_cast<std::byte>(value));
}

struct Example {
  HubState state{.life = "life",
                 .settings = {{"islands.every", "100"}},
                 .rounds = {4, 3},
                 .combined = {{.exchange = {4, 0}, .islands = {0, 2}, .bytes = filled(10, 5)},
                              {.exchange = {3, 1}, .islands = {0, 1, 2}, .bytes = filled(7, 6)}},
                 .members = {0, 1, 2}};
  OuterSnapshot outer{.next = {4, 1},
                      .parameters = {filled(40, 1), filled(28, 2)},
                      .momentum = {filled(40, 3), filled(28, 4)}};
};

TEST(HubStore, GivesBackWhatWasSaved) {
  const TemporaryFolder folder;
  Example example;
  {
    HubStore store(folder.path());
    store.save(example.state, example.outer, {});
    example.state.rounds[1] = 4;
    example.state.combined[1] = {.exchange = {4, 1}, .islands = {1}, .bytes = filled(7, 9)};
    example.outer.parameters[1] = filled(28, 8);
    example.outer.next = {5, 0};
    store.save(example.state, example.outer, {1});
  }
  const auto loaded = HubStore(folder.path()).load();
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->first.life, "life");
  EXPECT_EQ(loaded->first.settings, example.state.settings);
  EXPECT_EQ(loaded->first.rounds, example.state.rounds);
  EXPECT_EQ(loaded->first.members, example.state.members);
  EXPECT_EQ(loaded->first.combined[1].bytes, example.state.combined[1].bytes);
  EXPECT_EQ(loaded->first.combined[1].islands, example.state.combined[1].islands);
  EXPECT_EQ(loaded->first.combined[1].exchange, (ExchangeId{4, 1}));
  EXPECT_EQ(loaded->second.next, (ExchangeId{5, 0}));
  EXPECT_EQ(loaded->second.parameters, example.outer.parameters);
  EXPECT_EQ(loaded->second.momentum, example.outer.momentum);
  // Three files of each fragment, and the manifest: what no longer counts is gone.
  EXPECT_EQ(list_folder(folder.path()).size(), 7u);
}

TEST(HubStore, WithoutAStateGivesNothing) {
  const TemporaryFolder folder;
  EXPECT_FALSE(HubStore(folder.path() / "new").load());
}

TEST(HubStore, FindsAnyByteThatWasChanged) {
  const TemporaryFolder folder;
  const Example example;
  HubStore(folder.path()).save(example.state, example.outer, {});
  for (const std::filesystem::path& file : list_folder(folder.path())) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(3);
    const char old = static_cast<char>(stream.get());
    stream.seekp(3);
    stream.put(static_cast<char>(old ^ 1));
    stream.close();
    EXPECT_THROW(HubStore(folder.path()).load(), UserError) << file;
    stream.open(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(3);
    stream.put(old);
  }
  EXPECT_TRUE(HubStore(folder.path()).load());
}

}  // namespace
}  // namespace tessera
