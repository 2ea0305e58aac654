/* Writes past the struct it was given: it knows a longer one and does not look at struct_size. */
#include "plain_plugin.h"

static thrt_status evil_info(thrt_plugin* plugin, uint32_t index, thrt_device_info* info, thrt_error* error) {
  const thrt_status status = plain_device_info(plugin, index, info, error);
  memset(info + 1, 0, 8);
  return status;
}

PLAIN_MANIFEST("writes_past_struct", .version = "1.0.0");
PLAIN_API(.device_info = evil_info);
PLAIN_ENTRY()
