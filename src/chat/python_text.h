// SPDX-License-Identifier: Apache-2.0
// Python's methods of text, which chat templates call: by characters, not by bytes, with Unicode's
// white space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Without white space, or without any of `characters`, at one end or both.
std::string_view stripped_left(std::string_view text,
                               std::optional<std::string_view> characters = {});
std::string_view stripped_right(std::string_view text,
                                std::optional<std::string_view> characters = {});
std::string_view stripped(std::string_view text, std::optional<std::string_view> characters = {});

// Where each character begins, and where the last one ends.
std::vector<size_t> character_begins(std::string_view text);
int64_t character_count(std::string_view text);

// In time that grows with the text alone, whatever it is: texts of others are searched.
size_t find_text(std::string_view text, std::string_view part, size_t from);
std::vector<size_t> find_all_text(std::string_view text, std::string_view part);

std::vector<std::string> split_by(std::string_view text, std::string_view by, int64_t most);
std::vector<std::string> split_by_space(std::string_view text, int64_t most);
std::vector<std::string> split_by_last(std::string_view text, std::string_view by, int64_t most);
std::vector<std::string> split_lines(std::string_view text);
std::string replaced_text(std::string_view text, std::string_view part, std::string_view by,
                          int64_t most);

std::string upper_text(std::string_view text);
std::string lower_text(std::string_view text);
std::string capital_text(std::string_view text);  // the first letter large, the others small
std::string title_text(std::string_view text);    // each word so, as Jinja's filter

// In quotes, as in a message of an error.
std::string python_quoted(std::string_view text);

}  // namespace tessera
