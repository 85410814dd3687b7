// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <optional>

#include "core/choices.h"
#include "core/error.h"

namespace tessera {
namespace {

std::vector<std::string> subcommands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

struct Asked {
  const CLI::App* app;
  std::string words;  // "tessera bench step"
};

// The command on the line. CLI11 only reports that a subcommand is missing; this finds the misspelt
// one.
Asked asked_for(const CLI::App& app, const std::vector<std::string>& words) {
  Asked asked{&app, app.get_name()};
  for (const std::string& word : words) {
    const std::vector<std::string> names = subcommands_of(*asked.app);
    if (names.empty() || word.starts_with('-')) break;
    if (std::ranges::find(names, word) == names.end()) {
      const std::string nearest = nearest_name(word, names);
      throw user_error("there is no subcommand {}{}", word,
                       nearest.empty() ? "" : ": did you mean " + nearest + "?")
          .help("see " + asked.words + " --help");
    }
    asked.app = asked.app->get_subcommand(word);
    asked.words += fmt::format(" {}", word);
  }
  return asked;
}

std::string lower(std::string_view text) {
  std::string lowered(text);
  for (char& letter : lowered)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return lowered;
}

std::string lower_first(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

// The first missing required option: "--vocab: size of the vocabulary".
std::string missing_option(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    std::string name = option->get_name();
    if (!name.starts_with('-')) std::ranges::transform(name, name.begin(), ::toupper);
    return fmt::format("{}: {}", name, option->get_description());
  }
  return {};
}

// "--compare wants 2 values (FOLDER)"
std::string wanted_values(const std::string& text, const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_name().empty() || text.find(option->get_name()) == std::string::npos) continue;
    const int count = option->get_items_expected_min();
    return fmt::format("{} needs {} value{} ({})", option->get_name(), count, count == 1 ? "" : "s",
                       option->get_type_name());
  }
  return text;
}

// "--stages is four, but must be a number"
std::string unreadable_value(const std::string& text) {
  constexpr std::string_view kTheirs = "could not convert: ";
  const size_t equals = text.find(" = ");
  if (!text.starts_with(kTheirs) || equals == std::string::npos) return text;
  return fmt::format("{} is {}, but must be a number",
                     text.substr(kTheirs.size(), equals - kTheirs.size()), text.substr(equals + 3));
}

// The flag that is nearest to one that the command does not have.
std::string with_nearest_flag(const std::string& text, const CLI::App& command) {
  const size_t flag = text.find("--");
  if (flag == std::string::npos) return text;
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  const std::string given = text.substr(flag, text.find_first_of(" =", flag) - flag);
  const std::string nearest = nearest_name(given, names);
  return nearest.empty() ? text : fmt::format("{}: did you mean {}?", text, nearest);
}

// An error of CLI11 in our words.
std::string problem_of(const CLI::ParseError& error, const Asked& asked) {
  const std::string text = lower_first(error.what());
  const auto between = [&](std::string_view theirs, std::string_view ours) {
    const size_t at = text.find(theirs);
    return at == std::string::npos ? text : std::string(text).replace(at, theirs.size(), ours);
  };
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    const std::string missing = missing_option(*asked.app);
    return missing.empty() ? text : fmt::format("{} needs {}", asked.words, missing);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return wanted_values(text, *asked.app);
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) return unreadable_value(text);
  if (dynamic_cast<const CLI::RequiresError*>(&error) != nullptr)
    return between(" requires ", " needs ");
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr)
    return between(" excludes ", " does not go with ");
  return dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr
             ? with_nearest_flag(text, *asked.app)
             : text;
}

// What the checks of an option say of its value: "{sum,mean}", "INT in [1 - 256]", "POSITIVE".
void add_limits(OptionRow& row, std::string_view limits) {
  if (limits.starts_with('{')) {
    std::string_view names = limits.substr(1, limits.rfind('}') - 1);
    while (!names.empty()) {
      const size_t comma = std::min(names.find(','), names.size());
      row.choices.emplace_back(names.substr(0, comma));
      names.remove_prefix(std::min(comma + 1, names.size()));
    }
  } else if (const size_t range = limits.find(" in ["); range != std::string_view::npos) {
    row.range = limits.substr(range + 5, limits.rfind(']') - range - 5);
  } else {
    row.range = lower(limits);
  }
}

OptionRow row_of(const CLI::Option& option) {
  OptionRow row;
  row.fallback = option.get_default_str();
  row.doc = option.get_description();
  for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
  row.position = row.names.empty();
  if (row.position) row.names.push_back(option.get_name());
  row.required = option.get_required();
  row.repeats = option.get_items_expected_max() > 1;
  if (option.get_items_expected_max() > 0) {  // else a flag
    const std::string type = option.get_type_name();
    const size_t colon = std::min(type.find(':'), type.size());
    row.value = type.substr(0, colon);
    if (colon < type.size()) add_limits(row, std::string_view(type).substr(colon + 1));
  }
  return row;
}

