// Reads one data symbol from an ELF64 shared library without running any of it. The way is the loader's own: program
// headers -> PT_DYNAMIC -> symbol, string and hash tables -> symbol -> PT_LOAD -> bytes in the file. Section headers
// are not needed (they may be stripped). Layout: System V ABI, chapters 4 and 5; GNU hash table: binutils, elflink.c.

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thrt/error.hpp>
#include <thrt/plugin/manifest.hpp>

namespace thrt {
namespace {

constexpr const char* kManifestSymbol = "thrt_backend_manifest_v1";
constexpr const char* kEntrySymbol = "thrt_backend_entry_v1";
constexpr std::string_view kManifestPrefix = "thrt_backend_manifest_v";
constexpr uint64_t kMaxManifest = 4096;       // bytes; thrt_manifest v1 has 360
constexpr uint64_t kMaxSymbols = 1u << 20;    // a plugin exports two
constexpr uint64_t kMaxProgramHeaders = 512;  // a library has about ten

#if defined(__x86_64__)
constexpr uint16_t kHostMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kHostMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr uint16_t kHostMachine = EM_RISCV;
#else
#error "add this machine's ELF number"
#endif

std::string machine_name(uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "aarch64";
    case EM_RISCV:
      return "riscv";
    case EM_386:
      return "i386";
    case EM_ARM:
      return "arm";
    case EM_PPC64:
      return "ppc64";
    case EM_S390:
      return "s390";
    default:
      return fmt::format("machine number {}", machine);
  }
}

class File {
 public:
  explicit File(const std::filesystem::path& path) {
    // O_NONBLOCK: opening a named pipe must not wait for a writer.
    descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0) throw Error(fmt::format("cannot be read: {}", std::strerror(errno)));
    struct stat status {};
    const bool known = fstat(descriptor_, &status) == 0;
    if (!known || !S_ISREG(status.st_mode)) {
      close(descriptor_);
      throw Error(known && S_ISDIR(status.st_mode) ? "a folder, not a file" : "not a regular file");
    }
    size_ = static_cast<uint64_t>(status.st_size);
  }
  ~File() { close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  uint64_t size() const { return size_; }

  // Throws when [offset, offset + bytes) is not in the file.
  void read(uint64_t offset, void* destination, uint64_t bytes) const {
    if (offset > size_ || bytes > size_ - offset) throw_truncated(offset, bytes);
    auto* at = static_cast<char*>(destination);
    while (bytes > 0) {
      const ssize_t got = pread(descriptor_, at, bytes, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw Error(fmt::format("cannot be read: {}", std::strerror(errno)));
      if (got == 0) throw_truncated(offset, bytes);
      at += got;
      offset += static_cast<uint64_t>(got);
      bytes -= static_cast<uint64_t>(got);
    }
  }

  template <typename T>
  T read(uint64_t offset) const {
    T value;
    read(offset, &value, sizeof value);
    return value;
  }

  [[noreturn]] void throw_truncated(uint64_t offset, uint64_t bytes) const {
    throw Error("a truncated ELF file",
                fmt::format("it has {} bytes, and its headers point at {} bytes from {} on", size_, bytes, offset),
                "copy or build the plugin again");
  }

 private:
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

// What the file is, before anything in it is followed.
Elf64_Ehdr read_header(const File& file) {
  if (file.size() == 0) throw Error("an empty file", {}, "copy or build the plugin again");
  unsigned char ident[EI_NIDENT] = {};
  file.read(0, ident, std::min<uint64_t>(file.size(), sizeof ident));
  if (std::memcmp(ident, ELFMAG, std::min<uint64_t>(file.size(), SELFMAG)) != 0) {
    throw Error("not an ELF file, so not a shared library");
  }
  if (file.size() < sizeof ident) file.throw_truncated(0, sizeof(Elf64_Ehdr));
  if (ident[EI_DATA] != ELFDATA2LSB) throw Error("a big-endian ELF file, this machine is little-endian");
  if (ident[EI_CLASS] != ELFCLASS64) {
    const auto header = file.read<Elf32_Ehdr>(0);  // e_machine lies at the same place in both classes
    throw Error(fmt::format("a 32-bit ELF file ({}), this binary is 64-bit {}", machine_name(header.e_machine),
                            machine_name(kHostMachine)),
                {}, "build the plugin for this machine");
  }
  const auto header = file.read<Elf64_Ehdr>(0);
  if (header.e_machine != kHostMachine) {
    throw Error(
        fmt::format("built for {}, this machine is {}", machine_name(header.e_machine), machine_name(kHostMachine)), {},
        "build the plugin for this machine");
  }
  if (header.e_type != ET_DYN) throw Error("an ELF file, but not a shared library");
  return header;
}

struct Tables {
  uint64_t symbols = 0;  // file offset of the first Elf64_Sym
  uint64_t count = 0;
  std::vector<char> strings;  // ends with a NUL
};

class Library {
 public:
  explicit Library(const File& file) : file_(file) {
    const Elf64_Ehdr header = read_header(file);
    if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 || header.e_phnum > kMaxProgramHeaders) {
      throw Error("a damaged ELF file",
                  fmt::format("{} program headers of {} bytes", header.e_phnum, header.e_phentsize));
    }
    segments_.resize(header.e_phnum);
    file.read(header.e_phoff, segments_.data(), segments_.size() * sizeof(Elf64_Phdr));
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type == PT_LOAD && end_of(segment.p_offset, segment.p_filesz) > file.size()) {
        file.throw_truncated(segment.p_offset, segment.p_filesz);
      }
    }
    // The loader does not need the section headers; at the end of the file they tell whether all of it arrived.
    if (header.e_shoff != 0 && end_of(header.e_shoff, uint64_t{header.e_shnum} * header.e_shentsize) > file.size()) {
      file.throw_truncated(header.e_shoff, uint64_t{header.e_shnum} * header.e_shentsize);
    }
  }

