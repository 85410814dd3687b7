// SPDX-License-Identifier: Apache-2.0
// Weights that rest in shards start to be gathered one call ahead of their use and are dropped
// behind it; those that the next call needs too stay, so the last block's survive from forward to
// backward. Where memory allows, those of a stage stay for a run of microbatches that pass it one
// after the other in the same direction.
#include "compiler/scripts.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace tessera {

bool reduces_every_microbatch(const BlockClass& block_class) {
  return std::any_of(block_class.graph.outputs().begin(), block_class.graph.outputs().end(),
                     [](const GraphOutput& output) {
                       return output.kind == OutputKind::Flat && output.accumulates;
                     });
}

bool is_backward(RoutineKind routine) {
  return routine == RoutineKind::Backward || routine == RoutineKind::InputGrad ||
         routine == RoutineKind::WeightGrad;
}

namespace {

std::vector<int> weights_read_by(const Module& module, const Program& program,
                                 const ScriptCall& call) {
  std::set<int> owners;
  const Block& block = module.blocks[static_cast<size_t>(call.block)];
  const Graph& graph = module.class_of(block).graph;
  for (const Instruction& instruction :
       program.classes[static_cast<size_t>(block.class_index)].routine(call.routine))
    for (const int operand : instruction.operands) {
      const GraphInput* input = graph.input_of(operand);
      if (!input || input->kind != InputKind::State) continue;
      const Owner owner = owner_of(module, call.block, graph.value(operand).name);
      if (find_bundle(module.class_of(module.blocks[static_cast<size_t>(owner.block)]),
                      owner.parameter))
        owners.insert(owner.block);
    }
  return {owners.begin(), owners.end()};
}

std::vector<int> gradients_written_by(const Module& module, const Program& program,
                                      const ScriptCall& call) {
  std::set<int> owners;
  const Block& block = module.blocks[static_cast<size_t>(call.block)];
  const Graph& graph = module.class_of(block).graph;
  if (!is_backward(call.routine)) return {};
  for (const Instruction& instruction :
       program.classes[static_cast<size_t>(block.class_index)].routine(call.routine))
    for (const GraphOutput& output : graph.outputs())
      if (output.kind == OutputKind::Gradient &&
          std::find(instruction.results.begin(), instruction.results.end(), output.value) !=
              instruction.results.end())
        owners.insert(owner_of(module, call.block, output.target).block);
  return {owners.begin(), owners.end()};
}

}  // namespace

const FlatUses::Uses& FlatUses::of(const ScriptCall& call) {
  const auto [found, fresh] = uses_.try_emplace({call.block, call.routine});
  if (fresh)
    found->second = {.weights_read = weights_read_by(module_, program_, call),
                     .gradients_written = gradients_written_by(module_, program_, call)};
  return found->second;
}

namespace {

// Messages of one channel that are sent and not yet waited for: few enough for every backend.
constexpr size_t kMostInFlight = 64;

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

  bool has(RoutineKind routine, int block) const {
    return !program_.class_of(program_.blocks[static_cast<size_t>(block)]).routine(routine).empty();
  }

