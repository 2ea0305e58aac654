/* Of another major version of the ABI. */
#include "plain_plugin.h"

PLAIN_MANIFEST("wrong_major", .abi_major = THRT_ABI_MAJOR + 1, .abi_minor = 3);
PLAIN_API(.reserved = 0);
PLAIN_ENTRY()
