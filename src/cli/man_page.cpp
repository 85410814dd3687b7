// SPDX-License-Identifier: Apache-2.0
// Man pages in the macros of man(7), as groff and mandoc read them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "cli/command_table.h"
#include "core/utf8.h"

namespace tessera {
namespace {

// What roff would print as another character, which a shell does not know when it is copied.
struct RoffCharacter {
  char letter;
  std::string_view roff;
};
constexpr std::array kRoffCharacters{RoffCharacter{'-', "\\-"},    RoffCharacter{'\\', "\\e"},
                                     RoffCharacter{'\'', "\\(aq"}, RoffCharacter{'`', "\\(ga"},
                                     RoffCharacter{'^', "\\(ha"},  RoffCharacter{'~', "\\(ti"}};

// Text for roff; other letters than ASCII by number.
std::string roff(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const Utf8Character letter = first_character(text);
    const auto* known = std::ranges::find(kRoffCharacters, text.front(), &RoffCharacter::letter);
    if (known != kRoffCharacters.end())
      safe += known->roff;
    else if (letter.bytes > 1)
      safe += fmt::format("\\[u{:04X}]", letter.code);
    else
      safe += text.front();
    text.remove_prefix(std::max<size_t>(letter.bytes, 1));
  }
  return safe;
}

// A line of text: one that begins with a dot would be a request.
std::string roff_line(std::string_view text) {
  return (text.starts_with('.') ? "\\&" : "") + roff(text) + "\n";
}

std::string upper(std::string text) {
  for (char& letter : text)
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return text;
}

// "Prints only one JSON object.": a description as a sentence.
std::string sentence(std::string text) {
  if (text.empty()) return text;
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text.ends_with('.') || text.ends_with('?') ? text : text + ".";
}

std::string option_entry(const OptionRow& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names)
    names.push_back(option.position ? fmt::format("\\fI{}\\fR", roff(upper(name)))
                                    : fmt::format("\\fB{}\\fR", roff(name)));
  std::string entry = fmt::format(".TP\n{}", fmt::join(names, ", "));
  if (!option.value.empty() && !option.position)
    entry += fmt::format(" \\fI{}\\fR", roff(option.value));
  std::string text = sentence(option.doc);
  if (!option.choices.empty()) text += fmt::format(" One of: {}.", fmt::join(option.choices, ", "));
  if (option.range.find(" - ") != std::string::npos)
    text += fmt::format(" From {}.",
                        std::string(option.range).replace(option.range.find(" - "), 3, " to "));
  if (!option.fallback.empty()) text += fmt::format(" Default: {}.", option.fallback);
  if (option.required) text += " Required.";
  return entry + "\n" + roff_line(text);
}

std::string synopsis_of(const CommandRow& command) {
  std::string line = fmt::format("\\fB{}\\fR", roff(command.words));
  for (const OptionRow& position : command.positions) {
    const std::string name = fmt::format("\\fI{}\\fR{}", roff(upper(position.names.front())),
                                         position.repeats ? "..." : "");
    line += position.required ? " " + name : fmt::format(" [{}]", name);
  }
  if (command.options.size() > 1) line += " [\\fIOPTIONS\\fR]";  // more than --help
  if (!command.commands.empty()) line += " \\fICOMMAND\\fR";
  if (!command.starts.empty()) line += fmt::format(" \\fB{}\\fR [\\fIOPTIONS\\fR]", command.starts);
  return line + "\n";
}

std::string options_of(const CommandRow& command) {
  std::string text;
  for (const OptionRow& position : command.positions) text += option_entry(position);
  for (const OptionRow& option : command.options) text += option_entry(option);
  return text;
}

constexpr std::string_view kExamples = "Examples:\n";

std::string verbatim(std::string_view text) {
  std::string lines = ".nf\n";
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with("  ")) line.remove_prefix(2);
    lines += line.empty() ? ".sp\n" : roff_line(line);
  }
  return lines + ".fi\n";
}

