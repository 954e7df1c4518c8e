// SPDX-License-Identifier: Apache-2.0
#include "record/record.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

#include "tests/records.hpp"

using namespace nearpeak;

namespace {

const CaseName kName{.benchmark = "pair",
                     .metric = {"bw", "GB/s", "higher"},
                     .size_bytes = 8,
                     .axes = {{"reuse", "fixed"}},
                     .method = "ring"};

}  // namespace

TEST_CASE("a samples record holds everything that was measured") {
  const RecordFile file;
  CaseResult result;
  result.name = kName;
  result.samples = {1.23456789, 2};
  result.ranks = {{1, 2}, {3, 4}};
  result.measurement.batch = 3;
  result.measurement.limited = "why";
  result.measurement.phases_us = {{0.5, 1.5}};
  result.measurement.shortest_phases_us = {{0.25, 1.0}};
  result.measurement.mean_phases_us = {{0.375, 1.25}};
  result.phases = {"overlap"};
  result.window = 64;
  result.offset = 5;
  result.verified = true;
  result.needs = {"gpu"};
  RecordWriter(file.path()).samples(result);
  const auto records = file.records();
  REQUIRE(records.size() == 1);
  const auto& record = records[0];
  CHECK(record["record"] == "samples");
  CHECK(record["benchmark"] == "pair");
  CHECK(record["metric"] == "bw");
  CHECK(record["unit"] == "GB/s");
  CHECK(record["better"] == "higher");
  CHECK(record["size_bytes"] == 8);
  CHECK(record["buffers"] == "H,H");
  CHECK(record["method"] == "ring");
  CHECK(record["axes"]["reuse"] == "fixed");
  CHECK(record["samples"][0].get<double>() == doctest::Approx(1.234568).epsilon(1e-9));
  CHECK(record["batch"] == 3);
  CHECK(record["window"] == 64);
  CHECK(record["limited"] == "why");
  CHECK(record["offset"] == 5);
  CHECK(record["verified"] == true);
  CHECK(record["needs"] == nlohmann::json::array({"gpu"}));
  CHECK(record["phases"]["overlap"].size() == 2);
  CHECK(record["phases"]["overlap"][1] == 1.5);
  CHECK(record["shortest_phases"]["overlap"][1] == 1.0);
  CHECK(record["mean_phases"]["overlap"][1] == 1.25);
  REQUIRE(record["ranks"].size() == 2);
  CHECK(record["ranks"][1][0] == 3);
}

TEST_CASE("problems name the first bad byte, or why nothing was measured") {
  const RecordFile file;
  {
    RecordWriter writer(file.path());
    writer.wrong_data(kName,
                      {.rank = 1, .where = {.slot = 2, .byte = 5, .expected = 0x10, .got = 0x11}});
    writer.wrong_data(
        kName, {.rank = 0, .where = {.slot = 0, .byte = 70, .expected = 1, .got = 2, .whole = 99}});
    writer.skipped(kName, "forbidden");
    writer.skipped(kName, "said \xff");  // by a program whose text is no UTF-8
  }
  const auto records = file.records("problem");
  REQUIRE(records.size() == 4);
  CHECK(records[0]["status"] == "wrong data");
  CHECK(records[0]["rank"] == 1);
  CHECK(records[0]["byte"] == 5);
  CHECK(records[0]["expected"] == 0x10);
  CHECK(records[0]["got"] == 0x11);
  CHECK(records[0]["message"] ==
        "rank 1 received wrong data: byte 5 of 8 in buffer 2 is 17, not 16");
  CHECK(records[1]["message"] ==
        "rank 0 received wrong data: byte 70 of 99 in buffer 0 is 2, not 1");
  CHECK(records[2]["status"] == "skipped");
  CHECK(records[2]["message"] == "forbidden");
}

TEST_CASE("the environment is recorded by name, and never a secret") {
  const char* const variables[] = {"UCX_TLS=tcp",
                                   "UCX_RKEY_PTR_SEG_SIZE=512K",
                                   "HOME=/root",
                                   "PMIX_SERVER_TOKEN=x",
                                   "OMPI_MCA_btl=a=b",
                                   "UCX_AUTH_KEY=x",
                                   "OMPI_MCA_initial_wdir=/home/me",
                                   "PMIX_MCA_secret_token=x",
                                   "FI_OPX_UUID=x",
                                   "OMPI_MCA_orte_precondition_transports=x",
                                   "OMPI_MCA_mca_base_env_list=AWS_secret_ACCESS=x;X",
                                   nullptr};
  const auto found = relevant_environment(variables);
  CHECK(found == std::map<std::string, std::string>{{"UCX_TLS", "tcp"},
                                                    {"UCX_RKEY_PTR_SEG_SIZE", "512K"},
                                                    {"OMPI_MCA_btl", "a=b"}});
}

TEST_CASE("a file that cannot be written is said so") {
  CHECK_THROWS_AS(RecordWriter("/nowhere/records.jsonl"), std::runtime_error);
  RecordWriter full("/dev/full");
  CHECK_THROWS_AS(full.skipped(kName, "x"), std::runtime_error);
}

TEST_CASE("a process knows its host and its CPUs") {
  const RankPlace place = this_place(4);
  CHECK(place.rank == 4);
  CHECK_FALSE(place.host.empty());
  CHECK_FALSE(place.cpus.empty());
  const auto json = parse_json(to_json(place));
  CHECK(json["cpus"].size() == place.cpus.size());
}
