# SPDX-License-Identifier: Apache-2.0
# Run at every build: writes FILE from TEMPLATE with the version and the commit of SOURCE, and leaves FILE alone where both
# are as they were. Without git, or in another project's repository, the version stands alone.
set(TEXT ${VERSION})
find_program(GIT git)
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --show-cdup --short=7 HEAD OUTPUT_VARIABLE found
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  # The path up to the top of the repository is the empty first line, where SOURCE is that top.
  if(found MATCHES "^\n([0-9a-f]+)$")
    set(TEXT "${VERSION} (${CMAKE_MATCH_1})")
    execute_process(COMMAND ${GIT} -C ${SOURCE} status --porcelain --untracked-files=no OUTPUT_VARIABLE changes
                    ERROR_QUIET)
    if(changes)
      set(TEXT "${VERSION} (${CMAKE_MATCH_1}, with changes)")
    endif()
  endif()
endif()
configure_file(${TEMPLATE} ${FILE} @ONLY)
