/* A backend in C11, written against thrt/abi.h 1.0 as it lies in include/ and nothing else: no C++, no SDK. It runs some ops of f32, fewer
 * of i32, in plain loops, refuses the rest, and makes by hand all the checks that abi.h asks of a backend.
 *
 * A binding has a place for every value. A run copies the inputs there, does the ops in order and copies the outputs out, so every output
 * is computed from the inputs as they were. Runs happen within enqueue. A program with a repeat is refused there; what follows the repeat
 * is not looked at. */
#include "program.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#define MEMORY (UINT64_C(1) << 30) /* of the device; each context may use as much */

enum { BUFFER, EXECUTABLE, BINDING, KINDS };

/* What buffers, executables and bindings have in common: a block of memory, counted against the budget of their context. */
struct object {
  struct object *next, **link;
  thrt_context* owner;
  uint64_t bytes;
  uint8_t* memory;
};
struct thrt_buffer {
  struct object o;
};
struct thrt_executable {
  struct object o;
  thrt_program p;         /* a copy, in o.memory */
  const uint64_t* places; /* of each value in a binding's memory */
  uint64_t workspace;     /* bytes of all values */
  uint32_t flags;
};
struct thrt_binding {
  struct object o;
  const thrt_executable* executable;
  uint8_t** slots; /* at the end of o.memory */
};
struct thrt_context {
  struct object* objects[KINDS];
  uint32_t counts[KINDS];
  uint64_t budget, used, peak, uploaded, downloaded, runs;
  _Atomic uint64_t ticket, failed; /* the last handed out; the first that failed, or 0 */
  uint32_t failed_op;
};
struct thrt_plugin {
  int unused;
};

static thrt_status make(thrt_context* c, int kind, size_t size, uint64_t bytes, uint64_t alignment, void* made,
                        thrt_error* error) {
  CHECK(bytes <= c->budget - c->used, THRT_OVER_BUDGET, THRT_NONE,
        "the memory budget of the context does not allow it");
  CHECK(alignment <= MEMORY, THRT_OUT_OF_MEMORY, THRT_NONE, "the alignment is larger than the memory");
  struct object* o = calloc(1, size);
  uint8_t* memory = aligned_alloc((size_t)alignment, (size_t)((bytes / alignment + 1) * alignment));
  if (o == NULL || memory == NULL) {
    free(o);
    free(memory);
    return fail(error, THRT_OUT_OF_MEMORY, THRT_NONE, "the host has no more memory");
  }
  *o = (struct object){c->objects[kind], &c->objects[kind], c, bytes, memory};
  if (o->next != NULL) o->next->link = &o->next;
  c->objects[kind] = o;
  ++c->counts[kind];
  c->used += bytes;
  if (c->used > c->peak) c->peak = c->used;
  *(struct object**)made = o;
  return THRT_OK;
}
static void drop(thrt_context* c, int kind, struct object* o) {
  if (c == NULL || o == NULL || o->owner != c) return;
  *o->link = o->next;
  if (o->next != NULL) o->next->link = o->link;
  --c->counts[kind];
  c->used -= o->bytes;
  free(o->memory);
  free(o);
}
static thrt_status owned(const thrt_context* c, const void* object, thrt_error* error) {
  ARGUMENT(c != NULL && object != NULL, "an object is null");
  CHECK(((const struct object*)object)->owner == c, THRT_INVALID_STATE, THRT_NONE, "an object is of another context");
  return THRT_OK;
}

static thrt_status plugin_open(const thrt_plugin_options* options, thrt_plugin** plugin, thrt_error* error) {
  thrt_plugin_options known;
  ARGUMENT(plugin != NULL, "plugin is null");
  *plugin = NULL;
  TRY(read_struct(&known, sizeof known, options, error));
  CHECK(known.flags == 0, THRT_INCOMPATIBLE, THRT_NONE, "a flag is not known");
  *plugin = calloc(1, sizeof **plugin);
  CHECK(*plugin != NULL, THRT_OUT_OF_MEMORY, THRT_NONE, "no memory");
  return THRT_OK;
}
static void plugin_close(thrt_plugin* plugin) {
  free(plugin);
}
static const void* get_extension(const char* id) {
  return id == NULL ? NULL : NULL;
}

