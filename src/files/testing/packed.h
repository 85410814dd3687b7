// SPDX-License-Identifier: Apache-2.0
// For tests: bytes packed by gzip and zstd.
#pragma once

#include <zlib.h>
#include <zstd.h>

#include <string>
#include <string_view>

#include "core/error.h"

namespace tessera {

inline std::string gzip_of(std::string_view text) {
  constexpr int kGzip = 16;
  z_stream state{};
  TESSERA_CHECK(::deflateInit2(&state, 6, Z_DEFLATED, MAX_WBITS + kGzip, 8, Z_DEFAULT_STRATEGY) ==
                Z_OK);
  std::string packed(::deflateBound(&state, text.size()), '\0');
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  state.avail_in = static_cast<uInt>(text.size());
  state.next_out = reinterpret_cast<Bytef*>(packed.data());
  state.avail_out = static_cast<uInt>(packed.size());
  TESSERA_CHECK(::deflate(&state, Z_FINISH) == Z_STREAM_END);
  packed.resize(state.total_out);
  ::deflateEnd(&state);
  return packed;
}

// With a checksum, as the command line writes it, and a window of 2^window_log bytes, 0: as zstd
// chooses.
inline std::string zstd_of(std::string_view text, int window_log = 0) {
  ZSTD_CCtx* state = ::ZSTD_createCCtx();
  ::ZSTD_CCtx_setParameter(state, ZSTD_c_checksumFlag, 1);
  ::ZSTD_CCtx_setParameter(state, ZSTD_c_windowLog, window_log);
  std::string packed(::ZSTD_compressBound(text.size()), '\0');
  ZSTD_outBuffer out{packed.data(), packed.size(), 0};
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  // The size is not pledged: a stream of unknown length keeps the window that is asked for.
  TESSERA_CHECK(::ZSTD_isError(::ZSTD_compressStream2(state, &out, &in, ZSTD_e_continue)) == 0);
  TESSERA_CHECK(::ZSTD_compressStream2(state, &out, &in, ZSTD_e_end) == 0);
  packed.resize(out.pos);
  ::ZSTD_freeCCtx(state);
  return packed;
}

}  // namespace tessera
