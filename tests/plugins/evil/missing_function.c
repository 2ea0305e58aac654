/* A table with a hole. */
#include "plain_plugin.h"

PLAIN_MANIFEST("missing_function", .version = "1.0.0");
PLAIN_API(.enqueue = NULL);
PLAIN_ENTRY()
