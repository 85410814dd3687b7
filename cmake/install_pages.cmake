# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts beside the program: man pages and shell completion, which the program itself writes, clusters,
# examples and the licence (component `runtime`); the pages of docs/ (component `documentation`).
install(
  CODE "set(TESSERA_PROGRAM \"$<TARGET_FILE:tessera_cli>\")
        set(TESSERA_MAN_TO \"${CMAKE_INSTALL_MANDIR}/man1\")
        set(TESSERA_SHARE_TO \"${CMAKE_INSTALL_DATADIR}\")"
  COMPONENT runtime)
install(SCRIPT ${PROJECT_SOURCE_DIR}/cmake/install_shell.cmake COMPONENT runtime)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/clusters DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera COMPONENT runtime)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime
        PATTERN CMakeLists.txt EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documentation)
