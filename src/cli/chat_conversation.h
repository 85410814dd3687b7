// SPDX-License-Identifier: Apache-2.0
// The conversation that `tessera chat` leads: its messages, and the commands that change them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "files/json.h"

namespace tessera {

class ChatConversation {
 public:
  explicit ChatConversation(std::string system) : system_(std::move(system)) {}

  // Whether a line is a command: it begins with a slash, and not with two.
  static bool is_command(const std::string& line);
  // Runs it, and says what it did. A UserError where there is no such command.
  std::string run(const std::string& line);
  bool has_ended() const { return ended_; }

  // What is answered next; a second slash at its begin stands for one.
  void ask(const std::string& line);
  void answer(const std::string& text);
  // The question that got no answer.
  void take_back() { turns_.pop_back(); }

  Json messages() const;

 private:
  struct Row;
  static const std::vector<Row>& rows();

  std::string help(const std::string& rest);
  std::string reset(const std::string& rest);
  std::string set_system(const std::string& rest);
  std::string undo(const std::string& rest);
  std::string save(const std::string& rest);
  std::string quit(const std::string& rest);

  std::string system_;
  std::vector<Json> turns_;
  std::set<std::string> saved_;  // files
  bool ended_ = false;
};

}  // namespace tessera
