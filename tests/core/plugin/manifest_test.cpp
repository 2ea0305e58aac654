// Reading and checking the manifest in a file that may be anything.
#include <sys/stat.h>

#include <cstddef>
#include <functional>
#include <random>

#include "plugin_folder.hpp"

namespace thrt {
namespace {

using testing::HasSubstr;

thrt_manifest good_manifest() {
  thrt_manifest manifest{};
  manifest.magic = THRT_MANIFEST_MAGIC;
  manifest.struct_size = sizeof manifest;
  manifest.api_size = sizeof(thrt_backend_api);
  manifest.abi_major = THRT_ABI_MAJOR;
  manifest.opset_min = 1;
  manifest.opset_max = THRT_OPSET;
  manifest.pointer_bits = 64;
  std::strcpy(manifest.id, "good");
  std::strcpy(manifest.version, "1.2.3");
  std::strcpy(manifest.vendor, "somebody");
  std::strcpy(manifest.description, "does something");
  return manifest;
}

Error error_with(const std::function<void(thrt_manifest&)>& change) {
  thrt_manifest manifest = good_manifest();
  change(manifest);
  return error_of([&] { check_manifest(std::as_bytes(std::span(&manifest, 1)), "good"); });
}

TEST(Manifest, FieldsOfAGoodOneArrive) {
  const thrt_manifest raw = good_manifest();
  const Manifest manifest = check_manifest(std::as_bytes(std::span(&raw, 1)), "good");
  EXPECT_EQ(manifest.id, "good");
  EXPECT_EQ(manifest.version, "1.2.3");
  EXPECT_EQ(manifest.vendor, "somebody");
  EXPECT_EQ(manifest.description, "does something");
  EXPECT_EQ(manifest.abi_major, THRT_ABI_MAJOR);
  EXPECT_EQ(manifest.api_size, sizeof(thrt_backend_api));
}

TEST(Manifest, EachBrokenRuleHasItsMessage) {
  const auto what = [](const std::function<void(thrt_manifest&)>& change) {
    return std::string(error_with(change).what());
  };
  EXPECT_THAT(what([](auto& m) { m.magic ^= 1; }), HasSubstr("wrong magic number: 0x444e4b4254524855"));
  EXPECT_THAT(what([](auto& m) { m.struct_size = 352; }), HasSubstr("struct_size is 352"));
  EXPECT_THAT(what([](auto& m) { m.struct_size = 368; }), HasSubstr("struct_size is 368"));
  EXPECT_THAT(what([](auto& m) { m.abi_major = 7; }), HasSubstr("built for ABI 7.0, this binary has ABI 1.0"));
  EXPECT_THAT(what([](auto& m) { m.host_minor_needed = 9; }), HasSubstr("needs a host with ABI 1.9 or newer"));
  EXPECT_THAT(what([](auto& m) { m.opset_min = m.opset_max = 5; }),
              HasSubstr("op sets 5 to 5, this binary writes op sets 1 to 1"));
  EXPECT_THAT(what([](auto& m) { m.opset_min = m.opset_max = 0; }), HasSubstr("op sets 0 to 0"));
  EXPECT_THAT(what([](auto& m) { m.opset_min = 2; }), HasSubstr("range is empty: 2 to 1"));
  EXPECT_THAT(what([](auto& m) { m.pointer_bits = 32; }), HasSubstr("32-bit pointers"));
  EXPECT_THAT(what([](auto& m) { m.api_size = 152; }), HasSubstr("too small: 152 bytes, version 1.0's has 160"));
  EXPECT_THAT(what([](auto& m) { m.reserved[63] = 1; }), HasSubstr("sets a field that this binary does not know"));
  EXPECT_THAT(what([](auto& m) { std::memset(m.id, 'a', sizeof m.id); }), HasSubstr("id does not end within its 32"));
  EXPECT_THAT(what([](auto& m) { std::memset(m.vendor, 'a', sizeof m.vendor); }), HasSubstr("vendor does not end"));
  EXPECT_THAT(what([](auto& m) { m.version[0] = '\n'; }), HasSubstr("version has characters"));
  EXPECT_THAT(what([](auto& m) { m.description[0] = '\xC3'; }), HasSubstr("description has characters"));
  EXPECT_THAT(what([](auto& m) { std::strcpy(m.id, "other"); }), HasSubstr("id is 'other', its file name says 'good'"));
  EXPECT_THAT(what([](auto& m) { std::strcpy(m.id, "9lives"); }), HasSubstr("'9lives' is not a lower-case letter"));
  EXPECT_THAT(what([](auto& m) { m.id[0] = 0; }), HasSubstr("id '' is not"));
}

TEST(Manifest, VersionsSayWhichSideToUpgrade) {
  EXPECT_EQ(error_with([](auto& m) { m.abi_major = 0; }).next(), "upgrade the plugin");
  EXPECT_EQ(error_with([](auto& m) { m.abi_major = 2; }).next(), "upgrade thrust");
  EXPECT_EQ(error_with([](auto& m) { m.host_minor_needed = 1; }).next(), "upgrade thrust");
  EXPECT_EQ(error_with([](auto& m) { m.opset_min = m.opset_max = 0; }).next(), "upgrade the plugin");
  EXPECT_EQ(error_with([](auto& m) { m.opset_min = m.opset_max = 2; }).next(), "upgrade thrust");
}

// A later minor's manifest is longer. What this host does not know must be zero.
TEST(Manifest, ALongerOneIsTakenWhenItsNewFieldsAreZero) {
  struct {
    thrt_manifest known = good_manifest();
    uint64_t later = 0;
  } longer;
  longer.known.struct_size = sizeof longer;
  const auto bytes = std::as_bytes(std::span(&longer, 1));
  EXPECT_EQ(check_manifest(bytes, "good").id, "good");
  longer.later = 1;
  EXPECT_THAT(error_of([&] { check_manifest(bytes, "good"); }).what(), HasSubstr("does not know"));
}

TEST(Manifest, IdComesFromTheFileName) {
  EXPECT_EQ(id_of_file_name("/a/libthrust_backend_cpu.so"), "cpu");
  EXPECT_EQ(id_of_file_name("libthrust_backend_.so"), "");
  EXPECT_EQ(id_of_file_name("libthrust_backend_cpu.so.1"), "");
  EXPECT_EQ(id_of_file_name("thrust_backend_cpu.so"), "");
}

// ---- the file

class ManifestFile : public testing::Test {
 protected:
  Error error_for(const std::string& id, const std::vector<char>& bytes) {
    const fs::path file = folder_.write(id, bytes);
    return error_of([&] { read_manifest(file); });
  }
  std::vector<char> null_bytes_ = bytes_of(built_plugin("null"));
  PluginFolder folder_;
};

TEST_F(ManifestFile, IsReadWithoutLoadingTheLibrary) {
  const Manifest manifest = read_manifest(built_plugin("null"));
  EXPECT_EQ(manifest.id, "null");
  EXPECT_EQ(manifest.description, "computes nothing");
  // A constructor of this one ends the process: reading it runs nothing.
  EXPECT_EQ(read_manifest(built_plugin("exits_in_constructor")).id, "exits_in_constructor");
}

TEST_F(ManifestFile, OtherThingsAreCalledByTheirName) {
  EXPECT_STREQ(error_for("text", {'h', 'e', 'l', 'l', 'o'}).what(), "not an ELF file, so not a shared library");
  EXPECT_STREQ(error_for("empty", {}).what(), "an empty file");
  EXPECT_STREQ(error_for("elf_start", {'\x7f', 'E', 'L', 'F'}).what(), "a truncated ELF file");
  EXPECT_STREQ(error_of([] { read_manifest("/dev/null"); }).what(), "not a regular file");
  EXPECT_STREQ(error_of([&] { read_manifest(folder_.path()); }).what(), "a folder, not a file");
  EXPECT_STREQ(error_of([&] { read_manifest(folder_.file("absent")); }).what(),
               "cannot be read: No such file or directory");
  ASSERT_EQ(mkfifo(folder_.file("pipe").c_str(), 0600), 0);
  EXPECT_STREQ(error_of([&] { read_manifest(folder_.file("pipe")); }).what(), "not a regular file");
  EXPECT_STREQ(error_for("object",
                         [&] {
                           std::vector<char> bytes = null_bytes_;
                           bytes[16] = 1;  // e_type ET_REL
                           return bytes;
                         }())
                   .what(),
               "an ELF file, but not a shared library");
}

TEST_F(ManifestFile, OtherMachinesAreNamed) {
  std::vector<char> bytes = null_bytes_;
  bytes[18] = static_cast<char>(183);  // e_machine EM_AARCH64
#if defined(__x86_64__)
  EXPECT_STREQ(error_for("aarch64", bytes).what(), "built for aarch64, this machine is x86-64");
#endif
  bytes = null_bytes_;
  bytes[4] = 1;   // EI_CLASS ELFCLASS32
  bytes[18] = 3;  // EM_386
  EXPECT_THAT(error_for("elf32", bytes).what(), HasSubstr("a 32-bit ELF file (i386), this binary is 64-bit"));
  bytes = null_bytes_;
  bytes[5] = 2;  // EI_DATA ELFDATA2MSB
  EXPECT_THAT(error_for("big_endian", bytes).what(), HasSubstr("big-endian"));
}

TEST_F(ManifestFile, LibrariesThatAreNoPluginsSayWhatIsMissing) {
  EXPECT_STREQ(error_of([] { read_manifest(built_plugin("exports_nothing")); }).what(),
               "a shared library, but not a thrust plugin: it does not export thrt_backend_manifest_v1");
  EXPECT_STREQ(error_of([] { read_manifest(built_plugin("no_entry")); }).what(),
               "does not export thrt_backend_entry_v1");
  EXPECT_STREQ(error_of([] { read_manifest(built_plugin("short_manifest")); }).what(),
               "its manifest is too short: 64 bytes, thrt_manifest has 360");
}

// A plugin for a later major exports a manifest of another name. Patched: the table of names holds it once.
TEST_F(ManifestFile, ALaterMajorIsRecognisedByItsSymbol) {
  std::vector<char> bytes = null_bytes_;
  const std::string name = "thrt_backend_manifest_v1";
  for (auto at = bytes.begin();;) {
    at = std::search(at, bytes.end(), name.begin(), name.end());
    if (at == bytes.end()) break;
    *(at + static_cast<std::ptrdiff_t>(name.size()) - 1) = '2';
  }
  EXPECT_STREQ(error_for("null", bytes).what(), "built for ABI major 2, this binary has ABI 1.0");
}

TEST_F(ManifestFile, IdMustBeTheFileNames) {
  EXPECT_STREQ(error_for("renamed", null_bytes_).what(), "its id is 'null', its file name says 'renamed'");
  const fs::path odd = folder_.path() / "null.so";
  fs::copy_file(built_plugin("null"), odd);
  EXPECT_THAT(error_of([&] { read_manifest(odd); }).what(),
              HasSubstr("named libthrust_backend_ID.so, this one 'null.so'"));
}

// Every prefix of a plugin is refused as truncated: the last bytes are its section headers'.
TEST_F(ManifestFile, EveryTruncationIsRefused) {
  for (size_t size = 1; size < null_bytes_.size(); size += 97) {
    const std::vector<char> bytes(null_bytes_.begin(), null_bytes_.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_STREQ(error_for("null", bytes).what(), "a truncated ELF file") << size << " bytes";
  }
}

// Random damage leads to a message or to the manifest, never to a crash, an endless loop or gigabytes of memory.
TEST_F(ManifestFile, DamagedFilesAreReadSafely) {
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<char> bytes = null_bytes_;
    // Half the hits go to the headers and tables at the start, where each byte steers the reader.
    for (int hit = 0; hit < 4; ++hit) {
      const size_t range = round % 2 == 0 ? std::min<size_t>(1536, bytes.size()) : bytes.size();
      bytes[random() % range] = static_cast<char>(random());
    }
    try {
      read_manifest(folder_.write("null", bytes));
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 200);
  EXPECT_LT(refused, 2000);
}

}  // namespace
}  // namespace thrt