static thrt_status device_count(thrt_plugin* plugin, uint32_t* count, thrt_error* error) {
  ARGUMENT(plugin != NULL && count != NULL, "plugin or count is null");
  *count = 1;
  return THRT_OK;
}
static thrt_status device_info(thrt_plugin* plugin, uint32_t index, thrt_device_info* info, thrt_error* error) {
  const thrt_device_info value = {.kind = THRT_DEVICE_CPU,
                                  .available = 1,
                                  .compute_units = 1,
                                  .memory_total = MEMORY,
                                  .memory_free = MEMORY,
                                  .max_buffer_bytes = MEMORY,
                                  .storage_dtypes = 1u << THRT_DTYPE_F32 | 1u << THRT_DTYPE_I32,
                                  .precisions = 1u << THRT_PRECISION_F32,
                                  .subgroup_size = 1,
                                  .name = "loops in C",
                                  .driver = "none",
                                  .architecture = "any"};
  ARGUMENT(plugin != NULL && index == 0, "plugin is null, or the device index is out of range");
  return write_struct(info, &value, sizeof value, error);
}

static thrt_status context_create(thrt_plugin* plugin, const thrt_context_options* options, thrt_context** context,
                                  thrt_error* error) {
  thrt_context_options known;
  ARGUMENT(context != NULL, "context is null");
  *context = NULL;
  ARGUMENT(plugin != NULL, "plugin is null");
  TRY(read_struct(&known, sizeof known, options, error));
  ARGUMENT(known.device_index == 0, "the device index is out of range");
  CHECK(known.precision == THRT_PRECISION_F32, THRT_UNSUPPORTED, THRT_NONE, "only precision f32 is done here");
  CHECK(known.memory_budget <= MEMORY, THRT_OVER_BUDGET, THRT_NONE, "the budget is larger than the device's memory");
  *context = calloc(1, sizeof **context);
  CHECK(*context != NULL, THRT_OUT_OF_MEMORY, THRT_NONE, "no memory");
  (*context)->budget = known.memory_budget != 0 ? known.memory_budget : MEMORY;
  return THRT_OK;
}
static void context_destroy(thrt_context* c) {
  for (int kind = KINDS; c != NULL && kind-- > 0;) {
    while (c->objects[kind] != NULL) drop(c, kind, c->objects[kind]);
  }
  free(c);
}
static thrt_status context_stats(thrt_context* c, thrt_stats* stats, thrt_error* error) {
  ARGUMENT(c != NULL, "context is null");
  const thrt_stats value = {0,       c->counts[BUFFER], c->counts[EXECUTABLE], c->counts[BINDING], c->used,
                            c->peak, c->budget,         c->uploaded,           c->downloaded,      c->runs};
  return write_struct(stats, &value, sizeof value, error);
}

static thrt_status buffer_create(thrt_context* c, const thrt_buffer_options* options, thrt_buffer** buffer,
                                 thrt_error* error) {
  thrt_buffer_options known;
  ARGUMENT(buffer != NULL, "buffer is null");
  *buffer = NULL;
  ARGUMENT(c != NULL, "context is null");
  TRY(read_struct(&known, sizeof known, options, error));
  ARGUMENT(known.memory_kind <= THRT_MEMORY_STAGING, "the memory kind is not known");
  ARGUMENT((known.alignment & (known.alignment - 1)) == 0, "the alignment is no power of two");
  return make(c, BUFFER, sizeof **buffer, known.bytes, known.alignment > 64 ? known.alignment : 64, buffer, error);
}
static void buffer_destroy(thrt_context* c, thrt_buffer* buffer) {
  drop(c, BUFFER, &buffer->o);
}

