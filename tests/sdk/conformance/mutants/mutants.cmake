# Faults that the conformance suite must find: each is the reference backend with one text in one file replaced by another.
#
#   mutant(NAME [WHOLE] FILE path OP op [ALSO op...] [SAYS text] FROM [==[text]==] TO [==[text]==])
#
# OP must be among the failures, by its name, or as contract/CASE by the case. ALSO: the other ops that the same fault
# breaks, or whose cases use OP. No op besides may fail. FROM must stand in the file exactly once; a header is one that
# plugin.cpp alone uses. SAYS: what the details of a failure of OP must contain. WHOLE: the whole suite is run; without it what takes long is left out, other than for OP.

# ------------------------------------------------------------------------------------------------------------ elementwise

mutant(sub_has_the_wrong_sign WHOLE FILE sdk/reference/kernels_pointwise.cpp OP sub ALSO repeat
  FROM [==[[](double x, double y) { return x - y; }]==]
  TO   [==[[](double x, double y) { return y - x; }]==])

mutant(neg_keeps_unsigned_numbers FILE sdk/reference/kernels_pointwise.cpp OP neg
  FROM [==[return 0u - x;]==]
  TO   [==[return x;]==])

mutant(max_drops_nan FILE sdk/reference/kernels_pointwise.cpp OP max
  FROM [==[is_nan(x) || x > y ? x : y]==]
  TO   [==[x > y ? x : y]==])

mutant(round_takes_halves_away_from_zero FILE sdk/reference/kernels_pointwise.cpp OP round
  FROM [==[std::nearbyint(x)]==]
  TO   [==[std::round(x)]==])

mutant(cast_does_not_clamp FILE sdk/reference/kernels_pointwise.cpp OP cast
  FROM [==[if (x >= static_cast<double>(std::numeric_limits<Integer>::max())) return std::numeric_limits<Integer>::max();]==]
  TO   [==[if (x >= static_cast<double>(std::numeric_limits<Integer>::max())) {
      return static_cast<Integer>(static_cast<std::int64_t>(x < 9e18 ? x : 9e18));
    }]==])

mutant(select_lets_nan_through FILE sdk/reference/kernels_pointwise.cpp OP select ALSO constant
  FROM [==[copy_element(call.out(), i, call.in(first ? 1 : 2), i);]==]
  TO   [==[if (call.out().type.dtype == DType::kF32) {
      const float weight = first ? 1.0f : 0.0f;
      elements<float>(call.out())[i] =
          weight * elements<float>(call.in(1))[i] + (1.0f - weight) * elements<float>(call.in(2))[i];
    } else {
      copy_element(call.out(), i, call.in(first ? 1 : 2), i);
    }]==])

mutant(shift_right_loses_the_sign FILE sdk/reference/kernels_pointwise.cpp OP shift_right
  FROM [==[return x >> (y & 31); }]==]
  TO   [==[return static_cast<std::int32_t>(static_cast<std::uint32_t>(x) >> (y & 31)); }]==])

mutant(tanh_crashes FILE sdk/reference/kernels_pointwise.cpp OP tanh SAYS "crashed (SIGSEGV)"
  FROM [==[std::tanh(x)]==]
  TO   [==[std::tanh(x > 20 ? *static_cast<volatile double*>(nullptr) : x)]==])

mutant(erf_exits FILE sdk/reference/kernels_pointwise.cpp OP erf SAYS "exited with 0"
  FROM [==[map_float(call, [](double x) { return std::erf(x); });]==]
  TO   [==[std::exit(0);]==])

mutant(floor_prints FILE sdk/reference/kernels_pointwise.cpp OP floor SAYS "prints to standard output: 'floor'"
  FROM [==[map_float(call, [](double x) { return std::floor(x); });]==]
  TO   [==[map_float(call, [](double x) { return std::floor(x); });
  __builtin_puts("floor");]==])

# ------------------------------------------------------------------------------------------------------- products and sums

