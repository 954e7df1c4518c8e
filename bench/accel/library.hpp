// SPDX-License-Identifier: Apache-2.0
// Libraries loaded when the program runs.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "accel/accelerator.hpp"

namespace nearpeak {

class Library {
 public:
  // The one that the environment's `variable` names, or else the first of `names` that loads.
  // Throws BackendUnavailable. It stays loaded: drivers do not like to be unloaded.
  Library(const char* variable, std::vector<std::string> names)
      : Library(std::getenv(variable) != nullptr ? std::vector<std::string>{std::getenv(variable)}
                                                 : std::move(names)) {}
  // The same without a variable.
  explicit Library(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) {
        name_ = name;
        return;
      }
    }
    const char* why = dlerror();
    throw BackendUnavailable(names.front() +
                             " cannot be loaded: " + (why == nullptr ? "no reason given" : why));
  }

  const std::string& name() const { return name_; }

  // True where the library has the symbol.
  template <class Function>
  bool find(Function*& function, const char* symbol) const {
    function = reinterpret_cast<Function*>(dlsym(handle_, symbol));
    return function != nullptr;
  }

 private:
  void* handle_ = nullptr;
  std::string name_;
};

}  // namespace nearpeak
