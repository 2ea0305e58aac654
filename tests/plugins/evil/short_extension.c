/* Offers a table of thrt/describe.h that says it is too short to hold its functions. */
#include <thrt/describe.h>

#include "plain_plugin.h"

static const void* get_extension(const char* id) {
  static const thrt_describe_api table = {8, 0, NULL, NULL};
  return strcmp(id, THRT_DESCRIBE_ID) == 0 ? &table : NULL;
}

PLAIN_API(.get_extension = get_extension);
PLAIN_MANIFEST("short_extension", .version = "1.0.0");
PLAIN_ENTRY()
