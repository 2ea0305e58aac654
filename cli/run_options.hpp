// The settings of a run as options, made from the list of fields; and which of them the user gave.
#pragma once

#include <thrt/rl/train/fields.hpp>

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace thrt::cli {

class RunOptions {
 public:
  // Adds ALGO, ENV and an option for each other field. `app` must not outlive this object's parse.
  explicit RunOptions(CLI::App& app);
  RunOptions(const RunOptions&) = delete;
  RunOptions& operator=(const RunOptions&) = delete;

  // Sets what was given. Throws Error naming the option.
  void apply(rl::RunConfig& config) const;
  // The text given for a field by its name; empty when it was not given.
  std::string given(std::string_view name) const;
  // Throws Error naming the first given setting that differs from the run's, those in `free` aside.
  void refuse_conflicts(const rl::RunConfig& run, const std::vector<std::string_view>& free) const;

 private:
  struct Setting {
    const rl::Field* field = nullptr;
    std::string text;
    CLI::Option* option = nullptr;
    CLI::Option* off = nullptr;  // --no-NAME
    bool flag = false;
    bool off_flag = false;

    bool given() const { return option->count() > 0 || (off != nullptr && off->count() > 0); }
    std::string value() const;
    std::string label() const;
  };
  void add(CLI::App& app, const rl::Field& field);

  std::vector<std::unique_ptr<Setting>> settings_;  // the parser holds pointers into them
};

// For the end of the help text: which hyper-parameters have tuned values for which environment.
std::string tuned_defaults_text();

}  // namespace thrt::cli
