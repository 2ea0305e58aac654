/* Needs functions of a host that does not exist yet. */
#include "plain_plugin.h"

PLAIN_MANIFEST("newer_host", .abi_minor = 99, .host_minor_needed = 99);
PLAIN_API(.reserved = 0);
PLAIN_ENTRY()
