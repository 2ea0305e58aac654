// What the user reads: the first line of a run, numbers and times.
#pragma once

#include <thrt/plugin/registry.hpp>
#include <thrt/rl/train/run_config.hpp>

#include <cstdint>
#include <string>

namespace thrt::cli {

// "backend cpu:0 (AMD EPYC 9654)  precision f32  threads 1  plugin /…/libthrust_backend_cpu.so"
std::string first_line(const SelectedBackend& backend, const rl::RunConfig& config);
std::string backend_name(const SelectedBackend& backend);  // "cpu:0"

std::string grouped(std::int64_t number);  // 1234567 -> "1,234,567"
std::string short_number(double number);   // 12345.6 -> "12.3k"
std::string clock_text(double seconds);    // 75 -> "1:15", 3700 -> "1:01:40"; "--:--" when not known
std::string mean_text(double mean);        // one decimal, "-" for NaN

}  // namespace thrt::cli
