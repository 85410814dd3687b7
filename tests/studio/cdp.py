# SPDX-License-Identifier: Apache-2.0
"""Drives Chromium over its debugging pipe: no port, no library. A page records what it requests and what goes wrong in it."""
import atexit
import base64
import collections
import contextlib
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

SECONDS = 60  # that anything may take on a busy machine
FLAGS = ["--headless=new", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-default-apps", "--disable-extensions", "--mute-audio", "--hide-scrollbars", "--remote-debugging-pipe",
         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"]


class PageError(Exception):
    """What the browser says of a call or a script that failed."""


def find_chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Chromium:
    """A browser with a profile of its own, until `end`."""

    def __init__(self, flags=()):
        to_child, self.to_browser = os.pipe()
        self.from_browser, from_child = os.pipe()

        def take_pipes():  # the browser reads from 3 and writes to 4; neither may be overwritten before it is copied
            ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_child, from_child)]
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        words = [find_chromium(), *FLAGS, f"--user-data-dir={self.profile.name}", *(["--no-sandbox"] if os.geteuid() == 0 else []), *flags, "about:blank"]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=(3, 4),
                                        preexec_fn=take_pipes, start_new_session=True)
        os.close(to_child)
        os.close(from_child)
        self.count, self.unread, self.replies, self.pages = 0, b"", {}, {}

    def end(self):
        with contextlib.suppress(Exception):
            self.send("Browser.close")
            self.process.wait(10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, 9)
        self.process.wait()
        os.close(self.to_browser)
        os.close(self.from_browser)
        self.profile.cleanup()

    def send(self, method, parameters=None, session=None):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters or {}, **({"sessionId": session} if session else {})}
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        return self.count

    def call(self, method, parameters=None, session=None):
        number = self.send(method, parameters, session)
        end = time.monotonic() + SECONDS
        while number not in self.replies:
            if not self.read(end - time.monotonic()):
                raise TimeoutError(f"{method} {str(parameters)[:200]}")
        reply = self.replies.pop(number)
        if "error" in reply:
            raise PageError(f"{method}: {reply['error']['message']}")
        return reply["result"]

    def read(self, seconds):
        """Takes what the browser says next, waiting that long at most; false where it says nothing."""
        while b"\0" not in self.unread:
            if seconds <= 0 or not select.select([self.from_browser], [], [], seconds)[0]:
                return False
            part = os.read(self.from_browser, 1 << 20)
            if not part:
                raise PageError("the browser has ended")
            self.unread += part
        message, _, self.unread = self.unread.partition(b"\0")
        message = json.loads(message)
        if "id" in message:
            self.replies[message["id"]] = message
        elif message.get("sessionId") in self.pages:
            self.pages[message["sessionId"]].note(message["method"], message["params"])
        return True


class Browser:
    """Tabs that share cookies and storage with each other, and with no others."""

    def __init__(self, chromium):
        self.chromium = chromium
        self.context = chromium.call("Target.createBrowserContext")["browserContextId"]

    def open(self, address="about:blank", width=1280, height=800):
        """A new tab."""
        target = self.chromium.call("Target.createTarget", {"url": "about:blank", "browserContextId": self.context})["targetId"]
        session = self.chromium.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = self.chromium.pages[session] = Page(self.chromium, session, target)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        page.resize(width, height)
        if address != "about:blank":
            page.go(address)
        return page

    def end(self):
        self.chromium.call("Target.disposeBrowserContext", {"browserContextId": self.context})


