// SPDX-License-Identifier: Apache-2.0
#include "compiler/scripts.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "compiler/flat_uses.h"
#include "compiler/script_accumulation.h"
#include "compiler/script_gathers.h"
#include "compiler/script_gradients.h"

namespace tessera {

namespace {

// Messages of one channel that are sent and not yet waited for: what they hold is kept until then.
constexpr size_t kMostInFlight = 2;
// Sums of gradients on their way at once; and of those that leave for the host after it.
constexpr size_t kMostSums = 16, kMostLeavingSums = 1;

class ScriptWriter {
 public:
  ScriptWriter(const Module& module, Program& program, const Stages& stages,
               const MessageTimes& messages, std::string name)
      : module_(module),
        program_(program),
        stages_(stages),
        messages_(messages),
        uses_(module, program),
        script_{.name = std::move(name), .calls = {}} {}

  bool has(RoutineKind routine, int block) const { return has_routine(program_, routine, block); }

  // Calls the routine of that block, if its class has one.
  void call(RoutineKind routine, int block, int microbatch, int channel = kNone) {
    if (!has(routine, block)) return;
    script_.calls.push_back(make_call(program_, routine, block, microbatch, channel));
    runs_.push_back(run_);
  }

  void for_blocks(RoutineKind routine, int microbatch) {
    for (int block = 0; block < num_blocks(); ++block) call(routine, block, microbatch);
  }

  // A training step's actions. What an action takes from another stage begins to travel one action
  // ahead, what it gives is waited for when its buffer is needed.
  void run(const std::vector<Action>& actions) {
    if (!actions.empty()) receive(actions.front());
    for (size_t i = 0; i < actions.size(); ++i) {
      if (i + 1 < actions.size()) receive(actions[i + 1]);
      turns_back_ = i + 1 < actions.size() && actions[i + 1].stage == actions[i].stage &&
                    actions[i + 1].microbatch == actions[i].microbatch;
      comes_again_ = next_weight_grad_is_of(actions[i].stage, actions, i + 1);
      run(actions[i]);
    }
    settle_where([](const Sum&) { return true; });
    let_leave();
    for (const auto& [key, sent] : sent_)
      for (const int microbatch : sent) call(key.first, key.second, microbatch, channel_of(key));
    sent_.clear();
  }

  // An evaluation's: forward alone.
  void evaluate(const std::vector<Action>& actions) {
    std::vector<Action> forward;
    for (const Action& action : actions)
      if (action.kind == ActionKind::Forward) forward.push_back(action);
    evaluates_ = true;
    run(forward);
  }

  // States that rest on the host come while the block before is updated, and leave while the next
  // one is: two blocks' are on the device at once.
  void update(int microbatch) {
    int before = kNone;
    for (int block = next_update(0); block < num_blocks(); block = next_update(block + 1)) {
      if (before == kNone) call(RoutineKind::StatesIn, block, microbatch);
      if (before != kNone) call(RoutineKind::StatesOutDone, before, microbatch);
      if (const int after = next_update(block + 1); after < num_blocks())
        call(RoutineKind::StatesIn, after, microbatch);
      call(RoutineKind::StatesInDone, block, microbatch);
      call(RoutineKind::Update, block, microbatch);
      call(RoutineKind::StatesOut, block, microbatch);
      before = block;
    }
    if (before != kNone) call(RoutineKind::StatesOutDone, before, microbatch);
  }

  void finish() {
    if (!stages_.hold_runs || evaluates_) runs_.clear();
    add_gathers(script_, runs_, program_, uses_);
    if (!evaluates_) add_gradient_copies(script_, module_, program_, uses_);
    decide_accumulation(module_, program_, script_);
    program_.scripts.push_back(std::move(script_));
  }

  int last_microbatch() const { return program_.microbatches - 1; }

 private:
  using Sender = std::pair<RoutineKind, int>;  // what waits until it is sent, and its block
  struct Sum {
    int block, microbatch;
  };

  int num_blocks() const { return static_cast<int>(program_.blocks.size()); }
  int next_update(int block) const {
    while (block < num_blocks() && !has(RoutineKind::Update, block)) ++block;
    return block;
  }
  static bool next_weight_grad_is_of(int stage, const std::vector<Action>& actions, size_t from) {
    while (from < actions.size() && !frees_activations(actions[from].kind)) ++from;
    return from < actions.size() && actions[from].stage == stage;
  }
  const StageEdges& stage(const Action& action) const { return stages_.edges.at(action.stage); }
  int channel_of(const Sender& sender) const {
    const StageEdges& edges =
        stages_.edges.at(program_.blocks[static_cast<size_t>(sender.second)].stage);
    return sender.first == RoutineKind::StreamOutDone ? edges.stream_out : edges.gradient_out;
  }

