/*
 * The Thrust RL backend ABI, version 1.0-rc. C11, needs <stddef.h> and <stdint.h> alone.
 *
 * This file is the manual for whoever writes a backend; read it from top to bottom. A backend is a shared library
 * `libthrust_backend_ID.so` with exactly two exported symbols:
 *
 *     const thrt_manifest thrt_backend_manifest_v1;      data without pointers: the host reads it from the file before
 *                                                        it runs a single instruction of the plugin
 *     thrt_status thrt_backend_entry_v1(...);            hands out the function table (thrt_backend_api)
 *
 * The objects, each owned by the one before it:
 *
 *     plugin -> device (by index) -> context     one device, one in-order queue, one memory budget
 *     context -> buffer                          bytes on the device
 *     context -> executable                      a compiled program: immutable, owns its constants, knows no user buffer
 *     executable -> binding                      the executable with its buffers: the thing that runs
 *     enqueue(binding, n) -> ticket              a counter that only grows; wait(ticket)
 *
 * A program (thrt_program) is plain data: a whole training step or a whole training phase. Compile and bind are the only way to
 * run anything. The meaning of each operation is in ops.def; the random generator is in philox.h. A backend runs every operation
 * of every program it accepts on the device it was asked for, or refuses: it never falls back.
 *
 * Threads. Every function carries one of three marks:
 *     [any]      from any thread at any time, also while other calls run
 *     [plugin]   the host never runs two [plugin] calls of one plugin at once; any OS thread may make them
 *     [context]  the host never runs two [context] calls of one context (its buffers, executables and bindings included)
 *                at once; any OS thread may make them. Calls on two contexts may run at the same time.
 * Nothing has thread affinity.
 *
 * Conduct. No function throws, aborts, exits, prints, changes the locale, the floating-point environment or a signal
 * handler, or keeps a pointer that the caller passed in (upload and download say until when they use theirs).
 *
 * Structs. Natural alignment, padding spelled out, size a multiple of 8. A struct that starts with `struct_size` may grow at its
 * end in a later minor version, and zero in a new field means "as before":
 *   - input: the caller sets struct_size = sizeof. A callee that knows a shorter struct refuses with THRT_INCOMPATIBLE
 *     when a byte beyond what it knows is not zero; a callee that knows a longer one takes the missing part as zero.
 *   - output: the caller sets struct_size to the capacity; the callee writes at most that much and leaves struct_size as it is.
 * A struct without struct_size is an array element or the error, and is frozen for the major version.
 * Output pointers are written on success; on failure an output handle is set to null and other outputs stay as they are.
 */
