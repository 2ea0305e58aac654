/* Types, rules, verification and kernels of backend c. */
#include "program.h"

#include <math.h>
#include <stdlib.h>

/* ---------------------------------------------------------------------------------------------- types and rules of ops */

static const struct op_info {
  uint32_t kind, version, least, most, results, dtypes;
  const char* name;
} op_infos[] = {
#define ANY UINT32_MAX
#define INTEGER (1u << THRT_DTYPE_I32 | 1u << THRT_DTYPE_U32)
#define BITS (INTEGER | 1u << THRT_DTYPE_BOOL)
#define FLOAT (1u << THRT_DTYPE_F32 | 1u << THRT_DTYPE_F16 | 1u << THRT_DTYPE_BF16 | 1u << THRT_DTYPE_F64)
#define NUMBER (FLOAT | INTEGER)
#define THRT_OP(ID, name, number, version, level, least, most, results, rule, dtypes, ulps, attributes) \
  {number, version, least, most, results, dtypes, #name},
#include <thrt/ops.def>
#undef THRT_OP
};

/* At most 2^40 elements, a 0 counted as 1: no size and no stride overflows. */
static int is_type(const thrt_value* v) {
  int64_t product = 1;
  if (dtype_size(v->dtype) == 0 || v->rank > THRT_MAX_RANK || v->reserved != 0) return 0;
  for (uint32_t d = 0; d < THRT_MAX_RANK; ++d) {
    const int64_t dim = v->dims[d] > 0 ? v->dims[d] : 1;
    if (v->dims[d] < 0 || (d >= v->rank && v->dims[d] != 0) || dim > (INT64_C(1) << 40) / product) return 0;
    product *= dim;
  }
  return 1;
}

static void dense_strides(const thrt_value* v, int64_t* strides) {
  int64_t stride = 1;
  for (uint32_t d = v->rank; d-- > 0; stride *= v->dims[d]) strides[d] = stride;
}

/* Broadcast, transpose, slice: dimension j of the result is dimension k of the operand. */
static int fits_movement(struct call* c, int is_broadcast, int is_slice) {
  const uint32_t rank = c->x->rank;
  int64_t dense[THRT_MAX_RANK];
  uint32_t seen = 0;
  dense_strides(c->x, dense);
  if (c->count != rank * (is_slice ? 3 : 1) || (!is_broadcast && c->r->rank != rank)) return 0;
  for (uint32_t d = 0; d < rank; ++d) {
    const int64_t k = is_broadcast || is_slice ? d : c->a[d], j = is_broadcast ? c->a[d] : d;
    if (k < 0 || k >= rank || j < 0 || j >= c->r->rank || (is_broadcast ? seen >> j : seen >> k & 1)) return 0;
    seen |= 1u << (is_broadcast ? j : k);
    const int64_t dim = c->x->dims[k], start = is_slice ? c->a[d] : 0, stride = is_slice ? c->a[2 * rank + d] : 1;
    const int64_t size = is_slice ? c->a[rank + d] : is_broadcast && dim == 1 ? c->r->dims[j] : dim;
    if (start < 0 || stride < 1 || size < 0 || size != c->r->dims[j]) return 0;
    if (is_slice && size > 0 && (start >= dim || size - 1 > (dim - 1 - start) / stride)) return 0;
    c->start += size > 0 ? start * dense[k] : 0;
    c->strides[j] = size > 1 && dim > 1 ? stride * dense[k] : 0;
  }
  return c->x->dtype == c->r->dtype;
}

/* 0: the op breaks its rule of ops.def. 2: its rule is not looked at, for it is not done here. Fills in start and strides. */
static int fits(struct call* c, uint64_t constant_bytes) {
  const thrt_value *x = c->x, *y = c->y, *r = c->r;
  const int64_t* a = c->a;
  uint32_t axis = 0, kept = 0;
  int64_t dense[THRT_MAX_RANK];
  switch (c->info->kind) {
    case THRT_OP_CONSTANT:
      return c->count == 1 && a[0] >= 0 && a[0] % 64 == 0 && range((uint64_t)a[0], bytes_of(r), constant_bytes);
    case THRT_OP_BROADCAST:
      return fits_movement(c, 1, 0);
    case THRT_OP_TRANSPOSE:
      return fits_movement(c, 0, 0);
    case THRT_OP_SLICE:
      return fits_movement(c, 0, 1);
    case THRT_OP_REDUCE_SUM:
      dense_strides(r, dense);
      for (uint32_t d = 0; d < x->rank; ++d) {
        if (axis < c->count && a[axis] == d && ++axis) continue;
        if (kept >= r->rank || r->dims[kept] != x->dims[d]) return 0;
        c->strides[d] = dense[kept++];
      }
      return axis == c->count && kept == r->rank && x->dtype == r->dtype;
    case THRT_OP_MATMUL: {
      const uint32_t m = x->rank - 2, n = x->rank - 1; /* the last two dimensions */
      if (c->count != 2 || (a[0] | a[1] | 1) != 1 || x->dtype != y->dtype || x->dtype != r->dtype) return 0;
      if (x->rank < 2 || y->rank != x->rank || r->rank != x->rank) return 0;
      for (uint32_t d = 0; d < m; ++d) {
        if (x->dims[d] != y->dims[d] || x->dims[d] != r->dims[d]) return 0;
      }
      return r->dims[m] == x->dims[a[0] ? n : m] && r->dims[n] == y->dims[a[1] ? m : n] &&
             x->dims[a[0] ? m : n] == y->dims[a[1] ? n : m];
    }
    case THRT_OP_NEG:
    case THRT_OP_EXP:
    case THRT_OP_LOG:
    case THRT_OP_TANH:
    case THRT_OP_ADD:
    case THRT_OP_MUL:
      return c->count == 0 && same(x, y) && same(x, r);
    default:
      return 2;
  }
}

/* ------------------------------------------------------------------------------------------------------------ programs */

static struct call find_call(const thrt_program* p, const thrt_op* op) {
  struct call c = {
      NULL, &p->values[op->first_result], NULL, NULL, p->attributes + op->first_attribute, op->attribute_count, 0, {0}};
  for (size_t i = 0; i < sizeof op_infos / sizeof *op_infos; ++i) {
    if (op_infos[i].kind == op->kind) c.info = &op_infos[i];
  }
  c.x = op->operand_count > 0 ? &p->values[p->operands[op->first_operand]] : c.r;
  c.y = op->operand_count > 1 ? &p->values[p->operands[op->first_operand + 1]] : c.x;
  return c;
}

static thrt_status verify_op(const thrt_program* p, uint32_t op_index, uint8_t* defined, int* done, thrt_error* error) {
  const thrt_op* op = &p->ops[op_index];
  PROGRAM(range(op->first_operand, op->operand_count, p->operand_count), "its operands are out of range");
  PROGRAM(range(op->first_result, op->result_count, p->value_count) && op->result_count > 0,
          "its results are out of range");
  PROGRAM(range(op->first_attribute, op->attribute_count, p->attribute_count), "its attributes are out of range");
  PROGRAM(op->location < p->string_bytes && op->reserved == 0, "its location is out of range");
  PROGRAM(op->group < p->group_count || op->group == THRT_NONE, "its group is out of range");
  for (uint32_t k = 0; k < op->operand_count; ++k) {
    const uint32_t value = p->operands[op->first_operand + k];
    PROGRAM(value < p->value_count && defined[value], "an operand is not defined before it");
  }
  for (uint32_t k = 0; k < op->result_count; ++k) PROGRAM(!defined[op->first_result + k]++, "a value is defined twice");
  struct call c = find_call(p, op);
  PROGRAM(c.info != NULL && op->version == c.info->version, "its kind or version is not known");
  PROGRAM(op->operand_count >= c.info->least && op->operand_count <= c.info->most, "wrong number of operands");
  PROGRAM(op->result_count == c.info->results || c.info->results == ANY, "wrong number of results");
  PROGRAM(c.info->dtypes >> c.x->dtype & 1, "an op does not take this dtype");
  if (op->kind == THRT_OP_REPEAT) PROGRAM(op->subprogram < p->subprogram_count, "its sub-program is out of range");
  if (op->kind != THRT_OP_REPEAT) PROGRAM(op->subprogram == THRT_NONE, "only repeat has a sub-program");
  const int fit = fits(&c, p->constant_bytes);
  PROGRAM(fit, "its types or attributes break its rule");
  *done = fit == 1 && (c.x->dtype == THRT_DTYPE_F32 || (c.x->dtype == THRT_DTYPE_I32 && op->kind == THRT_OP_ADD));
  return THRT_OK;
}

/* `defined`: a zero for each value. */
static thrt_status verify_parts(const thrt_program* p, uint8_t* defined, thrt_verdict* verdicts, uint32_t capacity,
                                uint32_t* refusals, thrt_error* error) {
  const uint32_t op_index = THRT_NONE;
  int done = 1;
  for (uint32_t v = 0; v < p->value_count; ++v) PROGRAM(is_type(&p->values[v]), "a value has no type");
  for (uint32_t s = 0; s < p->slot_count; ++s) {
    const thrt_slot* slot = &p->slots[s];
    const uint32_t in = slot->input_value, out = slot->output_value;
    PROGRAM(slot->name < p->string_bytes && slot->reserved == 0, "a slot's name is out of range");
    PROGRAM(in < p->value_count || (in == THRT_NONE && out != THRT_NONE), "a slot's input is out of range");
    PROGRAM(out < p->value_count || out == THRT_NONE, "a slot's output is out of range");
    PROGRAM(in == THRT_NONE || out == THRT_NONE || same(&p->values[in], &p->values[out]), "a slot has two types");
    PROGRAM(in == THRT_NONE || !defined[in]++, "a value is defined twice");
    for (uint32_t t = 0; t < s; ++t) {
      PROGRAM(strcmp(p->strings + slot->name, p->strings + p->slots[t].name) != 0, "two slots have one name");
    }
  }
  for (uint32_t i = 0; i < p->op_count; ++i) {
    TRY(verify_op(p, i, defined, &done, error));
    if (done) continue;
    if (*refusals < capacity) {
      thrt_verdict* verdict = &verdicts[*refusals];
      verdict->op_index = i;
      verdict->code = THRT_UNSUPPORTED;
      const struct call c = find_call(p, &p->ops[i]);
      snprintf(verdict->reason, sizeof verdict->reason, "%s: not done here for dtype %u", c.info->name, c.x->dtype);
    }
    ++*refusals;
    if (p->ops[i].kind == THRT_OP_REPEAT) return THRT_OK;
  }
  for (uint32_t v = 0; v < p->value_count; ++v) PROGRAM(defined[v], "a value is never defined");
  return THRT_OK;
}

thrt_status verify(const thrt_program* p, thrt_verdict* verdicts, uint32_t capacity, uint32_t* refusals,
                   thrt_error* error) {
  const uint32_t op_index = THRT_NONE;
  thrt_program known;
  TRY(read_struct(&known, sizeof known, p, error));
  PROGRAM(p->struct_size >= sizeof known && p->opset == THRT_OPSET, "the program is of another op set");
  PROGRAM((p->values || !p->value_count) && (p->ops || !p->op_count) && (p->slots || !p->slot_count),
          "an array is null");
  PROGRAM((p->operands || !p->operand_count) && (p->attributes || !p->attribute_count), "an array is null");
  PROGRAM((p->constants || !p->constant_bytes) && (uintptr_t)p->constants % 64 == 0,
          "the constants are null or not aligned");
  PROGRAM(p->strings && p->string_bytes && !p->strings[0] && !p->strings[p->string_bytes - 1],
          "the strings are malformed");
  PROGRAM(p->name < p->string_bytes, "its name is out of range");
  uint8_t* defined = calloc((size_t)p->value_count + 1, 1);
  CHECK(defined != NULL, THRT_OUT_OF_MEMORY, THRT_NONE, "no memory to verify the program");
  *refusals = 0;
  const thrt_status status = verify_parts(p, defined, verdicts, capacity, refusals, error);
  free(defined);
  return status;
}

struct call call_of(const thrt_program* p, const thrt_op* op) {
  struct call c = find_call(p, op);
  fits(&c, p->constant_bytes);
  return c;
}

void run_op(const struct call* c, const uint8_t* constants, const uint8_t* x_bytes, const uint8_t* y_bytes,
            uint8_t* r_bytes) {
  const float *x = (const float*)x_bytes, *y = (const float*)y_bytes;
  float* r = (float*)r_bytes;
  const int64_t n = elements(c->r);
  const uint32_t kind = c->info->kind, last = c->r->rank - 1;
  if (kind == THRT_OP_CONSTANT) memcpy(r, constants + c->a[0], (size_t)n * 4);
  if (kind == THRT_OP_ADD && c->r->dtype == THRT_DTYPE_I32) {
    for (int64_t i = 0; i < n; ++i)
      ((uint32_t*)r_bytes)[i] = ((const uint32_t*)x_bytes)[i] + ((const uint32_t*)y_bytes)[i];
  } else if (kind == THRT_OP_MATMUL) {
    const int64_t rows = c->r->dims[last - 1], columns = c->r->dims[last], inner = c->x->dims[last - (c->a[0] ? 1 : 0)];
    for (int64_t i = 0; i < n; ++i) {
      const int64_t batch = i / columns / rows, row = i / columns % rows, column = i % columns;
      double sum = 0;
      for (int64_t k = 0; k < inner; ++k) {
        sum += (double)x[batch * rows * inner + (c->a[0] ? k * rows + row : row * inner + k)] *
               y[batch * inner * columns + (c->a[1] ? column * inner + k : k * columns + column)];
      }
      r[i] = (float)sum;
    }
  } else if (kind == THRT_OP_REDUCE_SUM || kind == THRT_OP_BROADCAST || kind == THRT_OP_TRANSPOSE ||
             kind == THRT_OP_SLICE) {
    const thrt_value* shape = kind == THRT_OP_REDUCE_SUM ? c->x : c->r;
    int64_t index[THRT_MAX_RANK] = {0};
    if (kind == THRT_OP_REDUCE_SUM) memset(r, 0, (size_t)n * 4);
    for (int64_t i = 0; i < elements(shape); ++i) {
      int64_t at = c->start;
      for (uint32_t d = 0; d < shape->rank; ++d) at += index[d] * c->strides[d];
      if (kind == THRT_OP_REDUCE_SUM) r[at] += x[i];
      if (kind != THRT_OP_REDUCE_SUM) r[i] = x[at];
      for (uint32_t d = shape->rank; d-- > 0 && ++index[d] == shape->dims[d];) index[d] = 0;
    }
  } else {
    for (int64_t i = 0; i < n && kind == THRT_OP_ADD; ++i) r[i] = x[i] + y[i];
    for (int64_t i = 0; i < n && kind == THRT_OP_MUL; ++i) r[i] = x[i] * y[i];
    for (int64_t i = 0; i < n && kind == THRT_OP_NEG; ++i) r[i] = -x[i];
    for (int64_t i = 0; i < n && kind == THRT_OP_EXP; ++i) r[i] = expf(x[i]);
    for (int64_t i = 0; i < n && kind == THRT_OP_LOG; ++i) r[i] = logf(x[i]);
    for (int64_t i = 0; i < n && kind == THRT_OP_TANH; ++i) r[i] = tanhf(x[i]);
  }
}