  void run(const Action& action) {
    const StageEdges& own = stage(action);
    if (run_ == kNone || action.stage != last_.stage || action.kind != last_.kind) ++run_;
    last_ = action;
    now_ = messages_.begin(action);
    switch (action.kind) {
      case ActionKind::Forward:
        return forward(own, action.microbatch);
      case ActionKind::Backward:
        if (!module_.split_backward) return backward(own, action.microbatch);
        input_grad(own, action.microbatch);
        return weight_grad(own, action.microbatch);
      case ActionKind::InputGrad:
        return input_grad(own, action.microbatch);
      case ActionKind::WeightGrad:
        return weight_grad(own, action.microbatch);
    }
  }

  // Starts to receive what the action needs, unless the sender is this rank, which has yet to send.
  void receive(const Action& action) {
    const StageEdges& own = stage(action);
    if (action.kind == ActionKind::Forward && own.stream_in != kNone && !own.stream_in_is_local)
      call(RoutineKind::StreamIn, own.first_block, action.microbatch, own.stream_in);
    if (gives_input_grad(action.kind) && own.gradient_in != kNone && !own.gradient_in_is_local)
      call(RoutineKind::GradientIn, own.last_block, action.microbatch, own.gradient_in);
  }

  // Whether the taker has begun to receive it, by the times of the schedule.
  bool is_taken(const Sender& sender, int microbatch) const {
    const int stage = program_.blocks[static_cast<size_t>(sender.second)].stage;
    return now_ >= (sender.first == RoutineKind::StreamOutDone
                        ? messages_.stream_taken(stage, microbatch)
                        : messages_.gradient_taken(stage, microbatch));
  }

  // Waits for the oldest messages until at most `most` are under way, or some that nobody takes
  // yet.
  void await_sent(RoutineKind done, int block, size_t most, int microbatch = kNone) {
    std::deque<int>& sent = sent_[{done, block}];
    while (!sent.empty() && (sent.size() > most || sent.front() == microbatch) &&
           is_taken({done, block}, sent.front())) {
      call(done, block, sent.front(), channel_of({done, block}));
      sent.pop_front();
    }
  }

  void forward(const StageEdges& own, int microbatch) {
    if (own.stream_out != kNone)
      await_sent(RoutineKind::StreamOutDone, own.last_block, kMostInFlight - 1);
    if (own.stream_in != kNone) {
      if (own.stream_in_is_local)
        call(RoutineKind::StreamIn, own.first_block, microbatch, own.stream_in);
      call(RoutineKind::StreamInDone, own.first_block, microbatch, own.stream_in);
    }
    for (int block = own.first_block; block <= own.last_block; ++block) {
      call(evaluates_ ? RoutineKind::Evaluate : RoutineKind::Forward, block, microbatch);
      let_leave();
      if (!evaluates_ && !comes_back_soon(own, block)) send_away(block, microbatch);
    }
    if (own.stream_out == kNone) return;
    call(RoutineKind::StreamOut, own.last_block, microbatch, own.stream_out);
    sent_[{RoutineKind::StreamOutDone, own.last_block}].push_back(microbatch);
  }

  // What a block keeps on the host leaves while the next block's forward runs; what is needed again
  // in next to no time stays. It comes back while the backward of the block after it runs.
  bool comes_back_soon(const StageEdges& own, int block) const {
    return turns_back_ && own.last_block - block < 2;
  }
  void send_away(int block, int microbatch) {
    if (!has(RoutineKind::ActivationsOut, block)) return;
    call(RoutineKind::ActivationsOut, block, microbatch);
    leaving_ = {block, microbatch};
    away_.insert(*leaving_);
  }
  void let_leave() {
    if (leaving_) call(RoutineKind::ActivationsOutDone, leaving_->first, leaving_->second);
    leaving_.reset();
  }
  void bring_back(const StageEdges& own, int block, int microbatch) {
    if (block < own.first_block || !away_.contains({block, microbatch})) return;
    if (leaving_ == std::pair{block, microbatch}) let_leave();
    call(RoutineKind::ActivationsIn, block, microbatch);
  }
  // Before the backward of the block: what it keeps is there, and what the one before it keeps is
  // on its way.
  void take_back(const StageEdges& own, int block, int microbatch) {
    if (block == own.last_block) bring_back(own, block, microbatch);
    bring_back(own, block - 1, microbatch);
    if (away_.erase({block, microbatch}) > 0)
      call(RoutineKind::ActivationsInDone, block, microbatch);
  }

