/* A manifest and nothing behind it. */
#include "plain_plugin.h"

PLAIN_MANIFEST("no_entry", .version = "1.0.0");
