/* Answers OK and hands out nothing. */
#include "plain_plugin.h"

static thrt_status evil_open(const thrt_plugin_options* options, thrt_plugin** plugin, thrt_error* error) {
  (void)options, (void)plugin, (void)error;
  return THRT_OK;
}

PLAIN_MANIFEST("null_result", .version = "1.0.0");
PLAIN_API(.plugin_open = evil_open);
PLAIN_ENTRY()
