# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium, for tests of pages."""

import contextlib
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
DRAWN = """new Promise((done) => {
  const waits = (node) => !node.dataset.drawn && !node.closest("details:not([open]), [hidden]");
  const look = () =>
    document.readyState === "complete" && ![...document.querySelectorAll(".chart")].some(waits)
      ? done() : setTimeout(look, 20);
  look();
})"""


class Browser:
    """Headless Chromium over its DevTools pipe: file descriptors 3 and 4, JSON ended by NUL.

    Outside names resolve nowhere, and every request and every console message is kept.
    """

    def __init__(self, program: str, profile: pathlib.Path) -> None:
        here_to_there, there_to_here = os.pipe(), os.pipe()

        def connect() -> None:
            # Above 4 first, so that neither end is overwritten by the other.
            reading, writing = os.dup(here_to_there[0]), os.dup(there_to_here[1])
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self._process = subprocess.Popen(
            [
                program,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--no-first-run",
                "--host-resolver-rules=MAP * ~NOTFOUND",
                f"--user-data-dir={profile}",
                "--remote-debugging-pipe",
                "about:blank",
            ],
            preexec_fn=connect,
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(here_to_there[0])
        os.close(there_to_here[1])
        self._write, self._read = here_to_there[1], there_to_here[0]
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self._profile = profile
        self.events: list[dict[str, Any]] = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Sends one command and returns its result; the events before it are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], 120)
            assert ready, "the browser does not answer"
            part = os.read(self._read, 1 << 20)
            assert part, "the browser ended"
            self._buffer += part
        text, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    def open(self, page: pathlib.Path, width: int, height: int = 900, dark: bool = False) -> None:
        """Opens a file and returns when all its charts that are not folded away are drawn."""
        self.events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=page.as_uri())
        self.evaluate(DRAWN)

    def show(self, page: str, width: int, dark: bool = False) -> None:
        """Opens this text as a page."""
        file = self._profile / "shown.html"
        file.write_text(page, encoding="utf-8")
        self.open(file, width, dark=dark)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, promises awaited."""
        result = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def complaints(self) -> list[str]:
        """Every console message, log entry and uncaught error since the page was opened."""
        kinds = {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}
        return [json.dumps(event) for event in self.events if event["method"] in kinds]

    def requests(self) -> list[str]:
        """The address of every request since the page was opened."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def close(self) -> None:
        """Ends the browser and what it started."""
        os.close(self._write)
        os.close(self._read)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def program() -> str | None:
    """The first browser that is installed."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)
