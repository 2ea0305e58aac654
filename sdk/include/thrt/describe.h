/*
 * An optional extension of a backend: what a compiled program became. Draft (docs/abi.md, "Draft, stable, deprecated").
 *
 *     const thrt_describe_api* table = api->get_extension(THRT_DESCRIBE_ID);      null: the backend has none
 *
 * Both functions are about an executable, so that what a run will cost can be read before anything runs. All conventions
 * of abi.h hold: thread marks, errors, sized structs, conduct. A backend that offers the table may still answer
 * UNSUPPORTED, which means that it has nothing to say about this executable.
 */
#ifndef THRT_DESCRIBE_H
#define THRT_DESCRIBE_H

#include <thrt/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define THRT_DESCRIBE_ID "thrt.describe/1"

/* Of one run, with the bodies of repeats counted as often as they run.
 * Launches are kernels, library calls and copies that the device is given; API submissions are thrt_executable_info.launches.
 * Bytes are what each launch is given to read or to write in memory that other launches can see, once a launch: neither what
 * a kernel reads twice nor what a cache spares it. */
typedef struct thrt_program_counters { /* output */
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t launches;
  uint64_t barriers; /* places where what follows waits for what was launched before */
  uint64_t bytes_read;
  uint64_t bytes_written;
} thrt_program_counters;
THRT_STATIC_ASSERT(sizeof(thrt_program_counters) == 40, "thrt_program_counters v1");

typedef struct thrt_describe_api {
  uint32_t struct_size;
  uint32_t reserved;

  /* [context] What the executable runs, for a person to read: a line for each kernel or step, in order, each ending with a
   * newline. UTF-8. Writes the text and a NUL when both fit into `capacity` bytes, else nothing; *needed becomes the bytes
   * that they take in either case, and both are OK. `text` may be null when `capacity` is 0. */
  thrt_status (*describe)(thrt_context* context, thrt_executable* executable, char* text, uint64_t capacity,
                          uint64_t* needed, thrt_error* error);

  /* [context] UNSUPPORTED where they are not known. */
  thrt_status (*counters)(thrt_context* context, thrt_executable* executable, thrt_program_counters* counters,
                          thrt_error* error);
} thrt_describe_api;
THRT_STATIC_ASSERT(sizeof(thrt_describe_api) == 8 + 2 * sizeof(void*), "thrt_describe_api v1");

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THRT_DESCRIBE_H */
