// The words in which C-like kernel languages differ. A dialect is a value: take one of those below and change what your
// compiler calls otherwise.
#pragma once

#include <string>

namespace thrt::emit {

struct Dialect {
  std::string name;
  std::string preamble;  // at the head of a translation unit

  std::string kernel;     // what stands before a kernel's name
  std::string function;   // what stands before a function of the kernels
  std::string global;     // the address space of arrays, with a space after it, or ""
  std::string work_item;  // the index of the work-item, an expression
  std::string i32, u32, u8, i64, u64;

  std::string float_suffix;   // of the names of mathematical functions: "f" gives expf
  std::string bits_to_float;  // the f32 that has the bits of a u32
  std::string fused;          // name(a, b, c): a * b + c, rounded once or twice, whichever is fast
  std::string add, sub, mul;  // name(x, y), if the operators may be contracted to a fused form behind our back; else ""

  // Every array argument is followed by a u64: at which element the value begins. For APIs whose arguments are whole
  // buffers (OpenCL's cl_mem).
  bool offsets = false;
};

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
  d.work_item = "get_global_id(0)";
  d.i32 = "int";
  d.u32 = "uint";
  d.u8 = "uchar";
  d.i64 = "long";
  d.u64 = "ulong";
  d.bits_to_float = "as_float";
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
  d.work_item = "(unsigned long long)blockIdx.x * blockDim.x + threadIdx.x";
  d.i32 = "int";
  d.u32 = "unsigned int";
  d.u8 = "unsigned char";
  d.i64 = "long long";
  d.u64 = "unsigned long long";
  d.float_suffix = "f";
  d.bits_to_float = "__uint_as_float";
  d.fused = "__fmaf_rn";
  d.add = "__fadd_rn";
  d.sub = "__fsub_rn";
  d.mul = "__fmul_rn";
  return d;
}

}  // namespace thrt::emit
