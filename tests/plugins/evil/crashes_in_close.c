/* Works, and crashes when it is closed. */
#include "plain_plugin.h"

static void evil_close(thrt_plugin* plugin) {
  plain_plugin_close(plugin);
  plain_crash();
}

PLAIN_MANIFEST("crashes_in_close", .version = "1.0.0");
PLAIN_API(.plugin_close = evil_close);
PLAIN_ENTRY()
