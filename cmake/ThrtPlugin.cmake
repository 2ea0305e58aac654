# thrt_add_plugin(TARGET ID source...)
#
# A backend plugin: libthrust_backend_ID.so, which exports the two symbols of thrt/abi.h and nothing else. The flags
# below keep a plugin from touching its host or another plugin; docs/backend_authors.md gives the reason for each.
# After the link the exported symbols are compared with the two that abi.md allows, and a difference fails the build.

set(THRT_PLUGIN_CMAKE_DIR ${CMAKE_CURRENT_LIST_DIR} CACHE INTERNAL "")

function(thrt_add_plugin target id)
  add_library(${target} MODULE ${ARGN})
  target_link_libraries(${target} PRIVATE thrt::sdk)
  set(version_script ${THRT_PLUGIN_CMAKE_DIR}/plugin.map)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME thrust_backend_${id} PREFIX lib SUFFIX .so
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LINK_DEPENDS ${version_script})
  if(THRT_PLUGIN_OUTPUT_DIRECTORY)
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${THRT_PLUGIN_OUTPUT_DIRECTORY})
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Without it a unique symbol is shared by all plugins of a process, whatever RTLD_LOCAL says.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-gnu-unique>)
  endif()
  target_link_options(${target} PRIVATE
    LINKER:--version-script=${version_script} LINKER:-z,now LINKER:-z,relro LINKER:--exclude-libs,ALL)
  if(NOT THRT_SANITIZE)  # a sanitizer's runtime is resolved from the executable, so its symbols are undefined here
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -DPLUGIN=$<TARGET_FILE:${target}> -DNM=${CMAKE_NM}
            -P ${THRT_PLUGIN_CMAKE_DIR}/check_plugin_exports.cmake
    VERBATIM)
endfunction()