mutant(matmul_stops_short_at_odd_sizes WHOLE FILE sdk/reference/kernels_linear.cpp OP matmul
  FROM [==[for (std::int64_t k = 0; k < inner; ++k) {]==]
  TO   [==[for (std::int64_t k = 0; k < inner - (inner > 1 ? inner % 2 : 0); ++k) {]==])

mutant(matmul_ignores_transpose_b FILE sdk/reference/kernels_linear.cpp OP matmul
  FROM [==[right[transpose_b ? c * inner + k : k * columns + c]]==]
  TO   [==[right[k * columns + c]]==])

mutant(matmul_accumulates_in_f16 WHOLE FILE sdk/reference/kernels_linear.cpp OP matmul
  FROM [==[sum += widen(left[]==]
  TO   [==[sum = static_cast<double>(ir::f16_to_f32(ir::f32_to_f16(static_cast<float>(sum)))) + widen(left[]==])

mutant(reduce_sum_accumulates_in_its_dtype FILE sdk/reference/kernels_reduce.cpp OP reduce_sum
  FROM [==[[](double x, double y) { return x + y; }]==]
  TO   [==[[](double x, double y) { return static_cast<double>(widen(narrow<Stored>(x + y))); }]==])

mutant(reduce_max_drops_nan FILE sdk/reference/kernels_reduce.cpp OP reduce_max
  FROM [==[if (std::isnan(x)) return x;]==]
  TO   [==[]==])

mutant(conv_grad_filter_does_not_accumulate FILE sdk/reference/kernels_linear.cpp OP conv2d_grad_filter
  FROM [==[sum += value<Stored>(call.in(0), g.y_at(n, o, p, q)) * value<Stored>(call.in(1), g.x_at(n, c, h, w));]==]
  TO   [==[sum = value<Stored>(call.in(0), g.y_at(n, o, p, q)) * value<Stored>(call.in(1), g.x_at(n, c, h, w));]==])

mutant(conv_pads_by_the_wrong_side FILE sdk/reference/kernels_linear.cpp OP conv2d ALSO conv2d_grad_input conv2d_grad_filter
  FROM [==[top(attributes[2]),]==]
  TO   [==[top(attributes[3]),]==])

# --------------------------------------------------------------------------------------------------------- order, indices

mutant(argmax_takes_the_last_of_equals WHOLE FILE sdk/reference/kernels_reduce.cpp OP argmax
  FROM [==[if (before(at(best), at(a))) best = a;]==]
  TO   [==[if (!before(at(a), at(best))) best = a;]==])

mutant(argsort_is_not_stable FILE sdk/reference/kernels_reduce.cpp OP argsort
  FROM [==[return before(at(x), at(y)); }]==]
  TO   [==[return !before(at(y), at(x)); }]==])

mutant(gather_does_not_clamp FILE sdk/reference/kernels_index.cpp OP gather
  FROM [==[std::clamp<std::int64_t>(elements<std::int32_t>(call.in(1))[k], 0, from.axis - 1);]==]
  TO   [==[(elements<std::int32_t>(call.in(1))[k] % from.axis + from.axis) % from.axis;]==])

mutant(scatter_add_overwrites FILE sdk/reference/kernels_index.cpp OP scatter_add
  FROM [==[+= static_cast<Sum>(widen(update));]==]
  TO   [==[= static_cast<Sum>(widen(update));]==])

mutant(random_bits_skips_a_counter FILE sdk/reference/kernels_source.cpp OP random_bits
  FROM [==[static_cast<std::uint64_t>(i));]==]
  TO   [==[static_cast<std::uint64_t>(i >= 256 ? i + 4 : i));]==])

# ------------------------------------------------------------------------------------- axes in one rank, sizes beyond a limit

mutant(iota_counts_along_another_axis_of_rank_four FILE sdk/reference/kernels_source.cpp OP iota
  FROM [==[const auto axis = static_cast<std::size_t>(call.attributes[0]);]==]
  TO   [==[auto axis = static_cast<std::size_t>(call.attributes[0]);
  if (call.out().type.shape.rank() == 4 && axis == 2) axis = 3;]==])

mutant(reduce_mixes_up_the_axes_between_first_and_last FILE sdk/reference/kernels_reduce.cpp OP reduce_sum ALSO reduce_max
  FROM [==[  for_each_index(kept, [&](const auto& outer, std::int64_t flat) {]==]
  TO   [==[  if (from.rank() == 4 && call.attributes.size() == 2 && call.attributes[0] == 0 && call.attributes[1] == 3) kept_strides[0] = 1;
  for_each_index(kept, [&](const auto& outer, std::int64_t flat) {]==])

mutant(concat_takes_all_parts_for_as_long_as_the_first FILE sdk/reference/kernels_movement.cpp OP concat
  FROM [==[    start += from.axis;]==]
  TO   [==[    const bool is_inside = call.operands.size() > 2 && to.outer > 1 && to.inner > 1;
    start += is_inside ? call.operands[0].type.shape[axis] : from.axis;]==])

mutant(matmul_stops_at_row_512 FILE sdk/reference/kernels_linear.cpp OP matmul
  FROM [==[for (std::int64_t r = 0; r < rows; ++r) {]==]
  TO   [==[for (std::int64_t r = 0; r < std::min<std::int64_t>(rows, 512); ++r) {]==])

mutant(conv_reads_the_first_image_from_the_ninth_on FILE sdk/reference/kernels_linear.cpp OP conv2d
  FROM [==[g.x_at(n, c, h, w)) * value<Stored>(call.in(1), g.filter_at]==]
  TO   [==[g.x_at(n < 8 ? n : 0, c, h, w)) * value<Stored>(call.in(1), g.filter_at]==])

mutant(gather_stops_at_index_65536 FILE sdk/reference/kernels_index.cpp OP gather
  FROM [==[    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t index = std::clamp]==]
  TO   [==[    for (std::int64_t k = 0; k < std::min<std::int64_t>(count, 65536); ++k) {
      const std::int64_t index = std::clamp]==])

# ------------------------------------------------------------------------------------------------ programs, the interface

mutant(repeat_is_one_short WHOLE FILE sdk/include/thrt/sdk/interpreter_impl.hpp OP repeat
  FROM [==[for (std::int64_t i = 0; i < trips; ++i) {]==]
  TO   [==[for (std::int64_t i = 0; i + 1 < trips; ++i) {]==])

mutant(final_copies_are_left_out FILE sdk/include/thrt/sdk/interpreter_impl.hpp OP reshape ALSO constant repeat
  FROM [==[for (const Copy& copy : final_copies_) std::memcpy(copy.to, copy.from, copy.bytes);]==]
  TO   [==[]==])

mutant(unknown_fields_are_ignored FILE sdk/include/thrt/sdk/structs.hpp OP contract/longer_buffer_options
  FROM [==[if (bytes[at] != 0) {]==]
  TO   [==[if (false && bytes[at] != 0) {]==])

mutant(overlapping_slots_are_bound FILE sdk/include/thrt/sdk/backend_table.hpp OP contract/bind_overlap
  FROM [==[require_disjoint(slots, regions);]==]
  TO   [==[]==])

mutant(budget_counts_no_more_than_one_buffer FILE sdk/include/thrt/sdk/host_memory_impl.hpp OP contract/buffers_over_budget
  FROM [==[if (bytes > budget_ - used_) {]==]
  TO   [==[if (bytes > budget_) {]==])

mutant(buffers_are_never_freed FILE sdk/include/thrt/sdk/host_memory_impl.hpp OP contract/open_run_close_fifty_times
  FROM [==[~HostBlock() { std::free(data_); }]==]
  TO   [==[~HostBlock() {}]==])

mutant(uploads_are_not_counted FILE sdk/include/thrt/sdk/host_memory_impl.hpp OP contract/stats_count
  FROM [==[uploaded_ += source.size();]==]
  TO   [==[]==])

mutant(uploads_start_at_words FILE sdk/include/thrt/sdk/host_memory_impl.hpp OP contract/uploads_at_every_offset
  FROM [==[static_cast<HostBuffer&>(buffer).data() + offset, source.data(), source.size());]==]
  TO   [==[static_cast<HostBuffer&>(buffer).data() + offset / 4 * 4, source.data(), source.size());]==])

mutant(offsets_have_twelve_bits FILE sdk/include/thrt/sdk/host_memory_impl.hpp OP contract/binding_far_into_a_buffer
  FROM [==[data() + slot.offset);]==]
  TO   [==[data() + (slot.offset & 0xfff));]==])

mutant(repeated_runs_keep_their_failure FILE sdk/include/thrt/sdk/host_memory_impl.hpp OP contract/check_finite_in_repeated_runs
  FROM [==[failure_ = std::current_exception();]==]
  TO   [==[if (repeat == 1) failure_ = std::current_exception();]==])

mutant(an_earlier_wait_takes_the_failure FILE sdk/include/thrt/sdk/host_memory_impl.hpp OP contract/failure_is_reported
  FROM [==[if (failure_ != nullptr && failed_ticket_ <= ticket)]==]
  TO   [==[if (failure_ != nullptr)]==])

mutant(constants_are_free FILE sdk/include/thrt/sdk/host_memory_impl.hpp OP contract/constants_are_counted
  FROM [==[constants_(budget, inner_->constant_bytes(), "constants")]==]
  TO   [==[constants_(budget, 0 * inner_->constant_bytes(), "constants")]==])

mutant(the_peak_falls FILE sdk/include/thrt/sdk/host_memory_impl.hpp OP contract/stats_peak
  FROM [==[peak_ = std::max(peak_, used_);]==]
  TO   [==[peak_ = used_;]==])

mutant(a_binding_loses_memory FILE sdk/include/thrt/sdk/host_memory_impl.hpp OP contract/bindings_leak_nothing
  FROM [==[if (run_ == nullptr) throw Error(THRT_INTERNAL, "the backend prepared no run");]==]
  TO   [==[for (auto* lost = new volatile char[300000](), *at = lost; at != lost + 300000; at += 64) *at = 1;]==])

mutant(shorter_options_are_read_past FILE sdk/include/thrt/sdk/structs.hpp OP contract/shorter_options
  FROM [==[std::memcpy(&known, given, std::min<std::size_t>(size, sizeof known));]==]
  TO   [==[std::memcpy(&known, given, sizeof known);]==])
