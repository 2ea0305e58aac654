/* Accepts everything and computes nothing: what is left of a run's time is the host's own. */
#include "plain_plugin.h"

PLAIN_MANIFEST("null", .version = "1.0.0");
PLAIN_API(.reserved = 0);
PLAIN_ENTRY()
