"""tree.py - a clone of the committed tree, built; changed, tested and restored again."""
import contextlib
import glob
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
ENVIRONMENT = {'TEST_ROUNDS': '100', 'FUZZ_RUNS': '3000', 'TEST_TIMEOUT': '20', 'TEST_HANG': '10', 'SOAK_SECONDS': '1'}


def executables(folder, patterns):
    found = [f for p in patterns for f in sorted(glob.glob(os.path.join(folder, p)))]
    return [os.path.relpath(f, folder) for f in found if os.path.isfile(f) and os.access(f, os.X_OK)]


class Tree:
    def __init__(self, folder, origin, keep):
        self.root, self.build, self.pristine = folder, os.path.join(folder, 'build'), folder + '.built'
        self.learned, self.started, self.mark = {}, 0, f'MUTATE_MARK={os.getpid()}'
        if not os.path.isdir(folder):
            self.must(['git', 'clone', '-q', origin, folder], '.')
            self.must(['./Bootstrap'], folder)
        elif keep and os.path.isdir(self.pristine):
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
        shutil.copytree(self.build, self.pristine, symlinks=True)

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

    def restore(self):
        for folder, inner, files in os.walk(self.build):
            if folder == os.path.join(self.build, 'tests') and 'log' in inner:
                inner.remove('log')
            for name in files:
                path = os.path.join(folder, name)
                if os.lstat(path).st_mtime_ns >= self.started:
                    as_before = os.path.join(self.pristine, os.path.relpath(path, self.build))
                    os.unlink(path)
                    if os.path.lexists(as_before):
                        shutil.copy2(as_before, path, follow_symlinks=False)

    def makes(self, step):
        targets = executables(self.build, step.programs) if step.programs else step.targets
        return subprocess.run(['make', '-s', JOBS, *targets], cwd=self.build, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0

    def commands(self, step):
        """A step of programs is those that were made anew, as only they contain the change."""
        if step.command:
            return [step.command]
        return ['./' + p for p in executables(self.build, step.programs)
                if os.stat(os.path.join(self.build, p)).st_mtime_ns >= self.started]

    def learn(self, command, seconds):
        """What fails in the unchanged tree, too."""
        failures = self.learned[command] = set()
        while len(failures) < 5:
            failed = self.run(command, seconds, failures)
            if not failed:
                break
            failures.add(failed)
        return failures

    def fails(self, step):
        """The command of the step that fails twice and what it says; or None."""
        for command in self.commands(step):
            known = self.learned.get(command, set())
            said = self.run(command, step.seconds, known)
            if said and said not in known and self.run(command, step.seconds, known):
                return command, said, step.seconds
        return None

    def run(self, command, seconds, known):
        """The first failure that is not known; 'hangs'; 'status N'; or None."""
        with tempfile.TemporaryFile('w+', errors='replace') as output:
            name, value = self.mark.split('=')
            process = subprocess.Popen(['bash', '-c', command], cwd=self.build, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, start_new_session=True,
                                       env={**os.environ, **ENVIRONMENT, name: value})
            end, said = time.time() + seconds, None
            while process.poll() is None and not said:
                time.sleep(0.02)
                said = self.first_failure(output, known) or (time.time() > end and 'hangs')
            said = said or self.first_failure(output, known)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                time.sleep(0.2)
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self.end_marked()
        status = f'status {process.returncode}'
        return said or (process.returncode and not known and status) or None

    @staticmethod
    def first_failure(output, known):
        # At an offset of its own: the command writes at the file's.
        text = os.pread(output.fileno(), 1 << 24, 0).decode(errors='replace')
        failures = re.findall(r'^not ok \d+(?: - )?(.*)\n', text, re.M)
        return next((f'not ok {f}' for f in failures if f'not ok {f}' not in known), None)

    def end_marked(self):
        """Processes that the command left behind."""
        for folder in glob.glob('/proc/[0-9]*'):
            with contextlib.suppress(OSError):
                if self.mark.encode() in open(f'{folder}/environ', 'rb').read().split(b'\0'):
                    os.kill(int(os.path.basename(folder)), signal.SIGKILL)
