# SPDX-License-Identifier: MIT
# The fuzz targets (libFuzzer), one for each concern; fuzz.sh builds and runs them. Not tests of CTest's: they have no
# end.
add_custom_target(fuzz)
add_library(smb3sign_fuzz_support OBJECT fuzz.c fuzz_policy.c)
target_link_libraries(smb3sign_fuzz_support PRIVATE smb3sign_test_support)

set(fuzz_targets message stream frame caps preauth guard)
if(SMB3SIGN_TOOLS)
	list(APPEND fuzz_targets pcap)
endif()
foreach(target IN LISTS fuzz_targets)
	add_executable(fuzz_${target} fuzz_${target}.c $<TARGET_OBJECTS:smb3sign_fuzz_support>)
	target_link_libraries(fuzz_${target} PRIVATE smb3sign_objects smb3sign_test_support)
	target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer -Wl,--wrap=_ck_assert_failed)
	add_dependencies(fuzz fuzz_${target})
endforeach()

# The command's files but for its main().
if(TARGET fuzz_pcap)
	get_target_property(tool_sources smb3sign-cmd SOURCES)
	list(REMOVE_ITEM tool_sources main.c)
	list(TRANSFORM tool_sources PREPEND ../tools/)
	target_sources(fuzz_pcap PRIVATE ${tool_sources})
	target_link_options(fuzz_pcap PRIVATE -Wl,--wrap=packet_parse -Wl,--wrap=smb_frame)
	set_source_files_properties(${tool_sources} PROPERTIES COMPILE_DEFINITIONS "_XOPEN_SOURCE=700;_DEFAULT_SOURCE")
	target_compile_definitions(fuzz_pcap PRIVATE SMB3SIGN_KEYS="${CMAKE_CURRENT_SOURCE_DIR}/data/keys.txt")
	pkg_check_modules(PCAP REQUIRED IMPORTED_TARGET libpcap)
	target_link_libraries(fuzz_pcap PRIVATE PkgConfig::PCAP)
	if(SMB3SIGN_NETTLE AND NETTLE_FOUND)
		pkg_check_modules(NETTLE IMPORTED_TARGET nettle>=3.5)
		target_link_libraries(fuzz_pcap PRIVATE PkgConfig::NETTLE)
	endif()
endif()
