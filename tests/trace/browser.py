"""browser.py - a headless Chromium, driven through chromedriver's HTTP interface (WebDriver)."""

import base64
import json
import re
import shutil
import subprocess
import tempfile
import urllib.request


def missing():
    """The program that is not there, or ""."""
    return next((name for name in ("chromium", "chromedriver") if not shutil.which(name)), "")


class Browser:
    """With its profile in a folder of its own, which is gone at the end."""

    def __init__(self, dark=False, size=(1280, 800)):
        self.session = None
        self.direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # whatever proxy the environment names
        self.folder = tempfile.mkdtemp(prefix="gasnet-test.")
        self.driver = subprocess.Popen(["chromedriver", "--port=0", "--log-level=WARNING"], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
        try:
            self.start(dark, size)
        except BaseException:
            self.close()
            raise

    def start(self, dark, size):
        port = next(re.search(r"port (\d+)\.?$", line.strip()) for line in self.driver.stdout if "successfully" in line)[1]
        self.base = f"http://127.0.0.1:{port}/session"
        # Root has no sandbox in Chromium, and /dev/shm may be small.
        arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--force-color-profile=srgb",
                     "--lang=en", "--disable-background-networking", f"--window-size={size[0]},{size[1]}", f"--user-data-dir={self.folder}"]
        self.session = self.post("", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}}}})["sessionId"]
        self.base += f"/{self.session}"
        self.devtools("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False)
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def request(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        with self.direct.open(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def post(self, path, body):
        return self.request("POST", path, body)

    def devtools(self, command, **parameters):
        return self.post("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, path):
        self.post("/url", {"url": f"file://{path}"})

    def run(self, script, *arguments):
        """What the body of a function returns."""
        return self.post("/execute/sync", {"script": script, "args": list(arguments)})

    def click(self, selector):
        element = self.post("/element", {"using": "css selector", "value": selector})
        self.post(f"/element/{next(iter(element.values()))}/click", {})

    def keys(self, text):
        """Types into what has the focus."""
        actions = [{"type": kind, "value": letter} for letter in text for kind in ("keyDown", "keyUp")]
        self.post("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def wheel(self, x, y, by):
        self.post("/actions", {"actions": [{"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": by, "origin": "viewport"}]}]})

    def pointer(self, *steps):
        """Steps are (x, y), "down" or "up"."""
        actions = [{"type": "pointerMove", "x": int(step[0]), "y": int(step[1]), "duration": 0} if isinstance(step, tuple) else
                   {"type": f"pointer{step.capitalize()}", "button": 0} for step in steps]
        self.post("/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}]})

    def errors(self):
        """Of the page's scripts, and of what it may not do."""
        return [entry["message"] for entry in self.post("/se/log", {"type": "browser"}) if entry["level"] == "SEVERE"]

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.request("GET", "/screenshot")))

    def close(self):
        try:
            if self.session:
                self.request("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            shutil.rmtree(self.folder, ignore_errors=True)
