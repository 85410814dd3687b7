// SPDX-License-Identifier: Apache-2.0
// What the program calls in the worker that runs it.
mergeInto(LibraryManager.library, {
  tell_page: function (text, bytes) {
    return Module["tell"](HEAPU8.slice(text, text + bytes)) ? 1 : 0;
  },
});