/* Copies and runs are done when their call returns. */
static thrt_status copy(thrt_context* c, thrt_buffer* buffer, uint64_t offset, const void* source, void* destination,
                        uint64_t bytes, thrt_ticket* ticket, thrt_error* error) {
  TRY(owned(c, buffer, error));
  ARGUMENT(ticket != NULL && (source != NULL || destination != NULL || bytes == 0), "the ticket or the memory is null");
  ARGUMENT(range(offset, bytes, buffer->o.bytes), "the range leaves the buffer");
  if (source != NULL) memcpy(buffer->o.memory + offset, source, (size_t)bytes);
  if (destination != NULL) memcpy(destination, buffer->o.memory + offset, (size_t)bytes);
  *ticket = ++c->ticket;
  return THRT_OK;
}
static thrt_status upload(thrt_context* c, thrt_buffer* buffer, uint64_t offset, const void* source, uint64_t bytes,
                          thrt_ticket* ticket, thrt_error* error) {
  TRY(copy(c, buffer, offset, source, NULL, bytes, ticket, error));
  c->uploaded += bytes;
  return THRT_OK;
}
static thrt_status download(thrt_context* c, thrt_buffer* buffer, uint64_t offset, void* destination, uint64_t bytes,
                            thrt_ticket* ticket, thrt_error* error) {
  TRY(copy(c, buffer, offset, NULL, destination, bytes, ticket, error));
  c->downloaded += bytes;
  return THRT_OK;
}

static thrt_status check(thrt_context* c, const thrt_program* program, thrt_verdict* verdicts, uint32_t capacity,
                         uint32_t* count, thrt_error* error) {
  uint32_t refusals = 0;
  ARGUMENT(c != NULL && count != NULL && (verdicts != NULL || capacity == 0), "context, count or verdicts is null");
  TRY(verify(program, verdicts, capacity, &refusals, error));
  *count = refusals;
  return THRT_OK;
}

static const void* keep(uint8_t** at, const void* from, uint64_t bytes) {
  const void* to = *at;
  if (bytes > 0) memcpy(*at, from, (size_t)bytes);
  *at += round_up(bytes);
  return to;
}

static thrt_status compile(thrt_context* c, const thrt_program* program, const thrt_compile_options* options,
                           thrt_executable** executable, thrt_executable_info* info, thrt_error* error) {
  thrt_compile_options known;
  thrt_verdict first = {THRT_NONE, 0, ""};
  uint32_t refusals = 0;
  ARGUMENT(executable != NULL, "executable is null");
  *executable = NULL;
  ARGUMENT(c != NULL, "context is null");
  TRY(read_struct(&known, sizeof known, options, error));
  if (info != NULL) TRY(write_struct(info, NULL, 0, error));
  CHECK(known.flags <= 3, THRT_INCOMPATIBLE, THRT_NONE, "a flag is not known");
  TRY(verify(program, &first, 1, &refusals, error));
  CHECK(refusals == 0, THRT_UNSUPPORTED, first.op_index, first.reason);
  const thrt_program* p = program;
  const uint64_t sizes[] = {p->constant_bytes,
                            p->value_count * sizeof *p->values,
                            p->op_count * sizeof *p->ops,
                            p->slot_count * sizeof *p->slots,
                            p->operand_count * sizeof *p->operands,
                            p->attribute_count * sizeof *p->attributes,
                            p->value_count * sizeof(uint64_t)};
  uint64_t bytes = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) bytes += round_up(sizes[i]);
  TRY(make(c, EXECUTABLE, sizeof **executable, bytes, 64, executable, error));
  thrt_executable* e = *executable;
  uint8_t* at = e->o.memory;
  e->p = *p;
  e->flags = known.flags;
  e->p.constants = keep(&at, p->constants, sizes[0]);
  e->p.values = keep(&at, p->values, sizes[1]);
  e->p.ops = keep(&at, p->ops, sizes[2]);
  e->p.slots = keep(&at, p->slots, sizes[3]);
  e->p.operands = keep(&at, p->operands, sizes[4]);
  e->p.attributes = keep(&at, p->attributes, sizes[5]);
  e->places = (const uint64_t*)at;
  for (uint32_t v = 0; v < p->value_count; ++v) {
    ((uint64_t*)at)[v] = e->workspace;
    e->workspace += round_up(bytes_of(&p->values[v]));
  }
  const thrt_executable_info value = {.ops = p->op_count,
                                      .ops_on_device = p->op_count,
                                      .steps = p->op_count,
                                      .launches = 1,
                                      .workspace_bytes = e->workspace + p->slot_count * sizeof(uint8_t*),
                                      .constant_bytes = bytes,
                                      .kind = "interpreter"};
  return info != NULL ? write_struct(info, &value, sizeof value, error) : THRT_OK;
}
static void executable_destroy(thrt_context* c, thrt_executable* executable) {
  drop(c, EXECUTABLE, &executable->o);
}

