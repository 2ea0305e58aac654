/* Failures, structs and programs of backend c. Declared here, written in program.c: types, rules, verification and kernels. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <thrt/abi.h>

#define CHECK(condition, status, op, what) \
  if (!(condition)) return fail(error, status, op, what)
#define ARGUMENT(condition, what) CHECK(condition, THRT_INVALID_ARGUMENT, THRT_NONE, what)
#define PROGRAM(condition, what) CHECK(condition, THRT_INVALID_PROGRAM, op_index, what)
#define TRY(call)                           \
  do {                                      \
    const thrt_status status_ = (call);     \
    if (status_ != THRT_OK) return status_; \
  } while (0)

static inline thrt_status fail(thrt_error* error, thrt_status status, uint32_t op_index, const char* what) {
  if (error == NULL) return status;
  memset(error, 0, sizeof *error);
  error->code = status;
  error->op_index = op_index;
  error->value_index = THRT_NONE;
  snprintf(error->message, sizeof error->message, op_index == THRT_NONE ? "%s" : "%s (op %u)", what, op_index);
  return status;
}

/* abi.h, "Structs": a shorter one is filled up with zeros; a longer one has zeros where this side knows nothing. */
static inline thrt_status read_struct(void* known, size_t known_size, const void* given, thrt_error* error) {
  uint32_t size = 0;
  ARGUMENT(given != NULL, "a struct is null");
  memcpy(&size, given, sizeof size);
  ARGUMENT(size >= 8 && size <= 65536, "struct_size is not set to the size of the struct");
  memset(known, 0, known_size);
  memcpy(known, given, size < known_size ? size : known_size);
  for (size_t at = known_size; at < size; ++at) {
    char what[100];
    snprintf(what, sizeof what, "the field at byte %zu is not known in ABI 1.0; upgrade the backend", at);
    CHECK(((const uint8_t*)given)[at] == 0, THRT_INCOMPATIBLE, THRT_NONE, what);
  }
  return THRT_OK;
}

/* Without a value only the capacity is looked at. */
static inline thrt_status write_struct(void* given, const void* value, size_t value_size, thrt_error* error) {
  uint32_t size = 0;
  ARGUMENT(given != NULL, "a struct is null");
  memcpy(&size, given, sizeof size);
  ARGUMENT(size >= 8 && size <= 65536, "struct_size is not set to the size of the struct");
  if (value != NULL)
    memcpy((uint8_t*)given + 4, (const uint8_t*)value + 4, (size < value_size ? size : value_size) - 4);
  return THRT_OK;
}

static inline uint64_t dtype_size(uint32_t dtype) {
  static const uint8_t sizes[] = {0, 4, 2, 2, 4, 4, 1, 1, 8};
  return dtype < sizeof sizes ? sizes[dtype] : 0;
}
static inline int64_t elements(const thrt_value* v) {
  int64_t count = 1;
  for (uint32_t d = 0; d < v->rank; ++d) count *= v->dims[d];
  return count;
}
static inline uint64_t bytes_of(const thrt_value* v) {
  return (uint64_t)elements(v) * dtype_size(v->dtype);
}
static inline uint64_t round_up(uint64_t bytes) {
  return (bytes + 63) / 64 * 64;
}
static inline int same(const thrt_value* a, const thrt_value* b) {
  return memcmp(a, b, sizeof *a) == 0;
}
static inline int range(uint64_t first, uint64_t count, uint64_t size) {
  return first <= size && count <= size - first;
}

struct op_info;

/* One op with its types. For ops that move or sum: element start + sum(index * strides) of the one value belongs to an index of the
 * other: of the result, but of the operand for a sum. */
struct call {
  const struct op_info* info; /* null: not known */
  const thrt_value *r, *x, *y;
  const int64_t* a; /* attributes */
  uint32_t count;   /* of them */
  int64_t start, strides[THRT_MAX_RANK];
};

/* Of a verified op: with start and strides. */
struct call call_of(const thrt_program* p, const thrt_op* op);

/* Refuses a malformed program. Ops that are not done here are counted, and the first `capacity` of them listed. */
thrt_status verify(const thrt_program* p, thrt_verdict* verdicts, uint32_t capacity, uint32_t* refusals,
                   thrt_error* error);

void run_op(const struct call* c, const uint8_t* constants, const uint8_t* x, const uint8_t* y, uint8_t* r);

#endif
