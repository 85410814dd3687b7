// SPDX-License-Identifier: Apache-2.0
#include "planner/step_replay.h"

#include <algorithm>
#include <deque>

namespace tessera {
namespace {

constexpr size_t kMostSums = 16;  // on their way at once, as in the compiler's scripts

// One use of a block's weights, in the order of its rank.
struct Need {
  int block;
  bool stays;  // its run of microbatches needs it again
};

struct Sum {
  int block;
  bool comes_and_goes;
  double end, wait;
};

// A message between two stages: when it left, and when its taker was ready for it.
struct Message {
  double left = 0, taken = kNotYet;
  static constexpr double kNotYet = -1;
};

struct Rank {
  double now = 0;
  double gathers_end = 0, sums_end = 0;
  double away = 0;           // seconds that the link to the host takes
  std::vector<double> sent;  // by level, when messages have left
  std::vector<Need> needs;
  size_t next_need = 0;
  std::deque<Sum> sums;
};

struct BlockState {
  bool held = false;
  double there = 0;  // when its weights are gathered
};

class Replay {
 public:
  Replay(const ScheduleTable& table, std::span<const StageFloor> stages, bool holds_runs)
      : table_(table),
        schedule_(table.schedule),
        stages_(stages),
        ranks_(schedule_.actions.size()),
        input_grads_(stages.size()),
        backwards_(stages.size()),
        streams_(schedule_, stages.size()),
        gradients_(schedule_, stages.size()) {
    size_t levels = 1;
    for (int s = 0; s < schedule_.num_stages(); ++s) {
      Rank& rank = ranks_[static_cast<size_t>(schedule_.rank_of_stage[static_cast<size_t>(s)])];
      const StageFloor& own = stages_[static_cast<size_t>(s)];
      rank.now += own.update;
      first_block_.push_back(static_cast<int>(blocks_.size()));
      blocks_.resize(blocks_.size() + own.blocks.size());
      gathers_ |= own.gathers();
      levels = std::max(levels, own.hop.level + 1);
    }
    for (size_t i = 0; i < ranks_.size(); ++i) {
      ranks_[i].sent.resize(levels);
      if (gathers_) list_needs(schedule_.actions[i], holds_runs, ranks_[i].needs);
      for (size_t position = 0; position < 2; ++position) is_ready(i, position);
    }
  }

  void run(const ActionPlace& place) {
    const auto at = static_cast<size_t>(place.rank);
    const Action& action = schedule_.actions[at][place.position];
    Rank& rank = ranks_[at];
    const double now = table_.messages.begin(action);
    const bool forward = action.kind == ActionKind::Forward;
    if (forward) await_sent(rank, streams_, action.stage, 1, now);
    if (const auto other = awaited_stage(schedule_, action)) take(rank, action, *other);
    if (gives_input_grad(action.kind)) {
      await_sent(rank, streams_, action.stage, 2, now, action.microbatch);
      await_sent(rank, gradients_, action.stage, 0, now);
    }
    compute(rank, place, action);
    if (forward && action.stage + 1 < schedule_.num_stages())
      give(rank, streams_, action, action.stage + 1);
    if (gives_input_grad(action.kind) && action.stage > 0)
      give(rank, gradients_, action, action.stage - 1);
    is_ready(at, place.position + 2);
  }

  // From one norm, which joins all ranks, to the next: each rank begins when its update has ended.
  double step_seconds() {
    for (Rank& rank : ranks_) settle_where(rank, [](const Sum&) { return true; });
    double end = 0;
    for (int s = 0; s < schedule_.num_stages(); ++s) {
      Rank& rank = ranks_[static_cast<size_t>(rank_of(s))];
      for (Messages* messages : {&streams_, &gradients_})
        for (const int microbatch : messages->sent[static_cast<size_t>(s)])
          await(rank, *messages, s, microbatch);
      rank.away += stage(s).away * schedule_.microbatches;
      end = std::max({end, rank.now, rank.away});
    }
    return end;
  }

 private:
  // Of one direction, by the stage that gives them.
  struct Messages {
    Messages(const Schedule& schedule, size_t stages)
        : all(entry(schedule, schedule.num_stages(), 0)), sent(stages) {}
    std::vector<Message> all;
    std::vector<std::deque<int>> sent;  // microbatches that left and are not yet waited for
  };

  const StageFloor& stage(int number) const { return stages_[static_cast<size_t>(number)]; }
  int rank_of(int number) const { return schedule_.rank_of_stage[static_cast<size_t>(number)]; }
  const StageFloor::Hop& hop_between(int a, int b) const { return stage(std::max(a, b)).hop; }