static uint64_t slot_bytes(const thrt_program* p, uint32_t s) {
  return bytes_of(
      &p->values[p->slots[s].input_value != THRT_NONE ? p->slots[s].input_value : p->slots[s].output_value]);
}

static thrt_status bind(thrt_context* c, thrt_executable* e, const thrt_slot_buffer* slots, uint32_t count,
                        thrt_binding** binding, thrt_error* error) {
  ARGUMENT(binding != NULL, "binding is null");
  *binding = NULL;
  TRY(owned(c, e, error));
  ARGUMENT(count == e->p.slot_count && (slots != NULL || count == 0),
           "the slots are null, or not as many as the program's");
  for (uint32_t s = 0; s < count; ++s) {
    const uint64_t bytes = slot_bytes(&e->p, s);
    TRY(owned(c, slots[s].buffer, error));
    ARGUMENT(slots[s].offset % 64 == 0 && range(slots[s].offset, bytes, slots[s].buffer->o.bytes),
             "a slot leaves its buffer");
    for (uint32_t t = 0; t < s; ++t) {
      const int read_only = e->p.slots[s].output_value == THRT_NONE && e->p.slots[t].output_value == THRT_NONE;
      const int apart = slots[s].buffer != slots[t].buffer ||
                        slots[s].offset >= slots[t].offset + slot_bytes(&e->p, t) ||
                        slots[t].offset >= slots[s].offset + bytes;
      ARGUMENT(read_only || apart, "two slots overlap, and one of them is written");
    }
  }
  TRY(make(c, BINDING, sizeof **binding, e->workspace + count * sizeof(uint8_t*), 64, binding, error));
  (*binding)->executable = e;
  (*binding)->slots = (uint8_t**)((*binding)->o.memory + e->workspace);
  for (uint32_t s = 0; s < count; ++s) (*binding)->slots[s] = slots[s].buffer->o.memory + slots[s].offset;
  return THRT_OK;
}
static void binding_destroy(thrt_context* c, thrt_binding* binding) {
  drop(c, BINDING, &binding->o);
}

static int is_finite(const thrt_value* v, const uint8_t* bytes) {
  for (int64_t i = 0; v->dtype == THRT_DTYPE_F32 && i < elements(v); ++i) {
    if (!isfinite(((const float*)bytes)[i])) return 0;
  }
  return 1;
}

