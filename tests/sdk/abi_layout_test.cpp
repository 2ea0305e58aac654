// Pins every struct of the ABI (name, size, each field's offset and size), every number and every op. abi_layout.txt says what
// they are now; abi_1_0/layout.txt, which never changes, says what plugins of 1.0 were built with. New fields are new lines
// at the end of a struct.
#include <thrt/abi.h>
#include <thrt/describe.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

// NOLINTBEGIN(bugprone-sizeof-expression): the fields that are pointers are measured as such
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

void extension_structs(Lines& lines) {
  THRT_STRUCT(thrt_program_counters);
  THRT_FIELD(thrt_program_counters, struct_size);
  THRT_FIELD(thrt_program_counters, reserved);
  THRT_FIELD(thrt_program_counters, launches);
  THRT_FIELD(thrt_program_counters, barriers);
  THRT_FIELD(thrt_program_counters, bytes_read);
  THRT_FIELD(thrt_program_counters, bytes_written);
  THRT_STRUCT(thrt_describe_api);
  THRT_FIELD(thrt_describe_api, struct_size);
  THRT_FIELD(thrt_describe_api, reserved);
  THRT_FIELD(thrt_describe_api, describe);
  THRT_FIELD(thrt_describe_api, counters);
}
// NOLINTEND(bugprone-sizeof-expression)

