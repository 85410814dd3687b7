// SPDX-License-Identifier: Apache-2.0
// Islands broken on purpose, one way each: verify must find every one of them unequal, or a check
// must refuse it, while the unbroken ones are equal.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "exec/executor.h"
#include "verify/testing/island_case.h"

namespace tessera {
namespace {

constexpr WireFormat kExact{IslandWire::Exact, DType::Fp64};

// A link that changes what passes.
struct Tampering {
  std::function<void(FragmentChange&)> send = {};
  std::function<void(CombinedChange&)> receive = {};
  std::function<void(OuterSnapshot&)> join = {};
};

class TamperedLink : public IslandLink {
 public:
  TamperedLink(std::unique_ptr<IslandLink> link, Tampering tampering)
      : link_(std::move(link)), tampering_(std::move(tampering)) {}

  std::optional<OuterSnapshot> join(const OuterSnapshot& first) override {
    std::optional<OuterSnapshot> newest = link_->join(first);
    if (newest && tampering_.join) tampering_.join(*newest);
    return newest;
  }
  void send(FragmentChange change) override {
    if (tampering_.send) tampering_.send(change);
    link_->send(std::move(change));
  }
  std::optional<CombinedChange> receive(ExchangeId exchange) override {
    std::optional<CombinedChange> combined = link_->receive(exchange);
    if (combined && tampering_.receive) tampering_.receive(*combined);
    return combined;
  }
  OuterSnapshot newest() override { return link_->newest(); }