/* Returns the op that made a NaN or an infinity, or THRT_NONE. */
static uint32_t run(const thrt_binding* b) {
  const thrt_executable* e = b->executable;
  const thrt_program* p = &e->p;
  for (uint32_t s = 0; s < p->slot_count; ++s) {
    const uint32_t v = p->slots[s].input_value;
    if (v != THRT_NONE) memcpy(b->o.memory + e->places[v], b->slots[s], (size_t)bytes_of(&p->values[v]));
  }
  for (uint32_t i = 0; i < p->op_count; ++i) {
    const struct call c = call_of(p, &p->ops[i]);
    run_op(&c, p->constants, b->o.memory + e->places[c.x - p->values], b->o.memory + e->places[c.y - p->values],
           b->o.memory + e->places[c.r - p->values]);
    if ((e->flags & THRT_COMPILE_CHECK_FINITE) && !is_finite(c.r, b->o.memory + e->places[c.r - p->values])) return i;
  }
  for (uint32_t s = 0; s < p->slot_count; ++s) {
    const uint32_t v = p->slots[s].output_value;
    if (v != THRT_NONE) memcpy(b->slots[s], b->o.memory + e->places[v], (size_t)bytes_of(&p->values[v]));
  }
  return THRT_NONE;
}

static thrt_status enqueue(thrt_context* c, thrt_binding* binding, uint32_t repeat, thrt_ticket* ticket,
                           thrt_error* error) {
  TRY(owned(c, binding, error));
  ARGUMENT(ticket != NULL && repeat >= 1, "the ticket is null, or repeat is 0");
  uint32_t failed_op = THRT_NONE;
  for (uint32_t i = 0; i < repeat && failed_op == THRT_NONE; ++i) {
    failed_op = run(binding);
    if (failed_op == THRT_NONE) ++c->runs;
  }
  if (failed_op != THRT_NONE && c->failed == 0) {
    c->failed_op = failed_op;
    c->failed = c->ticket + 1;
  }
  *ticket = ++c->ticket;
  return THRT_OK;
}

static thrt_status wait(thrt_context* c, thrt_ticket ticket, uint64_t timeout_ns, thrt_error* error) {
  (void)timeout_ns; /* what has a ticket is done */
  ARGUMENT(c != NULL && ticket <= c->ticket, "context is null, or the ticket was never handed out");
  const uint64_t failed = c->failed;
  if (failed == 0 || failed > ticket) return THRT_OK;
  const uint32_t op_index = c->failed_op;
  c->failed = 0;
  return fail(error, THRT_NON_FINITE, op_index, "a NaN or an infinity was made");
}

static const thrt_backend_api api = {sizeof api,
                                     0,
                                     plugin_open,
                                     plugin_close,
                                     get_extension,
                                     device_count,
                                     device_info,
                                     context_create,
                                     context_destroy,
                                     context_stats,
                                     buffer_create,
                                     buffer_destroy,
                                     upload,
                                     download,
                                     check,
                                     compile,
                                     executable_destroy,
                                     bind,
                                     binding_destroy,
                                     enqueue,
                                     wait};

THRT_EXPORT const thrt_manifest thrt_backend_manifest_v1 = {THRT_MANIFEST_MAGIC,
                                                            sizeof(thrt_manifest),
                                                            sizeof(thrt_backend_api),
                                                            THRT_ABI_MAJOR,
                                                            THRT_ABI_MINOR,
                                                            0,
                                                            THRT_OPSET,
                                                            THRT_OPSET,
                                                            8 * sizeof(void*),
                                                            "c",
                                                            "1.0.0",
                                                            "Thrust RL's tests",
                                                            "Some ops of f32 in C11",
                                                            {0}};

THRT_EXPORT thrt_status thrt_backend_entry_v1(uint32_t host_major, uint32_t host_minor, const thrt_backend_api** table,
                                              thrt_error* error) {
  (void)host_minor; /* 1.0 needs nothing that a host of 1.x lacks */
  ARGUMENT(table != NULL, "api is null");
  *table = NULL;
  CHECK(host_major == THRT_ABI_MAJOR, THRT_INCOMPATIBLE, THRT_NONE,
        host_major < THRT_ABI_MAJOR ? "backend c speaks ABI 1.0, this host an older one; upgrade the host"
                                    : "backend c speaks ABI 1.0, this host a newer one; upgrade the backend");
  *table = &api;
  return THRT_OK;
}
