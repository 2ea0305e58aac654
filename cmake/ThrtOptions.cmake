# Compile options every target of this tree uses, through thrt_target_defaults(TARGET).

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(THRT_CCACHE ccache)
if(THRT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # As ccache's manual wants it for precompiled headers.
  set(thrt_launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${THRT_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${thrt_launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${thrt_launcher})
endif()

# thrt_builds_fast(TARGET): code that takes longer to compile than it ever runs: tests, and what handles text.
function(thrt_builds_fast target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()
# thrt_precompile(TARGET header...): headers that cost seconds in each file.
function(thrt_precompile target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # for ccache
endfunction()

function(thrt_target_defaults target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>
    # A designated initialiser leaves the rest at its default on purpose.
    -Wno-missing-field-initializers
    # GCC 12 sees overlaps inside its own std::string (GCC bug 105651).
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
    # Same bits on every compiler and optimisation level: no contraction of a*b+c behind our back.
    -ffp-contract=off)
  if(THRT_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(THRT_SANITIZE)
    # GCC's manual: a sanitizer's instrumentation makes -Wmaybe-uninitialized warn of what is initialised.
    target_compile_options(${target} PRIVATE -fsanitize=${THRT_SANITIZE} -fno-sanitize-recover=all
                                             -fno-omit-frame-pointer
                                             $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_link_options(${target} PRIVATE -fsanitize=${THRT_SANITIZE})
  endif()
  if(THRT_FUZZ)  # tells the fuzzer which branches were taken
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()
