// What a run writes as it goes: a row of progress.csv and the same numbers as TensorBoard scalars.
#pragma once

#include <thrt/rl/algo/learner.hpp>
#include <thrt/rl/log/csv_writer.hpp>
#include <thrt/rl/log/tensorboard_writer.hpp>
#include <thrt/rl/train/run_folder.hpp>
#include <thrt/rl/train/trainer.hpp>

#include <optional>
#include <vector>

namespace thrt::rl {

class RunLog {
 public:
  // `metrics`: one of each tag that write() will bring. `resume_after`: the checkpoint's step; what the files say of
  // later steps goes.
  RunLog(const RunFolder& folder, const std::vector<Metric>& metrics, std::optional<std::int64_t> resume_after);

  // `evaluation`: the mean return of one made at this step, or NaN.
  void write(const TrainProgress& progress, double mean_length, double evaluation, const std::vector<Metric>& metrics);
  void flush();

 private:
  CsvWriter csv_;
  TensorBoardWriter events_;
};

}  // namespace thrt::rl
