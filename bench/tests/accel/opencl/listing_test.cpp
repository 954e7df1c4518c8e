// SPDX-License-Identifier: Apache-2.0
#include "accel/opencl/listing.hpp"

#include <doctest/doctest.h>

#include <cctype>
#include <set>

#include "options/options.hpp"
#include "tests/accel/opencl/opencl.hpp"

using namespace nearpeak;

namespace {

// "GPU-" and 8-4-4-4-12 hexadecimal digits.
bool is_uuid(const std::string& text) {
  if (text.size() != 40 || text.rfind("GPU-", 0) != 0) return false;
  for (std::size_t i = 4; i < text.size(); ++i) {
    const bool dash = i == 12 || i == 17 || i == 22 || i == 27;
    if (dash ? text[i] != '-' : std::isxdigit(static_cast<unsigned char>(text[i])) == 0)
      return false;
  }
  return true;
}

}  // namespace

TEST_CASE("OpenCL: a derived UUID is that of its text") {
  const std::string uuid = opencl::derived_uuid("a");
  CHECK(is_uuid(uuid));
  CHECK(uuid == opencl::derived_uuid("a"));
  CHECK(uuid != opencl::derived_uuid("b"));
  CHECK(uuid[18] == '8');                                          // the version
  CHECK(std::string("89ab").find(uuid[23]) != std::string::npos);  // the variant
  // The first half is the published FNV-1a of "a", af63dc4c8601ec8c, lowest byte first, but for
  // the version.
  CHECK(uuid.substr(0, 22) == "GPU-8cec0186-4cdc-83af");
}

TEST_CASE("OpenCL: the devices are listed as they are") {
  if (!has_opencl()) return;
  const auto opencl = load_opencl();
  CHECK(opencl->version().find("OpenCL ") != std::string::npos);
  const auto& infos = opencl->devices();
  REQUIRE(!infos.empty());
  std::set<std::string> uuids;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    CHECK(infos[i].index == static_cast<int>(i));
    CHECK_FALSE(infos[i].name.empty());
    CHECK(is_uuid(infos[i].uuid));
    CHECK(infos[i].memory_bytes > 0);
    uuids.insert(infos[i].uuid);
    CHECK(opencl->find_device(infos[i].uuid) == infos[i].index);
  }
  CHECK(uuids.size() == infos.size());
  const auto again = load_opencl();
  CHECK(again->devices()[0].uuid == infos[0].uuid);
  CHECK(&opencl->device(0) == &opencl->device(0));
  const std::string all = std::to_string(infos.size());
  CHECK_THROWS_WITH_AS(opencl->device(static_cast<int>(infos.size())),
                       ("there is no OpenCL device " + all + ": this process sees " + all).c_str(),
                       BadInput);
  CHECK_THROWS_AS(opencl->device(-1), BadInput);
}
