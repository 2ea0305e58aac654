// Pins every struct of the ABI: name, size, and each field's offset and size. abi_layout.txt is the truth; a change that
// alters or removes one of its lines breaks plugins that are out there. New fields are new lines at the end of a struct.
#include <thrt/abi.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

#define THRT_FIELD(Struct, field)                                                          \
  lines.push_back(#Struct "." #field " " + std::to_string(offsetof(Struct, field)) + " " + \
                  std::to_string(sizeof(Struct::field)))
#define THRT_STRUCT(Struct) lines.push_back(#Struct " " + std::to_string(sizeof(Struct)))

using Lines = std::vector<std::string>;

void program_structs(Lines& lines) {
  THRT_STRUCT(thrt_value);
  THRT_FIELD(thrt_value, dtype);
  THRT_FIELD(thrt_value, rank);
  THRT_FIELD(thrt_value, dims);
  THRT_FIELD(thrt_value, reserved);
  THRT_STRUCT(thrt_op);
  THRT_FIELD(thrt_op, kind);
  THRT_FIELD(thrt_op, version);
  THRT_FIELD(thrt_op, first_operand);
  THRT_FIELD(thrt_op, operand_count);
  THRT_FIELD(thrt_op, first_result);
  THRT_FIELD(thrt_op, result_count);
  THRT_FIELD(thrt_op, first_attribute);
  THRT_FIELD(thrt_op, attribute_count);
  THRT_FIELD(thrt_op, subprogram);
  THRT_FIELD(thrt_op, group);
  THRT_FIELD(thrt_op, location);
  THRT_FIELD(thrt_op, reserved);
  THRT_STRUCT(thrt_slot);
  THRT_FIELD(thrt_slot, name);
  THRT_FIELD(thrt_slot, input_value);
  THRT_FIELD(thrt_slot, output_value);
  THRT_FIELD(thrt_slot, reserved);
  THRT_STRUCT(thrt_group);
  THRT_FIELD(thrt_group, name);
  THRT_FIELD(thrt_group, parent);
  THRT_STRUCT(thrt_program);
  THRT_FIELD(thrt_program, struct_size);
  THRT_FIELD(thrt_program, opset);
  THRT_FIELD(thrt_program, fingerprint);
  THRT_FIELD(thrt_program, values);
  THRT_FIELD(thrt_program, ops);
  THRT_FIELD(thrt_program, slots);
  THRT_FIELD(thrt_program, operands);
  THRT_FIELD(thrt_program, attributes);
  THRT_FIELD(thrt_program, constants);
  THRT_FIELD(thrt_program, strings);
  THRT_FIELD(thrt_program, groups);
  THRT_FIELD(thrt_program, subprograms);
  THRT_FIELD(thrt_program, constant_bytes);
  THRT_FIELD(thrt_program, string_bytes);
  THRT_FIELD(thrt_program, value_count);
  THRT_FIELD(thrt_program, op_count);
  THRT_FIELD(thrt_program, slot_count);
  THRT_FIELD(thrt_program, operand_count);
  THRT_FIELD(thrt_program, attribute_count);
  THRT_FIELD(thrt_program, group_count);
  THRT_FIELD(thrt_program, subprogram_count);
  THRT_FIELD(thrt_program, name);
}

void error_and_device_structs(Lines& lines) {
  THRT_STRUCT(thrt_error);
  THRT_FIELD(thrt_error, code);
  THRT_FIELD(thrt_error, op_index);
  THRT_FIELD(thrt_error, value_index);
  THRT_FIELD(thrt_error, reserved);
  THRT_FIELD(thrt_error, native_code);
  THRT_FIELD(thrt_error, native_api);
  THRT_FIELD(thrt_error, message);
  THRT_STRUCT(thrt_manifest);
  THRT_FIELD(thrt_manifest, magic);
  THRT_FIELD(thrt_manifest, struct_size);
  THRT_FIELD(thrt_manifest, api_size);
  THRT_FIELD(thrt_manifest, abi_major);
  THRT_FIELD(thrt_manifest, abi_minor);
  THRT_FIELD(thrt_manifest, host_minor_needed);
  THRT_FIELD(thrt_manifest, opset_min);
  THRT_FIELD(thrt_manifest, opset_max);
  THRT_FIELD(thrt_manifest, pointer_bits);
  THRT_FIELD(thrt_manifest, id);
  THRT_FIELD(thrt_manifest, version);
  THRT_FIELD(thrt_manifest, vendor);
  THRT_FIELD(thrt_manifest, description);
  THRT_FIELD(thrt_manifest, reserved);
  THRT_STRUCT(thrt_device_info);
  THRT_FIELD(thrt_device_info, struct_size);
  THRT_FIELD(thrt_device_info, kind);
  THRT_FIELD(thrt_device_info, available);
  THRT_FIELD(thrt_device_info, compute_units);
  THRT_FIELD(thrt_device_info, memory_total);
  THRT_FIELD(thrt_device_info, memory_free);
  THRT_FIELD(thrt_device_info, max_buffer_bytes);
  THRT_FIELD(thrt_device_info, storage_dtypes);
  THRT_FIELD(thrt_device_info, precisions);
  THRT_FIELD(thrt_device_info, subgroup_size);
  THRT_FIELD(thrt_device_info, reserved);
  THRT_FIELD(thrt_device_info, name);
  THRT_FIELD(thrt_device_info, driver);
  THRT_FIELD(thrt_device_info, architecture);
  THRT_FIELD(thrt_device_info, unavailable_reason);
}

