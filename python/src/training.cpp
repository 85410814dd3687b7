// SPDX-License-Identifier: Apache-2.0
#include "training.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "arrays.h"
#include "bindings.h"
#include "config/island_config.h"
#include "inference/stored_model.h"
#include "interrupt.h"
#include "run_arguments.h"
#include "system/seconds_since.h"
#include "system/threads.h"
#include "train/continued_config.h"
#include "train/island_training.h"
#include "train/resume_changes.h"

namespace tessera {

namespace py = pybind11;

Training::Training(Beginning beginning, py::object on_step)
    : beginning_(std::move(beginning)),
      out_(beginning_.config.run.out),
      on_step_(std::move(on_step)) {
  beginning_.options.init_from = beginning_.weights.get();
  beginning_.options.takes_signals = false;  // they are Python's
  beginning_.options.on_step = [this](const StepRecord& record) { return after_step(record); };
}

// With the GIL, as Python destroys what it holds.
Training::~Training() {
  stop("the end of its object");
  const py::gil_scoped_release release;
  if (thread_.joinable()) thread_.join();
}

void Training::start() {
  process_ = ::getpid();
  thread_ = start_thread([this] { train(); });
}

void Training::train() {
  std::optional<TrainSummary> summary;
  std::exception_ptr error;
  try {
    const Config& config = beginning_.config;
    const bool islands = islands_of(config) > 0 && config.islands.hub.empty();
    summary = islands ? train_islands(config, beginning_.options)
                      : Trainer(config, beginning_.options).run();
    if (!summary->save_error.empty())
      error = std::make_exception_ptr(
          user_error("the last checkpoint was not saved: {}", summary->save_error)
              .help("free some space and resume from the previous one with resume=True"));
  } catch (...) {
    error = std::current_exception();
  }
  beginning_.weights.reset();
  release_callback();
  const std::scoped_lock lock(mutex_);
  summary_ = std::move(summary);
  error_ = error;
  done_ = true;
  ended_.notify_all();
}

// What it refers to need not live as long as the run's object.
void Training::release_callback() {
  if (!on_step_) return;
  const py::gil_scoped_acquire gil;
  on_step_ = py::object();
}

// Why the callback ends the run; empty: it does not.
std::string Training::call_back(const StepRecord& record) {
  const py::gil_scoped_acquire gil;
  in_callback_ = std::this_thread::get_id();
  std::string why;
  try {
    if (on_step_(py::cast(record)).is(py::bool_(false))) why = "on_step";
  } catch (py::error_already_set& error) {
    raised_ = error.value();
    // pybind11 keeps them apart; where it was raised in the callback is what its author looks for.
    if (error.trace()) PyException_SetTraceback(raised_.ptr(), error.trace().ptr());
    why = "an exception of on_step";
  }
  in_callback_ = std::thread::id();
  return why;
}

std::string Training::after_step(const StepRecord& record) {
  step_ = record.step;
  if (on_step_) {
    const auto begin = std::chrono::steady_clock::now();
    std::string why = call_back(record);
    callback_seconds_ = callback_seconds_ + seconds_since(begin);
    if (!why.empty()) return why;
  }
  const std::scoped_lock lock(mutex_);
  return why_stop_;
}

void Training::stop(const std::string& why) {
  const std::scoped_lock lock(mutex_);
  if (why_stop_.empty()) why_stop_ = why;
}

bool Training::ends_within(double seconds) {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, std::chrono::duration<double>(seconds),
                         [this] { return done_.load(); });
}

void Training::require_waiter() const {
  if (process_ != ::getpid())
    throw UserError("the run is one of the process that this one was forked from")
        .help("wait there; a forked process begins runs of its own");
  if (in_callback_.load() == std::this_thread::get_id())
    throw UserError("wait() in the run's own on_step would wait for itself")
        .help("return False, or call stop(), to end the run after this step");
}

// As often as it is asked for: an exception of Python is raised again.
void Training::rethrow() const {
  if (!raised_) std::rethrow_exception(error_);
  const py::gil_scoped_acquire gil;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised_.ptr())), raised_.ptr());
  throw py::error_already_set();
}

