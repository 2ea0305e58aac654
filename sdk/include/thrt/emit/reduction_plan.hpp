// Behind emit.hpp: which kernels share the loops of their reductions (reduction.hpp) among work-items, and the parts they become.
#pragma once

#include <thrt/emit/reduction.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace thrt::emit::detail {

// On a processor the work-items of a group are lanes of a register and turns of a loop, which a barrier cuts. From so many terms on
// a team is faster with PoCL on two cores: 64 sums of 64, 256, 2 048 terms by teams of 16 take 1.5, 0.5, 0.1 of the time of
// work-items of their own, sums of 256 rows of 64 columns by teams of 2 take 0.6. With llvmpipe, which runs all branches and
// loads lane by lane, they take 3.5, 1.4, 1.5 and 1.3 of it; one sum of 4 096 terms 1.2, of 65 536 terms 0.6. Pieces never paid.
inline constexpr std::int64_t kProcessorTerms = 256, kAllBranchesTerms = 32768;

// The team that suits a reduction to `results` results over `length` terms; `row` neighbouring results lie beside each other in the
// operand, 1 where terms do.
inline Teams team_for(const Options& options, std::int64_t results, std::int64_t length, std::int64_t row) {
  const std::int64_t group_size = options.group_size;
  // So many neighbours read a stretch of memory that is worth it: 64 bytes.
  const std::int64_t columns = row > 1 ? power_of_two_up_to(std::min<std::int64_t>({row, 16, group_size})) : 1;
  if (options.teams) {
    Teams teams = *options.teams;
    teams.lanes = std::min(teams.lanes, group_size);
    teams.splits = std::min(teams.splits, length);
    return teams;
  }
  Teams teams;
  if (length < 16 || results <= 0) return teams;
  if (options.device == DeviceKind::kProcessor) {
    if (length < (options.runs_all_branches ? kAllBranchesTerms : kProcessorTerms)) return teams;
    teams.lanes = row > 1 ? std::min<std::int64_t>(2, group_size) : std::min<std::int64_t>(16, group_size);
  } else {
    const std::int64_t wanted = std::max<std::int64_t>(options.compute_units * 512 / results, row > 1 ? 1 : 8);
    teams.lanes = power_of_two_up_to(std::min({group_size / columns, length / 4, wanted}));
    // A piece more costs a stage more: some microseconds, in which a work-item folds some hundred terms.
    if (length / teams.lanes >= 256)
      teams.splits = std::min({wanted / teams.lanes, length / (32 * teams.lanes), std::int64_t{256}});
  }
  teams.splits = std::max<std::int64_t>(teams.splits, 1);
  return teams;
}

// How many neighbouring results of a reduction lie beside each other in its operand.
inline std::int64_t neighbours(const sdk::OpView& op) {
  const ir::Shape from = op.operand_type(0).shape;
  const std::span<const std::int64_t> axes = op.attributes();
  std::int64_t row = 1;
  for (int d = from.rank() - 1; d >= 0; --d) {
    if (std::count(axes.begin(), axes.end(), d) != 0) break;
    row *= from[d];
  }
  return row;
}

// The pieces of a reduction: where the first lies in the step's scratch memory, counted in f32.
struct Pieces {
  std::int64_t splits, first;
};

struct Reductions {
  Team team;
  std::vector<const sdk::OpView*> ops;
  std::map<std::uint32_t, Pieces> pieces;  // by value
  std::int64_t scratch_elements = 0;

  bool has(const sdk::OpView& op) const { return std::find(ops.begin(), ops.end(), &op) != ops.end(); }
};

// The reductions of a kernel that all work-items of a group come by, if all were shared.
inline std::vector<const sdk::OpView*> PartPrinter::shared_folds() {
  std::vector<const sdk::OpView*> found;
  body_.together = [&](const sdk::OpView& op, const Indices&) -> std::optional<std::string> {
    if (!is_fold(op) || loop_length(op) < 2) return std::nullopt;
    if (std::find(found.begin(), found.end(), &op) == found.end()) found.push_back(&op);
    return body_.assigned(op.result_type().dtype, "0");
  };
  const std::int64_t results = program_.type(unit_.roots[0]).elements();
  const Index own = work_item(results);
  for (const std::uint32_t root : unit_.roots) body_.element(root, body_.unflatten(own, program_.type(root).shape));
  return found;
}

// One result of the kernel for each team. What is read at the result's own place may give its memory to the result: others of the
// team that still read it store nothing, and what went into a loop was read before the loop's barriers.
inline Part PartPrinter::shared_loops(const Reductions& plan, InPlace& in_place) {
  TeamLoop loop(body_, d_, plan.team);
  const Index own = loop.begin();
  body_.set_own({own});
  bool busy = false;  // in a team's loop: what is in there is each work-item's own
  body_.together = [&](const sdk::OpView& op, const Indices& at) -> std::optional<std::string> {
    if (busy || !plan.has(op)) return std::nullopt;
    busy = true;
    const auto pieces = plan.pieces.find(op.result());
    std::string result;
    if (pieces == plan.pieces.end()) {
      result = loop.fold(op, at);
    } else {
      const std::int64_t results = op.result_type().elements();
      const Index place = body_.flatten(at, op.result_type().shape) + Index(pieces->second.first);
      result = loop.fold_terms(op, pieces->second.splits, [&](const Index& piece) {
        return body_.assigned(ir::DType::kF32, "@partial[" + body_.variables.text(piece * results + place) + "]");
      });
    }
    busy = false;
    return op.kind() == ir::OpKind::REDUCE_SUM ? body_.finished(op.result_type().dtype, result) : result;
  };
  std::vector<std::string> results;
  for (const std::uint32_t root : unit_.roots)
    results.push_back(body_.element(root, body_.unflatten(own, program_.type(root).shape)));
  const auto store_all = [&] {
    for (std::size_t r = 0; r < unit_.roots.size(); ++r) store(unit_.roots[r], r, own, results[r]);
  };
  const std::string stores = loop.stores();
  stores.empty() ? store_all() : body_.block("if (" + stores + ")", store_all);
  add_in_place(in_place);
  Part part = finish(plan.team.results);
  part.groups = plan.team.blocks();
  part.shared = std::move(loop.shared);
  if (!plan.pieces.empty()) {
    part.stage = 1;
    part.parameters.push_back({scratch(plan, false), "float", "partial"});
  }
  return part;
}

