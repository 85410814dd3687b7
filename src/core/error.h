// SPDX-License-Identifier: Apache-2.0
// The kinds of error. A UserError is shown as message, place and help and exits with 2; an
// InternalError is a bug that no input can trigger. If an input can trigger it, it is a UserError
// with a test.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace tessera {

inline constexpr int kUserExitStatus = 2;  // of a program that ends with a UserError

// The user asked for something impossible. Text is lower case, with the numbers, in the user's own
// names.
class UserError : public std::exception {
 public:
  explicit UserError(std::string message) : message_(std::move(message)) {}

  // Where the mistake is (a file and line, a config key, a value of the model).
  UserError&& at(std::string place) && {
    place_ = std::move(place);
    return std::move(*this);
  }
  // What to do about it.
  UserError&& help(std::string advice) && {
    advice_ = std::move(advice);
    return std::move(*this);
  }

  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& message() const { return message_; }
  const std::string& place() const { return place_; }
  const std::string& advice() const { return advice_; }

  // The three lines that the command line shows ("error: ...", "   at: ...", " help: ...").
  std::string report() const;

 private:
  std::string message_, place_, advice_;
};

template <typename... Args>
UserError user_error(fmt::format_string<Args...> format, Args&&... args) {
  return UserError(fmt::format(format, std::forward<Args>(args)...));
}

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Called by TESSERA_CHECK; throws InternalError with expression, place and detail.
[[noreturn]] void check_failed(const char* expression, const char* file, int line,
                               const std::string& detail);

}  // namespace tessera

#define TESSERA_CHECK(condition, ...)                                                         \
  do {                                                                                        \
    if (!(condition)) [[unlikely]]                                                            \
      ::tessera::check_failed(#condition, __FILE__, __LINE__, ::fmt::format("" __VA_ARGS__)); \
  } while (false)
