# Installs the sdk component of BUILD under PREFIX, configures and builds SOURCE (a backend's project) against it with
# COMPILER, and runs CHECK, a test that loads the plugin.
file(REMOVE_RECURSE ${PREFIX} ${PREFIX}-build)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --component sdk --prefix ${PREFIX}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${PREFIX}-build -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release
                        -DCMAKE_PREFIX_PATH=${PREFIX} -DCMAKE_CXX_COMPILER=${COMPILER}
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${PREFIX}-build COMMAND_ERROR_IS_FATAL ANY)
set(plugin ${PREFIX}-build/libthrust_backend_negator.so)
if(NOT EXISTS ${plugin})
  message(FATAL_ERROR "not built: ${plugin}")
endif()
execute_process(COMMAND ${CHECK} ${plugin} COMMAND_ERROR_IS_FATAL ANY)

# A component that does not exist is refused by name.
file(WRITE ${PREFIX}-wrong/CMakeLists.txt
     "cmake_minimum_required(VERSION 3.22)\nproject(wrong NONE)\nfind_package(thrt REQUIRED COMPONENTS brain)\n")
execute_process(COMMAND ${CMAKE_COMMAND} -S ${PREFIX}-wrong -B ${PREFIX}-wrong/build -DCMAKE_PREFIX_PATH=${PREFIX}
                RESULT_VARIABLE status ERROR_VARIABLE words OUTPUT_QUIET)
if(status EQUAL 0 OR NOT words MATCHES "no component 'brain'")
  message(FATAL_ERROR "find_package took an unknown component: ${words}")
endif()
