// SPDX-License-Identifier: Apache-2.0
// One run, trained on a thread of its own. The thread needs the GIL only while a callback runs;
// who waits for it holds the GIL only to look for signals.
#pragma once

#include <pybind11/pybind11.h>
#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "train/trainer.h"

namespace tessera {

struct Beginning {
  Config config;
  TrainerOptions options;
  std::unique_ptr<StateSource> weights;  // null: random ones
  std::string note;                      // what was changed in a model that is continued
};

class Training {
 public:
  // `on_step`: None, or called with each step; what it raises stops the run and is raised by wait.
  Training(Beginning beginning, pybind11::object on_step);
  ~Training();
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  void start();
  // Without the GIL. True: the run has ended. An error of the run, of its callback, or of a handler
  // of signals is thrown, the last one once the step has ended. A UserError in the callback, and in
  // a process that was forked from the run's.
  bool wait(double seconds);
  bool ends_within(double seconds);  // without a word about how
  void stop(const std::string& why);

  bool done() const { return done_; }
  int64_t step() const { return step_; }
  // That its steps took for the callback so far, waiting for the GIL included.
  double callback_seconds() const { return callback_seconds_; }
  const std::string& out() const { return out_; }
  const std::string& note() const { return beginning_.note; }
  const std::optional<TrainSummary>& summary() const { return summary_; }

 private:
  void train();
  std::string after_step(const StepRecord& record);
  std::string call_back(const StepRecord& record);
  void release_callback();
  void require_waiter() const;
  [[noreturn]] void rethrow() const;

  Beginning beginning_;
  std::string out_;
  pybind11::object on_step_;
  std::atomic<int64_t> step_ = 0;
  std::atomic<double> callback_seconds_ = 0;
  std::atomic<bool> done_ = false;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::string why_stop_;  // guarded by mutex_
  // Written before done_: what the callback has raised, or an error of the run.
  pybind11::object raised_;
  std::exception_ptr error_;
  std::optional<TrainSummary> summary_;
  std::atomic<std::thread::id> in_callback_ = {};  // the thread that is in it
  pid_t process_ = 0;                              // whose thread it is
  std::thread thread_;
};

}  // namespace tessera
