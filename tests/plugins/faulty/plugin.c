/* Fails one call: the N-th that can fail, counted from the first context_create on, where THRT_FAULTY_CALL=N; no call
 * when it is not set. THRT_FAULTY_STATUS is the status (4, out of memory). Both are read when the plugin is opened. */
#include <stdio.h>

#include "plain_plugin.h"

static long fatal_call = 0;
static long calls = 0;
static thrt_status fault = THRT_OUT_OF_MEMORY;

static thrt_status faulty_open(const thrt_plugin_options* options, thrt_plugin** plugin, thrt_error* error) {
  const char* call = getenv("THRT_FAULTY_CALL");
  const char* status = getenv("THRT_FAULTY_STATUS");
  fatal_call = call != NULL ? atol(call) : 0;
  fault = status != NULL ? (thrt_status)atol(status) : (thrt_status)THRT_OUT_OF_MEMORY;
  calls = 0;
  return plain_plugin_open(options, plugin, error);
}

/* What this call answers before it does anything. */
static thrt_status count_call(thrt_error* error) {
  char message[64];
  if (++calls != fatal_call) return THRT_OK;
  snprintf(message, sizeof message, "call %ld fails, as it was told to", calls);
  return plain_fail(error, fault, message);
}

static thrt_status faulty_context_create(thrt_plugin* plugin, const thrt_context_options* options,
                                         thrt_context** context, thrt_error* error) {
  const thrt_status status = count_call(error);
  *context = NULL;
  return status != THRT_OK ? status : plain_context_create(plugin, options, context, error);
}
static thrt_status faulty_context_stats(thrt_context* context, thrt_stats* stats, thrt_error* error) {
  const thrt_status status = count_call(error);
  return status != THRT_OK ? status : plain_context_stats(context, stats, error);
}
static thrt_status faulty_buffer_create(thrt_context* context, const thrt_buffer_options* options, thrt_buffer** buffer,
                                        thrt_error* error) {
  const thrt_status status = count_call(error);
  *buffer = NULL;
  return status != THRT_OK ? status : plain_buffer_create(context, options, buffer, error);
}
static thrt_status faulty_upload(thrt_context* context, thrt_buffer* buffer, uint64_t offset, const void* source,
                                 uint64_t bytes, thrt_ticket* ticket, thrt_error* error) {
  const thrt_status status = count_call(error);
  return status != THRT_OK ? status : plain_upload(context, buffer, offset, source, bytes, ticket, error);
}
static thrt_status faulty_download(thrt_context* context, thrt_buffer* buffer, uint64_t offset, void* destination,
                                   uint64_t bytes, thrt_ticket* ticket, thrt_error* error) {
  const thrt_status status = count_call(error);
  return status != THRT_OK ? status : plain_download(context, buffer, offset, destination, bytes, ticket, error);
}
static thrt_status faulty_check(thrt_context* context, const thrt_program* program, thrt_verdict* verdicts,
                                uint32_t capacity, uint32_t* count, thrt_error* error) {
  const thrt_status status = count_call(error);
  return status != THRT_OK ? status : plain_check(context, program, verdicts, capacity, count, error);
}
static thrt_status faulty_compile(thrt_context* context, const thrt_program* program,
                                  const thrt_compile_options* options, thrt_executable** executable,
                                  thrt_executable_info* info, thrt_error* error) {
  const thrt_status status = count_call(error);
  *executable = NULL;
  return status != THRT_OK ? status : plain_compile(context, program, options, executable, info, error);
}
static thrt_status faulty_bind(thrt_context* context, thrt_executable* executable, const thrt_slot_buffer* slots,
                               uint32_t slot_count, thrt_binding** binding, thrt_error* error) {
  const thrt_status status = count_call(error);
  *binding = NULL;
  return status != THRT_OK ? status : plain_bind(context, executable, slots, slot_count, binding, error);
}
static thrt_status faulty_enqueue(thrt_context* context, thrt_binding* binding, uint32_t repeat, thrt_ticket* ticket,
                                  thrt_error* error) {
  const thrt_status status = count_call(error);
  return status != THRT_OK ? status : plain_enqueue(context, binding, repeat, ticket, error);
}
static thrt_status faulty_wait(thrt_context* context, thrt_ticket ticket, uint64_t timeout_ns, thrt_error* error) {
  const thrt_status status = count_call(error);
  return status != THRT_OK ? status : plain_wait(context, ticket, timeout_ns, error);
}

PLAIN_MANIFEST("faulty", .description = "fails the call it is told to");
PLAIN_API(.plugin_open = faulty_open, .context_create = faulty_context_create, .context_stats = faulty_context_stats,
          .buffer_create = faulty_buffer_create, .upload = faulty_upload, .download = faulty_download,
          .check = faulty_check, .compile = faulty_compile, .bind = faulty_bind, .enqueue = faulty_enqueue,
          .wait = faulty_wait);
PLAIN_ENTRY()
