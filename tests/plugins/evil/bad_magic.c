/* Its manifest is not one. */
#include "plain_plugin.h"

PLAIN_MANIFEST("bad_magic", .magic = 42);
PLAIN_API(.reserved = 0);
PLAIN_ENTRY()
