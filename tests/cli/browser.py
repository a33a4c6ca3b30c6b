"""A headless Chromium, by the WebDriver protocol (W3C Recommendation "WebDriver"), for tests of `stackpack report`.

chromedriver listens on the loopback interface; the browser is told to have no network at all.
"""
import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "End": "\ue010", "Home": "\ue011",
        "Left": "\ue012", "Up": "\ue013", "Right": "\ue014", "Down": "\ue015"}


class Browser:
    def __init__(self, port, profile, dark=False):
        self.base = f"http://127.0.0.1:{port}"
        arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--disable-background-networking", "--hide-scrollbars", f"--user-data-dir={profile}",
                     "--host-resolver-rules=MAP * ~NOTFOUND"]
        if os.getuid() == 0:
            arguments.append("--no-sandbox")
        if dark:
            arguments.append("--force-dark-mode")
        options = {"args": arguments, "prefs": {}, "binary": binary()}
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.session = f"/session/{answer['sessionId']}"

    def call(self, method, path, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode(errors="replace")[:2000]) from error

    def command(self, name, body):
        return self.call("POST", self.session + name, body)

    def devtools(self, name, parameters):
        return self.command("/goog/cdp/execute", {"cmd": name, "params": parameters})

    def open(self, path, width, height=900, dark=False):
        self.devtools("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.devtools("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        self.command("/url", {"url": "file://" + os.path.realpath(path)})

    def script(self, text, *arguments):
        return self.command("/execute/sync", {"script": text, "args": list(arguments)})

    def keys(self, *names):
        actions = []
        for name in names:
            value = KEYS.get(name, name)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.command("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def console(self):
        return self.command("/se/log", {"type": "browser"})

    def screenshot(self, path, whole=False):
        parameters = {"format": "png", "captureBeyondViewport": whole}
        if whole:
            size = self.script("return [document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
            parameters["clip"] = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.devtools("Page.captureScreenshot", parameters)["data"]))


def binary():
    for name in "chromium", "chromium-browser", "google-chrome":
        if shutil.which(name):
            return shutil.which(name)
    return None


def available():
    return binary() is not None and shutil.which("chromedriver") is not None


@contextlib.contextmanager
def browser():
    """A browser, which ends with the block, and with it all that it has left behind."""
    profile = tempfile.mkdtemp(prefix="browser-")
    driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        port = None
        for line in driver.stdout:
            if "started successfully on port" in line:
                port = int(line.rstrip(". \n").rpartition(" ")[2])
                break
        if port is None:
            raise RuntimeError("chromedriver doesn't start")
        it = Browser(port, profile)
        try:
            yield it
        finally:
            it.call("DELETE", it.session)
    finally:
        driver.terminate()
        driver.wait()
        driver.stdout.close()
        for _ in range(50):  # the browser's last processes still write there
            shutil.rmtree(profile, ignore_errors=True)
            if not os.path.exists(profile):
                break
            time.sleep(0.1)