bool Training::wait(double seconds) {
  require_waiter();
  constexpr double kLookForSignals = 0.05;
  const auto begin = std::chrono::steady_clock::now();
  Interrupt interrupt;
  while (!ends_within(std::min(kLookForSignals, seconds))) {
    if (interrupt.none()) {
      if (seconds_since(begin) >= seconds) return false;
      continue;
    }
    stop("SIGINT");
    // A second signal does not wait for the step.
    Interrupt again;
    while (!ends_within(kLookForSignals) && again.none()) {
    }
    again.rethrow();
    interrupt.rethrow();
  }
  if (raised_ || error_) rethrow();
  return true;
}

namespace {

struct GivenTraining {
  bool resume = false, overwrite = false, quiet = true;
  std::vector<std::string> accepted_changes;
  std::string init_from;
};

Beginning beginning_of(const RunSettings& run, const GivenTraining& given) {
  require_no_launcher("train");
  check_accepted_names(given.accepted_changes);
  Beginning beginning{.config = {},
                      .options = {.resume = given.resume,
                                  .overwrite = given.overwrite,
                                  .quiet = given.quiet,
                                  .accepted_changes = given.accepted_changes},
                      .weights = nullptr,
                      .note = {}};
  if (given.init_from.empty()) {
    beginning.config = run.load();
  } else {
    beginning.weights = open_stored_model(given.init_from);
    beginning.config = run.in_words_of_python([&] {
      ContinuedConfig continued = continued_config(*beginning.weights, run.file, run.overrides());
      beginning.note = continued.note;
      return continued.config;
    });
  }
  if (!beginning.config.islands.hub.empty())
    throw UserError("islands of a hub are jobs of their own, which Python does not start")
        .at("islands.hub")
        .help("leave it out: islands are then threads of this process");
  return beginning;
}

std::string summary_json(const Training& training) {
  if (!training.done()) throw UserError("the run has not ended").help("call wait() first");
  return training.summary() ? sorted(to_json(*training.summary())).dump() : "null";
}

py::array_t<double> losses_of(const Training& training) {
  return moved_array(training.done() && training.summary() ? training.summary()->losses
                                                           : std::vector<double>{});
}

}  // namespace

void bind_training(py::module_& core) {
  using Release = py::call_guard<py::gil_scoped_release>;
  py::class_<Training>(core, "Training")
      .def("wait", &Training::wait, py::arg("seconds"), Release())
      .def("join", &Training::ends_within, py::arg("seconds"), Release())
      .def("stop", &Training::stop, py::arg("why"))
      .def("done", &Training::done)
      .def("step", &Training::step)
      .def("callback_seconds", &Training::callback_seconds)
      .def("out", &Training::out)
      .def("note", &Training::note)
      .def("losses", &losses_of)
      .def("summary", &summary_json)
      // In a process that was forked: there its thread cannot be waited for, so it is not
      // destroyed.
      .def("forget", [](const py::object& training) { training.inc_ref(); });
  core.def(
      "start_training",
      [](const GivenFile& file, const GivenSettings& settings, py::object on_step, bool resume,
         bool overwrite, bool quiet, const std::vector<std::string>& accepted_changes,
         const std::string& init_from) {
        std::optional<Beginning> beginning;
        {
          const py::gil_scoped_release release;
          beginning =
              beginning_of(run_settings_of(file, settings), {.resume = resume,
                                                             .overwrite = overwrite,
                                                             .quiet = quiet,
                                                             .accepted_changes = accepted_changes,
                                                             .init_from = init_from});
        }
        auto training = std::make_unique<Training>(
            std::move(*beginning), on_step.is_none() ? py::object() : std::move(on_step));
        training->start();
        return training;
      },
      py::arg("file"), py::arg("settings"), py::arg("on_step"), py::arg("resume"),
      py::arg("overwrite"), py::arg("quiet"), py::arg("accepted_changes"), py::arg("init_from"));
}

}  // namespace tessera