  // The file offset of [address, address + bytes) of the loaded image, which must lie in one segment's file part.
  uint64_t offset_of(uint64_t address, uint64_t bytes) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
      const uint64_t within = address - segment.p_vaddr;
      if (within <= segment.p_filesz && bytes <= segment.p_filesz - within) return segment.p_offset + within;
    }
    throw Error("a damaged ELF file", fmt::format("no segment holds {} bytes at address 0x{:x}", bytes, address));
  }

  Tables tables() const {
    const std::optional<uint64_t> symbols = dynamic(DT_SYMTAB);
    const std::optional<uint64_t> strings = dynamic(DT_STRTAB);
    const uint64_t string_bytes = dynamic(DT_STRSZ).value_or(0);
    Tables tables;
    tables.count = symbol_count();
    if (!symbols || !strings || tables.count == 0) return {};
    tables.symbols = offset_of(*symbols, tables.count * sizeof(Elf64_Sym));
    const uint64_t string_offset = offset_of(*strings, string_bytes);
    if (string_bytes > file_.size()) file_.throw_truncated(string_offset, string_bytes);
    tables.strings.resize(string_bytes + 1);  // one more: the last string then ends whatever the file says
    file_.read(string_offset, tables.strings.data(), string_bytes);
    return tables;
  }

 private:
  static uint64_t end_of(uint64_t offset, uint64_t bytes) {
    return offset > UINT64_MAX - bytes ? UINT64_MAX : offset + bytes;
  }

  std::optional<uint64_t> dynamic(int64_t tag) const {
    for (const Elf64_Phdr& segment : segments_) {
      if (segment.p_type != PT_DYNAMIC) continue;
      for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= segment.p_filesz; at += sizeof(Elf64_Dyn)) {
        const auto entry = file_.read<Elf64_Dyn>(segment.p_offset + at);
        if (entry.d_tag == DT_NULL) break;
        if (entry.d_tag == tag) return entry.d_un.d_val;
      }
    }
    return std::nullopt;
  }

  // The symbol table does not know its own length; either hash table does.
  uint64_t symbol_count() const {
    uint64_t count = 0;
    if (const auto hash = dynamic(DT_HASH)) {
      count = file_.read<uint32_t>(offset_of(*hash + 4, 4));  // nbucket, nchain: one chain entry per symbol
    } else if (const auto gnu_hash = dynamic(DT_GNU_HASH)) {
      count = gnu_symbol_count(*gnu_hash);
    }
    if (count > kMaxSymbols) throw Error("a damaged ELF file", fmt::format("{} dynamic symbols", count));
    return count;
  }

  // nbuckets, symoffset, bloom_size, bloom_shift; bloom[bloom_size]; buckets[nbuckets]; chain[], whose lists end with
  // an odd word. The last symbol ends the list that starts highest.
  uint64_t gnu_symbol_count(uint64_t address) const {
    const auto word = [&](uint64_t at) { return file_.read<uint32_t>(offset_of(at, 4)); };
    const uint64_t bucket_count = word(address);
    const uint64_t first_symbol = word(address + 4);
    const uint64_t buckets = address + 16 + 8 * uint64_t{word(address + 8)};
    const uint64_t chains = buckets + 4 * bucket_count;
    if (bucket_count > kMaxSymbols) throw Error("a damaged ELF file", "its hash table is too large");
    uint64_t last = 0;
    for (uint64_t i = 0; i < bucket_count; ++i) last = std::max<uint64_t>(last, word(buckets + 4 * i));
    if (last < first_symbol) return first_symbol;
    while ((word(chains + 4 * (last - first_symbol)) & 1u) == 0) {
      if (++last > kMaxSymbols) throw Error("a damaged ELF file", "its hash table does not end");
    }
    return last + 1;
  }

  const File& file_;
  std::vector<Elf64_Phdr> segments_;
};