 private:
  std::unique_ptr<IslandLink> link_;
  Tampering tampering_;
};

struct IslandMutant {
  std::string name;
  IslandCase unbroken;
  std::function<void(VerifyIslandsOptions&)> break_it;
};

using Break = std::function<void(VerifyIslandsOptions&)>;

// `make` gives each island its own tampering; an empty one changes nothing.
Break tampered(std::function<Tampering(int island)> make) {
  return [make = std::move(make)](VerifyIslandsOptions& options) {
    options.change_link = [make](int island, std::unique_ptr<IslandLink> link) {
      return std::make_unique<TamperedLink>(std::move(link), make(island));
    };
  };
}

Break everywhere(const Tampering& tampering) {
  return tampered([tampering](int) { return tampering; });
}

Break on_one(const Tampering& tampering) {
  return tampered([tampering](int island) { return island == 1 ? tampering : Tampering{}; });
}

Break set_on(std::vector<int> islands, const std::function<void(IslandExchangeOptions&)>& set) {
  return [islands, set](VerifyIslandsOptions& options) {
    options.change_options = [islands, set](int island, IslandExchangeOptions& own) {
      if (std::ranges::find(islands, island) != islands.end()) set(own);
    };
  };
}

// Of values in fp64, as the exact wire carries them.
template <typename F>
void change_values(std::vector<std::byte>& bytes, F&& change) {
  std::vector<double> values(bytes.size() / sizeof(double));
  kExact.decode(bytes, values);
  change(values);
  bytes = kExact.encode(values);
}

void scale(std::vector<std::byte>& bytes, double factor) {
  change_values(bytes, [&](std::vector<double>& values) {
    for (double& value : values) value *= factor;
  });
}

const IslandCase kWhole{};
const IslandCase kFragments{.settings = {"islands.every=4", "islands.fragments=2"}};
const IslandCase kDelayed{.settings = {"islands.every=4", "islands.delay=2"}};
const IslandCase kEightBits{.settings = {"islands.wire=int8"}};
const IslandCase kLate{.mesh = "island=3", .late_after = 2};

std::vector<IslandMutant> broken_outer_optimizers() {
  return {
      {"OuterMomentumOnOneIslandOnly", kWhole,
       set_on({0}, [](IslandExchangeOptions& own) { own.islands.outer_momentum = 0; })},
      {"OuterMomentumLeftOut", kWhole,
       set_on({0, 1}, [](IslandExchangeOptions& own) { own.islands.outer_momentum = 0; })},
      {"OuterLearningRateOfOneIslandDiffers", kWhole,
       set_on({1}, [](IslandExchangeOptions& own) { own.islands.outer_learning_rate = 0.71; })},
      {"OneIslandAverages", kWhole,
       set_on({1},
              [](IslandExchangeOptions& own) {
                own.islands.outer_optimizer = OuterOptimizer::Average;
              })},
  };
}

std::vector<IslandMutant> broken_changes() {
  const auto negate = [](FragmentChange& change) { scale(change.bytes, -1); };
  return {
      {"ChangeWithTheWrongSign", kWhole, everywhere({.send = negate})},
      {"ChangeWithTheWrongSignOnOneIsland", kWhole, on_one({.send = negate})},
      {"OneIslandCountsTwice", kWhole,
       on_one({.send = [](FragmentChange& change) { scale(change.bytes, 2); }})},
      {"LostFragment", kFragments,
       on_one({.send =
                   [](FragmentChange& change) {
                     if (change.exchange.fragment == 1) scale(change.bytes, 0);
                   }})},
      {"LastHundredValuesLost", kWhole,
       on_one({.send =
                   [](FragmentChange& change) {
                     change_values(change.bytes, [](auto& values) {
                       std::fill(values.end() - 100, values.end(), 0);
                     });
                   }})},
      {"TwoValuesSwapped", kWhole,
       on_one({.send =
                   [](FragmentChange& change) {
                     change_values(change.bytes, [](auto& values) {
                       std::iter_swap(std::max_element(values.begin(), values.end()),
                                      std::min_element(values.begin(), values.end()));
                     });
                   }})},
      {"ChangeOfTheRoundBefore", kWhole, tampered([](int) {
         auto before = std::make_shared<std::vector<std::byte>>();
         return Tampering{.send = [before](FragmentChange& change) {
           if (before->empty()) *before = change.bytes;
           std::swap(*before, change.bytes);
         }};
       })},
      {"TruncatedChange", kWhole,
       on_one({.send = [](FragmentChange& change) { change.bytes.pop_back(); }})},
  };
}

std::vector<IslandMutant> broken_results() {
  return {
      {"RoundCombinedTwice", kWhole,
       on_one({.receive = [](CombinedChange& combined) { scale(combined.bytes, 2); }})},
      {"SumInPlaceOfTheMean", kWhole,
       everywhere({.receive = [](CombinedChange& combined) { scale(combined.bytes, 2); }})},
      {"LostResult", kFragments,
       on_one({.receive =
                   [](CombinedChange& combined) {
                     if (combined.exchange.fragment == 0) scale(combined.bytes, 0);
                   }})},
      {"ResultNotTaken", kWhole,
       on_one({.receive = [](CombinedChange& combined) { combined.islands.clear(); }})},
      {"OwnChangeInPlaceOfTheMean", kWhole, tampered([](int) {
         auto own = std::make_shared<std::vector<std::byte>>();
         return Tampering{.send = [own](FragmentChange& change) { *own = change.bytes; },
                          .receive = [own](CombinedChange& combined) { combined.bytes = *own; }};
       })},
      {"ResultOfAnotherFragment", kFragments, tampered([](int) {
         auto other = std::make_shared<std::vector<std::byte>>();
         return Tampering{.receive = [other](CombinedChange& combined) {
           if (combined.exchange.fragment == 0) *other = combined.bytes;
           if (combined.exchange.fragment == 1 && other->size() == combined.bytes.size())
             combined.bytes = *other;
         }};
       })},
  };
}

std::vector<IslandMutant> broken_eight_bits() {
  constexpr size_t kBlockBytes = sizeof(float) + WireFormat::kBlock;
  return {
      {"ScaleOfAnotherBlock", kEightBits,
       on_one({.send =
                   [](FragmentChange& change) {
                     std::swap_ranges(change.bytes.begin(), change.bytes.begin() + sizeof(float),
                                      change.bytes.begin() + kBlockBytes);
                   }})},
      {"SignOfAByteLost", kEightBits,
       everywhere({.send =
                       [](FragmentChange& change) {
                         for (size_t i = sizeof(float); i < kBlockBytes; ++i)
                           change.bytes[i] &= std::byte{0x7f};
                       }})},
      {"ExactInPlaceOfEightBits", kEightBits,
       set_on({0, 1}, [](IslandExchangeOptions& own) { own.format.wire = IslandWire::Exact; })},
  };
}

std::vector<IslandMutant> broken_rhythms() {
  return {
      {"RoundsAStepTooLong", kWhole,
       set_on({0, 1}, [](IslandExchangeOptions& own) { ++own.islands.every; })},
      {"LastExchangeLeftOut", kWhole,
       set_on({0, 1}, [](IslandExchangeOptions& own) { own.steps += 100; })},
      {"FragmentsCutElsewhere", kFragments,
       set_on({0, 1}, [](IslandExchangeOptions& own) { own.islands.fragments = 3; })},
      {"ResultAppliedAStepEarly", kDelayed,
       set_on({0, 1}, [](IslandExchangeOptions& own) { --own.islands.delay; })},
      {"DelayOfOneIslandAlone", kDelayed,
       set_on({1}, [](IslandExchangeOptions& own) { ++own.islands.delay; })},
  };
}

// Weights as they were when the fragment was sent, so that nothing seems learned since.
void forget_what_was_learned(VerifyIslandsOptions& options) {
  using Weights = std::map<std::string, std::vector<std::byte>>;
  auto sent = std::make_shared<std::array<Weights, 2>>();
  options.change_island = [sent](int island, int step, Executor& executor) {
    for (const StateBuffer& state : executor.program().states) {
      if (state.spec.role != StateRole::Parameter) continue;
      std::vector<std::byte>& bytes = (*sent)[static_cast<size_t>(island)][state.name];
      bytes.resize(static_cast<size_t>(state.type.bytes()));
      if (step == 4) executor.read_state(state, bytes);
      if (step == 6) executor.write_state(state, bytes);
    }
  };
}

std::vector<IslandMutant> broken_joins() {
  const auto join = [](std::function<void(OuterSnapshot&)> change) {
    return tampered([change = std::move(change)](int) { return Tampering{.join = change}; });
  };
  return {
      {"LateJoinerWithStaleWeights", kLate, join([](OuterSnapshot& newest) {
         for (auto& fragment : newest.parameters) scale(fragment, 0.999);
       })},
      {"LateJoinerWithoutMomentum", kLate, join([](OuterSnapshot& newest) {
         for (auto& fragment : newest.momentum) scale(fragment, 0);
       })},
      {"WhatWasLearnedMeanwhileForgotten", kDelayed, forget_what_was_learned},
  };
}

std::vector<IslandMutant> all_island_mutants() {
  std::vector<IslandMutant> all;
  for (auto* some : {broken_outer_optimizers, broken_changes, broken_results, broken_eight_bits,
                     broken_rhythms, broken_joins})
    for (IslandMutant& mutant : some()) all.push_back(std::move(mutant));
  return all;
}

bool is_caught(const IslandMutant& mutant) {
  IslandRun run = run_of(mutant.unbroken);
  mutant.break_it(run.options);
  try {
    return !verify_islands(run.spec, run.options).equal();
  } catch (const UserError&) {
    return true;
  } catch (const InternalError&) {
    return true;
  }
}

TEST(IslandMutation, EveryMutantIsCaught) {
  const std::vector<IslandMutant> all = all_island_mutants();
  EXPECT_GE(all.size(), 25U);
  for (const IslandMutant& mutant : all) EXPECT_TRUE(is_caught(mutant)) << mutant.name;
}

TEST(IslandMutation, TheUnbrokenOnesAreEqual) {
  for (const IslandCase& unbroken : {kWhole, kFragments, kDelayed, kEightBits, kLate}) {
    IslandRun run = run_of(unbroken);
    everywhere({})(run.options);
    EXPECT_TRUE(verify_islands(run.spec, run.options).equal())
        << unbroken.mesh << " " << (unbroken.settings.empty() ? "" : unbroken.settings.back());
  }
}

}  // namespace
}  // namespace tessera