void op_numbers(Lines& lines) {
#define THRT_OP(ID, name, number, version, ...) \
  lines.push_back("op " #name " " + std::to_string(number) + " version " + std::to_string(version));
#include <thrt/ops.def>
#undef THRT_OP
}

#define THRT_NUMBER(name) lines.push_back(#name " " + std::to_string(static_cast<unsigned long long>(name)))

void numbers(Lines& lines) {
  THRT_NUMBER(THRT_ABI_MAJOR);
  THRT_NUMBER(THRT_MANIFEST_MAGIC);
  THRT_NUMBER(THRT_MAX_RANK);
  THRT_NUMBER(THRT_NONE);
  THRT_NUMBER(THRT_OK);
  THRT_NUMBER(THRT_INVALID_ARGUMENT);
  THRT_NUMBER(THRT_INVALID_PROGRAM);
  THRT_NUMBER(THRT_UNSUPPORTED);
  THRT_NUMBER(THRT_OUT_OF_MEMORY);
  THRT_NUMBER(THRT_OVER_BUDGET);
  THRT_NUMBER(THRT_UNAVAILABLE);
  THRT_NUMBER(THRT_INCOMPATIBLE);
  THRT_NUMBER(THRT_DEVICE_LOST);
  THRT_NUMBER(THRT_TIMEOUT);
  THRT_NUMBER(THRT_INVALID_STATE);
  THRT_NUMBER(THRT_NON_FINITE);
  THRT_NUMBER(THRT_INTERNAL);
  THRT_NUMBER(THRT_DTYPE_F32);
  THRT_NUMBER(THRT_DTYPE_F16);
  THRT_NUMBER(THRT_DTYPE_BF16);
  THRT_NUMBER(THRT_DTYPE_I32);
  THRT_NUMBER(THRT_DTYPE_U32);
  THRT_NUMBER(THRT_DTYPE_U8);
  THRT_NUMBER(THRT_DTYPE_BOOL);
  THRT_NUMBER(THRT_DTYPE_F64);
  THRT_NUMBER(THRT_PRECISION_F32);
  THRT_NUMBER(THRT_PRECISION_TF32);
  THRT_NUMBER(THRT_PRECISION_BF16);
  THRT_NUMBER(THRT_PRECISION_F16);
  THRT_NUMBER(THRT_DEVICE_CPU);
  THRT_NUMBER(THRT_DEVICE_INTEGRATED);
  THRT_NUMBER(THRT_DEVICE_DISCRETE);
  THRT_NUMBER(THRT_DEVICE_SOFTWARE);
  THRT_NUMBER(THRT_MEMORY_DEVICE);
  THRT_NUMBER(THRT_MEMORY_STAGING);
  THRT_NUMBER(THRT_COMPILE_DEBUG);
  THRT_NUMBER(THRT_COMPILE_CHECK_FINITE);
}

Lines structs_now() {
  Lines lines;
  program_structs(lines);
  error_and_device_structs(lines);
  option_structs(lines);
  table_struct(lines);
  extension_structs(lines);
  return lines;
}

Lines layout_now() {
  Lines lines = structs_now();
  op_numbers(lines);
  numbers(lines);
  return lines;
}

std::string text_of(const char* path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

Lines lines_of(const char* path) {
  std::istringstream file(text_of(path));
  Lines lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

struct StructLayout {
  std::size_t bytes = 0;
  Lines fields;  // "struct.field offset size"

  bool grows() const { return !fields.empty() && fields[0].find(".struct_size ") != std::string::npos; }
};

struct Layout {
  std::map<std::string, StructLayout> structs;
  std::set<std::string> others;  // ops and numbers
};

// What a later minor version may do to an earlier one, of both a list of lines: nothing that is not an addition.
Layout layout_of(const Lines& lines) {
  Layout layout;
  for (const std::string& line : lines) {
    const std::string name = line.substr(0, line.find_first_of(". "));
    if (line.rfind("thrt_", 0) != 0) {
      layout.others.insert(line);
    } else if (line.find('.') == std::string::npos) {
      layout.structs[name].bytes = std::stoul(line.substr(line.find(' ')));
    } else {
      layout.structs[name].fields.push_back(line);
    }
  }
  return layout;
}

Lines broken_promises(const Layout& before, const Layout& after) {
  Lines broken;
  for (const std::string& line : before.others) {
    if (after.others.count(line) == 0) broken.push_back(line + ": changed or gone");
  }
  for (const auto& [name, old] : before.structs) {
    const auto found = after.structs.find(name);
    if (found == after.structs.end()) {
      broken.push_back(name + ": gone");
      continue;
    }
    const StructLayout& now = found->second;
    for (std::size_t i = 0; i < old.fields.size(); ++i) {
      if (i >= now.fields.size() || now.fields[i] != old.fields[i])
        broken.push_back(old.fields[i] + ": changed or gone");
    }
    if (now.bytes < old.bytes) broken.push_back(name + ": shrank");
    if (!old.grows() && now.bytes != old.bytes) broken.push_back(name + ": is frozen and grew");
  }
  return broken;
}

TEST(AbiLayout, IsTheRecordedOne) {
  const Lines lines = layout_now();
  std::ostringstream now;
  for (const std::string& line : lines) now << line << '\n';
  EXPECT_EQ(lines_of(THRT_ABI_LAYOUT), lines) << "the layout is now:\n" << now.str();
}

TEST(AbiLayout, KeepsAllThatPluginsOf10WereBuiltWith) {
  const Layout first = layout_of(lines_of(THRT_ABI_LAYOUT_1_0));
  EXPECT_EQ(first.structs.size(), 17u);
  EXPECT_GE(first.others.size(), 80u);
  EXPECT_EQ(broken_promises(first, layout_of(layout_now())), Lines{});
}

TEST(AbiLayout, ABrokenPromiseIsSeen) {
  const Lines lines = layout_now();
  const Layout now = layout_of(lines);
  EXPECT_EQ(broken_promises(now, now), Lines{});
  const auto after = [&](const std::string& from, const std::string& to) {
    Lines changed;
    for (const std::string& line : lines) {
      if (line != from) changed.push_back(line);
      if (line == from && !to.empty()) changed.push_back(to);
    }
    EXPECT_NE(changed, lines) << from;
    return broken_promises(now, layout_of(changed));
  };
  EXPECT_EQ(after("thrt_stats.runs 56 8", ""), Lines{"thrt_stats.runs 56 8: changed or gone"});
  EXPECT_EQ(after("thrt_stats.runs 56 8", "thrt_stats.runs 56 4"), Lines{"thrt_stats.runs 56 8: changed or gone"});
  EXPECT_EQ(after("thrt_stats 64", "thrt_stats 56"), Lines{"thrt_stats: shrank"});
  EXPECT_EQ(after("thrt_op 48", "thrt_op 56"), Lines{"thrt_op: is frozen and grew"});
  EXPECT_EQ(after("thrt_stats 64", "thrt_stats 72"), Lines{});
  EXPECT_EQ(after("op neg 16 version 1", "op neg 17 version 1"), Lines{"op neg 16 version 1: changed or gone"});
  EXPECT_EQ(after("THRT_DTYPE_U8 6", "THRT_DTYPE_U8 9"), Lines{"THRT_DTYPE_U8 6: changed or gone"});
}

// No field is missing from the list and no padding is hidden: the fields tile their struct.
TEST(AbiLayout, FieldsCoverEveryByteOfTheirStruct) {
  for (const auto& [name, layout] : layout_of(structs_now()).structs) {
    EXPECT_EQ(layout.bytes % 8, 0u) << name;
    std::size_t end = 0;
    for (const std::string& field : layout.fields) {
      std::istringstream parts(field.substr(field.find(' ')));
      std::size_t offset = 0, bytes = 0;
      parts >> offset >> bytes;
      EXPECT_EQ(offset, end) << field;
      end = offset + bytes;
    }
    EXPECT_EQ(end, layout.bytes) << name;
  }
}

TEST(AbiLayout, ListsEveryStructAndNumberOfTheHeaders) {
  const std::string header = text_of(THRT_ABI_HEADER) + text_of(THRT_DESCRIBE_HEADER);
  const Layout now = layout_of(layout_now());
  std::set<std::string> defined, listed;
  const std::regex definition("struct (thrt_[a-z_]+) \\{");
  for (std::sregex_iterator at(header.begin(), header.end(), definition), end; at != end; ++at)
    defined.insert((*at)[1]);
  for (const auto& [name, layout] : now.structs) listed.insert(name);
  EXPECT_EQ(defined, listed);
  const std::regex enumerator("\n  (THRT_[A-Z0-9_]+) = ");
  for (std::sregex_iterator at(header.begin(), header.end(), enumerator), end; at != end; ++at) {
    const std::string name = (*at)[1];
    if (name.find("FORCE_32") != std::string::npos || name.rfind("THRT_OP_", 0) == 0) continue;
    const auto found = now.others.lower_bound(name + " ");
    EXPECT_TRUE(found != now.others.end() && found->rfind(name + " ", 0) == 0) << name;
  }
}

}  // namespace
