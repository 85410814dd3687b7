// SPDX-License-Identifier: Apache-2.0
// Keys of ZeroMQ's CURVE: the hub and every island have a pair. An island knows the hub by its
// public key, the hub knows each island by its own: nobody else is heard, and nobody on the way can
// read. A folder holds hub.key, hub.public, island-0.key, island-0.public, ...; .key files are
// secret.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace tessera {

struct CurveKeys {
  std::string public_key = {}, secret_key = {};  // 40 characters of Z85 each
};

inline constexpr size_t kCurveKeyCharacters = 40;

// Whether the text is a key as ZeroMQ prints it.
bool is_curve_key(std::string_view text);

// Pairs for a hub and `islands` islands. A UserError where the folder holds keys already.
void write_curve_keys(const std::filesystem::path& folder, int islands, CurveKeys (*make_pair)());

// What a .key or .public file holds; `name` is "hub" or "island-3". A UserError where it is missing
// or is none, or where others than its owner may read a secret one.
CurveKeys read_curve_pair(const std::filesystem::path& folder, const std::string& name);
std::string read_curve_public(const std::filesystem::path& folder, const std::string& name);
// Public keys of all islands in the folder: whose each is.
std::map<std::string, int64_t> read_island_keys(const std::filesystem::path& folder);

std::string island_name(int64_t island);  // "island-3"

// Whether nobody on another machine can reach the address: tcp://127.0.0.1:5, tcp://[::1]:5,
// tcp://localhost:5, ipc://..., inproc://...
bool is_loopback(std::string_view address);
// A UserError that says how addresses are written.
void check_address(const std::string& address, const std::string& place);

}  // namespace tessera