class Page:
    def __init__(self, chromium, session, target):
        self.chromium, self.session, self.target = chromium, session, target
        self.requests, self.problems, self.events = [], [], collections.Counter()
        self.replies = {}  # by address: (status, bytes over the wire)
        self.addresses, self.open_requests = {}, set()

    def note(self, method, parameters):
        self.events[method] += 1
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
            self.addresses[parameters["requestId"]] = parameters["request"]["url"]
            self.open_requests.add(parameters["requestId"])
        elif method == "Network.responseReceived":
            self.replies[parameters["response"]["url"]] = [parameters["response"]["status"], 0]
        elif method == "Network.loadingFailed":
            self.open_requests.discard(parameters["requestId"])
        elif method == "Network.loadingFinished":
            self.open_requests.discard(parameters["requestId"])
            reply = self.replies.get(self.addresses.get(parameters["requestId"]))
            if reply:
                reply[1] += int(parameters["encodedDataLength"])
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.problems.append(" ".join(str(argument.get("value", argument.get("description"))) for argument in parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"{parameters['entry']['text']} ({parameters['entry'].get('url', '')})")

    def call(self, method, parameters=None):
        return self.chromium.call(method, parameters, self.session)

    def go(self, address):
        """Opens an address and waits until it has loaded."""
        loaded = self.events["Page.loadEventFired"]
        reply = self.call("Page.navigate", {"url": address})
        if reply.get("errorText"):
            raise PageError(f"{address}: {reply['errorText']}")
        if "loaderId" in reply:  # otherwise only the fragment has changed
            self.wait(lambda: self.events["Page.loadEventFired"] > loaded, f"{address} to load")

    def wait(self, condition, what, seconds=SECONDS):
        """Waits for a condition, a function or a script whose value is to be true; returns it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            # An element has no value of its own: it counts as true.
            script = f"(found => found instanceof Node ? true : found)({condition})"
            value = self.evaluate(script) if isinstance(condition, str) else condition()
            if value:
                return value
            self.chromium.read(0.02)
        raise TimeoutError(f"waited for {what}; problems: {self.problems}; text: {self.text()[:2000]}")

    def settle(self, quiet=0.3):
        """Waits until no request has been open for a while."""
        begin = last = time.monotonic()
        while time.monotonic() - last < quiet:
            self.chromium.read(0.05)
            if self.open_requests:
                last = time.monotonic()
            if last - begin > SECONDS:
                raise TimeoutError(f"open: {[self.addresses[request] for request in self.open_requests]}")

    def evaluate(self, script):
        """The value of an expression; a promise is waited for."""
        reply = self.call("Runtime.evaluate", {"expression": script, "returnByValue": True, "awaitPromise": True, "userGesture": True})
        if "exceptionDetails" in reply:
            details = reply["exceptionDetails"]
            raise PageError(details.get("exception", {}).get("description", details["text"]))
        return reply["result"].get("value")

    def text(self, selector="body"):
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def place(self, selector):
        """The middle of an element, after scrolling to it."""
        found = self.evaluate(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null;"
                              "e.scrollIntoView({block: 'nearest'}); const r = e.getBoundingClientRect();"
                              "return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        if not found:
            raise PageError(f"no element {selector}")
        return found

    def mouse(self, kind, x, y, buttons=1):
        self.call("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": "left", "buttons": buttons, "clickCount": 1})

    def click(self, selector):
        x, y = self.place(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y)

    def drag(self, selector, dx, dy, steps=8):
        x, y = self.place(selector)
        self.mouse("mousePressed", x, y)
        for step in range(1, steps + 1):
            self.mouse("mouseMoved", x + dx * step / steps, y + dy * step / steps)
        self.mouse("mouseReleased", x + dx, y + dy)

    def press(self, key, modifiers=0):
        """A key by its name: "Tab", "ArrowRight", "a". Modifiers: 1 alt, 2 control, 8 shift."""
        codes = {"Enter": 13, "Tab": 9, "Escape": 27, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35}
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        event = {"key": key, "modifiers": modifiers, "windowsVirtualKeyCode": codes.get(key, ord(key.upper()) if len(key) == 1 else 0)}
        self.call("Input.dispatchKeyEvent", {"type": "keyDown", **event, **({"text": text} if text and not modifiers & 7 else {})})
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", **event})

    def type(self, text):
        self.call("Input.insertText", {"text": text})

    def resize(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False})

    def theme(self, name):
        """"light" or "dark"; motion is reduced, so that pictures hold still."""
        features = [{"name": "prefers-color-scheme", "value": name}, {"name": "prefers-reduced-motion", "value": "reduce"}]
        self.call("Emulation.setEmulatedMedia", {"features": features})

    def screenshot(self, file, whole=False):
        data = self.call("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": whole})["data"]
        pathlib.Path(file).write_bytes(base64.b64decode(data))

    def front(self):
        """Makes it the tab that is seen; others are hidden then."""
        self.call("Page.bringToFront")

    def accessibility_tree(self):
        return self.call("Accessibility.getFullAXTree")["nodes"]

    def close(self):
        self.chromium.call("Target.closeTarget", {"targetId": self.target})


RUNNING = []  # one Chromium for all checks of a process: starting it takes most of a second


@contextlib.contextmanager
def browser():
    """A browser that knows nothing of those before it."""
    if not RUNNING:
        RUNNING.append(Chromium())
        atexit.register(RUNNING[0].end)
    own = Browser(RUNNING[0])
    try:
        yield own
    finally:
        own.end()