void option_structs(Lines& lines) {
  THRT_STRUCT(thrt_plugin_options);
  THRT_FIELD(thrt_plugin_options, struct_size);
  THRT_FIELD(thrt_plugin_options, flags);
  THRT_FIELD(thrt_plugin_options, cache_dir);
  THRT_STRUCT(thrt_context_options);
  THRT_FIELD(thrt_context_options, struct_size);
  THRT_FIELD(thrt_context_options, device_index);
  THRT_FIELD(thrt_context_options, memory_budget);
  THRT_FIELD(thrt_context_options, threads);
  THRT_FIELD(thrt_context_options, precision);
  THRT_STRUCT(thrt_buffer_options);
  THRT_FIELD(thrt_buffer_options, struct_size);
  THRT_FIELD(thrt_buffer_options, memory_kind);
  THRT_FIELD(thrt_buffer_options, bytes);
  THRT_FIELD(thrt_buffer_options, alignment);
  THRT_STRUCT(thrt_verdict);
  THRT_FIELD(thrt_verdict, op_index);
  THRT_FIELD(thrt_verdict, code);
  THRT_FIELD(thrt_verdict, reason);
  THRT_STRUCT(thrt_compile_options);
  THRT_FIELD(thrt_compile_options, struct_size);
  THRT_FIELD(thrt_compile_options, flags);
  THRT_STRUCT(thrt_executable_info);
  THRT_FIELD(thrt_executable_info, struct_size);
  THRT_FIELD(thrt_executable_info, ops);
  THRT_FIELD(thrt_executable_info, ops_on_device);
  THRT_FIELD(thrt_executable_info, steps);
  THRT_FIELD(thrt_executable_info, launches);
  THRT_FIELD(thrt_executable_info, reserved);
  THRT_FIELD(thrt_executable_info, workspace_bytes);
  THRT_FIELD(thrt_executable_info, constant_bytes);
  THRT_FIELD(thrt_executable_info, compile_ns);
  THRT_FIELD(thrt_executable_info, kind);
  THRT_STRUCT(thrt_slot_buffer);
  THRT_FIELD(thrt_slot_buffer, buffer);
  THRT_FIELD(thrt_slot_buffer, offset);
  THRT_STRUCT(thrt_stats);
  THRT_FIELD(thrt_stats, struct_size);
  THRT_FIELD(thrt_stats, buffers);
  THRT_FIELD(thrt_stats, executables);
  THRT_FIELD(thrt_stats, bindings);
  THRT_FIELD(thrt_stats, bytes_allocated);
  THRT_FIELD(thrt_stats, bytes_peak);
  THRT_FIELD(thrt_stats, bytes_budget);
  THRT_FIELD(thrt_stats, bytes_uploaded);
  THRT_FIELD(thrt_stats, bytes_downloaded);
  THRT_FIELD(thrt_stats, runs);
}

void table_struct(Lines& lines) {
  THRT_STRUCT(thrt_backend_api);
  THRT_FIELD(thrt_backend_api, struct_size);
  THRT_FIELD(thrt_backend_api, reserved);
  THRT_FIELD(thrt_backend_api, plugin_open);
  THRT_FIELD(thrt_backend_api, plugin_close);
  THRT_FIELD(thrt_backend_api, get_extension);
  THRT_FIELD(thrt_backend_api, device_count);
  THRT_FIELD(thrt_backend_api, device_info);
  THRT_FIELD(thrt_backend_api, context_create);
  THRT_FIELD(thrt_backend_api, context_destroy);
  THRT_FIELD(thrt_backend_api, context_stats);
  THRT_FIELD(thrt_backend_api, buffer_create);
  THRT_FIELD(thrt_backend_api, buffer_destroy);
  THRT_FIELD(thrt_backend_api, upload);
  THRT_FIELD(thrt_backend_api, download);
  THRT_FIELD(thrt_backend_api, check);
  THRT_FIELD(thrt_backend_api, compile);
  THRT_FIELD(thrt_backend_api, executable_destroy);
  THRT_FIELD(thrt_backend_api, bind);
  THRT_FIELD(thrt_backend_api, binding_destroy);
  THRT_FIELD(thrt_backend_api, enqueue);
  THRT_FIELD(thrt_backend_api, wait);
}

void op_numbers(Lines& lines) {
#define THRT_OP(ID, name, number, version, ...) \
  lines.push_back("op " #name " " + std::to_string(number) + " version " + std::to_string(version));
#include <thrt/ops.def>
#undef THRT_OP
}

// Whoever adds a field or an op adds its line to the file as well; a line that is there never changes, but for the size of a
// struct that grew.
TEST(AbiLayout, EveryRecordedLineStillHolds) {
  Lines lines;
  program_structs(lines);
  error_and_device_structs(lines);
  option_structs(lines);
  table_struct(lines);
  op_numbers(lines);
  std::ifstream file(THRT_ABI_LAYOUT);
  ASSERT_TRUE(file) << THRT_ABI_LAYOUT;
  Lines recorded;
  for (std::string line; std::getline(file, line);) recorded.push_back(line);
  std::ostringstream now;
  for (const std::string& line : lines) now << line << '\n';
  EXPECT_EQ(recorded, lines) << "the layout is now:\n" << now.str();
}

TEST(AbiLayout, EveryStructIsAMultipleOfEightBytes) {
  Lines lines;
  program_structs(lines);
  error_and_device_structs(lines);
  option_structs(lines);
  table_struct(lines);
  for (const std::string& line : lines) {
    if (line.find('.') != std::string::npos) continue;
    EXPECT_EQ(std::stoul(line.substr(line.find(' '))) % 8, 0u) << line;
  }
}

}  // namespace