struct Exports {
  std::optional<Elf64_Sym> manifest;
  bool entry = false;
  std::string other_major;  // the N of a thrt_backend_manifest_vN that this binary does not know
};

Exports find_exports(const File& file, const Tables& tables) {
  Exports exports;
  for (uint64_t i = 0; i < tables.count; ++i) {
    const auto symbol = file.read<Elf64_Sym>(tables.symbols + i * sizeof(Elf64_Sym));
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= tables.strings.size()) continue;
    const std::string_view name = &tables.strings[symbol.st_name];
    if (name == kManifestSymbol) {
      exports.manifest = symbol;
    } else if (name == kEntrySymbol) {
      exports.entry = true;
    } else if (name.substr(0, kManifestPrefix.size()) == kManifestPrefix) {
      exports.other_major = name.substr(kManifestPrefix.size());
    }
  }
  return exports;
}

}  // namespace

std::vector<std::byte> read_manifest_bytes(const std::filesystem::path& path) {
  const File file(path);
  const Library library(file);
  const Exports exports = find_exports(file, library.tables());
  if (!exports.manifest) {
    if (!exports.other_major.empty()) {
      throw Error(fmt::format("built for ABI major {}, this binary has ABI {}.{}", exports.other_major, THRT_ABI_MAJOR,
                              THRT_ABI_MINOR),
                  {}, "install the plugin and the binary of one version");
    }
    throw Error(fmt::format("a shared library, but not a thrust plugin: it does not export {}", kManifestSymbol));
  }
  if (ELF64_ST_TYPE(exports.manifest->st_info) != STT_OBJECT) {
    throw Error(fmt::format("its {} is not data", kManifestSymbol));
  }
  if (!exports.entry) throw Error(fmt::format("does not export {}", kEntrySymbol), {}, "export it: see thrt/abi.h");
  std::vector<std::byte> bytes(std::min<uint64_t>(exports.manifest->st_size, kMaxManifest));
  file.read(library.offset_of(exports.manifest->st_value, bytes.size()), bytes.data(), bytes.size());
  return bytes;
}

}  // namespace thrt
