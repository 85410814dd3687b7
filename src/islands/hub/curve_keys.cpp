// SPDX-License-Identifier: Apache-2.0
#include "islands/hub/curve_keys.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>

#include "core/error.h"
#include "files/atomic_file.h"
#include "files/folder.h"
#include "files/small_file.h"
#include "files/storage_error.h"

namespace tessera {
namespace {

constexpr std::string_view kZ85 =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
constexpr const char* kMakeKeys =
    "make keys with `tessera islands keys --out FOLDER`, and give each "
    "island hub.public and its own .key file";

UserError key_error(const std::filesystem::path& file, const char* what) {
  return user_error("{} {}", file.string(), what).at("islands.keys").help(kMakeKeys);
}

// Readable by its owner alone from its first moment on.
void write_secret(const std::filesystem::path& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0 || ::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    const int error = errno;
    if (file >= 0) ::close(file);
    throw user_error("cannot write {}: {}", path.string(), errno_text(error))
        .help("choose another folder with --out");
  }
  ::close(file);
}

std::string key_lines(const std::string& who, const CurveKeys& keys, bool secret) {
  std::string text = fmt::format("# {} key of {} for `tessera islands`\npublic {}\n",
                                 secret ? "the secret" : "the public", who, keys.public_key);
  if (secret) text += fmt::format("secret {}\n", keys.secret_key);
  return text;
}

// The value of a line "public KEY"; empty where there is none.
std::string value_of(const std::string& text, std::string_view word) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line(text.data() + at, end - at);
    if (line.starts_with(word) && line.size() > word.size() && line[word.size()] == ' ')
      return std::string(line.substr(word.size() + 1));
    at = end + 1;
  }
  return {};
}

std::string key_in(const std::filesystem::path& file, std::string_view word) {
  const std::optional<std::string> text = find_small_file(file);
  if (!text) throw key_error(file, "is missing or cannot be read");
  std::string key = value_of(*text, word);
  if (!is_curve_key(key)) throw key_error(file, "holds no key");
  return key;
}

}  // namespace

bool is_curve_key(std::string_view text) {
  return text.size() == kCurveKeyCharacters &&
         text.find_first_not_of(kZ85) == std::string_view::npos;
}

std::string island_name(int64_t island) { return fmt::format("island-{}", island); }

void write_curve_keys(const std::filesystem::path& folder, int islands, CurveKeys (*make_pair)()) {
  make_folder(folder);
  if (std::filesystem::exists(folder / "hub.key"))
    throw user_error("{} holds keys already", folder.string())
        .at("--out")
        .help(
            "choose another folder, or remove the old keys: who has only those is not heard then");
  const auto write = [&](const std::string& who) {
    const CurveKeys keys = make_pair();
    write_secret(folder / (who + ".key"), key_lines(who, keys, true));
    write_file_atomically(folder / (who + ".public"), key_lines(who, keys, false));
  };
  for (int island = 0; island < islands; ++island) write(island_name(island));
  write("hub");
}

CurveKeys read_curve_pair(const std::filesystem::path& folder, const std::string& name) {
  const std::filesystem::path file = folder / (name + ".key");
  struct stat state {};
  if (::stat(file.c_str(), &state) == 0 && (state.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    throw user_error("{} can be read by others than its owner", file.string())
        .at("islands.keys")
        .help("chmod 600 it; where others may have read it, make new keys");
  return {.public_key = key_in(file, "public"), .secret_key = key_in(file, "secret")};
}

std::string read_curve_public(const std::filesystem::path& folder, const std::string& name) {
  return key_in(folder / (name + ".public"), "public");
}

std::map<std::string, int64_t> read_island_keys(const std::filesystem::path& folder) {
  constexpr std::string_view kBegin = "island-";
  std::map<std::string, int64_t> islands;
  for (const std::filesystem::path& file : list_folder(folder)) {
    const std::string stem = file.stem().string();
    if (file.extension() != ".public" || !stem.starts_with(kBegin)) continue;
    int64_t island = 0;
    const char *begin = stem.data() + kBegin.size(), *end = stem.data() + stem.size();
    const auto read = std::from_chars(begin, end, island);
    if (read.ec != std::errc{} || read.ptr != end || island < 0) continue;
    if (!islands.emplace(key_in(file, "public"), island).second)
      throw key_error(file, "holds the key of another island");
  }
  if (islands.empty()) throw key_error(folder / "island-0.public", "is missing");
  return islands;
}

bool is_loopback(std::string_view address) {
  if (address.starts_with("ipc://") || address.starts_with("inproc://")) return true;
  for (const std::string_view host : {"tcp://127.0.0.1:", "tcp://[::1]:", "tcp://localhost:"})
    if (address.starts_with(host)) return true;
  return false;
}

void check_address(const std::string& address, const std::string& place) {
  const bool tcp = address.starts_with("tcp://");
  const size_t colon = address.rfind(':');
  const std::string_view port =
      tcp && colon > 5 ? std::string_view(address).substr(colon + 1) : std::string_view();
  int number = 0;
  const auto read = std::from_chars(port.data(), port.data() + port.size(), number);
  const bool good = (tcp && read.ec == std::errc{} && read.ptr == port.data() + port.size() &&
                     number > 0 && number < 65536 && colon > 6) ||
                    (address.starts_with("ipc://") && address.size() > 6);
  if (!good)
    throw user_error("{} is no address of a hub", address)
        .at(place)
        .help("write it as tcp://HOST:PORT, such as tcp://127.0.0.1:5555");
}

}  // namespace tessera
