# SPDX-License-Identifier: MIT
# What is installed beside the library: the manuals against the header and the command, and through the formatters that are
# here; the bash completion.
find_program(SMB3SIGN_PYTHON3 NAMES python3)
if(SMB3SIGN_PYTHON3)
	set(test_manuals ${SMB3SIGN_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/test_manuals.py)
	add_test(NAME manuals_header COMMAND ${test_manuals} header ${PROJECT_SOURCE_DIR})
	add_test(NAME manuals_links COMMAND ${test_manuals} links ${PROJECT_SOURCE_DIR} ${smb3sign_man3})
	set_property(TEST manuals_header manuals_links PROPERTY LABELS shipped)
	if(SMB3SIGN_TOOLS)
		add_test(NAME manuals_command COMMAND ${test_manuals} command ${PROJECT_SOURCE_DIR} $<TARGET_FILE:smb3sign-cmd>)
		set_property(TEST manuals_command PROPERTY LABELS shipped)
	endif()
	if(NOT CMAKE_C_FLAGS MATCHES "-fsanitize")
		add_test(NAME manuals_examples COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_manuals.sh examples ${PROJECT_SOURCE_DIR}
			${CMAKE_C_COMPILER} $<TARGET_FILE:smb3sign>)
		set_property(TEST manuals_examples PROPERTY LABELS shipped)
	endif()
else()
	message(STATUS "smb3sign: no python3: there will be no tests 'manuals_header', 'manuals_links', 'manuals_command'")
endif()
foreach(formatter mandoc groff man)
	find_program(SMB3SIGN_${formatter} NAMES ${formatter})
	if(SMB3SIGN_${formatter})
		add_test(NAME manuals_${formatter} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_manuals.sh ${formatter}
			${PROJECT_SOURCE_DIR} ${smb3sign_man3})
		set_property(TEST manuals_${formatter} PROPERTY LABELS shipped)
	else()
		message(STATUS "smb3sign: no ${formatter}: there will be no test 'manuals_${formatter}'")
	endif()
endforeach()

# The bash completion.
find_program(SMB3SIGN_bash NAMES bash)
if(SMB3SIGN_TOOLS AND SMB3SIGN_bash)
	add_test(NAME completion COMMAND ${SMB3SIGN_bash} ${CMAKE_CURRENT_SOURCE_DIR}/test_completion.sh
		${PROJECT_SOURCE_DIR}/tools/completion.bash $<TARGET_FILE:smb3sign-cmd>)
	set_property(TEST completion PROPERTY LABELS shipped)
endif()
