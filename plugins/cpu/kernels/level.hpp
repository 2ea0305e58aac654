// What the kernel files of one instruction-set level share. Such a file is compiled with -DTHRT_CPU_LEVEL=NAME and that
// level's -march, so nothing in it may have a name that two levels would share: an inline function or template with
// external linkage would be merged by the linker, and a processor without AVX-512 could meet the AVX-512 copy. Hence
// unnamed namespaces, no standard library algorithms and no Eigen here.
#pragma once

#include "kernels.hpp"

#ifndef THRT_CPU_LEVEL
#error "compile the kernel files with THRT_CPU_LEVEL defined to baseline, avx2 or avx512"
#endif

namespace thrt::cpu::THRT_CPU_LEVEL {

ElementwiseFn find_elementwise(ir::OpKind kind, ir::DType from, ir::DType to, ScalarOperand scalar);
ElementwiseFn find_fused(FusedOps ops);
ElementwiseFn find_cast(ir::DType from, ir::DType to);
void sum_run(ir::DType dtype, void* accumulator, const void* x, std::int64_t n);
void max_run(ir::DType dtype, void* accumulator, const void* x, std::int64_t n);
float sum_squares(const float* x, std::int64_t n);
void sum_rows(float* out, const float* x, std::int64_t count, std::int64_t n);
void max_rows(float* out, const float* x, std::int64_t count, std::int64_t n);
void sum_columns(float* out, const float* x, std::int64_t count, std::int64_t n, std::int64_t stride);
void max_columns(float* out, const float* x, std::int64_t count, std::int64_t n, std::int64_t stride);
void adam(const AdamTensor& tensor, std::int64_t first, std::int64_t last);
MatmulPlan plan_matmul(const MatmulShape& shape);
MatmulPlan plan_matmul_bf16(const MatmulShape& shape);  // avx512 alone
void add_rows(float* sum, const float* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, bool first);
const ConvolutionKernels& convolution_kernels();
void random_words(const std::uint32_t state[4], std::uint32_t* out, std::int64_t n);
const Kernels& kernels();

}  // namespace thrt::cpu::THRT_CPU_LEVEL