// What the footer says besides its examples: as it is, since it may be a table.
std::string notes_of(const CommandRow& command) {
  const std::string notes = command.footer.substr(0, command.footer.find(kExamples));
  return notes.empty() ? "" : ".PP\n" + verbatim(notes);
}

std::string examples_of(const CommandRow& command) {
  const size_t at = command.footer.find(kExamples);
  if (at == std::string::npos) return {};
  return verbatim(std::string_view(command.footer).substr(at + kExamples.size()));
}

std::string file_name(const CommandRow& command) {
  std::string name = command.words;
  for (char& letter : name)
    if (letter == ' ') letter = '-';
  return name;
}

// Commands that have no page of their own: a subsection each.
std::string nested_sections(const CommandRow& command) {
  std::string text;
  for (const CommandRow& each : command.commands) {
    text += fmt::format(".SS {}\n", roff(each.words));
    text += roff_line(sentence(each.doc)) + ".PP\n" + synopsis_of(each);
    text += notes_of(each) + options_of(each);
    if (const std::string examples = examples_of(each); !examples.empty())
      text += ".PP\nExamples:\n.PP\n" + examples;
    text += nested_sections(each);
  }
  return text;
}

std::string exit_status() {
  return ".SH EXIT STATUS\n"
         ".TP\n0\nSuccess.\n"
         ".TP\n1\nA check failed.\n"
         ".TP\n2\nThe command, a file or a value is wrong; the message says what to do.\n"
         ".TP\n3\nA rank died, is late or could not read its disk.\n"
         ".TP\n7\nA training was asked to stop before its last step, and has saved.\n"
         ".TP\n70\nAn internal error.\n";
}

std::string see_also(const std::vector<std::string>& pages) {
  std::string text = ".SH SEE ALSO\n";
  for (size_t i = 0; i < pages.size(); ++i)
    text += fmt::format(".BR {} (1){}\n", roff(pages[i]), i + 1 < pages.size() ? "," : "");
  return text;
}

// What the command is for; the program's own says its name first.
std::string summary_of(const CommandRow& command) {
  const std::string name = command.words + " ";
  return command.doc.starts_with(name) ? command.doc.substr(name.size()) : command.doc;
}

std::string page_of(const CommandRow& command, const std::string& version, const std::string& date,
                    bool whole) {
  std::string text =
      ".\\\" SPDX-License-Identifier: Apache-2.0\n.\\\" Made by `tessera docs man`.\n";
  text += fmt::format(".TH {} 1 \"{}\" \"tessera {}\" \"Tessera manual\"\n",
                      roff(upper(file_name(command))), date, roff(version));
  text += fmt::format(".SH NAME\n{} \\- {}\n", roff(file_name(command)), roff(summary_of(command)));
  text += ".SH SYNOPSIS\n" + synopsis_of(command);
  text += ".SH DESCRIPTION\n" + roff_line(sentence(command.doc)) + notes_of(command);
  text += ".SH OPTIONS\n" + options_of(command);
  if (whole && !command.commands.empty()) text += ".SH COMMANDS\n" + nested_sections(command);
  if (const std::string examples = examples_of(command); !examples.empty())
    text += ".SH EXAMPLES\n" + examples;
  return text;
}

}  // namespace

std::vector<ManPage> man_pages(const CommandRow& program, const std::string& version,
                               const std::string& date) {
  std::string first = page_of(program, version, date, false) + ".SH COMMANDS\n";
  std::vector<std::string> names;
  for (const CommandRow& command : program.commands) {
    first += fmt::format(".TP\n.BR {} (1)\n{}", roff(file_name(command)),
                         roff_line(sentence(command.doc)));
    names.push_back(file_name(command));
  }
  std::vector<ManPage> pages{{program.words + ".1", first + exit_status() + see_also(names)}};
  for (const CommandRow& command : program.commands)
    pages.push_back({file_name(command) + ".1", page_of(command, version, date, true) +
                                                    exit_status() + see_also({program.words})});
  return pages;
}

}  // namespace tessera
