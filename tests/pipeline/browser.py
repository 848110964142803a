"""A headless Chromium without a network, driven over its DevTools protocol through two pipes."""

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
"""The browser, or None where there is none."""


FOR_EVERY_FRAME: list[tuple[str, dict[str, Any]]] = [
    ("Network.enable", {}),
    (
        "Network.emulateNetworkConditions",
        {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1},
    ),
    ("Runtime.enable", {}),
    (
        "Target.setAutoAttach",
        {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True},
    ),
    ("Runtime.runIfWaitingForDebugger", {}),
]
"""How every frame starts: with the network off, and telling what it asks for."""


class Page:
    """One tab. It remembers every address that was asked for and every error that scripts made."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.requests: list[str] = []
        self.errors: list[str] = []

    def attach(self) -> None:
        """Open the tab, with the network off."""
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        answer = self.command("Target.attachToTarget", targetId=target, flatten=True)
        self._session = answer["sessionId"]
        self.command("Page.enable")
        for method, params in FOR_EVERY_FRAME:
            self.command(method, **params)

    def command(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and wait for its answer, keeping what is reported meanwhile."""
        number = self._send(self._session, method, params)
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self._note(answer)

    def _send(self, session: str | None, method: str, params: dict[str, Any]) -> int:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        text = json.dumps(message | ({"sessionId": session} if session else {}))
        os.write(self._commands, text.encode() + b"\0")
        return self._number

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._answers, 1 << 20)
            assert part, "Chromium has ended"
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        if event.get("method") == "Target.attachedToTarget":
            for method, settings in FOR_EVERY_FRAME:
                self._send(params["sessionId"], method, settings)
        elif event.get("method") == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"]))

    def open(self, file: Path) -> None:
        self.command("Page.navigate", url=file.as_uri())

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        answer = self.command("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, expression: str, seconds: float = 20) -> Any:
        """Wait until a JavaScript expression is true."""
        deadline = time.monotonic() + seconds
        while not (value := self.ask(expression)):
            assert time.monotonic() < deadline, f"never true: {expression}\n{self.text()}"
            time.sleep(0.1)
        return value

    def text(self) -> str:
        """The text that the page shows."""
        return self.ask("document.body.innerText")

    def click(self, text: str) -> None:
        """Click on the link or button that says just this."""
        quoted = json.dumps(text)
        self.wait_for(
            "(() => { const found = [...document.querySelectorAll('a, button')]"
            f".find(e => e.innerText.trim() === {quoted});"
            " if (found) found.click(); return Boolean(found); })()"
        )

    def picture(self) -> bytes:
        """What the page looks like, as a PNG."""
        return base64.b64decode(self.command("Page.captureScreenshot")["data"])


@contextmanager
def chromium(profile: Path, width: int = 1440, height: int = 900) -> Iterator[Page]:
    """A page of a browser of its own, which keeps its files under `profile`."""
    assert CHROMIUM
    to_browser, from_browser = os.pipe(), os.pipe()

    def pipes() -> None:
        """Chromium reads commands from descriptor 3 and answers on 4."""
        ends = os.dup(to_browser[0]), os.dup(from_browser[1])
        os.dup2(ends[0], 3)
        os.dup2(ends[1], 4)

    command = [
        *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--remote-debugging-pipe", f"--user-data-dir={profile}", "--no-first-run"),
        *("--host-resolver-rules=MAP * ~NOTFOUND", f"--window-size={width},{height}"),
        *("--disable-background-networking", "--disable-component-update"),
    ]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        close_fds=False,
        preexec_fn=pipes,
    )
    os.close(to_browser[0])
    os.close(from_browser[1])
    try:
        page = Page(to_browser[1], from_browser[0])
        page.attach()
        yield page
    finally:
        os.close(to_browser[1])
        os.close(from_browser[0])
        process.terminate()
        process.wait(30)
