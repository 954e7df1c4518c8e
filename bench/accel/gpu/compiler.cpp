// SPDX-License-Identifier: Apache-2.0
#include "accel/gpu/compiler.hpp"

#include <memory>
#include <utility>

#include "accel/background.hpp"

namespace nearpeak::gpu {

Compiler::Compiler(Library library, const std::string& word, const std::string& code)
    : library_(std::move(library)), word_(word), code_name_("Get" + code) {
  const auto need = [this](auto*& function, const std::string& name) {
    const std::string symbol = word_ + name;
    if (!library_.find(function, symbol.c_str()))
      throw BackendUnavailable(library_.name() + " is too old: it has no " + symbol);
  };
  need(error_string_, "GetErrorString");
  need(create_, "CreateProgram");
  need(destroy_, "DestroyProgram");
  need(compile_, "CompileProgram");
  need(log_size_, "GetProgramLogSize");
  need(log_, "GetProgramLog");
  need(code_size_, code_name_ + "Size");
  need(code_, code_name_);
  Background::outlives_libraries();
}

void Compiler::check(int result, const std::string& function) const {
  if (result != 0) throw AcceleratorError(word_ + function + ": " + error_string_(result));
}

std::string Compiler::compile(const std::string& source, const std::string& target,
                              const std::vector<std::string>& options) const {
  ProgramHandle made = nullptr;
  check(create_(&made, source.c_str(), "nearpeak.cu", 0, nullptr, nullptr), "CreateProgram");
  const auto destroy = [this](ProgramTag* program) { destroy_(&program); };
  const std::unique_ptr<ProgramTag, decltype(destroy)> program(made, destroy);

  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  if (const int result = compile_(program.get(), static_cast<int>(words.size()), words.data());
      result != 0) {
    std::size_t bytes = 0;
    check(log_size_(program.get(), &bytes), "GetProgramLogSize");
    std::string log(bytes, '\0');
    check(log_(program.get(), log.data()), "GetProgramLog");
    while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
    throw AcceleratorError(word_ + "CompileProgram of " + library_.name() + " for " + target +
                           ": " + error_string_(result) + (log.empty() ? "" : "\n" + log));
  }
  std::size_t bytes = 0;
  check(code_size_(program.get(), &bytes), code_name_ + "Size");
  std::string code(bytes, '\0');
  check(code_(program.get(), code.data()), code_name_);
  return code;
}

}  // namespace nearpeak::gpu
