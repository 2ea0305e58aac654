/* A whole plugin that accepts every program and computes nothing: buffers are host memory, a run counts a ticket up.
 * The null plugin is this header as it is; the evil ones replace one thing. C11 and C++20.
 *
 *     static thrt_status evil_open(...) { ... }
 *     PLAIN_MANIFEST("evil", .abi_major = 2);              the manifest, later fields win
 *     PLAIN_API(.plugin_open = evil_open);                 the table, likewise
 *     PLAIN_ENTRY()                                        the entry function
 */
#ifndef THRT_TESTS_PLAIN_PLUGIN_H
#define THRT_TESTS_PLAIN_PLUGIN_H

#include <stdlib.h>
#include <string.h>
#include <thrt/abi.h>

/* NOLINTBEGIN(modernize-use-nullptr): it is C too */
#define PLAIN_UNUSED __attribute__((unused))

#define PLAIN_MANIFEST(ID, ...)                                                         \
  const thrt_manifest thrt_backend_manifest_v1 = {.magic = THRT_MANIFEST_MAGIC,         \
                                                  .struct_size = sizeof(thrt_manifest), \
                                                  .api_size = sizeof(thrt_backend_api), \
                                                  .abi_major = THRT_ABI_MAJOR,          \
                                                  .abi_minor = THRT_ABI_MINOR,          \
                                                  .host_minor_needed = 0,               \
                                                  .opset_min = 1,                       \
                                                  .opset_max = THRT_OPSET,              \
                                                  .pointer_bits = 8 * sizeof(void*),    \
                                                  .id = ID,                             \
                                                  .version = "1.0.0",                   \
                                                  .vendor = "the Thrust RL tests",      \
                                                  .description = "computes nothing",    \
                                                  .reserved = {0},                      \
                                                  __VA_ARGS__}

#define PLAIN_API(...)                                                                       \
  static const thrt_backend_api plain_api = {.struct_size = sizeof(thrt_backend_api),        \
                                             .reserved = 0,                                  \
                                             .plugin_open = plain_plugin_open,               \
                                             .plugin_close = plain_plugin_close,             \
                                             .get_extension = plain_get_extension,           \
                                             .device_count = plain_device_count,             \
                                             .device_info = plain_device_info,               \
                                             .context_create = plain_context_create,         \
                                             .context_destroy = plain_context_destroy,       \
                                             .context_stats = plain_context_stats,           \
                                             .buffer_create = plain_buffer_create,           \
                                             .buffer_destroy = plain_buffer_destroy,         \
                                             .upload = plain_upload,                         \
                                             .download = plain_download,                     \
                                             .check = plain_check,                           \
                                             .compile = plain_compile,                       \
                                             .executable_destroy = plain_executable_destroy, \
                                             .bind = plain_bind,                             \
                                             .binding_destroy = plain_binding_destroy,       \
                                             .enqueue = plain_enqueue,                       \
                                             .wait = plain_wait,                             \
                                             __VA_ARGS__}

#define PLAIN_ENTRY()                                                                                       \
  thrt_status thrt_backend_entry_v1(uint32_t host_major, uint32_t host_minor, const thrt_backend_api** api, \
                                    thrt_error* error) {                                                    \
    (void)host_major, (void)host_minor, (void)error;                                                        \
    *api = &plain_api;                                                                                      \
    return THRT_OK;                                                                                         \
  }

/* Every buffer, executable and binding starts with one: a context frees what is left in its list. */
typedef struct plain_node {
  struct plain_node* previous;
  struct plain_node* next;
  void* memory; /* of the object besides itself, or null */
} plain_node;

struct thrt_plugin {
  uint32_t contexts;
};
struct thrt_context {
  thrt_plugin* plugin;
  plain_node objects; /* the ring's start */
  thrt_stats stats;
  thrt_ticket ticket;
};
struct thrt_buffer {
  plain_node node; /* its memory holds the bytes */
  uint64_t bytes;
};
struct thrt_executable {
  plain_node node;
  uint32_t slots;
};
struct thrt_binding {
  plain_node node;
  thrt_executable* executable;
};

static PLAIN_UNUSED thrt_status plain_fail(thrt_error* error, thrt_status status, const char* message) {
  if (error != NULL) {
    memset(error, 0, sizeof *error);
    error->code = status;
    error->op_index = THRT_NONE;
    error->value_index = THRT_NONE;
    strncpy(error->message, message, sizeof error->message - 1);
  }
  return status;
}

