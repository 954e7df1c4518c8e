// SPDX-License-Identifier: Apache-2.0
// Calls of a driver on one device.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>

#include "accel/gpu/driver.hpp"
#include "accel/visit.hpp"
#include "marks/marks.hpp"

namespace nearpeak::gpu {

// What an error names besides its call.
struct Bytes {
  std::size_t count;
};
inline std::string shown(Bytes bytes) { return std::to_string(bytes.count) + " B"; }
inline std::string shown(const std::string& text) { return text; }

// The device is made the thread's current one at every call, as an MPI library in the same process
// may change it; that costs some nanoseconds. It stays so, but in a Visit.
class Context {
 public:
  // `entering` is the name of the call that make_current() is.
  Context(const Driver& driver, int index, DeviceNumber number, const char* entering)
      : driver_(driver), index_(index), number_(number), entering_(entering) {}
  virtual ~Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // The driver's functions, with this device current.
  const Driver& use() const {
    Visit::begin(driver_);
    check(make_current(), entering_);
    return driver_;
  }
  // The same for destructors, which cannot do anything about errors: a broken device has said so
  // before.
  const Driver& use_last() const noexcept {
    Visit::begin(driver_);
    make_current();
    return driver_;
  }

  // A call on this device, like call(&Driver::create_stream, &handle, flags).
  template <class... Parameters, class... Arguments>
  void call(Call<Parameters...> Driver::* which, Arguments... arguments) const {
    const OwnWork own;
    const Call<Parameters...>& function = use().*which;
    check(function(arguments...), function.name);
  }
  // One of those that old drivers lack.
  template <class... Parameters, class... Arguments>
  void call_if_there(Call<Parameters...> Driver::* which, Arguments... arguments) const {
    if ((driver_.*which).function == nullptr)
      throw AcceleratorError(std::string("the driver has no ") + (driver_.*which).name);
    call(which, arguments...);
  }
  // A call whose error names something besides.
  template <class Shown, class... Parameters, class... Arguments>
  void call_of(const Shown& what, Call<Parameters...> Driver::* which,
               Arguments... arguments) const {
    const OwnWork own;
    const Call<Parameters...>& function = use().*which;
    check(function(arguments...), function.name, what);
  }

  // Whether what is asked about is done.
  template <class Handle>
  bool ready(Call<Handle> Driver::* which, Handle handle) const {
    const OwnWork own;
    const Call<Handle>& query = use().*which;
    const int result = query(handle);
    if (result != kNotReady) check(result, query.name);
    return result != kNotReady;
  }

  template <class... What>
  void check(int result, const char* call, const What&... what) const {
    if (result != kSuccess) [[unlikely]]
      fail(result, call, {shown(what)...});
  }

  int index() const { return index_; }
  DeviceNumber number() const { return number_; }
  const char* stream_type() const { return driver_.stream_type; }
  // The driver's own of it, if it has one.
  virtual void* handle() const { return nullptr; }
  // As Accelerator::was_reset().
  virtual bool was_reset() const { return false; }

  // One of Attributes.
  int attribute(int which) const {
    int value = 0;
    call_of(std::to_string(which), &Driver::get_attribute, &value, which, number_);
    return value;
  }

 protected:
  virtual int make_current() const noexcept = 0;

 private:
  [[noreturn]] void fail(int result, const char* call,
                         std::initializer_list<std::string> what) const;

  const Driver& driver_;
  int index_;
  DeviceNumber number_;
  const char* entering_;
};

}  // namespace nearpeak::gpu