  // Calls the routine of that block, if its class has one.
  void call(RoutineKind routine, int block, int microbatch, int channel = kNone) {
    if (!has(routine, block)) return;
    script_.calls.push_back({.routine = routine,
                             .block = block,
                             .microbatch = microbatch,
                             .first = microbatch == 0,
                             .last = microbatch == last_microbatch(),
                             .accumulate = {},
                             .bases = {},
                             .channel = channel});
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
      run(actions[i]);
    }
    settle();
    for (const auto& [key, sent] : sent_)
      for (const int microbatch : sent) call(key.first, key.second, microbatch, channel_of(key));
    sent_.clear();
  }

  // An evaluation's: forward alone.
  void evaluate(const std::vector<Action>& actions) {
    std::vector<Action> forward;
    for (const Action& action : actions)
      if (action.kind == ActionKind::Forward) forward.push_back(action);
    most_streams_ = 2;
    evaluates_ = true;
    run(forward);
  }

  void finish() {
    add_gathers();
    for (ScriptCall& call : script_.calls) decide_accumulation(call);
    program_.scripts.push_back(std::move(script_));
  }

  int last_microbatch() const { return program_.microbatches - 1; }

 private:
  using Sender = std::pair<RoutineKind, int>;  // what waits until it is sent, and its block

  int num_blocks() const { return static_cast<int>(program_.blocks.size()); }
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

  // And then waits for the sum that travelled meanwhile.
  void compute(RoutineKind routine, int block, int microbatch) {
    call(routine, block, microbatch);
    settle();
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
      await_sent(RoutineKind::StreamOutDone, own.last_block, most_streams_ - 1);
    if (own.stream_in != kNone) {
      if (own.stream_in_is_local)
        call(RoutineKind::StreamIn, own.first_block, microbatch, own.stream_in);
      call(RoutineKind::StreamInDone, own.first_block, microbatch, own.stream_in);
    }
    for (int block = own.first_block; block <= own.last_block; ++block)
      compute(evaluates_ ? RoutineKind::Evaluate : RoutineKind::Forward, block, microbatch);
    if (own.stream_out == kNone) return;
    call(RoutineKind::StreamOut, own.last_block, microbatch, own.stream_out);
    sent_[{RoutineKind::StreamOutDone, own.last_block}].push_back(microbatch);
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
    for (int block = first; block <= last; ++block)
      compute(RoutineKind::Recompute, block, microbatch);
  }

  // Sums of a block's gradients travel while the next block computes, of this action or, where a
  // stage before waits for its gradient, of the one after it. Where the backward is
  // split some parameters' gradients come with the input's: a sum is taken only when all of the
  // block's are there for the same microbatches.
  void weight_gradients(const StageEdges& own, int microbatch, RoutineKind routine) {
    const bool last = is_last(own);
    const bool whole =
        !module_.split_backward || input_grads_[own.first_block] == backwards_[own.first_block];
    for (int block = own.last_block; block >= own.first_block; --block) {
      if (routine != RoutineKind::WeightGrad) rebuild(own, block, microbatch);
      call_backward(routine, block, microbatch);
      const BlockClass& block_class = module_.class_of(module_.blocks[static_cast<size_t>(block)]);
      const bool due = last || (whole && reduces_every_microbatch(block_class));
      if (!due || !has(RoutineKind::Reduce, block)) continue;
      settle();
      call(RoutineKind::Reduce, block, microbatch);
      travelling_ = {block, microbatch};
    }
    if (own.gradient_out == kNone) settle();
  }

  // Waits for the sum that travels, if one does.
  void settle() {
    if (travelling_.first != kNone)
      call(RoutineKind::Settle, travelling_.first, travelling_.second);
    travelling_ = {kNone, kNone};
  }

  // A gradient whose sum travels is not written.
  void call_backward(RoutineKind routine, int block, int microbatch) {
    const ScriptCall next{.routine = routine, .block = block, .accumulate = {}};
    const std::vector<int>& written = uses_.gradients_written(next);
    if (std::find(written.begin(), written.end(), travelling_.first) != written.end()) settle();
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
      rebuild(own, block, microbatch);
      call_backward(RoutineKind::InputGrad, block, microbatch);
      settle();
    }
    give_gradient(own, microbatch);
  }

  void weight_grad(const StageEdges& own, int microbatch) {
    weight_gradients(own, microbatch, RoutineKind::WeightGrad);
  }

  void add_gathers() {
    std::vector<std::set<int>> needs;
    bool any = false;
    for (const ScriptCall& call : script_.calls) {
      std::set<int> blocks;
      for (const int block : uses_.weights_read(call))
        if (has(RoutineKind::Gather, block)) blocks.insert(block);
      any = any || !blocks.empty();
      needs.push_back(std::move(blocks));
    }
    if (!any) return;
    // By run and block: the last call of the run that needs it.
    std::map<std::pair<int, int>, size_t> last_in_run;
    std::map<int, std::set<int>> microbatches;  // by run
    for (size_t i = 0; i < needs.size() && stages_.hold_runs && !evaluates_; ++i)
      for (const int block : needs[i]) {
        last_in_run[{runs_[i], block}] = i;
        microbatches[runs_[i]].insert(script_.calls[i].microbatch);
      }
    const auto next_need = [&](size_t i) {
      while (i < needs.size() && needs[i].empty()) ++i;
      return i < needs.size() ? needs[i] : std::set<int>{};
    };
    std::set<int> held, there;
    std::vector<ScriptCall> calls = std::move(script_.calls);
    script_.calls.clear();
    for (size_t i = 0; i < calls.size(); ++i) {
      if (!needs[i].empty()) {
        const std::set<int> next = next_need(i + 1);
        for (const std::set<int>* wanted : {std::as_const(needs).data() + i, &next})
          for (const int block : *wanted)
            if (held.insert(block).second) call(RoutineKind::Gather, block, calls[i].microbatch);
        for (const int block : needs[i])
          if (there.insert(block).second) call(RoutineKind::Await, block, calls[i].microbatch);
        const auto is_done_with = [&](int block) {
          const auto last = last_in_run.find({runs_[i], block});
          const bool stays =
              last != last_in_run.end() && last->second > i && microbatches.at(runs_[i]).size() > 1;
          return !next.contains(block) && !stays;
        };
        std::erase_if(there, is_done_with);
        std::erase_if(held, is_done_with);
      }
      script_.calls.push_back(std::move(calls[i]));
    }
  }

  // Whoever comes first in the script writes an accumulator, whatever shares it; everyone after
  // adds. Gradients that are reduced for each microbatch begin anew behind the reduction.
  void decide_accumulation(ScriptCall& call) {
    const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
    const BlockClass& block_class =
        module_.class_of(module_.blocks[static_cast<size_t>(call.block)]);
    for (const Instruction& instruction : program_.class_of(block).routine(call.routine))
      for (const int result : instruction.accumulators) {
        bool& written = written_[accumulator_name(
            block_class, call.block, instruction.results[static_cast<size_t>(result)])];
        call.accumulate.push_back(written);
        written = true;
      }
    if (call.routine == RoutineKind::Reduce && reduces_every_microbatch(block_class))
      for (const Bundle& bundle : block_class.bundles)
        for (const std::string& parameter : bundle.parameters)
          written_.erase(
              "gradient " +
              module_.state_name(module_.blocks[static_cast<size_t>(call.block)], parameter));
  }

  std::string accumulator_name(const BlockClass& block_class, int block, ValueId value) const {
    const Block& here = module_.blocks[static_cast<size_t>(block)];
    for (const GraphOutput& output : block_class.graph.outputs()) {
      if (output.value != value || !output.accumulates) continue;
      if (output.kind == OutputKind::Step) return "step " + output.target;
      if (output.kind == OutputKind::Flat)
        return fmt::format("flat {}.{}", here.name, output.target);
      return "gradient " + module_.state_name(here, output.target);
    }
    check_failed("accumulator", __FILE__, __LINE__, block_class.graph.value(value).name);
  }

  const Module& module_;
  Program& program_;
  const Stages& stages_;
  const MessageTimes& messages_;
  double now_ = 0;  // by the times of the schedule
  FlatUses uses_;
  Script script_;
  std::map<std::string, bool> written_;
  std::map<Sender, std::deque<int>> sent_;        // microbatches under way
  std::map<int, int> input_grads_, backwards_;    // so far, by a stage's first block
  std::pair<int, int> travelling_{kNone, kNone};  // block and microbatch of a sum on its way
  std::vector<int> runs_;                         // by call
  int run_ = kNone;
  Action last_ = {};
  size_t most_streams_ = kMostInFlight;
  bool evaluates_ = false;
};