  // In the order in which the rank's actions read weights.
  void list_needs(const std::vector<Action>& actions, bool holds_runs, std::vector<Need>& needs) {
    for (size_t i = 0; i < actions.size(); ++i) {
      const Action& own = actions[i];
      if (own.kind == ActionKind::WeightGrad) continue;
      const bool again = holds_runs && i + 1 < actions.size() && actions[i + 1].kind == own.kind &&
                         actions[i + 1].stage == own.stage;
      const int first = first_block_[static_cast<size_t>(own.stage)],
                blocks = static_cast<int>(stage(own.stage).blocks.size());
      for (int b = 0; b < blocks; ++b)
        needs.push_back(
            {own.kind == ActionKind::Forward ? first + b : first + blocks - 1 - b, again});
    }
  }

  Message& message(Messages& messages, int from, int microbatch) {
    return messages.all[entry(schedule_, from, microbatch)];
  }
  bool is_local(int from, int to) const { return rank_of(from) == rank_of(to); }
  int taker(const Messages& messages, int from) const {
    return &messages == &streams_ ? from + 1 : from - 1;
  }

  // It leaves after those before it.
  void give(Rank& rank, Messages& messages, const Action& action, int to) {
    Message& given = message(messages, action.stage, action.microbatch);
    given.left = rank.now;
    if (is_local(action.stage, to)) return;
    const StageFloor::Hop& hop = hop_between(action.stage, to);
    double& sent = rank.sent[hop.level];
    given.left = std::max(rank.now, sent);
    sent = given.left + hop.seconds;
    messages.sent[static_cast<size_t>(action.stage)].push_back(action.microbatch);
  }

  // The rank begins to receive what that action needs.
  void is_ready(size_t rank, size_t position) {
    const std::vector<Action>& actions = schedule_.actions[rank];
    if (position >= actions.size()) return;
    const Action& action = actions[position];
    if (const auto from = awaited_stage(schedule_, action))
      message(action.kind == ActionKind::Forward ? streams_ : gradients_, *from, action.microbatch)
          .taken = ranks_[rank].now;
  }

  void take(Rank& rank, const Action& action, int from) {
    Messages& messages = action.kind == ActionKind::Forward ? streams_ : gradients_;
    if (is_local(from, action.stage))
      rank.now = std::max(rank.now, message(messages, from, action.microbatch).left);
    else
      await(rank, messages, from, action.microbatch);
  }

  void await(Rank& rank, Messages& messages, int from, int microbatch) {
    const Message& awaited = message(messages, from, microbatch);
    const double hop = hop_between(from, taker(messages, from)).seconds;
    rank.now = std::max(rank.now, std::max(awaited.left, awaited.taken) + hop);
  }

  // As the compiler's scripts: the oldest messages, until at most `most` are under way, or some
  // that nobody takes yet.
  void await_sent(Rank& rank, Messages& messages, int from, size_t most, double now,
                  int microbatch = -1) {
    std::deque<int>& sent = messages.sent[static_cast<size_t>(from)];
    while (!sent.empty() && (sent.size() > most || sent.front() == microbatch)) {
      const int front = sent.front();
      const double taken = &messages == &streams_ ? table_.messages.stream_taken(from, front)
                                                  : table_.messages.gradient_taken(from, front);
      if (now < taken) return;
      await(rank, messages, from, front);
      sent.pop_front();
    }
  }

  void compute(Rank& rank, const ActionPlace& place, const Action& action) {
    const StageFloor& own = stage(action.stage);
    const auto at = static_cast<size_t>(action.stage);
    if (gives_input_grad(action.kind)) ++input_grads_[at];
    const bool reduces = frees_activations(action.kind);
    const bool last = reduces && ++backwards_[at] == schedule_.microbatches;
    if (action.kind == ActionKind::Forward) return forward(rank, own, action.stage);
    if (!gathers_ && !last && !(reduces && own.comes_and_goes)) {
      if (gives_input_grad(action.kind)) rank.now += own.input_grad;
      if (reduces) rank.now += own.weight_grad;
      return;
    }
    if (gives_input_grad(action.kind) && own.splits)
      for (size_t b = own.blocks.size(); b-- > 0;) {
        use_weights(rank, action.stage, b);
        rank.now += own.blocks[b].input_grad;
      }
    else if (gives_input_grad(action.kind))
      return sum_gradients(rank, place, action, last, true);
    if (reduces) sum_gradients(rank, place, action, last, false);
  }

  void forward(Rank& rank, const StageFloor& own, int number) {
    if (!gathers_) {
      rank.now += own.forward;
      return;
    }
    for (size_t b = 0; b < own.blocks.size(); ++b) {
      use_weights(rank, number, b);
      rank.now += own.blocks[b].forward;
    }
  }

