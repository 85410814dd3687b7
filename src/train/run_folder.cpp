// SPDX-License-Identifier: Apache-2.0
#include "train/run_folder.h"

#include "core/error.h"

namespace tessera {

bool holds_run(const std::filesystem::path& out) {
  return std::filesystem::exists(out / "metrics.jsonl");
}

void refuse_old_run(const std::filesystem::path& out, bool overwrite,
                    const std::filesystem::path& first_weights) {
  if (!holds_run(out)) return;
  if (!overwrite)
    throw user_error("{} already holds a run", out.string())
        .help(
            "go on with --resume, choose another folder with --out, or replace it with "
            "--overwrite");
  if (first_weights.empty()) return;
  const auto inside = std::filesystem::weakly_canonical(first_weights)
                          .lexically_relative(std::filesystem::weakly_canonical(out));
  if (!inside.empty() && *inside.begin() != "..")
    throw user_error("--overwrite would remove {}, which --init-from reads", first_weights.string())
        .help("choose another folder with --out");
}

void clear_run_folder(const std::filesystem::path& out) {
  std::filesystem::remove_all(out / "checkpoints");
  std::filesystem::remove_all(out / kTensorboardFolder);
  for (const char* report : {"report.md", "report.html", "report.json"})
    std::filesystem::remove(out / report);
}

}  // namespace tessera
