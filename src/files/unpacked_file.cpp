// SPDX-License-Identifier: Apache-2.0
#include "files/unpacked_file.h"

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "files/regular_file.h"

namespace tessera {
namespace {

using namespace std::string_view_literals;

constexpr size_t kPackedBytes = 1 << 18;  // read at a time
constexpr int kZstdWindowLog = 27;        // 128 MB, the most that zstd -d takes without being asked

constexpr std::string_view kGzipMagic = "\x1f\x8b"sv, kZstdMagic = "\x28\xb5\x2f\xfd"sv;
// A frame that zstd skips, with which pzstd begins; its first byte is 0x50 to 0x5f.
constexpr std::string_view kSkippedMagic = "\x2a\x4d\x18"sv;

class PlainFile : public UnpackedFile {
 public:
  explicit PlainFile(FileReader file) : file_(std::move(file)) {}

  size_t read(std::span<std::byte> to) override {
    const auto count = std::min(to.size(), static_cast<size_t>(file_.bytes() - position_));
    file_.read(position_, to.first(count));
    position_ += static_cast<int64_t>(count);
    return count;
  }
  int64_t position() const override { return position_; }
  int64_t file_bytes() const override { return file_.bytes(); }

 private:
  FileReader file_;
  int64_t position_ = 0;
};

// The file's own bytes, read in blocks.
class PackedBytes {
 public:
  PackedBytes(FileReader file, const char* format)
      : file_(std::move(file)), format_(format), block_(kPackedBytes) {}

  // What is not used yet; empty only at the end of the file.
  std::span<std::byte> rest() {
    if (begin_ == end_) {
      begin_ = 0;
      end_ = std::min(block_.size(), static_cast<size_t>(file_.bytes() - read_));
      file_.read(read_, std::span(block_).first(end_));
      read_ += static_cast<int64_t>(end_);
    }
    return std::span(block_).subspan(begin_, end_ - begin_);
  }
  void use(size_t bytes) { begin_ += bytes; }
  int64_t position() const { return read_ - static_cast<int64_t>(end_ - begin_); }
  int64_t file_bytes() const { return file_.bytes(); }

  [[noreturn]] void refuse(std::string_view why) const {
    throw user_error("{} is damaged {}: {} at byte {} of {}", file_.path().string(), format_, why,
                     position(), file_.bytes())
        .help("copy or create it again");
  }

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  FileReader file_;
  const char* format_;
  std::vector<std::byte> block_;
  size_t begin_ = 0, end_ = 0;
  int64_t read_ = 0;
};

// One member after another, as pigz and `cat a.gz b.gz` write them.
class GzipFile : public UnpackedFile {
 public:
  explicit GzipFile(FileReader file) : packed_(std::move(file), "gzip") {
    constexpr int kGzipOnly = 16;
    if (::inflateInit2(&state_, MAX_WBITS + kGzipOnly) != Z_OK)
      throw user_error("cannot unpack {}: no memory", packed_.path().string());
  }
  ~GzipFile() override { ::inflateEnd(&state_); }
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  size_t read(std::span<std::byte> to) override {
    to = to.first(std::min<size_t>(to.size(), std::numeric_limits<uInt>::max()));
    state_.next_out = reinterpret_cast<Bytef*>(to.data());
    state_.avail_out = static_cast<uInt>(to.size());
    while (state_.avail_out == to.size() && !to.empty()) {
      const std::span<std::byte> rest = packed_.rest();
      if (rest.empty()) {
        if (!between_) packed_.refuse("it ends too early");
        return 0;
      }
      if (between_ && !begin_member(rest)) continue;
      state_.next_in = reinterpret_cast<Bytef*>(rest.data());
      state_.avail_in = static_cast<uInt>(rest.size());
      const int status = ::inflate(&state_, Z_NO_FLUSH);
      packed_.use(rest.size() - state_.avail_in);
      if (status == Z_STREAM_END)
        between_ = true;
      else if (status != Z_OK && status != Z_BUF_ERROR)
        packed_.refuse(state_.msg != nullptr ? state_.msg : "its data cannot be unpacked");
    }
    return to.size() - state_.avail_out;
  }
  int64_t position() const override { return packed_.position(); }
  int64_t file_bytes() const override { return packed_.file_bytes(); }

