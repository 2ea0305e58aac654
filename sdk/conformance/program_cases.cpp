#include "program_cases.hpp"

namespace thrt::conformance {

Case program_case(const std::string& name, Level level, std::function<void(CaseProgram&)> build,
                  const CompareOptions& options) {
  const auto run = [name, build = std::move(build), options](const Bench& bench) {
    CaseProgram program(name);
    build(program);
    return program.compare(bench, options);
  };
  return {"program/" + name, "program", std::nullopt, level, run};
}

Case running_case(const std::string& name, Level level, std::function<Outcome(const Bench&)> run) {
  const auto guarded = [run = std::move(run)](const Bench& bench) { return outcome_of([&] { return run(bench); }); };
  return {"program/" + name, "program", std::nullopt, level, guarded};
}

std::vector<Case> program_cases() {
  std::vector<Case> cases = training_cases();
  for (std::vector<Case> more : {structure_cases(), execution_cases()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

}  // namespace thrt::conformance