#ifndef THRT_ABI_H
#define THRT_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define THRT_STATIC_ASSERT(condition, text) static_assert(condition, text)
extern "C" {
#else
#define THRT_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

#if defined(_WIN32)
#define THRT_EXPORT __declspec(dllexport)
#else
#define THRT_EXPORT __attribute__((visibility("default")))
#endif

/* ------------------------------------------------------------------------------------------------ versions, limits */

#define THRT_ABI_MAJOR 1u
#define THRT_ABI_MINOR 0u

/* The op-set version that this header's ops.def describes. */
#define THRT_OPSET 1u

/* "THRTBKND" read as a little-endian number. */
#define THRT_MANIFEST_MAGIC UINT64_C(0x444E4B4254524854)

#define THRT_MAX_RANK 6
#define THRT_NONE UINT32_MAX /* no value, no op, no sub-program, no group */

/* -------------------------------------------------------------------------------------------------- status and error */

typedef uint32_t thrt_status;
enum {
  THRT_OK = 0,
  THRT_INVALID_ARGUMENT = 1, /* the caller broke this header's contract */
  THRT_INVALID_PROGRAM = 2,  /* a malformed program; op_index says where */
  THRT_UNSUPPORTED = 3,      /* well formed, but this device does not do it; check() lists all such ops at once */
  THRT_OUT_OF_MEMORY = 4,    /* the device or the host has no more */
  THRT_OVER_BUDGET = 5,      /* the context's memory budget forbids it */
  THRT_UNAVAILABLE = 6,      /* no driver, no device, a missing vendor library */
  THRT_INCOMPATIBLE = 7,     /* versions do not meet, or a field this side does not know is set */
  THRT_DEVICE_LOST = 8,      /* sticky: every later call on the context answers it again */
  THRT_TIMEOUT = 9,          /* wait: not reached in time; not an error of the device */
  THRT_INVALID_STATE = 10,   /* an object still has children, or is of another context */
  THRT_NON_FINITE = 11,      /* THRT_COMPILE_CHECK_FINITE: op_index made a NaN or an infinity */
  THRT_INTERNAL = 12,        /* a bug in the backend */
  THRT_STATUS_FORCE_32 = 0x7fffffff
};

/* Owned by the caller; a callee that fails fills it in, a callee that succeeds leaves it alone. Needs no memory, so it works when
 * there is none. Every thrt_error* parameter may be null. Strings end with a NUL within their array. */
typedef struct thrt_error {
  uint32_t code;        /* the thrt_status that the call returned */
  uint32_t op_index;    /* see "Numbering of ops" below; THRT_NONE when no op is to blame */
  uint32_t value_index; /* a value of the (sub-)program that the op is in, or THRT_NONE */
  uint32_t reserved;
  int64_t native_code; /* the code of the API below (CUresult, VkResult, errno), or 0 */
  char native_api[32]; /* the function of the API below that failed, or "" */
  char message[456];   /* what is wrong and where, in one sentence, without a newline */
} thrt_error;
THRT_STATIC_ASSERT(sizeof(thrt_error) == 512, "thrt_error is frozen");

/* ------------------------------------------------------------------------------------------------------------ manifest */

/* All strings end with a NUL within their array and are printable ASCII. */
typedef struct thrt_manifest {
  uint64_t magic;             /* THRT_MANIFEST_MAGIC */
  uint32_t struct_size;       /* sizeof(thrt_manifest) */
  uint32_t api_size;          /* sizeof(thrt_backend_api) the plugin was built with */
  uint32_t abi_major;         /* THRT_ABI_MAJOR; must equal the host's */
  uint32_t abi_minor;         /* THRT_ABI_MINOR the plugin was built with */
  uint32_t host_minor_needed; /* the lowest host minor the plugin works under */
  uint32_t opset_min;         /* programs of these op sets are understood; the range must hold */
  uint32_t opset_max;         /* an op set that the host can write */
  uint32_t pointer_bits;      /* 64 */
  char id[32];                /* what --backend takes: [a-z][a-z0-9_]*; equal to ID in the file's name */
  char version[32];           /* of the plugin: "1.2.3" */
  char vendor[64];            /* who answers for it */
  char description[128];      /* one line */
  uint8_t reserved[64];       /* zero */
} thrt_manifest;
THRT_STATIC_ASSERT(sizeof(thrt_manifest) == 360, "thrt_manifest v1");

/* --------------------------------------------------------------------------------------------------- dtypes, precision */

enum {
  THRT_DTYPE_F32 = 1,
  THRT_DTYPE_F16 = 2,
  THRT_DTYPE_BF16 = 3,
  THRT_DTYPE_I32 = 4,
  THRT_DTYPE_U32 = 5,
  THRT_DTYPE_U8 = 6,
  THRT_DTYPE_BOOL = 7, /* one byte, 0 or 1 */
  THRT_DTYPE_F64 = 8,  /* the reference backend's; others may refuse it */
  THRT_DTYPE_FORCE_32 = 0x7fffffff
};
/* A set of dtypes: bit 1u << THRT_DTYPE_X. A set of precisions likewise. */

/* How matmul and convolution of f32 values may compute inside. Storage stays f32. */
enum {
  THRT_PRECISION_F32 = 0,
  THRT_PRECISION_TF32 = 1,
  THRT_PRECISION_BF16 = 2,
  THRT_PRECISION_F16 = 3,
  THRT_PRECISION_FORCE_32 = 0x7fffffff
};

/* ------------------------------------------------------------------------------------------------------------ programs */
/*
 * A program is a list of operations over typed values of static shape, dense and row-major, in SSA form: every value is
 * defined once, by an input slot or as the result of an op, before it is used.
 *
 * Slots are the program's parameters; bind() gives each a buffer. A slot with input_value is read: the value is what the
 * buffer held when the run began. A slot with output_value is written: after the run the buffer holds that value. A slot with
 * both is state, updated in place; both values have one type. All outputs are computed from the inputs as they were at the
 * start, whatever order a backend chooses. A value may be the output of several slots, and may be an input value.
 *
 * What changes from step to step (learning rate, counters, minibatch indices) is a slot, never an attribute.
 *
 * Numbering of ops in messages: all ops in order, where the ops of a repeat's sub-program follow the repeat at once.
 */

/* Frozen. */
typedef struct thrt_value {
  uint32_t dtype;              /* THRT_DTYPE_... */
  uint32_t rank;               /* 0 to THRT_MAX_RANK */
  int64_t dims[THRT_MAX_RANK]; /* >= 0; zero beyond rank */
  uint64_t reserved;
} thrt_value;
THRT_STATIC_ASSERT(sizeof(thrt_value) == 64, "thrt_value is frozen");

/* Frozen. */
typedef struct thrt_op {
  uint32_t kind;          /* THRT_OP_... of ops.def */
  uint32_t version;       /* of that op's meaning, as in ops.def */
  uint32_t first_operand; /* into operands[]: value indices */
  uint32_t operand_count;
  uint32_t first_result; /* into values[]: results are consecutive */
  uint32_t result_count;
  uint32_t first_attribute; /* into attributes[] */
  uint32_t attribute_count;
  uint32_t subprogram; /* into subprograms[], for repeat; else THRT_NONE */
  uint32_t group;      /* into groups[], or THRT_NONE */
  uint32_t location;   /* into strings[]: where in the author's code or network this comes from */
  uint32_t reserved;
} thrt_op;
THRT_STATIC_ASSERT(sizeof(thrt_op) == 48, "thrt_op is frozen");

/* Frozen. At least one of the two values is not THRT_NONE. */
typedef struct thrt_slot {
  uint32_t name; /* into strings[]; unique within the program */
  uint32_t input_value;
  uint32_t output_value;
  uint32_t reserved;
} thrt_slot;
THRT_STATIC_ASSERT(sizeof(thrt_slot) == 16, "thrt_slot is frozen");

/* Ops that came from one thing ("adam/1", "log_softmax/1"). A backend may match a group and run it as one kernel; one that
 * knows no groups runs the ops. A group never changes what a program means. Frozen. */
typedef struct thrt_group {
  uint32_t name;   /* into strings[] */
  uint32_t parent; /* into groups[], or THRT_NONE */
} thrt_group;
THRT_STATIC_ASSERT(sizeof(thrt_group) == 8, "thrt_group is frozen");

typedef struct thrt_program thrt_program;
struct thrt_program {
  uint32_t struct_size;
  uint32_t opset;          /* op-set version it is written in */
  uint64_t fingerprint[2]; /* of the meaning: names, locations and groups do not count. A cache key, not a proof */
  const thrt_value* values;
  const thrt_op* ops;
  const thrt_slot* slots;
  const uint32_t* operands;
  const int64_t* attributes;
  const uint8_t* constants; /* 64-byte aligned; each constant starts at a multiple of 64 */
  const char* strings;      /* NUL-terminated strings one after another; offset 0 is the empty string */
  const thrt_group* groups;
  const thrt_program* const* subprograms;
  uint64_t constant_bytes;
  uint64_t string_bytes;
  uint32_t value_count;
  uint32_t op_count;
  uint32_t slot_count;
  uint32_t operand_count;
  uint32_t attribute_count;
  uint32_t group_count;
  uint32_t subprogram_count;
  uint32_t name; /* into strings[] */
};
THRT_STATIC_ASSERT(sizeof(thrt_program) == 144, "thrt_program v1");

/* The op numbers: THRT_OP_ADD and so on, from ops.def. */
enum {
#define THRT_OP(ID, name, number, version, level, min_operands, max_operands, results, rule, dtypes, ulps, attributes) \
  THRT_OP_##ID = number,
#include <thrt/ops.def>
#undef THRT_OP
  THRT_OP_FORCE_32 = 0x7fffffff
};

/* ------------------------------------------------------------------------------------------------------------- devices */

typedef struct thrt_plugin thrt_plugin;
typedef struct thrt_context thrt_context;
typedef struct thrt_buffer thrt_buffer;
typedef struct thrt_executable thrt_executable;
typedef struct thrt_binding thrt_binding;
typedef uint64_t thrt_ticket; /* 0 is reached from the start */

enum {
  THRT_DEVICE_CPU = 1,        /* the host's own processor */
  THRT_DEVICE_INTEGRATED = 2, /* a GPU that shares the host's memory */
  THRT_DEVICE_DISCRETE = 3,   /* a GPU or accelerator with memory of its own */
  THRT_DEVICE_SOFTWARE = 4,   /* a GPU API run on the processor; the host uses it only when it is named */
  THRT_DEVICE_KIND_FORCE_32 = 0x7fffffff
};

typedef struct thrt_device_info { /* output */
  uint32_t struct_size;
  uint32_t kind;             /* THRT_DEVICE_... */
  uint32_t available;        /* 1, or 0 with unavailable_reason */
  uint32_t compute_units;    /* processor cores, SMs, compute units */
  uint64_t memory_total;     /* bytes */
  uint64_t memory_free;      /* bytes, now */
  uint64_t max_buffer_bytes; /* of one buffer */
  uint32_t storage_dtypes;   /* set of dtypes that values may have */
  uint32_t precisions;       /* set of precisions that context_create accepts */
  uint32_t subgroup_size;    /* GPUs: lanes; processors: f32 lanes of a vector register */
  uint32_t reserved;
  char name[128];        /* as the vendor calls it */
  char driver[64];       /* the API below and its version */
  char architecture[64]; /* "x86-64 avx512", "sm_90" */
  char unavailable_reason[256];
} thrt_device_info;
THRT_STATIC_ASSERT(sizeof(thrt_device_info) == 568, "thrt_device_info v1");

/* ----------------------------------------------------------------------------------------------------- options, results */

typedef struct thrt_plugin_options { /* input */
  uint32_t struct_size;
  uint32_t flags;        /* none yet */
  const char* cache_dir; /* where compiled kernels may be kept, or null for nowhere */
} thrt_plugin_options;
THRT_STATIC_ASSERT(sizeof(thrt_plugin_options) == 16, "thrt_plugin_options v1");

typedef struct thrt_context_options { /* input */
  uint32_t struct_size;
  uint32_t device_index;
  uint64_t memory_budget; /* bytes for buffers, workspace and constants together; 0: the device's memory */
  uint32_t threads;       /* processor backends: at most this many; 0: the backend's choice */
  uint32_t precision;     /* THRT_PRECISION_... */
} thrt_context_options;
THRT_STATIC_ASSERT(sizeof(thrt_context_options) == 24, "thrt_context_options v1");

enum {
  THRT_MEMORY_DEVICE = 0,  /* what programs run on */
  THRT_MEMORY_STAGING = 1, /* pinned or host-visible memory, cheap to upload to and download from; may be bound too */
  THRT_MEMORY_KIND_FORCE_32 = 0x7fffffff
};

typedef struct thrt_buffer_options { /* input */
  uint32_t struct_size;
  uint32_t memory_kind; /* THRT_MEMORY_... */
  uint64_t bytes;       /* 0 is allowed */
  uint64_t alignment;   /* a power of two; 0: 64 */
} thrt_buffer_options;
THRT_STATIC_ASSERT(sizeof(thrt_buffer_options) == 24, "thrt_buffer_options v1");

/* One op that the device refuses. Frozen. */
typedef struct thrt_verdict {
  uint32_t op_index; /* see "Numbering of ops" */
  uint32_t code;     /* THRT_UNSUPPORTED */
  char reason[120];  /* "conv2d: dilation 3 exceeds 2" */
} thrt_verdict;
THRT_STATIC_ASSERT(sizeof(thrt_verdict) == 128, "thrt_verdict is frozen");

enum {
  THRT_COMPILE_DEBUG = 1u << 0,        /* op by op, waiting after each, nothing fused */
  THRT_COMPILE_CHECK_FINITE = 1u << 1, /* implies DEBUG: the first op with a NaN or infinity among its results */
                                       /* fails the run, which wait() reports as THRT_NON_FINITE with the op's index */
  THRT_COMPILE_FORCE_32 = 0x7fffffff
};

typedef struct thrt_compile_options { /* input */
  uint32_t struct_size;
  uint32_t flags; /* THRT_COMPILE_... */
} thrt_compile_options;
THRT_STATIC_ASSERT(sizeof(thrt_compile_options) == 8, "thrt_compile_options v1");

typedef struct thrt_executable_info { /* output */
  uint32_t struct_size;
  uint32_t ops;           /* of the program, sub-programs included */
  uint32_t ops_on_device; /* equal to ops: there is no other place */
  uint32_t steps;         /* what is left after fusion: kernels, library calls, copies */
  uint32_t launches;      /* API submissions per run: 1 for a graph or a command buffer */
  uint32_t reserved;
  uint64_t workspace_bytes; /* each binding takes this from the budget */
  uint64_t constant_bytes;
  uint64_t compile_ns;
  char kind[32]; /* "interpreter", "closures", "command-buffer", "cuda-graph" */
} thrt_executable_info;
THRT_STATIC_ASSERT(sizeof(thrt_executable_info) == 80, "thrt_executable_info v1");

/* Which bytes a slot uses: buffer[offset .. offset + bytes of the slot's type). offset is a multiple of 64. Frozen. */
typedef struct thrt_slot_buffer {
  thrt_buffer* buffer;
  uint64_t offset;
} thrt_slot_buffer;
THRT_STATIC_ASSERT(sizeof(thrt_slot_buffer) == 16, "thrt_slot_buffer is frozen");

typedef struct thrt_stats { /* output */
  uint32_t struct_size;
  uint32_t buffers; /* alive now */
  uint32_t executables;
  uint32_t bindings;
  uint64_t bytes_allocated; /* now, of the budget */
  uint64_t bytes_peak;
  uint64_t bytes_budget;
  uint64_t bytes_uploaded; /* since the context was created */
  uint64_t bytes_downloaded;
  uint64_t runs; /* programs run: enqueue counts its `repeat` */
} thrt_stats;
THRT_STATIC_ASSERT(sizeof(thrt_stats) == 64, "thrt_stats v1");

/* ------------------------------------------------------------------------------------------------- the function table */
/* A function exists for the caller iff api.struct_size covers it and it is not null. All functions of v1 are required. */

typedef struct thrt_backend_api {
  uint32_t struct_size;
  uint32_t reserved;

  /* [plugin] Opens the plugin. Loads vendor libraries; a missing one is not an error here but makes devices unavailable. */
  thrt_status (*plugin_open)(const thrt_plugin_options* options, thrt_plugin** plugin, thrt_error* error);
  /* [plugin] Closes it and frees all; its contexts must be gone. Opening again afterwards must work. */
  void (*plugin_close)(thrt_plugin* plugin);

  /* [any] A table of an optional feature, by id ("vendor.feature/1"), or null. */
  const void* (*get_extension)(const char* id);

  /* [plugin] How many devices there are, unavailable ones included; none is a result, not an error. At most 64. */
  thrt_status (*device_count)(thrt_plugin* plugin, uint32_t* count, thrt_error* error);
  /* [plugin] */
  thrt_status (*device_info)(thrt_plugin* plugin, uint32_t index, thrt_device_info* info, thrt_error* error);

  /* [plugin] UNAVAILABLE with the reason, INVALID_ARGUMENT for an index out of range, UNSUPPORTED for a precision the device
   * lacks, OVER_BUDGET for a budget above the device's memory. */
  thrt_status (*context_create)(thrt_plugin* plugin, const thrt_context_options* options, thrt_context** context,
                                thrt_error* error);
  /* [plugin] Waits for queued work. Its buffers, executables and bindings must be gone; those left are freed with it. */
  void (*context_destroy)(thrt_context* context);
  /* [context] */
  thrt_status (*context_stats)(thrt_context* context, thrt_stats* stats, thrt_error* error);

  /* [context] The contents are undefined until written. */
  thrt_status (*buffer_create)(thrt_context* context, const thrt_buffer_options* options, thrt_buffer** buffer,
                               thrt_error* error);
  /* [context] No binding may hold it. Queued work that uses it is waited for. */
  void (*buffer_destroy)(thrt_context* context, thrt_buffer* buffer);
  /* [context] Queues a copy. `source` must stay as it is until the ticket is reached. */
  thrt_status (*upload)(thrt_context* context, thrt_buffer* buffer, uint64_t offset, const void* source, uint64_t bytes,
                        thrt_ticket* ticket, thrt_error* error);
  /* [context] Queues a copy. `destination` is filled when the ticket is reached. */
  thrt_status (*download)(thrt_context* context, thrt_buffer* buffer, uint64_t offset, void* destination,
                          uint64_t bytes, thrt_ticket* ticket, thrt_error* error);

  /* [context] Which ops of a program the device refuses, all at once, before anything is compiled or allocated. Writes the first
   * `capacity` refusals and in *count how many there are in all. INVALID_PROGRAM for a malformed program. */
  thrt_status (*check)(thrt_context* context, const thrt_program* program, thrt_verdict* verdicts, uint32_t capacity,
                       uint32_t* count, thrt_error* error);
  /* [context] Compiles. Keeps no pointer into the program. `info` may be null. UNSUPPORTED names the first refused op. */
  thrt_status (*compile)(thrt_context* context, const thrt_program* program, const thrt_compile_options* options,
                         thrt_executable** executable, thrt_executable_info* info, thrt_error* error);
  /* [context] Its bindings must be gone. */
  void (*executable_destroy)(thrt_context* context, thrt_executable* executable);

  /* [context] One entry per slot, in the program's order. Buffers are at least as large as their slots' types. A region that
   * is written overlaps no other region of the binding. The workspace is taken from the budget here. */
  thrt_status (*bind)(thrt_context* context, thrt_executable* executable, const thrt_slot_buffer* slots,
                      uint32_t slot_count, thrt_binding** binding, thrt_error* error);
  /* [context] Waits for queued runs of it. */
  void (*binding_destroy)(thrt_context* context, thrt_binding* binding);

  /* [context] Queues `repeat` >= 1 runs one after another. Allocates nothing and waits for nothing. A failure found later is
   * reported by wait. */
  thrt_status (*enqueue)(thrt_context* context, thrt_binding* binding, uint32_t repeat, thrt_ticket* ticket,
                         thrt_error* error);
  /* [any] Until the ticket is reached or `timeout_ns` passes (UINT64_MAX: for ever). Reports the failure of queued work. */
  thrt_status (*wait)(thrt_context* context, thrt_ticket ticket, uint64_t timeout_ns, thrt_error* error);
} thrt_backend_api;
THRT_STATIC_ASSERT(sizeof(thrt_backend_api) == 8 + 19 * sizeof(void*), "thrt_backend_api v1");

/* -------------------------------------------------------------------------------------------------- the two exports */

typedef thrt_status (*thrt_backend_entry_fn)(uint32_t host_major, uint32_t host_minor, const thrt_backend_api** api,
                                             thrt_error* error);

extern THRT_EXPORT const thrt_manifest thrt_backend_manifest_v1;

/* [any] Hands out the table, which lives as long as the plugin is loaded. INCOMPATIBLE, with both versions and the side to
 * upgrade in the message, when the plugin cannot work under this host. */
THRT_EXPORT thrt_status thrt_backend_entry_v1(uint32_t host_major, uint32_t host_minor, const thrt_backend_api** api,
                                              thrt_error* error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THRT_ABI_H */
