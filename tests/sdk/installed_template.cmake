# What an author does: installs the sdk of BUILD under PREFIX, copies the template out of it, configures and builds
# it with COMPILER (and LINK_FLAGS, as the author of another distribution would) and runs its tests, which are the
# conformance suite. Then CHECK uses the plugin with OTHER beside it.
file(REMOVE_RECURSE ${PREFIX} ${PREFIX}-copy)
foreach(component sdk backend-reference)  # as package thrust-sdk does
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --component ${component} --prefix ${PREFIX}
                  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(COPY ${PREFIX}/share/thrust/template/ DESTINATION ${PREFIX}-copy)

# The promise of docs/backend_authors.md.
file(READ ${PREFIX}-copy/plugin.cpp text)
string(REGEX MATCHALL "\n" newlines "${text}")
list(LENGTH newlines lines)
if(lines GREATER_EQUAL 200)
  message(FATAL_ERROR "the template has ${lines} lines; an author reads fewer than 200")
endif()

set(build ${PREFIX}-copy/build)
execute_process(COMMAND ${CMAKE_COMMAND} -S ${PREFIX}-copy -B ${build} -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${PREFIX}
                        -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_MODULE_LINKER_FLAGS=${LINK_FLAGS}
                        -DCMAKE_COMPILE_WARNING_AS_ERROR=ON
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${build} COMMAND_ERROR_IS_FATAL ANY)
set(plugin ${build}/libthrust_backend_mybackend.so)
execute_process(COMMAND ${CHECK} ${plugin} ${OTHER} COMMAND_ERROR_IS_FATAL ANY)
if(LINK_FLAGS MATCHES "static-libstdc")
  execute_process(COMMAND readelf -d ${plugin} OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
  if(needed MATCHES "libstdc")
    message(FATAL_ERROR "the plugin was to bring its own C++ library: ${needed}")
  endif()
endif()
execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${build} --output-on-failure --no-tests=error
                COMMAND_ERROR_IS_FATAL ANY)

# A component that does not exist is refused by name.
file(WRITE ${PREFIX}-wrong/CMakeLists.txt
     "cmake_minimum_required(VERSION 3.22)\nproject(wrong NONE)\nfind_package(thrt REQUIRED COMPONENTS brain)\n")
execute_process(COMMAND ${CMAKE_COMMAND} -S ${PREFIX}-wrong -B ${PREFIX}-wrong/build -DCMAKE_PREFIX_PATH=${PREFIX}
                RESULT_VARIABLE status ERROR_VARIABLE words OUTPUT_QUIET)
if(status EQUAL 0 OR NOT words MATCHES "no component 'brain'")
  message(FATAL_ERROR "find_package took an unknown component: ${words}")
endif()
