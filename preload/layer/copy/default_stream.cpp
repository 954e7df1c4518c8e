// SPDX-License-Identifier: Apache-2.0
#include "layer/copy/default_stream.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "accel/accelerator.hpp"
#include "accel/library.hpp"

namespace nearpeak::layer {
namespace {

constexpr int kContextOf = 1;  // CU_POINTER_ATTRIBUTE_CONTEXT
constexpr int kDeviceOf = 9;   // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
constexpr int kNotReady = 600;
constexpr int kInvalidContext = 201;
constexpr int kContextDestroyed = 709;
constexpr int kRelaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED

void* legacy() { return reinterpret_cast<void*>(std::uintptr_t{1}); }  // CU_STREAM_LEGACY NOLINT

}  // namespace

void DefaultStream::load() {
  const Library library("NEARPEAK_CUDA_LIBRARY", {"libcuda.so.1"});
  const auto need = [&](auto*& function, const char* name) {
    if (!library.find(function, name)) throw BackendUnavailable(library.name() + " has no " + name);
  };
  need(ask_, "cuPointerGetAttributes");
  need(synchronize_, "cuStreamSynchronize");
  need(get_current_, "cuCtxGetCurrent");
  need(set_current_, "cuCtxSetCurrent");
  need(get_device_, "cuCtxGetDevice");
  need(retain_primary_, "cuDevicePrimaryCtxRetain");
  need(release_primary_, "cuDevicePrimaryCtxRelease_v2");
  need(exchange_mode_, "cuThreadExchangeStreamCaptureMode");
  need(name_, "cuGetErrorName");
  need(query_, "cuStreamQuery");
}

DefaultStream::Context DefaultStream::context_of(const void* data) {
  Context context = nullptr;
  int device = 0, current = -1;
  constexpr std::array kAsked{kContextOf, kDeviceOf};
  const std::array<void*, kAsked.size()> answers{&context, &device};
  if (ask_(kAsked.size(), kAsked.data(), answers.data(), data) != 0 || context != nullptr)
    return context;
  if (get_device_(&current) == 0 && current == device && get_current_(&context) == 0)
    return context;
  // Its memory is there, so the application has the context, and keeps it.
  if (retain_primary_(&context, device) != 0) return nullptr;
  release_primary_(device);
  return context;
}

void DefaultStream::keep(Context context) {
  const std::lock_guard lock(mutex_);
  if (std::find(met_.begin(), met_.end(), context) == met_.end()) met_.push_back(context);
}

bool DefaultStream::await_in(Context context) const {
  Context before = nullptr;
  get_current_(&before);
  if (before != context && !make_current(context)) return false;
  // A capture of the application in this thread forbids to wait, but in this mode.
  int mode = kRelaxed;
  exchange_mode_(&mode);
  const char* call = "cuStreamQuery";
  int result = query_(legacy());
  if (result == kNotReady) {
    call = "cuStreamSynchronize";
    result = synchronize_(legacy());
  }
  exchange_mode_(&mode);
  if (before != context) make_current(before);
  if (result == kInvalidContext || result == kContextDestroyed) return false;
  if (result == 0) return true;
  const char* name = nullptr;
  name_(result, &name);
  throw AcceleratorError(std::string(call) + " of the default stream: " +
                         (name == nullptr ? std::to_string(result) : name));
}

void DefaultStream::await(const void* data) {
  const Context context = context_of(data);
  if (context == nullptr) return;
  keep(context);
  await_in(context);
}

void DefaultStream::await_all() {
  std::vector<Context> met;
  {
    const std::lock_guard lock(mutex_);
    met = met_;
  }
  for (const Context context : met) {
    if (await_in(context)) continue;
    const std::lock_guard lock(mutex_);
    std::erase(met_, context);
  }
}

}  // namespace nearpeak::layer
