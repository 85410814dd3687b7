// SPDX-License-Identifier: Apache-2.0
// The runs in the folders that were named when Studio was started. A page names a run by an id that
// it was told, never by a path; links in the folders are not followed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/closed_folder.h"

namespace tessera {

struct FoundRun {
  std::string id, name;  // the name is the path from the folder that was named, or that itself
  std::filesystem::path path;
  ClosedFolder folder;
};

// Of the path of a run: the same at every start of Studio.
std::string run_id(const std::filesystem::path& path);

class RunFolders {
 public:
  // A UserError where one is not there.
  explicit RunFolders(std::vector<std::filesystem::path> folders);

  // As they are now, by name: the folders themselves and what lies at most two levels below them.
  std::vector<FoundRun> find_all() const;
  FoundRun find(std::string_view id) const;  // a UserError where there is none

 private:
  std::vector<std::filesystem::path> folders_;
};

// Of a page's question. A UserError where the field names no run of the folders, or Studio was
// started without any.
struct Question;
FoundRun asked_run_folder(const Question& question, std::string_view field);

}  // namespace tessera
