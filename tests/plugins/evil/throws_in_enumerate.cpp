// An exception leaves a function of the table.
#include <stdexcept>

#include "plain_plugin.h"

namespace {
thrt_status throwing_count(thrt_plugin*, uint32_t*, thrt_error*) {
  throw std::runtime_error("no count today");
}
thrt_backend_api throwing_api;
}  // namespace

PLAIN_MANIFEST("throws_in_enumerate", );
PLAIN_API();

thrt_status thrt_backend_entry_v1(uint32_t, uint32_t, const thrt_backend_api** api, thrt_error*) {
  throwing_api = plain_api;
  throwing_api.device_count = throwing_count;
  *api = &throwing_api;
  return THRT_OK;
}
