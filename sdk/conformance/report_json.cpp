#include "report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace thrt::conformance {
namespace {

using Json = nlohmann::ordered_json;

Json subject_json(const Subject& subject) {
  const Manifest& manifest = subject.manifest;
  return {{"id", manifest.id},
          {"version", manifest.version},
          {"vendor", manifest.vendor},
          {"description", manifest.description},
          {"abi", fmt::format("{}.{}", manifest.abi_major, manifest.abi_minor)},
          {"opset_min", manifest.opset_min},
          {"opset_max", manifest.opset_max},
          {"file", subject.file.string()}};
}

const char* result_name(const std::optional<CaseResult>& result) {
  if (!result) return "not run";
  switch (result->outcome.kind) {
    case Outcome::Kind::kPassed:
      return "passed";
    case Outcome::Kind::kUnsupported:
      return "unsupported";
    case Outcome::Kind::kFailed:
      return "failed";
  }
  return "";
}

Json case_json(const Case& one, const std::optional<CaseResult>& result) {
  return {{"name", one.name},
          {"area", one.area},
          {"dtype", one.dtype ? Json(ir::dtype_name(*one.dtype)) : Json(nullptr)},
          {"level", one.level == Level::kNone ? Json(nullptr) : Json(level_name(one.level))},
          {"result", result_name(result)},
          {"detail", result ? result->outcome.detail : ""},
          {"seconds", result ? result->seconds : 0.0}};
}

Json counts_json(const Counts& counts) {
  return {{"passed", counts.passed},
          {"failed", counts.failed},
          {"unsupported", counts.unsupported},
          {"not_run", counts.not_run}};
}

Json device_json(const DeviceInfo& device) {
  return {{"index", device.index},
          {"name", device.name},
          {"kind", device_kind_name(device.kind)},
          {"driver", device.driver},
          {"architecture", device.architecture},
          {"dtypes", dtype_names(device.storage_dtypes)},
          {"precisions", precision_names(device.precisions)}};
}

}  // namespace

std::string report_as_json(const Session& session) {
  Json cases = Json::array();
  for (std::size_t i = 0; i < session.cases.size(); ++i) {
    if (session.chosen[i]) cases.push_back(case_json(session.cases[i], session.results[i]));
  }
  Json levels = Json::object();
  for (const LevelReport& level : judge(session)) {
    Json one = {{"verdict", verdict_name(level.verdict)}, {"reason", level.reason}};
    one.update(counts_json(level.counts));
    levels[level_name(level.level)] = std::move(one);
  }
  Json plugin = subject_json(session.subject);
  plugin["device"] = device_json(session.subject.device);
  const Json all = {{"host", {{"abi", fmt::format("{}.{}", THRT_ABI_MAJOR, THRT_ABI_MINOR)}, {"opset", THRT_OPSET}}},
                    {"plugin", plugin},
                    {"reference", subject_json(session.reference)},
                    {"levels", levels},
                    {"counts", counts_json(count_all(session))},
                    {"faults", session.faults},
                    {"interrupted", session.stopped},
                    {"seconds", session.seconds},
                    {"cases", cases}};
  // What a plugin says need not be UTF-8, which JSON must be.
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace thrt::conformance