 private:
  // Whether a member begins; else zeros, which tapes and block devices add, have been skipped.
  bool begin_member(std::span<const std::byte> rest) {
    const auto zeros = static_cast<size_t>(
        std::find_if(rest.begin(), rest.end(), [](std::byte b) { return b != std::byte{0}; }) -
        rest.begin());
    packed_.use(zeros);
    padded_ = padded_ || zeros > 0;
    if (zeros == rest.size()) return false;
    if (padded_ || rest.front() != std::byte{0x1f}) packed_.refuse("other bytes follow its data");
    ::inflateReset(&state_);
    between_ = false;
    return true;
  }

  PackedBytes packed_;
  z_stream state_{};
  bool between_ = false;  // members
  bool padded_ = false;   // zeros have followed the last one
};

class ZstdFile : public UnpackedFile {
 public:
  explicit ZstdFile(FileReader file) : packed_(std::move(file), "zstd") {
    if (!state_) throw user_error("cannot unpack {}: no memory", packed_.path().string());
    ::ZSTD_DCtx_setParameter(state_.get(), ZSTD_d_windowLogMax, kZstdWindowLog);
  }

  size_t read(std::span<std::byte> to) override {
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    while (out.pos == 0 && !to.empty()) {
      const std::span<std::byte> rest = packed_.rest();
      // Without input it may still have bytes to give.
      ZSTD_inBuffer in{rest.data(), rest.size(), 0};
      const size_t wanted = ::ZSTD_decompressStream(state_.get(), &out, &in);
      if (::ZSTD_isError(wanted) != 0) refuse(wanted);
      packed_.use(in.pos);
      if (rest.empty() && out.pos == 0) {
        if (unfinished_ && wanted != 0) packed_.refuse("it ends too early");
        return 0;
      }
      unfinished_ = wanted != 0;
    }
    return out.pos;
  }
  int64_t position() const override { return packed_.position(); }
  int64_t file_bytes() const override { return packed_.file_bytes(); }

 private:
  [[noreturn]] void refuse(size_t status) const {
    if (::ZSTD_getErrorCode(status) == ZSTD_error_frameParameter_windowTooLarge)
      throw user_error("{} looks back over more than {} MB of its text", packed_.path().string(),
                       (1 << kZstdWindowLog) / 1'000'000)
          .help(fmt::format("write it with a smaller window: zstd -dc --long=31 {} | zstd -o "
                            "smaller.zst",
                            packed_.path().string()));
    packed_.refuse(::ZSTD_getErrorName(status));
  }

  struct Free {
    void operator()(ZSTD_DCtx* state) const { ::ZSTD_freeDCtx(state); }
  };
  PackedBytes packed_;
  std::unique_ptr<ZSTD_DCtx, Free> state_{::ZSTD_createDCtx()};
  bool unfinished_ = false;  // within a frame
};

}  // namespace

Compression compression_of(std::string_view first_bytes) {
  if (first_bytes.starts_with(kGzipMagic)) return Compression::Gzip;
  const bool skipped = !first_bytes.empty() && (first_bytes[0] & 0xf0) == 0x50 &&
                       first_bytes.substr(1).starts_with(kSkippedMagic);
  return skipped || first_bytes.starts_with(kZstdMagic) ? Compression::Zstd : Compression::None;
}

std::filesystem::path name_when_unpacked(const std::filesystem::path& path) {
  const std::filesystem::path ending = path.extension();
  return ending == ".gz" || ending == ".zst" ? path.stem() : path.filename();
}

namespace {

Compression compression_in(const FileReader& file) {
  std::string first(std::min<size_t>(kZstdMagic.size(), static_cast<size_t>(file.bytes())), '\0');
  file.read(0, std::as_writable_bytes(std::span(first)));
  return compression_of(first);
}

}  // namespace

bool is_packed(const std::filesystem::path& path) {
  return compression_in(FileReader(path)) != Compression::None;
}

std::unique_ptr<UnpackedFile> open_unpacked(const std::filesystem::path& path) {
  FileReader file(path);
  switch (compression_in(file)) {
    case Compression::Gzip:
      return std::make_unique<GzipFile>(std::move(file));
    case Compression::Zstd:
      return std::make_unique<ZstdFile>(std::move(file));
    case Compression::None:
      break;
  }
  return std::make_unique<PlainFile>(std::move(file));
}

}  // namespace tessera
