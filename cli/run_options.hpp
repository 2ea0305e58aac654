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
  // Adds ALGO, ENV and an option for each other field's name: fields of one name in several algorithms are one option.
  // The help lists what the algorithm on the command line takes, with its defaults. `app` must not outlive this object's
  // parse.
  explicit RunOptions(CLI::App& app);
  RunOptions(const RunOptions&) = delete;
  RunOptions& operator=(const RunOptions&) = delete;

  // Sets what was given; hyper-parameters are the algorithm's, and left alone while there is none. Throws Error naming the
  // option.
  void apply(rl::RunConfig& config) const;
  // The text given for a field by its name; empty when it was not given.
  std::string given(std::string_view name) const;
  // Throws Error naming the first given setting that differs from the run's, those in `free` aside.
  void refuse_conflicts(const rl::RunConfig& run, const std::vector<std::string_view>& free) const;

 private:
  struct Setting {
    std::vector<const rl::Field*> fields;  // of one name; of several when they are hyper-parameters
    std::string text;
    CLI::Option* option = nullptr;
    CLI::Option* off = nullptr;  // --no-NAME
    bool flag = false;
    bool off_flag = false;

    bool given() const { return option->count() > 0 || (off != nullptr && off->count() > 0); }
    std::string value() const;
    std::string label() const;
    // Null where the algorithm has no such setting.
    const rl::Field* field_of(std::string_view algorithm) const;
  };
  void add(CLI::App& app, const rl::Field& field);
  void describe(std::string_view algorithm) const;

  std::vector<std::unique_ptr<Setting>> settings_;  // the parser holds pointers into them
};

}  // namespace thrt::cli