CommandRow row_of(const CLI::App& app, const std::string& before) {
  CommandRow row;
  row.words = before + app.get_name();
  row.doc = app.get_description();
  row.footer = app.get_footer();
  if (app.get_prefix_command()) row.starts = "train";
  for (const CLI::Option* option : app.get_options()) {
    OptionRow each = row_of(*option);
    (each.position ? row.positions : row.options).push_back(std::move(each));
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    row.commands.push_back(row_of(*command, row.words + " "));
  return row;
}

}  // namespace

Option Option::required() const {
  option_->required();
  return *this;
}

Option Option::type_name(const std::string& name) const {
  option_->type_name(name);
  return *this;
}

Option Option::show_default() const {
  option_->capture_default_str();
  return *this;
}

Option Option::delimiter(char between) const {
  option_->delimiter(between);
  return *this;
}

Option Option::take_all() const {
  option_->take_all();
  option_->allow_extra_args(false);  // the next word may be a position: --set KEY=VALUE my.toml
  return *this;
}

Option Option::values(int count) const {
  option_->expected(count);
  return *this;
}

Option Option::choices(std::vector<std::string> names) const {
  option_->check(CLI::IsMember(std::move(names)));
  return *this;
}

template <typename T>
Option Option::range(T least, T most) const {
  option_->check(CLI::Range(least, most));
  if constexpr (std::is_floating_point_v<T>)  // a range holds what is neither below nor above it
    option_->check([](const std::string& text) {
      T value = 0;
      const bool is_number = !CLI::detail::lexical_cast(text, value) || !std::isnan(value);
      return is_number ? std::string() : fmt::format("{} is not a number", text);
    });
  return *this;
}
template Option Option::range(int, int) const;
template Option Option::range(int64_t, int64_t) const;
template Option Option::range(double, double) const;

Option Option::not_negative() const {
  option_->check(CLI::NonNegativeNumber);
  return *this;
}

Option Option::positive() const {
  option_->check(CLI::PositiveNumber);
  return *this;
}

Option Option::needs(Option other) const {
  option_->needs(other.option_);
  return *this;
}

Option Option::excludes(Option other) const {
  option_->excludes(other.option_);
  return *this;
}

Command Command::add_subcommand(const std::string& name, const std::string& doc) const {
  return Command(*app_->add_subcommand(name, doc));
}

void Command::require_subcommand() const { app_->require_subcommand(1); }

void Command::footer(const std::string& text) const { app_->footer(text); }

void Command::version_flag(const std::string& version) const {
  app_->set_version_flag("--version", version);
}

template <typename T>
Option Command::add_option(const std::string& name, T& value, const std::string& doc) const {
  CLI::Option* option = app_->add_option(name, value, doc);
  if constexpr (std::is_same_v<T, uint64_t>)  // -1 would be a very large number
    option->check([](const std::string& text) {
      return text.starts_with('-') ? fmt::format("{} is negative", text) : std::string();
    });
  return Option(*option);
}
template Option Command::add_option(const std::string&, std::string&, const std::string&) const;
template Option Command::add_option(const std::string&, std::optional<std::string>&,
                                    const std::string&) const;
template Option Command::add_option(const std::string&, std::vector<std::string>&,
                                    const std::string&) const;
template Option Command::add_option(const std::string&, int&, const std::string&) const;
template Option Command::add_option(const std::string&, std::optional<int>&,
                                    const std::string&) const;
template Option Command::add_option(const std::string&, int64_t&, const std::string&) const;
template Option Command::add_option(const std::string&, uint64_t&, const std::string&) const;
template Option Command::add_option(const std::string&, double&, const std::string&) const;
template Option Command::add_option(const std::string&, std::vector<int64_t>&,
                                    const std::string&) const;
template Option Command::add_option(const std::string&, std::vector<double>&,
                                    const std::string&) const;

Option Command::add_option_function(const std::string& name,
                                    std::function<void(const std::string&)> set,
                                    const std::string& doc) const {
  return Option(*app_->add_option_function<std::string>(name, std::move(set), doc));
}

Option Command::add_flag(const std::string& name, bool& value, const std::string& doc) const {
  return Option(*app_->add_flag(name, value, doc));
}

bool Command::given(const std::string& name) const { return app_->count(name) > 0; }

void Command::keep_rest() const { app_->prefix_command(); }

std::vector<std::string> Command::rest() const { return app_->remaining(); }

void Command::on_run(std::function<void()> run) const { app_->callback(std::move(run)); }

CommandRow Command::row() const { return row_of(*app_, ""); }

CommandLine::CommandLine(const std::string& name, const std::string& doc)
    : app_(std::make_unique<CLI::App>(doc, name)) {}

CommandLine::~CommandLine() = default;

Command CommandLine::root() { return Command(*app_); }

bool CommandLine::run(std::vector<std::string> words) {
  const Asked asked = asked_for(*app_, words);
  std::ranges::reverse(words);  // CLI11 takes them from the end
  try {
    app_->parse(words);
    return true;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0)
      throw UserError(problem_of(error, asked)).help("see " + asked.words + " --help");
    app_->exit(error);  // --help, --version
    return false;
  }
}

}  // namespace tessera
