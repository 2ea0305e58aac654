# Installs BUILD's binary, sdk and reference backend under PREFIX and follows PAGE with them.
file(REMOVE_RECURSE ${PREFIX})
foreach(component thrust sdk backend-reference)
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --component ${component} --prefix ${PREFIX}
                  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endforeach()
set(ENV{PATH} "${PREFIX}/${BINDIR}:$ENV{PATH}")
set(ENV{CMAKE_PREFIX_PATH} ${PREFIX})
set(ENV{THRUST_PLUGIN_PATH} "")
execute_process(COMMAND ${PYTHON} ${RUN_PAGE} --replace /usr/=${PREFIX}/ ${PAGE} COMMAND_ERROR_IS_FATAL ANY)