  // Whoever gives a gradient back has taken the stream.
  void take_gradient(const StageEdges& own, int microbatch) {
    if (own.gradient_in != kNone) {
      if (own.gradient_in_is_local)
        call(RoutineKind::GradientIn, own.last_block, microbatch, own.gradient_in);
      call(RoutineKind::GradientInDone, own.last_block, microbatch, own.gradient_in);
    }
    if (own.stream_out != kNone)
      await_sent(RoutineKind::StreamOutDone, own.last_block, kMostInFlight, microbatch);
    if (own.gradient_out != kNone) await_sent(RoutineKind::GradientOutDone, own.first_block, 0);
  }

  void give_gradient(const StageEdges& own, int microbatch) {
    if (own.gradient_out == kNone) return;
    call(RoutineKind::GradientOut, own.first_block, microbatch, own.gradient_out);
    sent_[{RoutineKind::GradientOutDone, own.first_block}].push_back(microbatch);
  }

  // The last one of the stage: its gradients are whole.
  bool is_last(const StageEdges& own) {
    return ++backwards_[own.first_block] == program_.microbatches;
  }

  // Before the backward of a segment's last block: all of the segment's forward again.
  void rebuild(const StageEdges& own, int last, int microbatch) {
    const auto segment = [&](int block) {
      return program_.blocks[static_cast<size_t>(block)].segment;
    };
    if (!program_.recomputes || (last < own.last_block && segment(last + 1) == segment(last)))
      return;
    int first = last;
    while (first > own.first_block && segment(first - 1) == segment(last)) --first;
    for (int block = first; block <= last; ++block) call(RoutineKind::Recompute, block, microbatch);
  }

  bool comes_and_goes(int block) const {
    return reduces_every_microbatch(module_.class_of(module_.blocks[static_cast<size_t>(block)]));
  }

  // The reduction of a block's gradient starts as soon as the gradient is complete. It is waited
  // for when its result or its bytes are needed, at the latest after the rank's last action, so
  // that it never delays a gradient that another stage waits for. Where the backward is split, some
  // parameters' gradients come with the input's: a reduction starts only when all of the block's
  // are there for the same microbatches. Gradients that come and go are reduced for each
  // microbatch, to leave their bytes to another block; a stage's only block accumulates in place
  // until the rank turns to another stage.
  void weight_gradients(const StageEdges& own, int microbatch, RoutineKind routine) {
    const bool last = is_last(own);
    const bool whole =
        !module_.split_backward || input_grads_[own.first_block] == backwards_[own.first_block];
    const bool adds_up = own.first_block == own.last_block && comes_again_;
    for (int block = own.last_block; block >= own.first_block; --block) {
      if (routine != RoutineKind::WeightGrad) {
        take_back(own, block, microbatch);
        rebuild(own, block, microbatch);
      }
      call_backward(routine, block, microbatch);
      let_leave();
      const bool due = last || (whole && comes_and_goes(block) && !adds_up);
      if (due && has(RoutineKind::Reduce, block)) start_sum(block, microbatch);
    }
    if (own.gradient_out == kNone)
      settle_where([&](const Sum& sum) { return comes_and_goes(sum.block); });
  }

  void start_sum(int block, int microbatch) {
    const bool leaves = has(RoutineKind::GradientsOut, block);
    if (!sums_.empty() && sums_.size() >= (leaves ? kMostLeavingSums : kMostSums)) {
      const int oldest = sums_.front().block;
      settle_where([&](const Sum& sum) { return sum.block == oldest; });
    }
    call(RoutineKind::Reduce, block, microbatch);
    sums_.push_back({block, microbatch});
  }

  // Waits for those sums, the oldest first.
  template <typename Which>
  void settle_where(Which&& which) {
    std::deque<Sum> left;
    for (const Sum& sum : sums_)
      if (which(sum))
        call(RoutineKind::ReduceWait, sum.block, sum.microbatch);
      else
        left.push_back(sum);
    sums_ = std::move(left);
  }