bool has_routine(const Program& program, RoutineKind kind) {
  for (const ProgramClass& program_class : program.classes)
    if (!program_class.routine(kind).empty()) return true;
  return false;
}

void write_begin(ScriptWriter& script, int microbatches) {
  for (int microbatch = 0; microbatch < microbatches; ++microbatch)
    script.for_blocks(RoutineKind::Begin, microbatch);
  script.for_blocks(RoutineKind::Count, microbatches - 1);
}

void write_train_step(const Module& module, Program& program, const Stages& stages,
                      const std::vector<Action>& actions, const MessageTimes& messages) {
  ScriptWriter script(module, program, stages, messages, "train_step");
  write_begin(script, program.microbatches);
  script.run(actions);
  const int last = script.last_microbatch();
  for (const RoutineKind routine : {RoutineKind::Join, RoutineKind::Report, RoutineKind::Norm,
                                    RoutineKind::Total, RoutineKind::Update})
    script.for_blocks(routine, last);
  script.finish();
}

void write_evaluate(const Module& module, Program& program, const Stages& stages,
                    const std::vector<Action>& actions, const MessageTimes& messages) {
  ScriptWriter script(module, program, stages, messages, "evaluate");
  write_begin(script, program.microbatches);
  script.evaluate(actions);
  script.for_blocks(RoutineKind::Report, script.last_microbatch());
  script.finish();
}

}  // namespace

void write_scripts(const Module& module, Program& program, const Stages& stages,
                   const std::vector<Action>& actions, const ScheduleMessages& messages) {
  // A rank with the embedding alone has no gradient of an input.
  if (has_routine(program, RoutineKind::Backward) || has_routine(program, RoutineKind::InputGrad) ||
      has_routine(program, RoutineKind::WeightGrad))
    write_train_step(module, program, stages, actions, messages.training);
  write_evaluate(module, program, stages, actions, messages.evaluation);
}

}  // namespace tessera
