#!/usr/bin/python3
"""Runs a command on a pseudo terminal, and does what a user would do.

  terminal.py ROWSxCOLUMNS ACTION... -- COMMAND...

Actions, in this order: await=REGEX (in the output since the last action, within 20 s), type=TEXT, signal=NAME to the
command, size=ROWSxCOLUMNS, run=SHELL COMMAND, stopped (waits until the command is stopped), settings (says whether the
terminal has those that it had at first).  Then the output is printed, with ^[ for escape, and how the command ended.
"""
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

PATIENCE = 20


def set_size(fd, size):
    rows, columns = map(int, size.split("x"))
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def lead(slave, events, command):
    """The leader of the terminal's session, as a shell is: starts the command in the foreground, and tells what
    becomes of it."""
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in range(3):
        os.dup2(slave, fd)
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execv(command[0], command)
    os.write(events, b"pid %d\n" % pid)
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            os.write(events, b"stopped\n")
        else:
            os.write(events, b"ended %d\n" % os.waitstatus_to_exitcode(status))
            os._exit(0)


class Session:
    def __init__(self, size, command):
        self.master, self.slave = os.openpty()
        set_size(self.slave, size)
        self.before = termios.tcgetattr(self.slave)
        self.events, writer = os.pipe()
        if os.fork() == 0:
            lead(self.slave, writer, command)
        os.close(writer)
        self.output, self.seen, self.told, self.said = b"", 0, b"", []

    def read(self, seconds):
        """Takes what the command or its leader has written; false: nothing."""
        ready = select.select([self.master, self.events], [], [], seconds)[0]
        if self.events in ready:
            self.told += os.read(self.events, 4096)
        if self.master in ready:
            self.output += os.read(self.master, 65536)
        return self.master in ready

    def until(self, found):
        """Reads until `found` returns something true, for a time."""
        end = time.time() + PATIENCE
        while not found() and time.time() < end and not self.ended():
            self.read(0.1)
        while self.read(0):
            pass
        return found()

    def ended(self):
        return re.search(rb"ended (-?\d+)\n", self.told)

    def say_settings(self):
        restored = termios.tcgetattr(self.slave) == self.before
        self.said.append("settings: " + ("restored" if restored else "changed"))

    def pid(self):
        self.until(lambda: b"\n" in self.told)
        return int(self.told.split()[1])

    def do(self, action):
        what, _, value = action.partition("=")
        if what == "await":
            found = self.until(lambda: re.search(value.encode(), self.output[self.seen:]))
            self.seen += found.end() if found else 0
            if not found:
                self.said.append("missing: " + value)
        elif what == "type":
            self.seen = len(self.output)
            os.write(self.master, value.encode())
        elif what == "signal":
            os.kill(self.pid(), getattr(signal, "SIG" + value))
        elif what == "size":
            self.seen = len(self.output)
            set_size(self.slave, value)
        elif what == "run":
            subprocess.run(value, shell=True, check=False)
        elif what == "stopped":
            if not self.until(lambda: b"stopped" in self.told):
                self.said.append("missing: stopped")
        elif what == "settings":
            self.say_settings()

    def end(self):
        if not self.until(self.ended):
            self.said.append("does not end")
            os.kill(self.pid(), signal.SIGKILL)
            self.until(self.ended)
        self.say_settings()
        print(self.output.decode(errors="replace").replace("\x1b", "^[").replace("\r", ""))
        print("\n".join(self.said))
        print("status:", self.ended().group(1).decode() if self.ended() else "unknown")


def main():
    split = sys.argv.index("--")
    session = Session(sys.argv[1], sys.argv[split + 1:])
    for action in sys.argv[2:split]:
        session.do(action)
    session.end()


main()
