// SPDX-License-Identifier: Apache-2.0
// Memory of a device as applications get it: from cuMemAlloc, from the device's pool, or mapped in
// chunks by themselves, as PyTorch's expandable segments are. Included by application.hpp.

// The kinds of --memory.
enum class Memory { kPlain, kPool, kChunks, kOwnChunks };
Memory memory_kind = Memory::kPlain;

Memory memory_of(const std::string& name) {
  const std::map<std::string, Memory> all{{"plain", Memory::kPlain},
                                          {"pool", Memory::kPool},
                                          {"chunks", Memory::kChunks},
                                          {"own_chunks", Memory::kOwnChunks}};
  return all.at(name);
}

constexpr std::size_t kChunk = std::size_t{2} << 20;

// Addresses of this rank's device, where chunks come and go.
class Segment {
 public:
  // So many chunks have room. `shared`: other processes may map them.
  explicit Segment(std::size_t chunks, bool shared = true) : all_(chunks), shared_(shared) {
    CHECK(cuda("cuMemAddressReserve", &base_, all_ * kChunk, std::size_t{0}, std::size_t{0},
               0ULL) == 0);
  }
  ~Segment() {
    while (!mapped_.empty()) unmap(mapped_.begin()->first);
    CHECK(cuda("cuMemAddressFree", base_, all_ * kChunk) == 0);
  }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  char* data() const { return static_cast<char*>(base_); }
  // A chunk that is as long as `length` of the least ones, from the place of the first of these on.
  void map(std::size_t place, std::size_t length = 1) {
    int device = 0;
    CHECK(cuda("cuCtxGetDevice", &device) == 0);
    // CUmemAllocationProp and CUmemAccessDesc: memory of the device, for file descriptors.
    struct {
      int type = 1, handle_types = 0, location_type = 1, location = 0;
      void* for_windows = nullptr;
      unsigned char flags[8] = {};
    } made;
    made.handle_types = shared_ ? 1 : 0;
    made.location = device;
    const struct {
      int location_type, location, flags;
    } access{1, device, 3};
    unsigned long long handle = 0;
    const std::size_t bytes = length * kChunk;
    char* const at = data() + place * kChunk;
    CHECK(cuda("cuMemCreate", &handle, bytes, &made, 0ULL) == 0);
    CHECK(cuda("cuMemMap", at, bytes, std::size_t{0}, handle, 0ULL) == 0);
    CHECK(cuda("cuMemSetAccess", at, bytes, &access, std::size_t{1}) == 0);
    CHECK(cuda("cuMemRelease", handle) == 0);
    mapped_[place] = length;
  }
  void unmap(std::size_t place) {
    CHECK(cuda("cuMemUnmap", data() + place * kChunk, mapped_.at(place) * kChunk) == 0);
    mapped_.erase(place);
  }

 private:
  std::size_t all_;
  bool shared_;
  void* base_ = nullptr;
  std::map<std::size_t, std::size_t> mapped_;  // how long, by their places
};

// Of all buffers that are in chunks, of any thread.
class Segments {
 public:
  void add(void* memory, std::unique_ptr<Segment> segment) {
    const std::lock_guard lock(mutex_);
    all_[memory] = std::move(segment);
  }
  std::unique_ptr<Segment> take(void* memory) {
    const std::lock_guard lock(mutex_);
    return std::move(all_.extract(memory).mapped());
  }

 private:
  std::mutex mutex_;
  std::map<void*, std::unique_ptr<Segment>> all_;
};

Segments& segments() {
  static auto& all = *new Segments;  // at the end of the process there may be no driver
  return all;
}

// In chunks it leads from one to the next a page behind its middle.
void* device_memory(std::size_t bytes) {
  void* memory = nullptr;
  if (memory_kind == Memory::kPlain) {
    CHECK(cuda("cuMemAlloc_v2", &memory, bytes) == 0);
  } else if (memory_kind == Memory::kPool) {
    CHECK(cuda("cuMemAllocAsync", &memory, bytes, stream) == 0);
    CHECK(cuda("cuStreamSynchronize", stream) == 0);
  } else {
    const std::size_t before = kChunk - (bytes / 2 / 4096 * 4096 + 4096) % kChunk;
    const std::size_t chunks = (before + bytes + kChunk - 1) / kChunk;
    auto segment = std::make_unique<Segment>(chunks, memory_kind == Memory::kChunks);
    for (std::size_t i = 0; i < chunks; ++i) segment->map(i);
    memory = segment->data() + before;
    segments().add(memory, std::move(segment));
  }
  return memory;
}

void free_device_memory(void* memory) {
  if (memory_kind == Memory::kPlain) {
    CHECK(cuda("cuMemFree_v2", memory) == 0);
  } else if (memory_kind == Memory::kPool) {
    CHECK(cuda("cuMemFreeAsync", memory, stream) == 0);
    CHECK(cuda("cuStreamSynchronize", stream) == 0);
  } else {
    segments().take(memory);
  }
}
