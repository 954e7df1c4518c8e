// SPDX-License-Identifier: Apache-2.0
// Memory of the process that no driver has given it.
#pragma once

#include <link.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

// glibc's: where the break is. sbrk(0) says the same, but is a system call where UCX has put its
// own in the place (0.25 us). UCX sets this one, too (src/ucm/util/replace.c); where somebody moves
// the break without that, it is too low, and the driver is asked.
extern "C" [[gnu::weak]] void* __curbrk;

namespace nearpeak::layer {

// The program's data, its heap up to the break, and the first thread's stack as it was when this
// was found. No address there is device memory, whatever the process does: these places are the
// kernel's and the loader's from the start to the end, and a driver maps its memory elsewhere. Most
// short messages come from there. An address of other memory is not known: who wants to know has
// to ask the driver, which takes 0.1 to 0.2 us (docs/how-to/pointer-queries.md).
class OwnMemory {
 public:
  // Knows of none until find() has looked.
  void find() {
    ranges_.clear();
    sbrk(0);  // sets __curbrk, where nobody has asked before
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      unsigned long long begin = 0, end = 0;
      if (std::sscanf(line.c_str(), "%llx-%llx", &begin, &end) != 2) continue;
      if (ends_with(line, "[heap]") && heap_ == 0) heap_ = begin;
      if (ends_with(line, "[stack]")) ranges_.push_back({begin, end - begin});
    }
    dl_iterate_phdr(&add_data, &ranges_);
  }

  bool has(const void* data) const {
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    const std::uintptr_t end = break_now();
    if (heap_ != 0 && address >= heap_ && address < end) return true;
    for (const Range& range : ranges_)
      if (address - range.begin < range.bytes) return true;
    return false;
  }

 private:
  struct Range {
    std::uintptr_t begin;
    std::uintptr_t bytes;
  };

  static std::uintptr_t break_now() {
    return reinterpret_cast<std::uintptr_t>(&__curbrk != nullptr ? __curbrk : sbrk(0));
  }

  static bool ends_with(const std::string& line, const std::string& name) {
    return line.size() >= name.size() &&
           line.compare(line.size() - name.size(), name.size(), name) == 0;
  }

  // Of the program, which is the first: libraries may be unloaded.
  static int add_data(dl_phdr_info* program, std::size_t, void* ranges) {
    for (int i = 0; i < program->dlpi_phnum; ++i) {
      const auto& part = program->dlpi_phdr[i];
      if (part.p_type == PT_LOAD && (part.p_flags & PF_W) != 0)
        static_cast<std::vector<Range>*>(ranges)->push_back(
            {program->dlpi_addr + part.p_vaddr, part.p_memsz});
    }
    return 1;
  }

  std::uintptr_t heap_ = 0;  // where it begins; 0: there was none
  std::vector<Range> ranges_;
};

}  // namespace nearpeak::layer