  // A gradient whose sum travels is not written. Of those that come and go at most two are there at
  // once, of an even and of an odd block: they take turns in the bytes of two.
  void call_backward(RoutineKind routine, int block, int microbatch) {
    const ScriptCall next{.routine = routine, .block = block, .accumulate = {}};
    for (const int written : uses_.gradients_written(next))
      settle_where([&](const Sum& sum) {
        return sum.block == written || (comes_and_goes(sum.block) && comes_and_goes(written) &&
                                        (sum.block - written) % 2 == 0);
      });
    call(routine, block, microbatch);
  }

  void backward(const StageEdges& own, int microbatch) {
    take_gradient(own, microbatch);
    weight_gradients(own, microbatch, RoutineKind::Backward);
    give_gradient(own, microbatch);
  }

  void input_grad(const StageEdges& own, int microbatch) {
    take_gradient(own, microbatch);
    ++input_grads_[own.first_block];
    for (int block = own.last_block; block >= own.first_block; --block) {
      take_back(own, block, microbatch);
      rebuild(own, block, microbatch);
      call_backward(RoutineKind::InputGrad, block, microbatch);
      let_leave();
    }
    give_gradient(own, microbatch);
  }

  void weight_grad(const StageEdges& own, int microbatch) {
    weight_gradients(own, microbatch, RoutineKind::WeightGrad);
  }

  const Module& module_;
  Program& program_;
  const Stages& stages_;
  const MessageTimes& messages_;
  double now_ = 0;  // by the times of the schedule
  FlatUses uses_;
  Script script_;
  std::map<Sender, std::deque<int>> sent_;      // microbatches under way
  std::map<int, int> input_grads_, backwards_;  // so far, by a stage's first block
  std::deque<Sum> sums_;                        // on their way
  // Blocks and microbatches whose activations are on the host, and the one on its way there.
  std::set<std::pair<int, int>> away_;
  std::optional<std::pair<int, int>> leaving_;
  bool turns_back_ = false;  // the next action is the backward of the same stage and microbatch
  std::vector<int> runs_;    // by call
  int run_ = kNone;
  Action last_ = {};
  bool comes_again_ = false;  // the next weight gradients of this rank are of the same stage
  bool evaluates_ = false;
};

bool any_has_routine(const Program& program, RoutineKind kind) {
  return std::any_of(program.classes.begin(), program.classes.end(),
                     [&](const ProgramClass& one) { return !one.routine(kind).empty(); });
}

void write_begin(ScriptWriter& script, int microbatches) {
  script.for_blocks(RoutineKind::Prepare, 0);
  for (int microbatch = 0; microbatch < microbatches; ++microbatch)
    script.for_blocks(RoutineKind::Begin, microbatch);
  script.for_blocks(RoutineKind::CountReduce, microbatches - 1);
}

void write_train_step(const Module& module, Program& program, const Stages& stages,
                      const std::vector<Action>& actions, const MessageTimes& messages) {
  ScriptWriter script(module, program, stages, messages, "train_step");
  write_begin(script, program.microbatches);
  script.run(actions);
  const int last = script.last_microbatch();
  for (const RoutineKind routine : {RoutineKind::ReduceTied, RoutineKind::MetricReduce,
                                    RoutineKind::Norm, RoutineKind::NormReduce})
    script.for_blocks(routine, last);
  script.update(last);
  script.finish();
}

void write_evaluate(const Module& module, Program& program, const Stages& stages,
                    const std::vector<Action>& actions, const MessageTimes& messages) {
  ScriptWriter script(module, program, stages, messages, "evaluate");
  write_begin(script, program.microbatches);
  script.evaluate(actions);
  script.for_blocks(RoutineKind::MetricReduce, script.last_microbatch());
  script.finish();
}

}  // namespace

void write_scripts(const Module& module, Program& program, const Stages& stages,
                   const std::vector<Action>& actions, const ScheduleMessages& messages) {
  // Every rank of a step has the norm of gradients, even one whose parameters are all frozen.
  if (any_has_routine(program, RoutineKind::Backward) ||
      any_has_routine(program, RoutineKind::InputGrad) ||
      any_has_routine(program, RoutineKind::WeightGrad) ||
      any_has_routine(program, RoutineKind::Norm))
    write_train_step(module, program, stages, actions, messages.training);
  write_evaluate(module, program, stages, actions, messages.evaluation);
}

}  // namespace tessera
