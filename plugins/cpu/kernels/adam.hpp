// Adam's update of one tensor, and AdamW's: P. Kingma, J. Ba (2015), arXiv:1412.6980, and I. Loshchilov, F. Hutter
// (2019), arXiv:1711.05101. With the bias corrections in two scalars,
//     g  = gradient * scale
//     m' = beta1 * m + rest1 * g
//     v' = beta2 * v + rest2 * (g * g)
//     p' = p * keep - rate * (m' / (sqrt(v') * scale_v + epsilon))
// each operation rounded, as if each were an op of its own.
#pragma once

#include <cstdint>

namespace thrt::cpu {

struct AdamTensor {
  const float *p, *m, *v, *gradient;
  float *p_out, *m_out, *v_out;  // each may be what it is made from
  const float *beta1, *rest1, *beta2, *rest2, *scale_v, *epsilon, *rate;
  const float *scale, *keep;  // null: not in the formula
  std::int64_t elements;
};

}  // namespace thrt::cpu
