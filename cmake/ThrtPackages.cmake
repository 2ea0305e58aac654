# The Debian packages, one for each install component: `cmake --build BUILD --target package`, or cpack in BUILD, puts
# them into BUILD/packages.
#
#   thrust               the binary
#   thrust-backend-ID    one for each plugin that was built: a line of thrt_package_backend below
#   thrust-sdk           what an author of a backend needs
#
# Libraries that a package needs are found by dpkg-shlibdeps. A backend needs no particular thrust but one of its ABI, so
# that both can be upgraded alone; backends of other people say `Depends: thrust-abi-1` likewise.

find_program(THRT_GZIP gzip)
find_program(THRT_DPKG_SHLIBDEPS dpkg-shlibdeps)
find_program(THRT_FILE file)
if(NOT THRT_GZIP OR NOT THRT_DPKG_SHLIBDEPS OR NOT THRT_FILE)
  message(STATUS "No Debian packages can be made: they need gzip, dpkg-shlibdeps (of dpkg-dev) and file")
  return()
endif()

set(THRT_PACKAGE_MAINTAINER "The Thrust RL authors <authors@thrust-rl.invalid>" CACHE STRING
    "Who answers for the packages: NAME <ADDRESS>")  # RFC 2606: nobody's address
set(THRT_PACKAGE_RELEASE 1 CACHE STRING "Debian's revision of the packages")

file(STRINGS ${PROJECT_SOURCE_DIR}/sdk/include/thrt/abi.h thrt_abi_lines REGEX "^#define THRT_ABI_(MAJOR|MINOR) ")
string(REGEX REPLACE ".*MAJOR ([0-9]+)u.*MINOR ([0-9]+)u.*" "\\1" thrt_abi_major "${thrt_abi_lines}")
string(REGEX REPLACE ".*MAJOR ([0-9]+)u.*MINOR ([0-9]+)u.*" "\\2" thrt_abi_minor "${thrt_abi_lines}")
set(thrt_package_version ${PROJECT_VERSION}-${THRT_PACKAGE_RELEASE})

# What Debian's policy wants in the folder of every package (12.5, 12.7).
set(thrt_package_docs ${PROJECT_BINARY_DIR}/packaging)
string(TIMESTAMP thrt_package_date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # honours SOURCE_DATE_EPOCH
configure_file(${PROJECT_SOURCE_DIR}/cmake/debian_changelog.in ${thrt_package_docs}/changelog.Debian @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/CHANGELOG.md ${thrt_package_docs}/changelog COPYONLY)
file(READ ${PROJECT_SOURCE_DIR}/LICENSE thrt_license)
string(REGEX MATCH "Copyright \\(c\\) ([^\n]*)\n\n(.*)" _ "${thrt_license}")
set(thrt_copyright_holder "${CMAKE_MATCH_1}")
string(STRIP "${CMAKE_MATCH_2}" thrt_license)
string(REPLACE "\n\n" "\n.\n" thrt_license "${thrt_license}")
string(REPLACE "\n" "\n " thrt_license "${thrt_license}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/debian_copyright.in ${thrt_package_docs}/copyright @ONLY)
execute_process(COMMAND ${THRT_GZIP} -9nkf changelog.Debian changelog
                WORKING_DIRECTORY ${thrt_package_docs} COMMAND_ERROR_IS_FATAL ANY)

set(THRT_PACKAGES "")

# thrt_package(COMPONENT NAME ...): one package. FIELDS are of Debian's control file, in CPack's spelling: DEPENDS "...".
function(thrt_package component name)
  cmake_parse_arguments(ARG "" "SUMMARY;DESCRIPTION;SECTION" "FIELDS" ${ARGN})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${ARG_SECTION} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${ARG_SUMMARY}\n${ARG_DESCRIPTION}" PARENT_SCOPE)
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${ARG_SUMMARY}" PARENT_SCOPE)
  while(ARG_FIELDS)
    list(POP_FRONT ARG_FIELDS field value)
    set(CPACK_DEBIAN_${upper}_PACKAGE_${field} "${value}" PARENT_SCOPE)
  endwhile()
  set(THRT_PACKAGES ${THRT_PACKAGES} ${component} PARENT_SCOPE)
  install(FILES ${thrt_package_docs}/copyright ${thrt_package_docs}/changelog.gz ${thrt_package_docs}/changelog.Debian.gz
          DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${name} COMPONENT ${component})
endfunction()

# thrt_package_backend(ID SUMMARY DESCRIPTION [DEPENDS NAME] [RECOMMENDS NAME]): the package of the plugin target
# thrt_backend_ID, when that is built. DEPENDS: what the plugin opens at run time, which nothing else finds out.
macro(thrt_package_backend id summary description)
  cmake_parse_arguments(BACKEND "" "DEPENDS;RECOMMENDS" "" ${ARGN})
  set(thrt_backend_fields PROVIDES thrust-backend ENHANCES thrust)
  if(BACKEND_RECOMMENDS)
    list(APPEND thrt_backend_fields RECOMMENDS "${BACKEND_RECOMMENDS}")
  endif()
  set(thrt_backend_depends "thrust-abi-${thrt_abi_major} (>= ${thrt_abi_major}.${thrt_abi_minor})")
  if(BACKEND_DEPENDS)
    string(APPEND thrt_backend_depends ", ${BACKEND_DEPENDS}")
  endif()
  if(TARGET thrt_backend_${id})
    thrt_package(backend-${id} thrust-backend-${id} SECTION science SUMMARY "${summary}" DESCRIPTION "${description}"
                 FIELDS DEPENDS "${thrt_backend_depends}" ${thrt_backend_fields})
  endif()
endmacro()

thrt_package(thrust thrust SECTION science
  SUMMARY "trains neural networks on the compute backends that a machine has"
  DESCRIPTION "Thrust RL trains small and middling neural networks, reinforcement learning
first. Whole training phases run as one program on a backend, a plugin that is
found at run time. This package has the binary, which
needs at least one backend."
  FIELDS RECOMMENDS "thrust-backend-cpu | thrust-backend" SUGGESTS thrust-sdk
         PROVIDES "thrust-abi-${thrt_abi_major} (= ${thrt_abi_major}.${thrt_abi_minor})")
thrt_package_backend(cpu "processor backend of Thrust RL"
  "Runs training programs on the processor, with kernels for three levels of
vector instructions.")
thrt_package_backend(vulkan "Vulkan backend of Thrust RL"
  "Runs training programs on GPUs of any vendor, by compute shaders of Vulkan 1.2,
and on the processor by Mesa's lavapipe."
  DEPENDS libvulkan1 RECOMMENDS "mesa-vulkan-drivers | vulkan-icd")
thrt_package_backend(reference "reference backend of Thrust RL"
  "Runs every operation in plain loops and double precision: slow, and what
other backends are compared with.")
thrt_package(sdk thrust-sdk SECTION devel
  SUMMARY "headers and tools for writing backends of Thrust RL"
  DESCRIPTION "The C interface between thrust and its backends, header-only helpers in C++,
CMake's package file, and the suite that tries a backend against the reference."
  FIELDS DEPENDS "thrust, thrust-backend-reference (= ${thrt_package_version})" RECOMMENDS "cmake, g++ | clang")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME thrust)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # would come before every package's own
set(CPACK_PACKAGE_CONTACT "${THRT_PACKAGE_MAINTAINER}")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL ${THRT_PACKAGES})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${THRT_PACKAGE_RELEASE})
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
include(CPack)
