// SPDX-License-Identifier: Apache-2.0
#include "layer/world/settings.hpp"

#include <doctest/doctest.h>

#include "layer/world/envelope.hpp"
#include "options/options.hpp"
#include "tests/accel/fake.hpp"

namespace nearpeak::layer {

TEST_CASE("the layer: what the environment says") {
  const Variable mode("NEARPEAK_LAYER", "require");
  const Variable limit("NEARPEAK_LAYER_INLINE", "61");
  const Variable patience("NEARPEAK_LAYER_PATIENCE", "0");
  const Variable proxy("NEARPEAK_LAYER_MOVER", "off");
  const Variable proxy_patience("NEARPEAK_LAYER_MOVER_PATIENCE", "5");
  const Variable handshake("NEARPEAK_LAYER_HANDSHAKE", "2");
  const Variable kernel("NEARPEAK_LAYER_KERNEL", "0");
  const Variable report("NEARPEAK_LAYER_REPORT", "1");
  const Variable length("NEARPEAK_LAYER_LONG", "1000000");
  const Variable host("NEARPEAK_LAYER_HOST", "kept");
  const Variable direct("NEARPEAK_LAYER_DIRECT", "0");
  const Variable between("NEARPEAK_LAYER_BETWEEN", "524288");
  const Variable code("NEARPEAK_LAYER_CODE", "fresh");
  const Variable stream("NEARPEAK_LAYER_STREAM", "legacy");
  const Variable helpers("NEARPEAK_LAYER_HELPERS", "3");
  const Settings settings = settings_of_environment();
  CHECK_FALSE(settings.off);
  CHECK(settings.required);
  CHECK(settings.inline_bytes == 61);
  CHECK(settings.patience.count() == 0);
  CHECK(settings.handshake.count() == 2000);
  CHECK(settings.kernel.count() == 0);
  CHECK(settings.report);
  CHECK_FALSE(settings.by_length);
  CHECK_FALSE(settings.copy_proxy);
  CHECK(settings.proxy_patience.count() == 5);
  CHECK(settings.long_bytes == 1000000);
  CHECK(settings.host == HostWay::kKept);
  CHECK(settings.direct_bytes == 0);
  CHECK(settings.between_bytes == 524288);
  CHECK_FALSE(settings.keeps_code);
  CHECK(settings.awaits_default_stream);
  CHECK(told(settings) ==
        "NEARPEAK_LAYER_HOST=kept NEARPEAK_LAYER_INLINE=61 NEARPEAK_LAYER_LONG=1000000 "
        "NEARPEAK_LAYER_BETWEEN=524288 NEARPEAK_LAYER_KERNEL=0 NEARPEAK_LAYER_PATIENCE=0 "
        "NEARPEAK_LAYER_HELPERS=3 NEARPEAK_LAYER_MOVER=off");
}

TEST_CASE("the layer: where the environment says nothing") {
  const Variable mode("NEARPEAK_LAYER", "");
  const Variable limit("NEARPEAK_LAYER_INLINE", "");
  const Settings settings = settings_of_environment();
  CHECK_FALSE(settings.off);
  CHECK_FALSE(settings.required);
  CHECK(settings.inline_bytes == 0);
  CHECK(settings.kernel.count() == 200);
  CHECK_FALSE(settings.report);
  CHECK(settings.copy_proxy);
  CHECK(settings.proxy_patience.count() == 20);
  CHECK(settings.long_bytes == 65536);
  CHECK(settings.host == HostWay::kPieces);
  CHECK(settings.direct_bytes == 4096);
  CHECK(settings.between_bytes == 0);
  CHECK(settings.keeps_code);
  CHECK_FALSE(settings.awaits_default_stream);
}

TEST_CASE("the layer: where ranks of several containers meet") {
  const Variable usual("TMPDIR", "");
  CHECK(settings_of_environment().folder == "/tmp");
  const Variable temporary("TMPDIR", "/scratch");
  CHECK(settings_of_environment().folder == "/scratch");
  const Variable chosen("NEARPEAK_LAYER_MEET", "/shared");
  CHECK(settings_of_environment().folder == "/shared");
  const std::string most = "/" + std::string(79, 'a');
  const Variable longest("NEARPEAK_LAYER_MEET", most.c_str());
  CHECK(settings_of_environment().folder == most);
  const Variable longer("NEARPEAK_LAYER_MEET", (most + "a").c_str());
  CHECK_THROWS_AS(settings_of_environment(), BadInput);
}

TEST_CASE("the layer: a report of each length is one of all, too") {
  const Variable report("NEARPEAK_LAYER_REPORT", "2");
  const Settings settings = settings_of_environment();
  CHECK(settings.report);
  CHECK(settings.by_length);
}

TEST_CASE("the layer: what the environment may not say") {
  {
    const Variable mode("NEARPEAK_LAYER", "yes");
    CHECK_THROWS_WITH_AS(settings_of_environment(),
                         "NEARPEAK_LAYER is 'yes': give on, off or require", BadInput);
  }
  {
    const Variable host("NEARPEAK_LAYER_HOST", "pinned");
    CHECK_THROWS_WITH_AS(settings_of_environment(),
                         "NEARPEAK_LAYER_HOST is 'pinned': give staged, pieces or kept", BadInput);
  }
  {
    const Variable proxy("NEARPEAK_LAYER_MOVER", "yes");
    CHECK_THROWS_WITH_AS(settings_of_environment(), "NEARPEAK_LAYER_MOVER is 'yes': give on or off",
                         BadInput);
  }
  {
    const Variable folder("NEARPEAK_LAYER_MEET", "shared");
    CHECK_THROWS_WITH_AS(settings_of_environment(),
                         "NEARPEAK_LAYER_MEET is 'shared': give a path of at most 80 letters that "
                         "begins with /",
                         BadInput);
  }
  {
    const Variable stream("NEARPEAK_LAYER_STREAM", "per-thread");
    CHECK_THROWS_WITH_AS(settings_of_environment(),
                         "NEARPEAK_LAYER_STREAM is 'per-thread': give none or legacy", BadInput);
  }
  for (const char* const text : {"1048577", "-1", " 100", "4K", "99999999999999999999"}) {
    const Variable limit("NEARPEAK_LAYER_INLINE", text);
    const std::string line =
        std::string("NEARPEAK_LAYER_INLINE is '") + text + "': give a number from 0 to 1048576";
    CHECK_THROWS_WITH_AS(settings_of_environment(), line.c_str(), BadInput);
  }
}

TEST_CASE("the layer: an envelope is known by the run's own bytes") {
  Nonce nonce{};
  nonce[3] = 7;
  const Envelope envelope{.nonce = nonce,
                          .rank = 1,
                          .slot = 2,
                          .number = 3,
                          .bytes = 4,
                          .step = 0,
                          .tag = 0,
                          .unused = {}};
  CHECK(begins_as_envelope(&envelope, nonce));
  CHECK(envelope_at(&envelope).bytes == 4);
  nonce[15] = 1;
  CHECK_FALSE(begins_as_envelope(&envelope, nonce));
}

}  // namespace nearpeak::layer
