// SPDX-License-Identifier: Apache-2.0
// Errors of the library as exceptions of Python, which tessera/_errors.py defines.
#include <filesystem>

#include "bindings.h"
#include "comm/failure/peer_error.h"
#include "core/error.h"
#include "files/storage_error.h"

namespace tessera {
namespace {

namespace py = pybind11;

void raise(const char* kind, const UserError& error) {
  const py::object type = py::module_::import("tessera._errors").attr(kind);
  const py::object made = type(error.message(), error.place(), error.advice());
  PyErr_SetObject(type.ptr(), made.ptr());
}

void raise(const char* kind, const std::exception& error) {
  const py::object type = py::module_::import("tessera._errors").attr(kind);
  PyErr_SetString(type.ptr(), error.what());
}

}  // namespace

// As main() of the command line tells them apart.
void bind_errors() {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const StorageError& error) {
      raise("StorageError", error);
    } catch (const UserError& error) {
      raise("UserError", error);
    } catch (const std::filesystem::filesystem_error& error) {
      const int code = error.code().value();
      raise(is_outage(code) ? "StorageError" : "UserError",
            user_error("cannot reach {}: {}", error.path1().string(), errno_text(code))
                .help("check the path and its permissions"));
    } catch (const PeerError& error) {
      raise("PeerError", error);
    } catch (const InternalError& error) {
      raise("InternalError", error);
    }
  });
}

}  // namespace tessera
