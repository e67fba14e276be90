"""tree.py - a clone of the committed tree, built; changed, tested and restored again."""
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

JOBS = '-j2'
CONFIGURE = ['../configure', '-q', '--disable-static']
# Tests that draw at random; a job that hangs is ended early.
ENVIRONMENT = {'TEST_ROUNDS': '30', 'FUZZ_RUNS': '3000', 'TEST_TIMEOUT': '20', 'TEST_HANG': '10', 'SOAK_SECONDS': '1'}


def executables(folder, patterns):
    found = [f for p in patterns for f in sorted(glob.glob(os.path.join(folder, p)))]
    return [os.path.relpath(f, folder) for f in found if os.path.isfile(f) and os.access(f, os.X_OK)]


class Tree:
    def __init__(self, folder, origin, keep):
        self.root, self.build, self.pristine = folder, os.path.join(folder, 'build'), folder + '.built'
        self.learned, self.started, self.mark, self.usual, self.unbuilt = {}, 0, f'MUTATE_MARK={os.getpid()}', {}, set()
        if not os.path.isdir(folder):
            self.must(['git', 'clone', '-q', origin, folder], '.')
            self.must(['./Bootstrap'], folder)
        elif keep and os.path.isdir(self.pristine):
            if os.path.exists(self.pristine + '.json'):
                self.usual, self.learned = json.load(open(self.pristine + '.json'))
            return
        else:
            self.must(['git', 'checkout', '-q', '.'], folder)
            self.must(['git', 'pull', '-q'], folder)
        if not os.path.exists(os.path.join(self.build, 'Makefile')):
            os.makedirs(self.build, exist_ok=True)
            self.must(CONFIGURE, self.build)
        # -k: some programs that no suite runs need the static libraries.
        subprocess.run(['make', '-sk', JOBS, 'check-programs'], cwd=self.build, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.pristine, ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.pristine + '.json')
        shutil.copytree(self.build, self.pristine, symlinks=True)

    def measure(self, patterns):
        """How long the unchanged programs take: the short ones are run first, and what takes much longer hangs."""
        for program in executables(self.build, patterns):
            if './' + program not in self.usual:
                start = time.time()
                self.run('./' + program, 200, [])
                self.usual['./' + program] = time.time() - start
        self.keep()

    def keep(self):
        """What is known of the unchanged tree, for the next run."""
        with open(self.pristine + '.json', 'w') as out:
            json.dump([self.usual, self.learned], out)

    @staticmethod
    def must(command, folder):
        if subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL).returncode:
            sys.exit(f"mutate: {' '.join(command)} failed in {folder}")

    @contextlib.contextmanager
    def changed(self, file, text):
        """The file holds this text; afterwards the file and all that make wrote are as before, with their times."""
        path = os.path.join(self.root, file)
        original, times = open(path).read(), os.stat(path)
        self.started = time.time_ns()
        try:
            with open(path, 'w') as out:
                out.write(text)
            yield
        finally:
            with open(path, 'w') as out:
                out.write(original)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            self.restore()

    def made(self):
        """What was written since the change, but for logs."""
        for folder, inner, files in os.walk(self.build):
            if folder == os.path.join(self.build, 'tests') and 'log' in inner:
                inner.remove('log')
            paths = (os.path.join(folder, name) for name in files)
            yield from (path for path in paths if os.lstat(path).st_mtime_ns >= self.started)

    def has_built(self):
        return any(path.endswith('.o') for path in self.made())

    def restore(self):
        for path in self.made():
            as_before = os.path.join(self.pristine, os.path.relpath(path, self.build))
            os.unlink(path)
            if os.path.lexists(as_before):
                shutil.copy2(as_before, path, follow_symlinks=False)

    def makes(self, step):
        targets = executables(self.build, step.programs) if step.programs else step.targets
        return subprocess.run(['make', '-s', JOBS, *targets], cwd=self.build, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0

    def commands(self, step, favourites):
        """(command, bound): a step of programs is those that were made anew, as only they contain the change;
        favourites are first."""
        if step.command:
            return [(step.command, step.seconds)]
        made = ['./' + p for p in executables(self.build, step.programs)
                if os.stat(os.path.join(self.build, p)).st_mtime_ns >= self.started]
        made.sort(key=lambda p: (-favourites[os.path.basename(p)], self.usual.get(p, 0)))
        return [(p, 10 + 5 * self.usual.get(p, 0)) for p in made]

    def learn(self, command, seconds):
        """What fails in the unchanged tree, too."""
        failures = []
        while len(failures) < 5:
            failed = self.run(command, seconds, failures)
            if not failed:
                break
            failures.append(failed)
        self.learned[command] = failures
        self.keep()
        return failures

    def fails(self, step, favourites):
        """The command of the step that fails twice and what it says; or None.  One that hangs does not hang again."""
        for command, seconds in self.commands(step, favourites):
            known = self.learned.get(command, [])
            said = self.run(command, seconds, known)
            if said and said not in known and (said == 'hangs' or self.run(command, seconds, known)):
                return command, said, seconds
        return None

    def run(self, command, seconds, known):
        """The first failure that is not known; 'hangs'; 'status N'; or None."""
        with tempfile.TemporaryFile('w+', errors='replace') as output:
            name, value = self.mark.split('=')
            process = subprocess.Popen(['bash', '-c', command], cwd=self.build, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, start_new_session=True,
                                       env={**os.environ, **ENVIRONMENT, name: value})
            end, said = time.time() + seconds, None
            try:
                while process.poll() is None and not said:
                    time.sleep(0.02)
                    said = self.first_failure(output, known) or (time.time() > end and 'hangs')
                said = said or self.first_failure(output, known)
            finally:
                self.end(process)
        status = f'status {process.returncode}'
        return said or (process.returncode and not known and status) or None

    @staticmethod
    def first_failure(output, known):
        # At an offset of its own: the command writes at the file's.
        text = os.pread(output.fileno(), 1 << 24, 0).decode(errors='replace')
        failures = re.findall(r'^not ok \d+(?: - )?(.*)\n', text, re.M)
        return next((f'not ok {f}' for f in failures if f'not ok {f}' not in known), None)

    def end(self, process):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            time.sleep(0.2)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        # Processes that the command left behind.
        for folder in glob.glob('/proc/[0-9]*'):
            with contextlib.suppress(OSError):
                if self.mark.encode() in open(f'{folder}/environ', 'rb').read().split(b'\0'):
                    os.kill(int(os.path.basename(folder)), signal.SIGKILL)