/* An object of `bytes` with `memory_bytes` besides, zeroed and in the context's list; null when there is no memory. */
static PLAIN_UNUSED void* plain_new(thrt_context* context, size_t bytes, size_t memory_bytes) {
  plain_node* node = (plain_node*)calloc(1, bytes);
  if (node == NULL) return NULL;
  if (memory_bytes > 0 && (node->memory = calloc(memory_bytes, 1)) == NULL) {
    free(node);
    return NULL;
  }
  node->previous = &context->objects;
  node->next = context->objects.next;
  node->next->previous = node;
  context->objects.next = node;
  return node;
}
static PLAIN_UNUSED void plain_delete(void* object) {
  plain_node* node = (plain_node*)object;
  node->previous->next = node->next;
  node->next->previous = node->previous;
  free(node->memory);
  free(node);
}

/* A crash that the compiler cannot see coming: it leaves out what certainly has no defined result. */
static PLAIN_UNUSED void plain_crash(void) {
  volatile int* volatile nowhere = NULL;
  *nowhere = 1;
}

/* Writes as much of `value` as the caller has room for and leaves its struct_size alone. */
static PLAIN_UNUSED void plain_write(void* out, const void* value, size_t bytes) {
  uint32_t capacity;
  memcpy(&capacity, out, sizeof capacity);
  if (bytes > capacity) bytes = capacity;
  if (bytes > sizeof capacity) {
    memcpy((char*)out + sizeof capacity, (const char*)value + sizeof capacity, bytes - sizeof capacity);
  }
}

static PLAIN_UNUSED thrt_status plain_plugin_open(const thrt_plugin_options* options, thrt_plugin** plugin,
                                                  thrt_error* error) {
  (void)options;
  *plugin = (thrt_plugin*)calloc(1, sizeof(thrt_plugin));
  return *plugin != NULL ? (thrt_status)THRT_OK : plain_fail(error, THRT_OUT_OF_MEMORY, "no host memory");
}
static PLAIN_UNUSED void plain_plugin_close(thrt_plugin* plugin) {
  free(plugin);
}

static PLAIN_UNUSED const void* plain_get_extension(const char* id) {
  (void)id;
  return NULL;
}

static PLAIN_UNUSED thrt_status plain_device_count(thrt_plugin* plugin, uint32_t* count, thrt_error* error) {
  (void)plugin, (void)error;
  *count = 1;
  return THRT_OK;
}

static PLAIN_UNUSED thrt_status plain_device_info(thrt_plugin* plugin, uint32_t index, thrt_device_info* info,
                                                  thrt_error* error) {
  thrt_device_info device;
  (void)plugin;
  if (index != 0) return plain_fail(error, THRT_INVALID_ARGUMENT, "there is one device, number 0");
  memset(&device, 0, sizeof device);
  device.kind = THRT_DEVICE_CPU;
  device.available = 1;
  device.compute_units = 1;
  device.memory_total = device.memory_free = device.max_buffer_bytes = (uint64_t)1 << 30;
  device.storage_dtypes = 0x1FE; /* all eight */
  device.precisions = 1u << THRT_PRECISION_F32;
  device.subgroup_size = 1;
  strcpy(device.name, "null device");
  strcpy(device.driver, "none");
  strcpy(device.architecture, "none");
  plain_write(info, &device, sizeof device);
  return THRT_OK;
}

static PLAIN_UNUSED thrt_status plain_context_create(thrt_plugin* plugin, const thrt_context_options* options,
                                                     thrt_context** context, thrt_error* error) {
  *context = NULL;
  if (options->device_index != 0) return plain_fail(error, THRT_INVALID_ARGUMENT, "there is one device, number 0");
  *context = (thrt_context*)calloc(1, sizeof(thrt_context));
  if (*context == NULL) return plain_fail(error, THRT_OUT_OF_MEMORY, "no host memory");
  (*context)->plugin = plugin;
  (*context)->objects.previous = (*context)->objects.next = &(*context)->objects;
  (*context)->stats.bytes_budget = options->memory_budget != 0 ? options->memory_budget : (uint64_t)1 << 30;
  ++plugin->contexts;
  return THRT_OK;
}
static PLAIN_UNUSED void plain_context_destroy(thrt_context* context) {
  while (context->objects.next != &context->objects) plain_delete(context->objects.next);
  --context->plugin->contexts;
  free(context);
}
static PLAIN_UNUSED thrt_status plain_context_stats(thrt_context* context, thrt_stats* stats, thrt_error* error) {
  (void)error;
  plain_write(stats, &context->stats, sizeof context->stats);
  return THRT_OK;
}

