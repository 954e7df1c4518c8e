// SPDX-License-Identifier: Apache-2.0
#include "accel/opencl/driver.hpp"

#include <map>

#include "accel/library.hpp"

namespace nearpeak::opencl {
namespace {

template <class Function>
void need(const Library& library, Function*& function, const char* symbol) {
  if (!library.find(function, symbol))
    throw BackendUnavailable(library.name() + " is older than OpenCL 1.2: it has no " + symbol);
}

}  // namespace

std::string error_name(int result) {
  static const std::map<int, const char*> names{
      {-1, "CL_DEVICE_NOT_FOUND"},
      {-2, "CL_DEVICE_NOT_AVAILABLE"},
      {-3, "CL_COMPILER_NOT_AVAILABLE"},
      {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
      {-5, "CL_OUT_OF_RESOURCES"},
      {-6, "CL_OUT_OF_HOST_MEMORY"},
      {-7, "CL_PROFILING_INFO_NOT_AVAILABLE"},
      {-8, "CL_MEM_COPY_OVERLAP"},
      {-11, "CL_BUILD_PROGRAM_FAILURE"},
      {-12, "CL_MAP_FAILURE"},
      {-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
      {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
      {-19, "CL_KERNEL_ARG_INFO_NOT_AVAILABLE"},
      {-30, "CL_INVALID_VALUE"},
      {-31, "CL_INVALID_DEVICE_TYPE"},
      {-32, "CL_INVALID_PLATFORM"},
      {-33, "CL_INVALID_DEVICE"},
      {-34, "CL_INVALID_CONTEXT"},
      {-35, "CL_INVALID_QUEUE_PROPERTIES"},
      {-36, "CL_INVALID_COMMAND_QUEUE"},
      {-37, "CL_INVALID_HOST_PTR"},
      {-38, "CL_INVALID_MEM_OBJECT"},
      {-43, "CL_INVALID_BUILD_OPTIONS"},
      {-44, "CL_INVALID_PROGRAM"},
      {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
      {-46, "CL_INVALID_KERNEL_NAME"},
      {-47, "CL_INVALID_KERNEL_DEFINITION"},
      {-48, "CL_INVALID_KERNEL"},
      {-49, "CL_INVALID_ARG_INDEX"},
      {-50, "CL_INVALID_ARG_VALUE"},
      {-51, "CL_INVALID_ARG_SIZE"},
      {-52, "CL_INVALID_KERNEL_ARGS"},
      {-54, "CL_INVALID_WORK_GROUP_SIZE"},
      {-55, "CL_INVALID_WORK_ITEM_SIZE"},
      {-57, "CL_INVALID_EVENT_WAIT_LIST"},
      {-58, "CL_INVALID_EVENT"},
      {-59, "CL_INVALID_OPERATION"},
      {-61, "CL_INVALID_BUFFER_SIZE"},
      {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
      {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
  };
  const auto found = names.find(result);
  return found == names.end() ? "error " + std::to_string(result) : found->second;
}

Driver load_driver() {
  const Library library("NEARPEAK_OPENCL_LIBRARY", {"libOpenCL.so.1"});
  Driver driver;
#define NEARPEAK_NEED(result, symbol, ...) need(library, driver.symbol, #symbol);
  NEARPEAK_OPENCL_FUNCTIONS(NEARPEAK_NEED)
#undef NEARPEAK_NEED
  driver.has_svm = true;
#define NEARPEAK_FIND(result, symbol, ...) driver.has_svm &= library.find(driver.symbol, #symbol);
  NEARPEAK_OPENCL_SVM_FUNCTIONS(NEARPEAK_FIND)
#undef NEARPEAK_FIND
  return driver;
}

}  // namespace nearpeak::opencl
