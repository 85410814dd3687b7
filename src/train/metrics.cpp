// SPDX-License-Identifier: Apache-2.0
#include "train/metrics.h"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "train/atomic_file.h"
#include "train/errno_text.h"
#include "train/mapped_file.h"

namespace tessera {
namespace {

UserError cannot_write(const std::filesystem::path& path, int error) {
  return user_error("cannot write {}: {}", path.string(), errno_text(error))
      .help("free some space or choose another folder with run.out");
}

bool is_line_up_to(std::string_view line, int64_t step) {
  const auto json = nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
  if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer())
    return false;
  return json["step"].get<int64_t>() <= step;
}

// A line cut short by a crash is dropped with those after the step.
std::string lines_up_to(const std::filesystem::path& path, int64_t step) {
  const MappedFile file(path);
  std::string_view rest(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  std::string kept;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) break;
    const std::string_view line = rest.substr(0, end);
    if (is_line_up_to(line, step)) kept.append(line).append("\n");
    rest.remove_prefix(end + 1);
  }
  return kept;
}

}  // namespace

std::string to_json_line(const StepMetrics& m) {
  // A loss that is not a number becomes null, as JSON has no word for it.
  nlohmann::ordered_json json{{"step", m.step},
                              {"loss", m.loss},
                              {"grad_norm", m.grad_norm},
                              {"lr", m.lr},
                              {"tokens", m.tokens},
                              {"tokens_per_second", m.tokens_per_second},
                              {"mfu", m.mfu},
                              {"step_seconds", m.step_seconds},
                              {"data_seconds", m.data_seconds},
                              {"peak_bytes", m.peak_bytes}};
  if (m.held_out_loss) json["held_out_loss"] = *m.held_out_loss;
  return json.dump();
}

MetricsWriter::MetricsWriter(std::filesystem::path path, std::optional<int64_t> resumed_step)
    : path_(std::move(path)) {
  const bool append = resumed_step && std::filesystem::exists(path_);
  if (append) write_file_atomically(path_, lines_up_to(path_, *resumed_step));
  file_ =
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC), 0644);
  if (file_ < 0) throw cannot_write(path_, errno);
}

MetricsWriter::~MetricsWriter() { ::close(file_); }

void MetricsWriter::write(const StepMetrics& metrics) {
  const std::string line = to_json_line(metrics) + "\n";
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t count = ::write(file_, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw cannot_write(path_, errno);
    rest.remove_prefix(static_cast<size_t>(count));
  }
}

}  // namespace tessera
