/* Sets a field that has no meaning yet. */
#include "plain_plugin.h"

static thrt_status evil_info(thrt_plugin* plugin, uint32_t index, thrt_device_info* info, thrt_error* error) {
  const thrt_status status = plain_device_info(plugin, index, info, error);
  info->reserved = 7;
  return status;
}

PLAIN_MANIFEST("unknown_field", .version = "1.0.0");
PLAIN_API(.device_info = evil_info);
PLAIN_ENTRY()
