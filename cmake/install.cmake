# SPDX-License-Identifier: MIT
# Header, library, pkg-config file and CMake package.
include(CMakePackageConfigHelpers)

install(TARGETS smb3sign EXPORT smb3sign-targets
	RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
	LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
	ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
	PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# An absolute CMAKE_INSTALL_LIBDIR or _INCLUDEDIR stands as it is; a relative one hangs below ${prefix}, which keeps the
# file right when pkg-config is told another prefix.
foreach(dir LIBDIR INCLUDEDIR)
	if(IS_ABSOLUTE "${CMAKE_INSTALL_${dir}}")
		set(pc_${dir} "${CMAKE_INSTALL_${dir}}")
	else()
		set(pc_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
	endif()
endforeach()
set(pc_cflags)
if(NOT BUILD_SHARED_LIBS)
	set(pc_cflags " -DSMB3SIGN_STATIC")
endif()
configure_file(src/libsmb3sign.pc.in libsmb3sign.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/libsmb3sign.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/smb3sign)
configure_package_config_file(src/smb3sign-config.cmake.in smb3sign-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(smb3sign-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
	${CMAKE_CURRENT_BINARY_DIR}/smb3sign-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/smb3sign-config-version.cmake
	DESTINATION ${package_dir})
install(EXPORT smb3sign-targets NAMESPACE smb3sign:: DESTINATION ${package_dir})

# What there is to read; the manuals are in man/.
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(SMB3SIGN_TOOLS)
	install(FILES tools/completion.bash RENAME smb3sign DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()

# `cmake --build BUILD --target package`: a tarball of what is installed; package_source: of the sources.
if(top_level)
	set(CPACK_GENERATOR TGZ)
	set(CPACK_PACKAGE_NAME libsmb3sign)
	set(CPACK_STRIP_FILES ON)
	set(CPACK_SOURCE_GENERATOR TGZ)
	set(CPACK_SOURCE_PACKAGE_FILE_NAME libsmb3sign-${PROJECT_VERSION})
	# CPack compares whole paths, so that a source folder below some "build" must not count.
	string(REGEX REPLACE "([][+.*?()^$|\\])" "\\\\\\1" source_dir "${PROJECT_SOURCE_DIR}")
	set(CPACK_SOURCE_IGNORE_FILES "^${source_dir}/\\.git/" "^${source_dir}/build[^/]*/" "^${source_dir}/obj-[^/]*/"
		"/__pycache__/")
	set(CPACK_VERBATIM_VARIABLES ON)
	include(CPack)
endif()
