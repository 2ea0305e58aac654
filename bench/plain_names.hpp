// Google Benchmark adds "/real_time" to the name of what is timed by the clock on the wall. Everything here is, so
// that it says nothing, and our ids are shared with other programs: reports leave it out.
#pragma once

#include <benchmark/benchmark.h>

#include <memory>
#include <string_view>
#include <vector>

namespace thrt::bench {

class PlainNames {
 public:
  // Before benchmark::Initialize(), which takes its options out of the arguments.
  PlainNames(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) writes_file_ |= std::string_view(argv[i]).starts_with("--benchmark_out=");
  }

  // benchmark::RunSpecifiedBenchmarks(); a file that it writes is JSON.
  std::size_t run() {
    Reporter shown{std::unique_ptr<benchmark::BenchmarkReporter>(benchmark::CreateDefaultDisplayReporter())};
    if (!writes_file_) return benchmark::RunSpecifiedBenchmarks(&shown);
    Reporter file{std::make_unique<benchmark::JSONReporter>()};
    return benchmark::RunSpecifiedBenchmarks(&shown, &file);
  }

 private:
  class Reporter : public benchmark::BenchmarkReporter {
   public:
    explicit Reporter(std::unique_ptr<benchmark::BenchmarkReporter> inner) : inner_(std::move(inner)) {}

    bool ReportContext(const Context& context) override {
      inner_->SetOutputStream(&GetOutputStream());
      inner_->SetErrorStream(&GetErrorStream());
      return inner_->ReportContext(context);
    }
    void ReportRuns(const std::vector<Run>& report) override {
      std::vector<Run> runs = report;
      for (Run& run : runs) run.run_name.time_type.clear();
      inner_->ReportRuns(runs);
    }
    void Finalize() override { inner_->Finalize(); }

   private:
    std::unique_ptr<benchmark::BenchmarkReporter> inner_;
  };

  bool writes_file_ = false;
};

}  // namespace thrt::bench
