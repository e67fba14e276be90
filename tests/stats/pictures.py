#!/usr/bin/env -S python3 -B
"""pictures.py - makes the pictures of doc/pictures/ that show a terminal, from real jobs of the build in the present directory.

    cd build && ../tests/stats/pictures.py [NAME...]

What a command prints on a terminal of 24 lines is shown by a headless Chromium (tests/trace/browser.py).  The pictures are
of one run: look at them before they are committed.
"""
import html
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import fcntl

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{SOURCE}/tests/trace")
import browser  # noqa: E402 (its folder is known only now)

RUN = "./gasnetrun_ibv"
NEVER = "(?!)"
PAGE = """<meta charset=utf-8><style>body{margin:0;background:#1c1f24;color:#d8dee6;font:13px/1.35 monospace}
pre{margin:0;padding:10px 14px;display:inline-block}b{color:#8fd0a0;font-weight:normal}</style><pre>%s</pre>"""


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, columns, environment, words):
        self.text, (self.pid, self.fd) = "", pty.fork()
        if self.pid == 0:
            os.environ.update(environment)
            os.execvp(words[0], words)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def until(self, pattern):
        """What has been printed, up to where the pattern is found or the command ends."""
        while not re.search(pattern, self.text):
            try:
                self.text += os.read(self.fd, 4096).decode(errors="replace")
            except OSError:
                break
        return self.text

    def end(self):
        try:
            os.kill(self.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        self.until(NEVER)
        os.waitpid(self.pid, 0)


def shown(text):
    """The text without the codes by which lines are erased and rewritten."""
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).split("\n")
    return "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in lines).strip("\n")


def job(folder, what, ranks="3"):
    """A job that hangs or moves, and its number, once all its ranks are ready."""
    words = [RUN, "-v", "-n", ranks, "tests/testwhy-ibv-seq", what, folder]
    terminal = Terminal(120, {"GASNET_SUPERNODE_MAXSIZE": "1"}, words)
    number = re.search(r"this is job (\d+)", terminal.until(r"this is job \d+"))[1]
    while len([name for name in os.listdir(folder) if name.startswith("ready.")]) < int(ranks):
        time.sleep(0.1)
    return terminal, number


def asked(folder, what, option):
    terminal, number = job(folder, what)
    time.sleep(4)  # for times that are worth showing
    answer = subprocess.run([RUN, option, number], capture_output=True, text=True, check=True).stdout
    terminal.end()
    return f"gasnetrun_ibv {option} {number}", answer


def why(folder):
    return asked(folder, "credits", "--why")


def top(folder):
    terminal, number = job(folder, "moves")
    view = Terminal(80, {}, [RUN, "--top", number])
    frames = view.until("(q quits(?s:.)*){3}").split("\x1b[H")
    view.end()
    terminal.end()
    return f"gasnetrun_ibv --top {number}", shown(frames[-1])


def log(folder):
    setting = "job:info,connect:debug"
    environment = {"GASNET_LOG": setting, "GASNET_SUPERNODE_MAXSIZE": "1"}
    program = Terminal(150, environment, [RUN, "-n", "2", "examples/hello"])
    text = program.until(NEVER)
    program.end()
    return f"GASNET_LOG={setting} gasnetrun_ibv -n 2 examples/hello", shown(text)


def start(folder):
    words = [RUN, "-n", "3", "tests/testwhy-ibv-seq", "slow-attach", folder]
    program = Terminal(100, {"GASNET_QUIET": "1"}, words)
    text = program.until("waits for other ranks")
    program.end()
    return "gasnetrun_ibv -n 3 ./prog", shown(text)


def draw(page, name, command, text):
    with open(f"{page}/page.html", "w", encoding="utf-8") as file:
        file.write(PAGE % f"<b>$ {html.escape(command)}</b>\n{html.escape(text)}")
    window = browser.Browser(size=(1300, 700))
    try:
        window.open(f"{page}/page.html")
        width, height = window.run("const r = document.querySelector('pre').getBoundingClientRect(); return [r.width, r.height]")
        window.devtools("Emulation.setDeviceMetricsOverride", width=int(width) + 1, height=int(height) + 1,
                        deviceScaleFactor=1, mobile=False)
        window.picture(f"{SOURCE}/doc/pictures/{name}.png")
    finally:
        window.close()


def main():
    makers = {"why": why, "top": top, "log": log, "start": start}
    os.environ["SOFTHCA"] = "on"
    for name in sys.argv[1:] or makers:
        folder = tempfile.mkdtemp(prefix="gasnet-test.")
        try:
            command, text = makers[name](folder)
            print(f"{name}: {command}\n{text}")
            draw(folder, name, command, text)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


main()
