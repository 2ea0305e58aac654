# Installs what an author of a backend has from BUILD under PREFIX, copies SOURCE away from this tree, configures and builds
# it with COMPILER (HEADERS: where CL/cl.h is, if anywhere), and uses it: listed, without a driver too; certified for level
# training; trained with; packaged.
file(REMOVE_RECURSE ${PREFIX} ${PREFIX}-copy ${PREFIX}-run)
foreach(component thrust sdk backend-reference)
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --component ${component} --prefix ${PREFIX}
                  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(NOT HEADERS)
  message("skipped: there is no CL/cl.h (Debian: opencl-headers)")
  return()
endif()

file(COPY ${SOURCE}/ DESTINATION ${PREFIX}-copy)
set(build ${PREFIX}-copy/build)
execute_process(COMMAND ${CMAKE_COMMAND} -S ${PREFIX}-copy -B ${build} -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${PREFIX}
                        -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_COMPILE_WARNING_AS_ERROR=ON
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${build} COMMAND_ERROR_IS_FATAL ANY)
set(plugin ${build}/libthrust_backend_opencl.so)
set(thrust ${PREFIX}/${BINDIR}/thrust)

# The plugin loads wherever it is: what is missing is said, not linked.
execute_process(COMMAND readelf -d ${plugin} OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
if(needed MATCHES "OpenCL")
  message(FATAL_ERROR "the plugin links an OpenCL library, so it does not load without one: ${needed}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E env OCL_ICD_VENDORS=/nonexistent ${thrust} backends --plugin ${plugin}
                OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
if(NOT listed MATCHES "opencl 0.1.0" OR NOT listed MATCHES "no OpenCL device|libOpenCL.so.1 not found")
  message(FATAL_ERROR "without a driver the backend does not say what is missing: ${listed}")
endif()

execute_process(COMMAND ${thrust} backends --plugin ${plugin} --json OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
string(JSON backends GET "${listed}" backends)
string(JSON count LENGTH "${backends}")
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  string(JSON id GET "${backends}" ${i} id)
  if(id STREQUAL "opencl")
    string(JSON device GET "${backends}" ${i} devices 0)
  endif()
endforeach()
string(JSON available GET "${device}" available)
if(NOT available)
  string(JSON reason GET "${device}" unavailable_reason)
  message("skipped: ${reason}")
  return()
endif()
string(JSON name GET "${device}" name)

execute_process(COMMAND ${PREFIX}/${BINDIR}/thrust-conformance --plugin ${plugin} --device ${name} --level training --jobs 2
                        --timeout 600
                COMMAND_ERROR_IS_FATAL ANY)

# CartPole-v1 balances for 500 steps at most; a random policy for about 22, this one for all by step 100,000.
execute_process(COMMAND ${thrust} train ppo CartPole-v1 --plugin ${plugin} --backend opencl:${name} --seed 1
                        --total-timesteps 100000 --run-dir ${PREFIX}-run
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${thrust} eval ${PREFIX}-run --plugin ${plugin} --json OUTPUT_VARIABLE eval
                COMMAND_ERROR_IS_FATAL ANY)
string(JSON mean GET "${eval}" mean_return)
if(mean LESS 475)  # what Gymnasium calls solved
  message(FATAL_ERROR "CartPole-v1 is not solved: ${eval}")
endif()
message("CartPole-v1 on ${name}: mean return ${mean}")

# A package of its own, beside ours.
find_program(dpkg_deb dpkg-deb)
if(dpkg_deb)
  execute_process(COMMAND ${CMAKE_CPACK_COMMAND} --config ${build}/CPackConfig.cmake -B ${PREFIX}-copy/packages OUTPUT_QUIET
                  COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB package ${PREFIX}-copy/packages/thrust-backend-opencl_*.deb)
  execute_process(COMMAND ${dpkg_deb} --contents ${package} OUTPUT_VARIABLE contents COMMAND_ERROR_IS_FATAL ANY)
  if(NOT contents MATCHES "thrust/plugins/libthrust_backend_opencl.so")
    message(FATAL_ERROR "the package has no plugin: ${contents}")
  endif()
endif()