static PLAIN_UNUSED thrt_status plain_buffer_create(thrt_context* context, const thrt_buffer_options* options,
                                                    thrt_buffer** buffer, thrt_error* error) {
  thrt_stats* stats = &context->stats;
  thrt_buffer* made;
  *buffer = NULL;
  if (options->bytes > stats->bytes_budget - stats->bytes_allocated) {
    return plain_fail(error, THRT_OVER_BUDGET, "the memory budget does not allow the buffer");
  }
  made = (thrt_buffer*)plain_new(context, sizeof(thrt_buffer), options->bytes);
  if (made == NULL) return plain_fail(error, THRT_OUT_OF_MEMORY, "no host memory");
  made->bytes = options->bytes;
  ++stats->buffers;
  stats->bytes_allocated += options->bytes;
  if (stats->bytes_peak < stats->bytes_allocated) stats->bytes_peak = stats->bytes_allocated;
  *buffer = made;
  return THRT_OK;
}
static PLAIN_UNUSED void plain_buffer_destroy(thrt_context* context, thrt_buffer* buffer) {
  --context->stats.buffers;
  context->stats.bytes_allocated -= buffer->bytes;
  plain_delete(buffer);
}
static PLAIN_UNUSED thrt_status plain_upload(thrt_context* context, thrt_buffer* buffer, uint64_t offset,
                                             const void* source, uint64_t bytes, thrt_ticket* ticket,
                                             thrt_error* error) {
  (void)error;
  if (bytes > 0) memcpy((char*)buffer->node.memory + offset, source, bytes);
  context->stats.bytes_uploaded += bytes;
  *ticket = ++context->ticket;
  return THRT_OK;
}
static PLAIN_UNUSED thrt_status plain_download(thrt_context* context, thrt_buffer* buffer, uint64_t offset,
                                               void* destination, uint64_t bytes, thrt_ticket* ticket,
                                               thrt_error* error) {
  (void)error;
  if (bytes > 0) memcpy(destination, (char*)buffer->node.memory + offset, bytes);
  context->stats.bytes_downloaded += bytes;
  *ticket = ++context->ticket;
  return THRT_OK;
}

static PLAIN_UNUSED uint32_t plain_count_ops(const thrt_program* program) {
  uint32_t count = program->op_count;
  uint32_t i;
  for (i = 0; i < program->op_count; ++i) {
    const uint32_t inside = program->ops[i].subprogram;
    if (inside != THRT_NONE) count += plain_count_ops(program->subprograms[inside]);
  }
  return count;
}
static PLAIN_UNUSED thrt_status plain_check(thrt_context* context, const thrt_program* program, thrt_verdict* verdicts,
                                            uint32_t capacity, uint32_t* count, thrt_error* error) {
  (void)context, (void)program, (void)verdicts, (void)capacity, (void)error;
  *count = 0;
  return THRT_OK;
}
static PLAIN_UNUSED thrt_status plain_compile(thrt_context* context, const thrt_program* program,
                                              const thrt_compile_options* options, thrt_executable** executable,
                                              thrt_executable_info* info, thrt_error* error) {
  (void)options;
  *executable = (thrt_executable*)plain_new(context, sizeof(thrt_executable), 0);
  if (*executable == NULL) return plain_fail(error, THRT_OUT_OF_MEMORY, "no host memory");
  (*executable)->slots = program->slot_count;
  ++context->stats.executables;
  if (info != NULL) {
    thrt_executable_info made;
    memset(&made, 0, sizeof made);
    made.ops = made.ops_on_device = made.steps = plain_count_ops(program);
    made.launches = 1;
    strcpy(made.kind, "null");
    plain_write(info, &made, sizeof made);
  }
  return THRT_OK;
}
static PLAIN_UNUSED void plain_executable_destroy(thrt_context* context, thrt_executable* executable) {
  --context->stats.executables;
  plain_delete(executable);
}
static PLAIN_UNUSED thrt_status plain_bind(thrt_context* context, thrt_executable* executable,
                                           const thrt_slot_buffer* slots, uint32_t slot_count, thrt_binding** binding,
                                           thrt_error* error) {
  (void)slots;
  *binding = NULL;
  if (slot_count != executable->slots) return plain_fail(error, THRT_INVALID_ARGUMENT, "one entry per slot, please");
  *binding = (thrt_binding*)plain_new(context, sizeof(thrt_binding), 0);
  if (*binding == NULL) return plain_fail(error, THRT_OUT_OF_MEMORY, "no host memory");
  (*binding)->executable = executable;
  ++context->stats.bindings;
  return THRT_OK;
}
static PLAIN_UNUSED void plain_binding_destroy(thrt_context* context, thrt_binding* binding) {
  --context->stats.bindings;
  plain_delete(binding);
}
static PLAIN_UNUSED thrt_status plain_enqueue(thrt_context* context, thrt_binding* binding, uint32_t repeat,
                                              thrt_ticket* ticket, thrt_error* error) {
  (void)binding, (void)error;
  context->stats.runs += repeat;
  *ticket = ++context->ticket;
  return THRT_OK;
}
static PLAIN_UNUSED thrt_status plain_wait(thrt_context* context, thrt_ticket ticket, uint64_t timeout_ns,
                                           thrt_error* error) {
  (void)context, (void)ticket, (void)timeout_ns, (void)error;
  return THRT_OK;
}

/* NOLINTEND(modernize-use-nullptr) */
#endif /* THRT_TESTS_PLAIN_PLUGIN_H */
