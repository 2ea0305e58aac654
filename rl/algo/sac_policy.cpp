#include <thrt/rl/algo/sac_policy.hpp>

#include <thrt/nn/activations.hpp>

#include <cmath>
#include <numbers>

namespace thrt::rl {
namespace {

constexpr double kLeastLogDeviation = -20.0;
constexpr double kMostLogDeviation = 2.0;

}  // namespace

TanhGaussian::TanhGaussian(Tensor mean, Tensor log_deviation)
    : mean_(mean), log_deviation_(clamp(log_deviation, kLeastLogDeviation, kMostLogDeviation)) {}

TanhGaussian::Sample TanhGaussian::sample(Tensor noise) const {
  const Tensor u = mean_ + exp(log_deviation_) * noise;
  const Tensor gaussian = -0.5 * square(noise) - log_deviation_ - 0.5 * std::log(2.0 * std::numbers::pi);
  const Tensor squash = 2.0 * (std::numbers::ln2 - u - nn::softplus(-2.0 * u));
  return {tanh(u), sum(gaussian - squash, {-1})};
}

Tensor TanhGaussian::action(Tensor noise) const {
  return tanh(mean_ + exp(log_deviation_) * noise);
}

}  // namespace thrt::rl
