// The words in which C-like kernel languages differ. A dialect is a value: take one of those below and change what your
// compiler calls otherwise.
#pragma once

#include <cstdint>
#include <string>

namespace thrt::emit {

struct Dialect {
  std::string name;
  std::string preamble;  // at the head of a translation unit

  std::string kernel;                       // what stands before a kernel's name
  std::string function;                     // what stands before a function of the kernels
  std::string global;                       // the address space of arrays, with a space after it, or ""
  std::string i32, u32, u8, u16, i64, u64;  // no i64, no u64: values of 2^31 elements and more are refused

  std::string abs = "fabs";                  // of f32, without the suffix
  std::string float_suffix;                  // of the names of mathematical functions: "f" gives expf
  bool own_math = false;                     // they and division come from math.hpp
  std::string bits_to_float, float_to_bits;  // the f32 that has the bits of a u32, and back
  std::string fused;                         // name(a, b, c): a * b + c, rounded once or twice, whichever is fast
  // What keeps a compiler from contracting a product and a sum to a fused form behind our back, if anything must: functions
  // name(x, y) in place of the operators, or a word before the type of variables.
  std::string add, sub, mul;
  std::string precise;  // with a space after it, or ""

  // A driver that ends a work-item's loops after so many turns of all of them together, right or wrong; 0: none such. Mesa's
  // llvmpipe does, after 65 535 (LP_MAX_TGSI_LOOP_ITERATIONS). Kernels stay below, or are refused by plan().
  std::int64_t most_turns = 0;

  // Every array argument is followed by a u64: at which element the value begins. For APIs whose arguments are whole
  // buffers (OpenCL's cl_mem).
  bool offsets = false;

  std::string group, item;      // of a work-group and of a work-item in it, flat: expressions
  std::string barrier;          // a statement; orders what a work-group does in its memory, not in arrays
  std::string shared;           // before an array of a work-group's memory
  bool shared_outside = false;  // such arrays are declared outside of functions
  bool blocks = false;          // arguments are buffer blocks of GLSL, and a translation unit has one kernel, "main"
};

// How many elements are counted in 32 bits: what is added to an index, such as a group's work-items beyond the last element or
// the turns of a team's loop, has room.
inline constexpr std::int64_t kMostIn32Bits = INT32_MAX - (1 << 20);

inline std::string cast(const Dialect& d, const std::string& type, const std::string& x) {
  return d.blocks ? type + "(" + x + ")" : "(" + type + ")(" + x + ")";
}

// OpenCL C 1.2, full profile. Compile it without -cl-fast-relaxed-math, -cl-mad-enable, -cl-unsafe-math-optimizations
// and the like.
//
// The largest errors that the specification allows the functions used here (The OpenCL C Specification, "Relative Error
// as ULPs", full profile), with what ops.def allows: x / y 2.5 (3), sqrt 3 (3), exp 3 (8), log 3 (8), log1p 2 (8), sin
// and cos 4 (8), tanh 5 (8), erf 16 (16), pow 16 (16); fmod, floor, rint, fabs, fma exact. sigmoid is exp, an addition
// and a division: 3 + 0.5 + 2.5 in the first order, twice exp's for x < 0 (8).
inline Dialect opencl_c() {
  Dialect d;
  d.name = "OpenCL C";
  d.preamble =
      "#pragma OPENCL FP_CONTRACT OFF\n"
      "#ifdef FP_FAST_FMAF\n"
      "#define thrt_fused(a, b, c) fma(a, b, c)\n"
      "#else\n"
      "#define thrt_fused(a, b, c) ((a) * (b) + (c))\n"
      "#endif\n";
  d.kernel = "kernel void";
  d.function = "static";
  d.global = "global ";
  d.group = "get_group_id(0)";
  d.item = "get_local_id(0)";
  d.barrier = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);";
  d.shared = "local";
  d.i32 = "int";
  d.u32 = "uint";
  d.u8 = "uchar";
  d.u16 = "ushort";
  d.i64 = "long";
  d.u64 = "ulong";
  d.bits_to_float = "as_float";
  d.float_to_bits = "as_uint";
  d.fused = "thrt_fused";
  d.offsets = true;
  return d;
}

// CUDA C++ for NVRTC or nvcc. Compile it without -use_fast_math; whether -fmad is on does not matter: what must be
// rounded twice is written with intrinsics, which are never contracted. Kernels have C names.
//
// Largest errors (CUDA C++ Programming Guide, "Mathematical Functions Appendix", single precision): x / y and sqrtf
// correctly rounded by default, expf 2, logf 1, log1pf 1, sinf and cosf 2, tanhf 2, erff 2, powf 8, fmodf exact.
inline Dialect cuda_c() {
  Dialect d;
  d.name = "CUDA C";
  d.kernel = "extern \"C\" __global__ void";
  d.function = "static __device__ __forceinline__";
  d.group = "blockIdx.x";
  d.item = "threadIdx.x";
  d.barrier = "__syncthreads();";
  d.shared = "__shared__";
  d.i32 = "int";
  d.u32 = "unsigned int";
  d.u8 = "unsigned char";
  d.u16 = "unsigned short";
  d.i64 = "long long";
  d.u64 = "unsigned long long";
  d.float_suffix = "f";
  d.bits_to_float = "__uint_as_float";
  d.float_to_bits = "__float_as_uint";
  d.fused = "__fmaf_rn";
  d.add = "__fadd_rn";
  d.sub = "__fsub_rn";
  d.mul = "__fmul_rn";
  return d;
}

// GLSL 4.50 for Vulkan 1.1 and later: one kernel a translation unit, arguments are storage buffers of set 0. u8 and bool
// need storageBuffer8BitAccess, f16 and bf16 need storageBuffer16BitAccess; shaders compute in 32 bits. Where the device has the
// execution mode SignedZeroInfNanPreserve for 32 bits, the module should ask for it: without, the specification leaves NaN,
// infinity and the sign of zero open, though drivers keep them.
//
// What the Vulkan specification allows its built-ins (Appendix "Precision and Operation of SPIR-V Instructions") is too
// much for most of the functions: those that ops.def gives an error, and fmod, come from math.hpp.
inline Dialect glsl() {
  Dialect d;
  d.name = "GLSL";
  d.preamble =
      "#version 450\n"
      "#extension GL_EXT_shader_8bit_storage : require\n"
      "#extension GL_EXT_shader_16bit_storage : require\n";
  d.kernel = "void";
  // Rows of at most 65 535 work-groups, what every device takes in a direction; what is left of the last row has nothing to do.
  d.group = "gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x";
  d.item = "gl_LocalInvocationID.x";
  d.barrier = "barrier();";
  d.shared = "shared";
  d.shared_outside = true;
  d.blocks = true;
  d.i32 = "int";
  d.u32 = "uint";
  d.u8 = "uint8_t";
  d.u16 = "uint16_t";
  d.abs = "abs";
  d.own_math = true;
  d.bits_to_float = "uintBitsToFloat";
  d.float_to_bits = "floatBitsToUint";
  d.fused = "fma";
  d.precise = "precise ";
  return d;
}

}  // namespace thrt::emit
