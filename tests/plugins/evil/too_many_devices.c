/* Has more devices than abi.h allows. */
#include "plain_plugin.h"

static thrt_status evil_count(thrt_plugin* plugin, uint32_t* count, thrt_error* error) {
  (void)plugin, (void)error;
  *count = 65;
  return THRT_OK;
}

PLAIN_MANIFEST("too_many_devices", .version = "1.0.0");
PLAIN_API(.device_count = evil_count);
PLAIN_ENTRY()