// What each piece of a reduction comes to.
inline Part PartPrinter::pieces(const Reductions& plan, const sdk::OpView& op, const Team& team) {
  TeamLoop loop(body_, d_, team);
  const Index own = loop.begin();
  const std::string result = loop.fold(op, body_.unflatten(own, op.result_type().shape));
  const Index place = loop.split() * team.results + own + Index(plan.pieces.at(op.result()).first);
  const std::string statement = "@partial[" + body_.variables.text(place) + "] = " + result + ";";
  const std::string stores = loop.stores();
  stores.empty() ? body_.line(statement) : body_.block("if (" + stores + ")", [&] { body_.line(statement); });
  Part part = finish(team.results * team.splits, false);
  part.groups = team.blocks() * team.splits;
  part.shared = std::move(loop.shared);
  part.parameters.push_back({scratch(plan, true), "float", "partial"});
  return part;
}

inline Argument PartPrinter::scratch(const Reductions& plan, bool written) {
  Argument argument{THRT_NONE, written};
  argument.bytes = 4 * static_cast<std::uint64_t>(plan.scratch_elements);
  return argument;
}

// Nothing: the kernel is pulled as it is.
inline std::optional<Reductions> plan_reductions(const sdk::ProgramView& program, const Producers& producers,
                                                 const Dialect& dialect, const Unit& unit, const Options& options) {
  bool wanted = false;
  const double least = options.teams ? 2 : 16;
  for (const std::uint32_t value : unit.inlined) {
    const sdk::OpView& op = *producers.of(value);
    if (is_fold(op)) {
      wanted = wanted || loop_length(op) >= least;
    } else if (loop_length(op) > 16) {
      return std::nullopt;  // every work-item of a team would compute it
    }
  }
  if (!wanted) return std::nullopt;
  Reductions plan;
  plan.team.results = program.type(unit.roots[0]).elements();
  plan.team.group_size = options.group_size;
  std::int64_t most = 0;
  std::map<const sdk::OpView*, Teams> teams;
  for (const sdk::OpView* op : PartPrinter(program, producers, dialect, unit).shared_folds()) {
    const auto length = static_cast<std::int64_t>(loop_length(*op));
    const std::int64_t row = op->kind() == ir::OpKind::ARGMAX ? 1 : neighbours(*op);
    const Teams team = team_for(options, std::max(plan.team.results, op->result_type().elements()), length, row);
    if (team.lanes * team.splits == 1) continue;
    plan.ops.push_back(op);
    teams[op] = team;
    if (length <= most) continue;
    most = length;
    plan.team.lanes = team.lanes;
    plan.team.columns = row > 1 && op->result_type().elements() == plan.team.results;
  }
  if (plan.ops.empty()) return std::nullopt;
  for (const sdk::OpView* op : plan.ops) {
    const bool is_float = ir::is_float(op->operand_type(0).dtype) && op->kind() != ir::OpKind::ARGMAX;
    if (teams[op].splits == 1 || !is_float) continue;
    plan.pieces[op->result()] = {teams[op].splits, plan.scratch_elements};
    plan.scratch_elements += teams[op].splits * op->result_type().elements();
  }
  return plan;
}

// The parts of a kernel whose loops are shared; `memory` gets what they need between stages.
inline std::vector<Part> reduction_parts(const sdk::ProgramView& program, const Producers& producers,
                                         const Dialect& dialect, const Unit& unit, const Options& options,
                                         sdk::PlanStep& memory) {
  std::optional<Reductions> plan = plan_reductions(program, producers, dialect, unit, options);
  if (!plan) return {};
  const auto printer = [&] { return PartPrinter(program, producers, dialect, unit); };
  InPlace in_place;
  Part last = printer().shared_loops(*plan, in_place);
  if (last.parameters.size() > options.max_arguments) {  // no room for scratch
    *plan = Reductions{plan->team, plan->ops, {}, 0};
    in_place.clear();
    last = printer().shared_loops(*plan, in_place);
  }
  std::vector<Part> parts;
  for (const sdk::OpView* op : plan->ops) {
    const auto pieces = plan->pieces.find(op->result());
    if (pieces == plan->pieces.end()) continue;
    const std::int64_t results = op->result_type().elements(), row = neighbours(*op);
    const auto length = static_cast<std::int64_t>(loop_length(*op));
    Team team{results, team_for(options, results, length, row).lanes, options.group_size, row > 1,
              pieces->second.splits};
    parts.push_back(printer().pieces(*plan, *op, team));
  }
  parts.push_back(std::move(last));
  memory.in_place = std::move(in_place);
  memory.scratch_bytes = 4 * static_cast<std::uint64_t>(plan->scratch_elements);
  return parts;
}

}  // namespace thrt::emit::detail
