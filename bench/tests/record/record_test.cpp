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

namespace {

constexpr Mismatch kEarly{.slot = 0, .byte = 0, .expected = 0, .got = 0, .left_early = true};

}  // namespace

TEST_CASE("wrong data says what is wrong") {
  const auto text = [](const Mismatch& where) { return to_text({1, where}, 64); };
  CHECK(text({.slot = 2, .byte = 3, .expected = 4, .got = 5}) ==
        "rank 1 received wrong data: byte 3 of 64 in buffer 2 is 5, not 4");
  CHECK(text({.slot = 0, .byte = 64, .expected = 4, .got = 5}) ==
        "rank 1 received wrong data: byte 64 of 64 in buffer 0 is 5, not 4 (written behind the "
        "message)");
  CHECK(text(kEarly) == "rank 1 left the operation before another rank came to it");
}

TEST_CASE("a rank that left early received no wrong byte") {
  const RecordFile file;
  RecordWriter(file.path()).wrong_data(kName, {1, kEarly});
  const auto problems = file.records("problem");
  REQUIRE(problems.size() == 1);
  CHECK(problems[0]["status"] == "wrong data");
  CHECK(problems[0]["rank"] == 1);
  for (const char* const field : {"byte", "expected", "got"})
    CHECK_FALSE(problems[0].contains(field));
}

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
  result.percentiles = {.iterations = 90, .p50 = 1, .p90 = 2, .p99 = 3, .p999 = 4, .longest = 5};
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
  CHECK(record["percentiles"]["iterations"] == 90);
  CHECK(record["percentiles"]["p999"] == 4);
  CHECK(record["percentiles"]["longest"] == 5);
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

TEST_CASE("names of secrets are those that the study knows") {
  for (const std::string name :
       {"UCX_SITE_PW", "FI_SITE_DB_PWD", "OMPI_MCA_site_pin", "UCX_SITE_JWT", "NCCL_SITE_DSN",
        "UCX_SITE_CONN", "FI_SITE_CONN_STRING", "UCX_SITE_CONNECTION_STRING", "NCCL_SLACK_HOOK",
        "UCX_SITE_WEBHOOK_URL", "FI_SITE_SIG", "UCX_SITE_SAS", "OMPI_MCA_dbpw", "UCX_SITE_PW2",
        "FI_SITE_PAT", "I_MPI_SITE_PIN"}) {
    CAPTURE(name);
    const std::string entry = name + "=x";
    const char* const variables[] = {entry.c_str(), nullptr};
    CHECK(relevant_environment(variables).empty());
  }
  for (const std::string value :
       {"A=1;DB_PW=x", "NAME=DB_PIN=x", "-x SLURM_JWT=x", "Uid=me;site-pwd=x", "A=1,my_token=x"}) {
    CAPTURE(value);
    const std::string entry = "OMPI_MCA_mca_base_env_list=" + value;
    const char* const variables[] = {entry.c_str(), nullptr};
    CHECK(relevant_environment(variables).empty());
  }
}

TEST_CASE("settings that are called like secrets are recorded") {
  for (const std::string entry :
       {"I_MPI_PIN=1", "I_MPI_OFFLOAD_PIN=on", "I_MPI_PIN_DOMAIN=core", "OMPI_MCA_hook=x",
        "OMPI_MCA_opal_signal=6,7", "OMPI_MCA_oob_tcp_max_conn_retries=2", "NCCL_IB_PKEY=1",
        "UCX_MEM_CUDA_HOOK_MODE=bistro", "UCX_MEM_MALLOC_HOOKS=y", "UCX_TCP_CONN_NB=n",
        "UCX_ERROR_SIGNALS=ILL,BUS", "FI_PSM2_CONN_TIMEOUT=5", "I_MPI_DYNAMIC_CONNECTION=off",
        "MV2_SMP_BYPASS=1", "NCCL_RUNTIME_CONNECT=0", "OMPI_MCA_mca_base_env_list=A=1;B=2"}) {
    CAPTURE(entry);
    const char* const variables[] = {entry.c_str(), nullptr};
    CHECK(relevant_environment(variables).size() == 1);
  }
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
