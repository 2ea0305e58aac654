/* Fills a name to the last byte. */
#include "plain_plugin.h"

static thrt_status evil_info(thrt_plugin* plugin, uint32_t index, thrt_device_info* info, thrt_error* error) {
  const thrt_status status = plain_device_info(plugin, index, info, error);
  memset(info->name, 'x', sizeof info->name);
  return status;
}

PLAIN_MANIFEST("unterminated_string", .version = "1.0.0");
PLAIN_API(.device_info = evil_info);
PLAIN_ENTRY()
