// SPDX-License-Identifier: Apache-2.0
#include "system/process_age.h"

#include <unistd.h>

#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

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

}  // namespace tessera