  // From the last block to the first: its gradients, then their sum.
  void sum_gradients(Rank& rank, const ActionPlace& place, const Action& action, bool last,
                     bool with_input) {
    const StageFloor& own = stage(action.stage);
    const auto at = static_cast<size_t>(action.stage);
    const bool whole = !own.splits || input_grads_[at] == backwards_[at];
    const bool adds_up = own.blocks.size() == 1 && comes_again(place, action.stage);
    for (size_t b = own.blocks.size(); b-- > 0;) {
      const StageFloor::Block& block = own.blocks[b];
      const int number = first_block_[at] + static_cast<int>(b);
      if (with_input) use_weights(rank, action.stage, b);
      if (with_input) rank.now += block.rebuild;
      settle_before(rank, action.stage, number, block.comes_and_goes);
      rank.now += (with_input ? block.input_grad - block.rebuild : 0) + block.weight_grad;
      if (last || (whole && block.comes_and_goes && !adds_up)) start_sum(rank, number, block);
    }
    if (action.stage == 0) settle_where(rank, [](const Sum& sum) { return sum.comes_and_goes; });
  }

  // The next weight gradients of the rank are of the same stage.
  bool comes_again(const ActionPlace& place, int number) const {
    const std::vector<Action>& actions = schedule_.actions[static_cast<size_t>(place.rank)];
    size_t next = place.position + 1;
    while (next < actions.size() && !frees_activations(actions[next].kind)) ++next;
    return next < actions.size() && actions[next].stage == number;
  }

  // A gradient whose sum travels is not written; those that come and go take turns in the bytes of
  // two.
  void settle_before(Rank& rank, int number, int block, bool comes_and_goes) {
    const int first = first_block_[static_cast<size_t>(number)];
    settle_where(rank, [&](const Sum& sum) {
      return sum.block == block || (sum.block >= first && comes_and_goes && sum.comes_and_goes &&
                                    (sum.block - block) % 2 == 0);
    });
  }

  void start_sum(Rank& rank, int number, const StageFloor::Block& block) {
    if (rank.sums.size() == kMostSums) {
      const int oldest = rank.sums.front().block;
      settle_where(rank, [&](const Sum& sum) { return sum.block == oldest; });
    }
    rank.now += block.reduce;
    rank.sums_end = std::max(rank.now, rank.sums_end) + block.travel;
    rank.sums.push_back({number, block.comes_and_goes, rank.sums_end, block.reduce_wait});
  }

  template <typename Which>
  void settle_where(Rank& rank, Which&& which) {
    std::erase_if(rank.sums, [&](const Sum& sum) {
      if (!which(sum)) return false;
      rank.now = std::max(rank.now, sum.end) + sum.wait;
      return true;
    });
  }

  void gather(Rank& rank, int number, double seconds) {
    BlockState& block = blocks_[static_cast<size_t>(number)];
    if (std::exchange(block.held, true)) return;
    block.there = rank.gathers_end = std::max(rank.now, rank.gathers_end) + seconds;
  }

  // Gathers what the call needs, and what the next one will, and waits for the former.
  void use_weights(Rank& rank, int number, size_t b) {
    if (!gathers_) return;
    const Need& own = rank.needs[rank.next_need++];
    gather(rank, own.block, stage(number).blocks[b].gather);
    const Need* next = rank.next_need < rank.needs.size() ? &rank.needs[rank.next_need] : nullptr;
    if (next) gather(rank, next->block, gather_of(next->block));
    BlockState& block = blocks_[static_cast<size_t>(own.block)];
    rank.now = std::max(rank.now, block.there);
    if (!own.stays && !(next && next->block == own.block)) block.held = false;
  }

  double gather_of(int block) const {
    const auto after = std::upper_bound(first_block_.begin(), first_block_.end(), block);
    const auto at = static_cast<size_t>(after - first_block_.begin()) - 1;
    return stages_[at].blocks[static_cast<size_t>(block - first_block_[at])].gather;
  }

  const ScheduleTable& table_;
  const Schedule& schedule_;
  std::span<const StageFloor> stages_;
  std::vector<Rank> ranks_;
  std::vector<int> first_block_;  // by stage
  std::vector<BlockState> blocks_;
  std::vector<int> input_grads_, backwards_;  // so far, by stage
  Messages streams_, gradients_;
  bool gathers_ = false;
};

}  // namespace

ScheduleTable::ScheduleTable(Schedule of)
    : schedule(std::move(of)), messages(schedule), order(action_order(schedule)) {
  const auto begin = [&](const ActionPlace& place) {
    return messages.begin(schedule.actions[static_cast<size_t>(place.rank)][place.position]);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const ActionPlace& a, const ActionPlace& b) { return begin(a) < begin(b); });
}

double least_seconds(const ScheduleTable& table, std::span<const StageFloor> stages,
                     bool holds_runs) {
  Replay replay(table, stages, holds_runs);
  for (const ActionPlace& place : table.order) replay.run(place);
  return replay.step_seconds();
}

}  // namespace tessera
