// SPDX-License-Identifier: Apache-2.0
#include "system/process.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "core/error.h"
#include "core/quantities.h"

namespace tessera {

double process_age_seconds() {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  // After the name, which ends with the last parenthesis, the start is the 20th field.
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string word;
  for (int i = 0; i < 20; ++i) fields >> word;
  if (word.empty()) return 0;
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 -
         std::stod(word) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

void require_memory(int64_t planned_bytes, double installed_bytes) {
  if (installed_bytes <= 0 || static_cast<double>(planned_bytes) <= installed_bytes) return;
  throw user_error("this machine has {} of memory; the plan needs {}",
                   short_bytes(static_cast<int64_t>(installed_bytes)), short_bytes(planned_bytes))
      .help(
          "use fewer ranks, a smaller batch or model, more microbatches or plan.recompute; "
          "`tessera "
          "compile` shows where the bytes go");
}

char process_state(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const size_t end = text.rfind(')');
  return end != std::string::npos && end + 2 < text.size() ? text[end + 2] : '\0';
}

std::string process_name(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/comm", process));
  std::string name;
  std::getline(file, name);
  return name;
}

std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> children;
  std::error_code gone;
  std::filesystem::directory_iterator thread(fmt::format("/proc/{}/task", process), gone);
  for (; thread != std::filesystem::directory_iterator(); thread.increment(gone)) {
    std::ifstream file(thread->path() / "children");
    for (pid_t child = 0; file >> child;) children.push_back(child);
  }
  return children;
}

std::vector<pid_t> descendants_of(pid_t process) {
  std::vector<pid_t> found = children_of(process);
  for (size_t i = 0; i < found.size(); ++i) {
    const std::vector<pid_t> more = children_of(found[i]);
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

}  // namespace tessera
