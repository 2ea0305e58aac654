/* Crashes while it lists its devices. */
#include "plain_plugin.h"

static thrt_status evil_count(thrt_plugin* plugin, uint32_t* count, thrt_error* error) {
  (void)plugin, (void)error;
  *count = 1;
  plain_crash();
  return THRT_OK;
}

PLAIN_MANIFEST("segfaults_in_enumerate", .version = "1.0.0");
PLAIN_API(.device_count = evil_count);
PLAIN_ENTRY()
